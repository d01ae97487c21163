"""The guard as the event loop sees it: spawn a server, learn what becomes of it, have it ended."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence

from mcp_studio.errors import Unreachable
from mcp_studio.transport import guard_start
from mcp_studio.transport.guard_start import GuardProcess, Launched


class StartFailure(Exception):
    """The server could not be started: `step` is `fork`, `cwd`, `exec` or `guard`, `errno` the system's reason."""

    def __init__(self, step: str, errno: int) -> None:
        super().__init__(step, errno)
        self.step = step
        self.errno = errno


class GuardedChild:
    """One server process. Its descriptors belong to whoever asked for it; the control socket is this object's own."""

    def __init__(self, launched: Launched) -> None:
        loop = asyncio.get_running_loop()
        self.pid = 0
        self.stdin_fd = launched.stdin
        self.stdout_fd = launched.stdout
        self.stderr_fd = launched.stderr
        self.left = 0
        """How many processes it left behind when it ended by itself; they were ended."""
        self.exited: asyncio.Future[int | None] = loop.create_future()
        """The exit code, negative for a signal; None when its keeper was killed and nobody knows."""
        self.gone: asyncio.Future[None] = loop.create_future()
        """Done when neither it nor any process that it started is left."""
        self._running: asyncio.Future[None] = loop.create_future()
        self._loop = loop
        self._control = launched.control
        self._unsent = launched.unsent
        self._text = b""
        loop.add_reader(self._control, self._readable)
        if self._unsent:
            loop.add_writer(self._control, self._writable)

    async def started(self) -> None:
        """Wait until the program runs.

        Raises:
            StartFailure: it does not.
        """
        await self._running

    def _writable(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._control, self._unsent) :]
        except BlockingIOError:
            return
        except OSError:
            self._unsent = b""
        if not self._unsent:
            self._loop.remove_writer(self._control)

    def _readable(self) -> None:
        try:
            data = os.read(self._control, 4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        *lines, self._text = (self._text + data).split(b"\n")
        for line in lines:
            self._told(*line.decode().split())
        if not data:
            self._over()

    def _told(self, word: str, *values: str) -> None:
        if word == "pid":
            self.pid = int(values[0])
            _settle(self._running, None)
        elif word == "fail" and not self._running.done():
            self._running.set_exception(StartFailure(values[0], int(values[1])))
        elif word == "exit":
            _settle(self.exited, int(values[0]))
        elif word == "left":
            self.left = int(values[0])

    def _over(self) -> None:
        if self._control < 0:
            return
        self._loop.remove_reader(self._control)
        self._loop.remove_writer(self._control)
        os.close(self._control)
        self._control = -1
        if not self._running.done():
            self._running.set_exception(StartFailure("guard", 0))
        _settle(self.exited, None)
        _settle(self.gone, None)

    def stop(self) -> None:
        """Have it and all that it started ended: SIGTERM, after a second SIGKILL."""
        self._say(b"s")

    def kill(self) -> None:
        """Have it and all that it started killed."""
        self._say(b"k")

    def _say(self, word: bytes) -> None:
        if self._control >= 0:
            try:
                os.write(self._control, word)
            except OSError:
                pass  # the keeper is gone, which `_readable` is about to learn

    def release(self) -> None:
        """Hear no more of it. Whatever is left is ended by its keeper. Any number of times."""
        self._over()


class Guard:
    """Spawns servers under a guard process."""

    def __init__(self, process: GuardProcess) -> None:
        self.process = process

    async def spawn(self, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> GuardedChild:
        """Start `argv` with exactly this environment, in this folder, in a session of its own.

        Raises:
            StartFailure: the program could not be started.
            Unreachable: there is no guard.
        """
        launched = self.process.launch(argv, env, cwd)
        child = GuardedChild(launched)
        try:
            await child.started()
        except BaseException:
            child.release()
            for fd in (child.stdin_fd, child.stdout_fd, child.stderr_fd):
                os.close(fd)
            raise
        return child

    async def close(self) -> None:
        """End the guard process; servers live on until they are released. It starts again when needed."""
        self.process.stop()
        try:
            async with asyncio.timeout(1):
                while not self.process.reap():  # noqa: ASYNC110 - no event says portably that a process ended
                    await asyncio.sleep(0.002)
        except TimeoutError:
            raise Unreachable("The guard process does not end.") from None


def _settle(future: asyncio.Future[int | None] | asyncio.Future[None], value: int | None) -> None:
    if not future.done():
        future.set_result(value)  # type: ignore[arg-type]


default = Guard(guard_start.process)
"""The one that every transport of this program shares."""
