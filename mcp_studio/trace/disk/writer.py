"""Takes what the running trace hands over and puts it on disk in a thread of its own; never waits, never raises."""

from __future__ import annotations

import errno
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_studio import __version__
from mcp_studio.trace import late
from mcp_studio.trace.disk.batch import Batch

if TYPE_CHECKING:
    from mcp_studio.trace.disk.file import SessionFile

MB = 1 << 20
DAY = 86_400.0
_ENTRY = 64
"""Bytes that an entry costs in the queue besides its body."""
_STEP = 8 * MB
"""Bytes put into one transaction."""


class Writer:
    """The running session on disk. The file is made with the first batch.

    Args:
        folder: of all sessions.
        origin: the front end, such as `tui`.
        max_bytes: of all sessions on disk; the oldest go first, and of the running one the oldest entries.
        max_age: seconds after which a session goes.
        queue_bytes: what may wait for a slow disk. Above it bodies are left out and counted in `lost`.
    """

    def __init__(
        self,
        folder: Path,
        origin: str = "",
        *,
        max_bytes: int = 256 * MB,
        max_age: float = 14 * DAY,
        title: str = "",
        queue_bytes: int = 64 * MB,
    ) -> None:
        self._folder, self._bounds, self._room = folder, (max_bytes, max_age), queue_bytes
        self._meta = {"origin": origin, "title": title, "version": __version__}
        self._queue: deque[tuple[int, Batch]] = deque()
        # Each is changed by one side alone, so that neither has to wait for a lock.
        self._put = self._done = 0
        self._wake = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._closing = False
        self._thread: threading.Thread | None = None
        self.written = 0
        """The number of the newest entry that is on disk."""
        self.batches = 0
        """How many batches are on disk."""
        self.trimmed = 0
        """The number of the newest entry of this session that had to go again; the ones before it went too."""
        self.lost = 0
        """Entries whose bodies were left out because the disk was too slow."""
        self.failed = ""
        """Why nothing is written any more, in a sentence."""
        self.path: Path | None = None

    def put(self, batch: Batch) -> None:
        """Hand over what is new; numbers go on where the last batch ended."""
        if self.failed or self._closing:
            return
        size = sum(map(len, batch.bodies)) + _ENTRY * len(batch.bodies) + sum(len(body) for _, body in batch.late)
        waiting = self._put - self._done
        if waiting and waiting + size > self._room:
            self.lost += sum(1 for body in batch.bodies if body) + len(batch.late)
            batch = batch._replace(bodies=(b"",) * len(batch.bodies), late=())
            size = _ENTRY * (len(batch.bodies) + 1)
            if waiting + size > 2 * self._room:
                self.failed = "The trace is not kept on disk any more: the disk does not answer."
                return
        self._put += size
        self._queue.append((size, batch))
        self._idle.clear()
        self._wake.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="trace", daemon=True)
            self._thread.start()

    def wait(self, timeout: float) -> bool:
        """Block until all that was handed over is on disk, or cannot be; whether that was in time."""
        return self._idle.wait(timeout)

    def close(self, timeout: float = 2.0) -> bool:
        """Write what is left and end the session; blocks at most `timeout` seconds. Whether all of it is on disk."""
        self._closing = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout)
            return not self._thread.is_alive() and not self.failed
        return not self.failed

    # ------------------------------------------------------------------ in the thread

    def _run(self) -> None:
        try:
            self._told(self._write_all)
        finally:
            self._queue.clear()
            self._idle.set()

    def _write_all(self) -> None:
        file = late.session_file(self._folder, self._meta, *self._bounds)
        self.path = file.path
        try:
            while not (self._closing and not self._queue) and not self.failed:
                self._wake.wait()
                self._wake.clear()
                while self._queue and not self.failed:
                    self._step(file)
                self._idle.set()
                if self._queue:
                    self._idle.clear()
        finally:
            file.finish()

    def _step(self, file: SessionFile) -> None:
        size, batches = 0, list[Batch]()
        while self._queue and size < _STEP:
            one, batch = self._queue.popleft()
            size += one
            batches.append(batch)
        file.write(batches, self.lost)
        self._done += size
        self.written = max(self.written, file.newest)
        self.trimmed = max(self.trimmed, file.first - 1)
        self.batches += len(batches)

    def _told(self, work: Callable[[], None]) -> None:
        """Do it; what goes wrong becomes a sentence."""
        try:
            work()
        except OSError as problem:
            full = problem.errno in (errno.ENOSPC, errno.EDQUOT)
            self._fail("the disk is full" if full else f"{self._folder}: {problem.strerror}")
        except late.disk_errors() as problem:
            self._fail("the disk is full" if "full" in str(problem) else str(problem))
        except (ValueError, TypeError, LookupError, ArithmeticError, MemoryError) as problem:
            # Nobody waits for this thread: what was not foreseen must not end it unsaid.
            self._fail(f"{type(problem).__name__}: {problem}")

    def _fail(self, why: str) -> None:
        self.failed = f"The trace is not kept on disk any more: {why}."
