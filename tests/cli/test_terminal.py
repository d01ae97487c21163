"""At a terminal: questions are asked and answered, Ctrl-C ends everything in order."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.kit import RAW, argv, environment
from tests.support import python_server
from tests.support_servers import demo_stdio
from tests.terminal import Terminal

Start = Callable[..., Terminal]


@pytest.fixture
def terminal() -> Iterator[Start]:
    """Starts command lines on terminals of their own; they end with the test."""
    running: list[Terminal] = []

    def start(*words: str) -> Terminal:
        started = Terminal(argv(*words), env=environment(NO_COLOR="1"), rows=60)
        started.start()
        running.append(started)
        return started

    yield start
    for started in running:
        started.close()
        if started.process.poll() is None:
            started.process.terminate()
            started.process.wait(10)


def finish(started: Terminal) -> int:
    end = time.monotonic() + 15
    while started.process.poll() is None and time.monotonic() < end:
        started.pump(0.05)
    while started.pump(0.05):
        pass
    code = started.process.wait(1)
    return code


def test_a_form_is_filled_line_by_line(terminal: Start) -> None:
    screen = terminal("call", "ask", "--", *RAW)
    screen.until("name: ")
    assert "target requests input (target.ask is waiting):" in screen.text() and "Your name (required)" in screen.text()
    screen.press(b"\n")
    screen.until("name is required")
    screen.press(b"Ada\n")
    screen.until(r"Send this to target\? \[Y/n\]")
    assert '"name": "Ada"' in screen.text()
    screen.press(b"\n")
    assert finish(screen) == 0
    assert "Ada" in screen.text().rsplit("[Y/n]", 1)[1]


@pytest.mark.parametrize("word", [b":decline\n", b":cancel\n", b"\x04"])
def test_a_form_can_be_declined_or_cancelled(terminal: Start, word: bytes) -> None:
    screen = terminal("call", "ask", "--", *RAW)
    screen.until("name: ")
    screen.press(word)
    assert finish(screen) in (0, 5)
    assert word.decode().strip(":\n\x04").rstrip("e") in screen.text()


def test_every_kind_of_field_can_be_answered(terminal: Start) -> None:
    screen = terminal("call", "ask_every_field", "--quiet", "--", *demo_stdio())
    answers = {"name": b"Ada\n", "books_read": b"3\n", "shelf": b"poetry\n", "genre": b"poetry\n"}
    screen.until("name: ")
    for _ in range(60):
        last = [line for line in screen.text().splitlines() if line.strip()][-1]
        if "Send this to" in last:
            break
        screen.press(answers.get(last.partition(":")[0].strip(), b"\n"))
        screen.pump(5)
        while screen.pump(0.2):
            pass
    assert "Send this to target?" in screen.text(), screen.text()
    screen.press(b"\n")
    assert finish(screen) == 0


def test_approval_is_asked_and_given(terminal: Start) -> None:
    screen = terminal("call", "fail", "--", *RAW)
    screen.until(r"Run it\? \[y/N\]")
    assert "target.fail needs approval: it is marked destructive" in screen.text()
    screen.press(b"y\n")
    assert finish(screen) == 5


def test_approval_is_refused_by_default(terminal: Start) -> None:
    screen = terminal("call", "fail", "--", *RAW)
    screen.until(r"Run it\? \[y/N\]")
    screen.press(b"\n")
    assert finish(screen) == 6


def test_a_shell_on_a_terminal_goes_on_after_errors_and_ctrl_c(terminal: Start) -> None:
    screen = terminal("shell", "--", *RAW)
    screen.until("target> ")
    screen.press(b"nonsense\n")
    screen.until("There is no command `nonsense` here")
    screen.press(b"call wait seconds=100\n")
    screen.until("call wait seconds=100")
    os.kill(screen.process.pid, signal.SIGINT)
    screen.until("interrupted")
    screen.press(b"call fail\n")
    screen.until(r"Run it\? \[y/N\]")
    screen.press(b"n\n")
    screen.until("denied by you")
    screen.press(b"call echo text=here\n")
    screen.until("\nhere")
    screen.press(b"\x04")
    assert finish(screen) == 0


def interrupted(tmp_path: Path, number: int, *words: str, fault: str = "") -> tuple[int, str, str, int]:
    """Start a counting tool, send a signal at its first progress; exit code, output, errors, the server's pid."""
    pid_file = tmp_path / "pid"
    server = python_server("raw_faults", "--fault", fault) if fault else RAW
    command = ["sh", "-c", f'echo $$ > {pid_file}; exec "$0" "$@"', *server]
    started = subprocess.Popen(
        argv("call", "count", "steps=1000", "pause=0.05", *words, "--", *command),
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert started.stderr is not None
    first = started.stderr.readline()
    assert "of 1,000" in first, first
    os.kill(started.pid, number)
    out, err = started.communicate(timeout=60)
    return started.returncode, out, err, int(pid_file.read_text())


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_ctrl_c_cancels_the_call_closes_the_server_and_is_130(tmp_path: Path) -> None:
    code, out, err, server = interrupted(tmp_path, signal.SIGINT, "--json")
    assert code == 130 and '"interrupted"' in out and "Traceback" not in err
    assert not alive(server)


@pytest.mark.parametrize("fault", ["", "stubborn"])
def test_sigterm_closes_the_server_too(tmp_path: Path, fault: str) -> None:
    code, _, err, server = interrupted(tmp_path, signal.SIGTERM, fault=fault)
    assert code == 143 and "Traceback" not in err
    assert not alive(server)


def test_a_page_is_shown_whole_and_opened_only_by_the_person(terminal: Start) -> None:
    screen = terminal("call", "page", "--", *python_server("raw_asks"))
    screen.until("Open it")
    assert "https://bank.example/authorize?id=7" in screen.text() and "The page is at bank.example" in screen.text()
    screen.press(b"\n")
    assert finish(screen) == 0
    assert '"action": "accept"' in screen.text()


def test_a_page_that_must_not_be_opened_cannot_be(terminal: Start) -> None:
    screen = terminal("call", "page", "url=http://evil.example/", "--", *python_server("raw_asks"))
    screen.until("It is not opened")
    assert finish(screen) == 0
    assert '"action": "decline"' in screen.text()


def test_a_model_is_answered_for_by_hand(terminal: Start) -> None:
    screen = terminal("call", "sample", "--", *python_server("raw_asks"))
    screen.until("> ")
    assert "What is 2 + 2?" in screen.text() and "Be short." in screen.text()
    screen.press(b"four\n")
    screen.until("… ")
    screen.press(b".\n")
    assert finish(screen) == 0
    assert '"text": "four"' in screen.text()
