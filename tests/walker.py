"""Walks through the program by keys on a pseudo-terminal, and reads what it shows as it comes."""

from __future__ import annotations

import codecs
import re
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager

import pyte

from tests.terminal import UNKNOWN, Terminal

STUDIO = [sys.executable, "-m", "mcp_studio"]
KEYS = {
    "enter": b"\r", "tab": b"\t", "esc": b"\x1b", "space": b" ", "bs": b"\x7f", "up": b"\x1b[A", "down": b"\x1b[B",
    "f1": b"\x1bOP", "f2": b"\x1bOQ", "f4": b"\x1bOS", "f5": b"\x1b[15~", "f6": b"\x1b[17~", "f8": b"\x1b[19~",
    "f9": b"\x1b[20~", "f10": b"\x1b[21~", "f12": b"\x1b[24~", "end": b"\x1b[F", "alt+d": b"\x1bd", "alt+c": b"\x1bc",
    "alt+t": b"\x1bt",
}  # fmt: skip
_CUT_OFF = re.compile("\x1b(?:[\\[\\]P][^\x1b\x07A-Za-z~]*)?$")
"""The beginning of a sequence at the end of what came so far."""


def key(name: str) -> bytes:
    """The bytes of a key: `enter`, `^j`, `f5`, or text as it is."""
    if len(name) == 2 and name[0] == "^":
        return bytes([ord(name[1].upper()) & 0x1F])
    return KEYS.get(name) or name.encode()


class Walker(Terminal):
    """A terminal whose screen is drawn while it is read."""

    def start(self) -> None:
        """Start the program, and an empty screen."""
        self._screen = pyte.Screen(self.columns, self.rows)
        self._stream = pyte.Stream(self._screen)
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._tail = ""
        super().start()

    def pump(self, seconds: float) -> bool:
        """Read and draw what comes within some time; False when nothing came."""
        before = len(self.chunks)
        came = super().pump(seconds)
        for _, data in self.chunks[before:]:
            text = self._tail + self._decode(data)
            cut = _CUT_OFF.search(text)
            text, self._tail = (text[: cut.start()], text[cut.start() :]) if cut else (text, "")
            self._stream.feed(UNKNOWN.sub("", text))
        return came

    def text(self) -> str:
        """What the screen shows now."""
        return "\n".join(self._screen.display)

    def shows(self, *patterns: str, limit: float = 10, gone: bool = False) -> None:
        """Wait until the screen matches all patterns (with `gone`: none of them)."""
        end = time.monotonic() + limit
        for pattern in patterns:
            wanted = re.compile(pattern)
            while bool(wanted.search(self.text())) is gone:
                if time.monotonic() > end or (self.process.poll() is not None and not self.pump(0.1)):
                    raise AssertionError(f"{pattern!r} is {'still' if gone else 'not'} on the screen:\n{self.text()}")
                self.pump(0.05)

    def go(self, keys: str, *patterns: str, gone: str = "", limit: float = 10) -> None:
        """Press keys, separated by spaces, one after the other; then wait for patterns."""
        for name in keys.split(" "):
            self.press(key(name))
            self.pump(0.03)
            if name == "esc":
                self.pump(0.06)
        if gone:
            self.shows(gone, gone=True, limit=limit)
        self.shows(*patterns, limit=limit)

    def written(self) -> bytes:
        """All bytes so far."""
        return b"".join(data for _, data in self.chunks)


@contextmanager
def studio(*argv: str, columns: int = 120, rows: int = 36, **env: str) -> Generator[Walker]:
    """The studio on a terminal; killed afterwards if it has not left."""
    walker = Walker([*STUDIO, *argv], columns, rows, env)
    walker.start()
    try:
        yield walker
    finally:
        if walker.process.poll() is None:
            walker.process.kill()
        walker.process.wait()
        walker.close()
