"""The person's editor on a real terminal: it has the terminal alone, everything goes on, and all comes back."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.support import python_server
from tests.terminal import Terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")

EDITOR = """
import pathlib, sys
print("\\nEDITING", pathlib.Path(sys.argv[1]).stat().st_mode & 0o777, sys.stdin.isatty(), flush=True)
for line in sys.stdin:
    print("TYPED", line.strip(), flush=True)
    if line.strip() == "end": break
pathlib.Path(sys.argv[1]).write_text("written outside\\n")
pathlib.Path(sys.argv[2]).write_text(sys.argv[1])
"""
MODES = (b"\x1b[?1049", b"\x1b[?1000", b"\x1b[?1003", b"\x1b[?2004", b"\x1b[?1004")
"""Alternate screen, mouse twice, bracketed paste, focus."""


def on(output: bytes) -> list[bool]:
    """Which modes of the terminal are switched on after this output."""
    return [output.rfind(mode + b"h") > output.rfind(mode + b"l") for mode in MODES]


def test_the_editor_has_the_terminal_alone_and_gives_it_back(tmp_path: Path) -> None:
    script, told = tmp_path / "editor.py", tmp_path / "told"
    script.write_text(EDITOR)
    command = f'sh -c \'"{sys.executable}" "{script}" "$0" "{told}"\''
    server = python_server("raw_server")
    terminal = Terminal([sys.executable, "-m", "mcp_studio", "--", *server], 100, 30, {"EDITOR": command, "VISUAL": ""})
    terminal.start()

    def output() -> bytes:
        return b"".join(data for _, data in terminal.chunks)

    try:
        terminal.until("echo")
        terminal.press(b"2\r")
        terminal.until("text \\*")
        assert all(on(output()))
        terminal.press(b"\x05")  # ^e
        terminal.until("EDITING 384 True")  # 0o600
        assert on(output()) == [False] * len(MODES)
        before = len(terminal.chunks)
        # What is typed, and keys that end programs, are the editor's; nothing is drawn over it meanwhile.
        os.kill(terminal.process.pid, signal.SIGINT)
        terminal.press(b"q\x1b[A j\n")
        terminal.until("TYPED q")
        assert b"\x1b[?1049h" not in b"".join(data for _, data in terminal.chunks[before:])
        terminal.press(b"end\n")
        terminal.until("written outside")
        assert all(on(output())) and terminal.process.poll() is None
        assert not Path(told.read_text()).parent.exists()
        terminal.press(b"\x05")  # ^e
        terminal.until("EDITING")
        terminal.process.terminate()
        end = time.monotonic() + 20
        while terminal.process.poll() is None and time.monotonic() < end:
            terminal.pump(0.05)
        assert terminal.process.poll() is not None and on(output()) == [False] * len(MODES)
    finally:
        terminal.quit() if terminal.process.poll() is None else terminal.close()
