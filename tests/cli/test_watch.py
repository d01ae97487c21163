"""`watch` and `--log-level`: what is printed, how it ends, and what servers are told."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.kit import argv, cli, environment
from tests.support import python_server

NOTE = "raw://note"
ERAS = pytest.mark.parametrize("era", [(), ("--modern",)], ids=["legacy", "modern"])


class Running:
    """A `watch` that is running."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def line(self, *, errors: bool = False, timeout: float = 60) -> str:
        """The next line of its output, or of its standard error."""
        stream = self.process.stderr if errors else self.process.stdout
        assert stream is not None
        text, end = b"", time.monotonic() + timeout
        while not text.endswith(b"\n"):
            assert select.select([stream], [], [], max(0, end - time.monotonic()))[0], f"no line: {text!r}"
            piece = os.read(stream.fileno(), 1)
            assert piece, f"it ended after {text!r}: {self.end()}"
            text += piece
        return text.decode().removesuffix("\n")

    def interrupt(self) -> tuple[int, str, str]:
        """Press Ctrl-C."""
        os.kill(self.process.pid, signal.SIGINT)
        return self.end()

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out.decode(), err.decode()


@contextmanager
def started(*words: str, cwd: Path | None = None) -> Iterator[Running]:
    with subprocess.Popen(
        argv(*words), bufsize=0, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(), cwd=cwd,
    ) as process:  # fmt: skip
        try:
            yield Running(process)
        finally:
            if process.poll() is None:
                process.kill()


@contextmanager
def watching(*words: str, server: tuple[str, ...] = ()) -> Iterator[Running]:
    with started("watch", *words, "--", *python_server("raw_changes", *server)) as running:
        yield running


@ERAS
def test_a_line_for_each_update_until_ctrl_c_is_130_and_unsubscribes(era: tuple[str, ...], tmp_path: Path) -> None:
    record = tmp_path / "record"
    with watching(NOTE, server=(*era, "--ticks", "--record", str(record))) as running:
        assert running.line().endswith(f" target {NOTE}")
        assert running.line(errors=True) == f"watching {NOTE} of target"
        code, out, err = running.interrupt()
    assert (code, out) == (130, "") and "interrupted" in err and "Traceback" not in err
    told = record.read_text().splitlines()
    assert ("notifications/cancelled" if era else "resources/unsubscribe") in told


@ERAS
def test_with_json_every_line_is_an_object_and_read_adds_the_content(era: tuple[str, ...]) -> None:
    with watching(NOTE, "--json", "--read", server=(*era, "--ticks")) as running:
        updated: Any = json.loads(running.line())
        assert (updated["updated"], updated["server"], updated["count"]) == (NOTE, "target", 1)
        read: Any = json.loads(running.line())
        assert read["read"] == NOTE and read["contents"] == [{"uri": NOTE, "text": "A note."}]
        assert running.interrupt()[:2] == (130, "")


def test_read_prints_the_content_below_the_line() -> None:
    with watching(NOTE, "--read", server=("--ticks",)) as running:
        assert [running.line().split(" ", 1)[-1], running.line()] == [f"target {NOTE}", "A note."]
        running.interrupt()


@ERAS
def test_changes_of_lists_are_told(era: tuple[str, ...]) -> None:
    with watching(server=(*era, "--lists")) as running:
        lines = {running.line().split(" ", 1)[1] for _ in range(3)}
        assert lines == {f"target list of {kind} changed" for kind in ("tools", "resources", "prompts")}
        assert running.line(errors=True) == "changes of lists of target; Ctrl-C ends"
        assert running.interrupt()[0] == 130
    with watching(NOTE, "--json", server=(*era, "--lists")) as running:
        found: Any = [json.loads(running.line()) for _ in range(3)]
        assert {one["changed"] for one in found} == {"tools", "resources", "prompts"} and found[0]["server"] == "target"
        running.interrupt()


def test_logs_are_printed_beside_updates() -> None:
    with watching(NOTE, "--logs", server=("--ticks",)) as running:
        lines = {running.line().split(" ", 1)[1] for _ in range(2)}
        assert lines == {f"target {NOTE}", 'target warning ticks: {"told":"raw://note"}'}
        running.interrupt()
    with watching(NOTE, "--logs", "--json", "--log-level", "error", server=("--ticks",)) as running:
        assert "updated" in json.loads(running.line())
        assert running.interrupt()[1] == ""


def test_logs_alone_are_printed_of_several_servers(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    command, *words = python_server("raw_changes", "--greet")
    entry = f"command = {json.dumps(command)}\nargs = {json.dumps(words)}\n"
    config.write_text(f"[servers.a]\n{entry}[servers.b]\n{entry}log_level = 'alert'\n")
    with started("watch", "--logs", "a", "b", "--config", str(config)) as running:
        assert {running.line().split(" ", 1)[1] for _ in range(2)} == {"a debug set: debug", "b alert set: alert"}
        assert running.line(errors=True) == "changes of lists and log messages of a, b; Ctrl-C ends"
        assert running.interrupt()[0] == 130


def test_what_no_server_lists_is_asked_for_all_the_same_and_that_is_told() -> None:
    with watching("raw://none", server=("--ticks",)) as running:
        assert "No server has the resource `raw://none`" in running.line(errors=True)
        assert running.line(errors=True) == "watching raw://none of target"
        assert running.interrupt()[0] == 130


def test_a_refusal_ends_it_with_the_reason() -> None:
    with watching(NOTE, server=("--refuse", "not here")) as running:
        code, out, err = running.end()
    assert (code, out) == (1, "") and "does not let raw://note be watched: not here (-32603)" in err


def test_a_server_that_cannot_be_reached_any_more_ends_it_with_4(tmp_path: Path) -> None:
    server = " ".join(python_server("raw_changes", "--ticks"))
    pid = tmp_path / "pid"
    words = ["-c", f"test -e {pid} && exit 1; echo $$ > {pid}; exec {server}"]
    config = tmp_path / "config.toml"
    config.write_text(f"[limits]\nrestarts = 1\n[servers.s]\ncommand = 'sh'\nargs = {json.dumps(words)}\n")
    with started("watch", "s", NOTE, "--config", str(config)) as running:
        assert running.line().endswith(NOTE)
        os.kill(int(pid.read_text()), signal.SIGKILL)
        code, _, err = running.end()
    assert code == 4 and "Traceback" not in err


def test_a_template_is_filled_with_what_is_given() -> None:
    with watching("raw://notes/{name}", "name=ada", NOTE, server=("--ticks",)) as running:
        assert {running.line().split(" ")[-1] for _ in range(2)} == {"raw://notes/ada", NOTE}
        running.interrupt()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("raw://notes/{name}",), "needs name"),
        (("raw://notes/{name}", "name=ada", "nam=eve"), "`nam` is no variable of a template here."),
        ((NOTE, "--log-level", "loud"), "--log-level: invalid choice: 'loud'"),
    ],
)
def test_what_cannot_be_meant_is_2(words: tuple[str, ...], says: str) -> None:
    done = cli("watch", *words, "--", *python_server("raw_changes"))
    assert done.code == 2 and says in done.err, done.err


def test_an_unknown_server_is_2() -> None:
    done = cli("watch", "nobody", NOTE)
    assert done.code == 2 and "There is no server `nobody`" in done.err


@ERAS
def test_log_messages_of_a_call_are_said_on_standard_error_from_the_level_on(era: tuple[str, ...]) -> None:
    server = python_server("raw_changes", *era)
    said = {"data": "\x1b[31mred\nline", "logger": "db", "level": "error"}
    words = ("call", "log", "--args", json.dumps(said))
    done = cli(*words, "--log-level", "warning", "--unchecked", "--", *server)
    assert (done.code, done.out) == (0, "done\n")
    assert "  target error db: ␛[31mred⏎line\n" in done.err
    quiet = cli(*words, "--log-level", "critical", "--unchecked", "--", *server)
    assert (quiet.code, quiet.err) == (0, "")
    assert cli(*words, "--unchecked", "--", *server).err == ""


def test_what_happens_to_servers_is_told(tmp_path: Path) -> None:
    config, (command, *words) = tmp_path / "config.toml", python_server("raw_changes")
    entry = "[servers.{}]\ncommand = {}\nargs = {}\n"
    config.write_text(entry.format("good", json.dumps(command), json.dumps(words)))
    with started("watch", "--events", "--json", "--config", str(config)) as running:
        told: Any = [json.loads(running.line()) for _ in range(2)]
        assert [one["event"] for one in told] == ["ServerConnecting", "ServerConnected"]
        assert told[1]["server"] == "good" and told[1]["said"].startswith("connected, 20")
        running.interrupt()
    with config.open("a") as file:
        file.write(entry.format("broken", json.dumps(command), '["-c", "raise SystemExit(3)"]'))
    with started("watch", "--events", "--config", str(config)) as running:
        while "broken failed: broken ended with exit code 3." not in (line := running.line()):
            assert line, "it ended"
        running.interrupt()
