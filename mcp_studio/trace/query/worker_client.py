"""Our end of the process that slow regexes run in."""

from __future__ import annotations

import struct
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mcp_studio.trace.query.errors import TooSlow

PATIENCE = 1.0
"""Seconds that a regex may take for some texts of up to `_BATCH` bytes; more for larger ones."""
_START_PATIENCE = 10.0
"""Seconds that its process may take to start; more than enough on a machine that is busy."""
_BATCH = 1 << 18
_START = (
    "import sys, runpy; "
    "runpy.run_path(sys.argv[1])['main']"
    "(bytes.fromhex(sys.argv[2]).decode('utf-8', 'surrogatepass'), int(sys.argv[3]), sys.argv[4] == 'spans')"
)
_SPAN = struct.Struct("<ii")
_FILE = str(Path(__file__).with_name("worker.py"))


class Worker:
    """Starts the process when it is needed first. To be used by one thread at a time; any may close it.

    Args:
        pattern: a regex that is right.
        flags: those of Python.
        spans: it is to be asked where the pattern is found, not whether.
    """

    def __init__(self, pattern: str, flags: int, spans: bool = False) -> None:
        self._arguments = pattern.encode("utf-8", "surrogatepass").hex(), str(int(flags)), "spans" if spans else "which"
        self._unit = _SPAN.size if spans else 1
        self._process: subprocess.Popen[bytes] | None = None
        self._finalizer: weakref.finalize[..., Worker] | None = None

    def which(self, texts: Sequence[str]) -> bytes:
        """1 for each text that the pattern is found in, 0 for the others.

        Raises:
            TooSlow: it takes longer than it may, or was closed meanwhile.
        """
        return self._asked(texts)

    def spans(self, texts: Sequence[str], within: float) -> list[tuple[int, int]]:
        """Where the pattern is found in each text: begin and end; -1 and -1 where it is not.

        Args:
            texts: what to look into.
            within: seconds for all of it.

        Raises:
            TooSlow: it takes longer than that, or was closed meanwhile.
        """
        return [*_SPAN.iter_unpack(self._asked(texts, time.monotonic() + within))]

    def _asked(self, texts: Sequence[str], until: float | None = None) -> bytes:
        found: list[bytes] = []
        batch: list[bytes] = []
        size = 0
        for text in texts:
            data = text.encode("utf-8", "replace")
            if batch and size + len(data) > _BATCH:
                found.append(self._ask(batch, until))
                batch, size = [], 0
            batch.append(data)
            size += len(data)
        return b"".join((*found, self._ask(batch, until)))

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if self._finalizer is not None:
            self._finalizer.detach()
            self._finalizer = None
        if process is not None:
            _end(process)

    def _ask(self, batch: list[bytes], until: float | None) -> bytes:
        left = None if until is None else until - time.monotonic()
        process, slow = self._process, threading.Event()
        try:
            if process is None:
                process = self._started()
                with _killed_after(_START_PATIENCE if left is None else left, process, slow):
                    process.stdout.read(1)  # type: ignore[union-attr]
            assert process.stdin and process.stdout
            left = PATIENCE + sum(map(len, batch)) / 5_000_000 if until is None else until - time.monotonic()
            with _killed_after(left, process, slow):
                process.stdin.write(" ".join(str(len(data)) for data in batch).encode() + b"\n" + b"".join(batch))
                process.stdin.flush()
                found = process.stdout.read(len(batch) * self._unit)
        except (OSError, ValueError):
            found = b""
        if len(found) < len(batch) * self._unit:
            self.close()
            what = "takes too long" if slow.is_set() else "could not be looked for"
            raise TooSlow(f"The regex {what}.", hint="Fewer `*` and `+`, above all inside each other, make it faster.")
        return found

    def _started(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _START, _FILE, *self._arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._process = process
        self._finalizer = weakref.finalize(self, _end, process)
        return process


@contextmanager
def _killed_after(seconds: float, process: subprocess.Popen[bytes], slow: threading.Event) -> Generator[None]:
    """Should it take longer, the process is killed and `slow` is set."""

    def give_up() -> None:
        slow.set()
        process.kill()

    timer = threading.Timer(max(0.0, seconds), give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except (OSError, ValueError):
                continue
    process.wait()
