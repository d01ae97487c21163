"""The program as a person meets it: on a terminal, against servers that misbehave, and however it is ended."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import python_server
from tests.terminal import Terminal
from tests.transport.stdio_kit import alive, below

STUDIO = [sys.executable, "-m", "mcp_studio"]
CHILDREN = python_server("raw_faults", "--fault", "grandchildren")


@contextmanager
def studio(*argv: str, columns: int = 120, rows: int = 36, **env: str) -> Iterator[Terminal]:
    """The studio on a terminal; killed afterwards if it has not left."""
    terminal = Terminal([*STUDIO, *argv], columns, rows, env)
    terminal.start()
    try:
        yield terminal
    finally:
        if terminal.process.poll() is None:
            terminal.process.kill()
        terminal.process.wait()
        terminal.close()


def left_after(pids: set[int], limit: float = 6) -> set[int]:
    """Which of them still run after a while."""
    end = time.monotonic() + limit
    while (left := {pid for pid in pids if alive(pid)}) and time.monotonic() < end:
        time.sleep(0.02)
    return left


@pytest.mark.parametrize("end", ["quit", "SIGTERM", "SIGHUP", "SIGKILL", "closed terminal", "closed under a dialog"])
def test_however_the_studio_ends_no_process_stays(end: str) -> None:
    with studio("--", *CHILDREN) as terminal:
        terminal.until("echo")
        pids = set(below(terminal.process.pid))
        assert len(pids) >= 3
        began = time.monotonic()
        if end == "quit":
            terminal.press(b"\x11")
        elif end == "closed under a dialog":
            terminal.press(b"1\r")
            terminal.until("esc Close")
            terminal.press(b"?")
            terminal.until("Help: ")
            os.kill(terminal.process.pid, signal.SIGSTOP)  # so that the first thing it does meets no terminal
            terminal.close()
            os.kill(terminal.process.pid, signal.SIGCONT)
        elif end == "closed terminal":
            terminal.close()
        else:
            os.kill(terminal.process.pid, getattr(signal, end))
        while terminal.process.poll() is None and time.monotonic() < began + 20:
            terminal.pump(0.05)
        assert terminal.process.poll() is not None
        assert time.monotonic() - began < 20
        assert left_after(pids) == set()
        if end == "quit":
            while terminal.pump(0.05):
                pass
            output = b"".join(data for _, data in terminal.chunks)
            assert terminal.process.returncode == 0
            assert output.rfind(b"\x1b[?1049l") > output.rfind(b"\x1b[?1049h"), "the terminal is given back"
            assert b"Traceback" not in output


def test_a_mistake_of_ours_ends_in_a_sentence_and_a_log_and_leaves_nothing() -> None:
    program = (
        "import sys; from mcp_studio.tui.panes.catalog import CatalogPane\n"
        "def broken(self):\n"
        "    if any(self.app.studio.catalog.entries('tool')): raise RuntimeError('boom')\n"
        "CatalogPane.refresh_lists = broken\n"
        "from mcp_studio.__main__ import main; sys.exit(main())"
    )
    terminal = Terminal([sys.executable, "-c", program, "--", *CHILDREN], columns=200)
    terminal.start()
    try:
        pids: set[int] = set()
        end = time.monotonic() + 10
        while terminal.process.poll() is None and time.monotonic() < end:
            terminal.pump(0.02)
            pids |= set(below(terminal.process.pid))
        while terminal.pump(0.05):
            pass
        output = b"".join(data for _, data in terminal.chunks)
        assert terminal.process.returncode == 1
        assert b"Traceback" not in output and b"boom" not in output
        assert output.rfind(b"\x1b[?1049l") > output.rfind(b"\x1b[?1049h")
        tail = output[output.rfind(b"\x1b[?1049l") :].decode()
        log = next(word for word in tail.split() if word.endswith(".log"))
        assert "RuntimeError: boom" in Path(log).read_text()
        assert left_after(pids) == set()
    finally:
        terminal.close()
