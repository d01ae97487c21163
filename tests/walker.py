"""Walks through the program by keys on a pseudo-terminal, and reads what it shows as it comes."""

from __future__ import annotations

import codecs
import fcntl
import re
import signal
import struct
import sys
import termios
import time
from collections.abc import Generator
from contextlib import contextmanager

from rich.cells import cell_len

from tests.terminal import Terminal

STUDIO = [sys.executable, "-m", "mcp_studio"]
KEYS = {
    "enter": b"\r", "tab": b"\t", "esc": b"\x1b", "space": b" ", "bs": b"\x7f", "up": b"\x1b[A", "down": b"\x1b[B",
    "end": b"\x1b[F", "home": b"\x1b[H", "pgup": b"\x1b[5~", "pgdn": b"\x1b[6~", "^pgup": b"\x1b[5;5~",
    "^pgdn": b"\x1b[6;5~", "f1": b"\x1bOP", "f2": b"\x1bOQ", "f4": b"\x1bOS", "f5": b"\x1b[15~", "f6": b"\x1b[17~",
    "f8": b"\x1b[19~", "f9": b"\x1b[20~", "f10": b"\x1b[21~", "f11": b"\x1b[23~", "f12": b"\x1b[24~", "alt+t": b"\x1bt",
    "alt+d": b"\x1bd", "alt+c": b"\x1bc", "alt+r": b"\x1br", "alt+u": b"\x1bu", "alt+j": b"\x1bj", "f3": b"\x1bOR",
    "shift+tab": b"\x1b[Z",
}  # fmt: skip
_TOKEN = re.compile(
    r"\x1b\[(\d+);(\d+)H|\x1b\[[0-?]*[ -/]*([@-~])|\x1b[\]_P].*?(?:\x07|\x1b\\)|\x1b[^\[\]_P]|([\r\n])|([^\x1b\r\n]+)",
    re.DOTALL,
)
_CUT_OFF = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]_P][^\x07\x1b]*\x1b?)?$")
"""The beginning of a sequence at the end of what came so far."""


class Screen:
    """What a terminal shows, as text: enough of one for what a full-screen program writes, and quick."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._feed = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._tail = ""
        self._clear()

    def feed(self, data: bytes) -> None:
        """Draw some output."""
        text = self._tail + self._feed(data)
        cut = _CUT_OFF.search(text)
        text, self._tail = (text[: cut.start()], text[cut.start() :]) if cut else (text, "")
        for row, column, ending, move, printed in _TOKEN.findall(text):
            if printed:
                self._print(printed)
            elif row:
                self._row, self._column = int(row) - 1, int(column) - 1
            elif move:
                self._row, self._column = (self._row, 0) if move == "\r" else (self._row + 1, self._column)
            elif ending == "J":
                self._clear()
            elif ending == "H":
                self._row = self._column = 0

    def text(self) -> str:
        """All lines."""
        return "\n".join("".join(line) for line in self._cells)

    def _clear(self) -> None:
        self._cells = [[" "] * self.columns for _ in range(self.rows)]
        self._row = self._column = 0

    def _print(self, text: str) -> None:
        if not 0 <= self._row < self.rows:
            return
        line, at = self._cells[self._row], self._column
        for char in text:
            width = 1 if char < "\x7f" else cell_len(char)
            if not width and 0 < at <= self.columns:
                line[at - 1] += char
            elif at + width <= self.columns:
                line[at : at + width] = [char] + [""] * (width - 1)
            at += width
        self._column = at


def key(name: str) -> bytes:
    """The bytes of a key: `enter`, `^j`, `f5`, or text as it is."""
    if len(name) == 2 and name[0] == "^":
        return bytes([ord(name[1].upper()) & 0x1F])
    return KEYS.get(name) or name.encode()


class Walker(Terminal):
    """A terminal whose screen is drawn while it is read."""

    def start(self) -> None:
        """Start the program, and an empty screen."""
        self._screen = Screen(self.columns, self.rows)
        super().start()

    def size(self, columns: int, rows: int) -> None:
        """Give the terminal another size."""
        self.columns, self.rows = columns, rows
        self._screen = Screen(columns, rows)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process.send_signal(signal.SIGWINCH)

    def pump(self, seconds: float) -> bool:
        """Read and draw what comes within some time; False when nothing came."""
        before = len(self.chunks)
        came = super().pump(seconds)
        for _, data in self.chunks[before:]:
            self._screen.feed(data)
        return came

    def drain(self, quiet: float = 0.01) -> None:
        """Read until nothing comes for a moment, and nothing can come: not for long where something always moves."""
        began, still = time.monotonic(), 0
        while still < 2:
            moves, took = self.pump(quiet), time.monotonic() - began
            still = 0 if (moves and took < 0.3) or (took < 3 and self.busy()) else still + 1

    def paste(self, text: str, *patterns: str) -> None:
        """Paste text as terminals do; then wait for patterns."""
        self.press(b"\x1b[200~" + text.encode() + b"\x1b[201~")
        self.shows(*patterns)

    def text(self) -> str:
        """What the screen shows now."""
        return self._screen.text()

    def shows(self, *patterns: str, limit: float = 90, gone: bool = False) -> None:
        """Wait until the screen matches all patterns (with `gone`: none of them)."""
        end = time.monotonic() + limit
        for pattern in patterns:
            wanted = re.compile(pattern)
            while bool(wanted.search(self.text())) is gone:
                if time.monotonic() > end or (self.process.poll() is not None and not self.pump(0.1)):
                    raise AssertionError(f"{pattern!r} is {'still' if gone else 'not'} on the screen:\n{self.text()}")
                self.pump(0.05)

    def go(self, keys: str, *patterns: str, gone: str = "", limit: float = 90) -> None:
        """Press keys, separated by spaces, one after the other; then wait for patterns."""
        for name in keys.split(" "):
            self.press(key(name))
            # A person sees what a key did before pressing the next.
            self.pump(0.15)
            # A lone Esc is one only when nothing follows it at once.
            self.drain(0.05 if name == "esc" else 0.01)
        if gone:
            self.shows(gone, gone=True, limit=limit)
        self.shows(*patterns, limit=limit)

    def leave(self, limit: float = 90) -> int:
        """Press the quit key, and read everything until the end; the exit code."""
        self.press(key("^q"))
        end = time.monotonic() + limit
        while self.process.poll() is None:
            self.pump(0.05)
            assert time.monotonic() < end, f"it does not leave:\n{self.text()}"
        while self.pump(0.05):
            pass
        self.close()
        return self.process.returncode

    def written(self) -> bytes:
        """All bytes so far."""
        return b"".join(data for _, data in self.chunks)


@contextmanager
def studio(*argv: str, columns: int = 120, rows: int = 36, env: dict[str, str] | None = None) -> Generator[Walker]:
    """The studio on a terminal; killed afterwards if it has not left."""
    walker = Walker([*STUDIO, *argv], columns, rows, env or {})
    walker.start()
    try:
        yield walker
    finally:
        if walker.process.poll() is None:
            walker.process.kill()
        walker.process.wait()
        walker.close()
