"""Runs a command on a pseudo-terminal and says when what was on the screen.

The output is recorded with its times and drawn afterwards, so that drawing costs no measured time.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from dataclasses import dataclass, field
from glob import glob

import pyte

REPLIES = [
    (re.compile(rb"\x1b\[\?2026\$p"), b"\x1b[?2026;2$y"),
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\[\?u"), b"\x1b[?0u"),
]
"""What programs ask of a terminal, and what a modern one answers."""
UNKNOWN = re.compile(
    r"\x1b\[[<>=?][0-9;:]*[a-zA-Z]|\x1b\[[0-9;?]*\$[a-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1bP[^\x1b]*\x1b\\"
)
"""Sequences that the emulator would print as text."""
QUIT = b"\x11"


@dataclass
class Terminal:
    """One command on a terminal of its own."""

    argv: list[str]
    columns: int = 120
    rows: int = 36
    env: dict[str, str] = field(default_factory=dict[str, str])
    replies: list[tuple[re.Pattern[bytes], bytes]] = field(default_factory=lambda: [*REPLIES])
    chunks: list[tuple[float, bytes]] = field(default_factory=list[tuple[float, bytes]])

    def start(self) -> None:
        """Start it; `began` is the moment before."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", self.rows, self.columns, 0, 0))
        self.began = time.perf_counter()
        # Whoever runs the tests may have said how large its own terminal is.
        inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            self.argv,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env={**inherited, "TERM": "xterm-256color", "COLORTERM": "truecolor", **self.env},
        )
        os.close(theirs)
        self.fd = ours

    def close(self) -> None:
        """Take the terminal away; any number of times."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    def pump(self, seconds: float) -> bool:
        """Read what comes within some time; False when nothing came."""
        if self.fd < 0:
            time.sleep(seconds)
            return False
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.fd, 1 << 16)
        except OSError:
            return False
        self.chunks.append((time.perf_counter() - self.began, data))
        for question, answer in self.replies:
            if question.search(data):
                os.write(self.fd, answer)
        return bool(data)

    def busy(self) -> bool:
        """Whether the program, or one that it has started, runs or waits for a processor: on Linux alone."""
        pids = [self.process.pid]
        for pid in pids:
            for thread in glob(f"/proc/{pid}/task/*"):
                try:
                    with open(f"{thread}/stat") as stat, open(f"{thread}/children") as children:
                        if stat.read().rsplit(")", 1)[1].split()[0] in "RD":
                            return True
                        pids += map(int, children.read().split())
                except OSError:
                    continue  # it has ended
        return False

    def until(self, pattern: str, limit: float = 60) -> None:
        """Read until the plain text of all output holds a pattern, then until it is quiet for a moment."""
        end = time.perf_counter() + limit
        wanted = re.compile(pattern)
        while not wanted.search(self.text()):
            if time.perf_counter() > end:
                raise TimeoutError(f"{pattern!r} is not on the screen:\n{self.text()}")
            self.pump(0.05)
        while self.pump(0.2):
            pass

    def press(self, keys: bytes) -> None:
        """Type."""
        os.write(self.fd, keys)

    def latency(self, key: bytes, limit: float = 5) -> float:
        """Seconds from a key to the first output after it."""
        before = len(self.chunks)
        began = time.perf_counter()
        os.write(self.fd, key)
        while len(self.chunks) == before and time.perf_counter() < began + limit:
            self.pump(0.002)
        return self.chunks[before][0] + self.began - began if len(self.chunks) > before else limit

    def text(self) -> str:
        """What the screen shows now."""
        screen = pyte.Screen(self.columns, self.rows)
        stream = pyte.Stream(screen)
        stream.feed(UNKNOWN.sub("", b"".join(data for _, data in self.chunks).decode("utf-8", "replace")))
        return "\n".join(screen.display)

    def first(self, pattern: str) -> float:
        """Seconds from the start to the first moment at which the screen showed a pattern."""
        screen = pyte.Screen(self.columns, self.rows)
        stream = pyte.Stream(screen)
        wanted = re.compile(pattern)
        for when, data in self.chunks:
            stream.feed(UNKNOWN.sub("", data.decode("utf-8", "replace")))
            if wanted.search("\n".join(screen.display)):
                return when
        raise LookupError(f"{pattern!r} never was on the screen")

    def memory(self) -> float:
        """Resident memory of the process itself, in MB."""
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def cpu(self) -> float:
        """CPU seconds of the process itself so far."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def quit(self, keys: bytes = QUIT, limit: float = 8) -> float:
        """Press the quit key; seconds until the process is gone."""
        began = time.perf_counter()
        self.press(keys)
        while self.process.poll() is None and time.perf_counter() < began + limit:
            self.pump(0.01)
        gone = time.perf_counter() - began
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.close()
        return gone
