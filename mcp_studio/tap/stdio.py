"""The tap of a server that is a program: on our standard input and output is its client, and it is our child."""

from __future__ import annotations

import asyncio
import math
import os
import shlex
import signal
import stat
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, closing, suppress

from mcp_studio.tap.recorder import LINE, Flow, Recorder, Say
from mcp_studio.transport.guard import GuardedChild, StartFailure, guard
from mcp_studio.transport.stdio import (
    DRAIN,
    LEFTOVERS,
    STDERR_LINE,
    PipeWriter,
    WriterClosed,
    cannot_start,
    frame_of,
    how_it_ended,
)  # fmt: skip
from mcp_studio.vault.base import beside

_CHUNK = 1 << 16
_OURS = 1
"""Exit code where nobody knows that of the server, or the tap has ended it."""


async def tap_program(argv: Sequence[str], recorder: Recorder, say: Say) -> int:
    """Start a program, pass on everything between it and our client, and return its exit code once it has ended.

    It gets our whole environment, and the signals that would end us. 128 and its number stands for a signal.

    Raises:
        Unreachable: it cannot be started.
    """
    cwd = os.getcwd()
    try:
        child = await guard.spawn(argv, os.environ, cwd)
    except StartFailure as failure:
        raise cannot_start(failure, argv[0], cwd) from None
    recorder.tap.begins()
    recorder.tap.note(f"started {shlex.join(argv)} as process {child.pid}")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, _pass_on, child, number)
    try:
        wires = _Wires(child, recorder, say)
        code = await wires.run()
        recorder.tap.note(f"{recorder.tap.server} {how_it_ended(code)}")
        return _OURS if code is None or wires.cut else 128 - code if code < 0 else code
    finally:
        child.release()
        recorder.tap.ended()


def _pass_on(child: GuardedChild, number: int) -> None:
    if not child.exited.done():
        os.kill(child.pid, number)


class Writer:
    """Writes to a file or terminal as `PipeWriter` does to a pipe, in threads: others may share it."""

    def __init__(self, fd: int) -> None:
        self._file = open(fd, "wb", 0)
        self._lock = asyncio.Lock()
        self.close = self._file.close

    async def write(self, data: bytes) -> None:
        async with self._lock:
            while data and not self._file.closed:
                data = data[await beside(self._file.write, data) :]


async def writer_to(sink: int) -> PipeWriter | Writer:
    """Writes to a pipe, file or terminal, which belongs to it from now on."""
    return await PipeWriter.open(sink, math.inf) if _is_pipe(sink) else Writer(sink)


async def pieces_of(source: int) -> AsyncGenerator[bytes]:
    """What comes from a pipe, file or terminal, which belongs to this from now on."""
    with os.fdopen(source, "rb", 0) as file:
        if not _is_pipe(source):
            while data := await beside(file.read, _CHUNK):
                yield data
            return
        reader = asyncio.StreamReader(_CHUNK)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), file
        )
        with closing(transport):
            while data := await reader.read(_CHUNK):
                yield data


def _is_pipe(fd: int) -> bool:
    """Whether it is ours alone: files and terminals that others may share must not be made to not block."""
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


class _Wires:
    """The three streams between the client and the program."""

    def __init__(self, child: GuardedChild, recorder: Recorder, say: Say) -> None:
        self._child, self._recorder, self._say = child, recorder, say
        self.cut = False
        """Whether a person or a fault has ended the connection."""
        self._why = ""
        """What has gone wrong with the tap itself."""

    async def run(self) -> int | None:
        """Until the program has ended and what it wrote was passed on; its exit code, None where that is not known."""
        child, recorder, outlet = self._child, self._recorder, os.dup(1)
        os.dup2(2, 1)  # what else is printed is no answer
        self._to_server = await PipeWriter.open(child.stdin_fd, math.inf)
        self._to_client = await writer_to(outlet)
        self._asking = Flow(recorder, "out", LINE, _asked, self._to_server.write, self._cut)
        self._answering = Flow(recorder, "in", LINE, self._printed, self._to_client.write, self._cut)
        self._asking.back, self._answering.back = self._answering.insert, self._asking.insert
        logging = Flow(recorder, "in", LINE, self._logged, Writer(os.dup(2)).write, self._cut)
        streams = (os.dup(0), self._asking), (child.stdout_fd, self._answering), (child.stderr_fd, logging)
        pumps = [asyncio.create_task(self._pump(*stream)) for stream in streams]
        try:
            await asyncio.wait((child.exited,))
            code = child.exited.result()
            recorder.gate.open()
            await asyncio.wait((child.gone,), timeout=LEFTOVERS)
            # Its output ends with it: a client that reads slowly gets all of it.
            await asyncio.wait(pumps[1:2], timeout=DRAIN if code is None else None)
            await asyncio.wait(pumps[2:], timeout=DRAIN)
            if why := self._why or ("the process that guards the server was killed" if code is None else ""):
                await self._tell(f"The tap failed: {why}. The server's answer is lost.")
            return code
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.wait(pumps)

    async def _tell(self, failure: str) -> None:
        """Answer what the server can answer no more because of us."""
        self._say(failure)
        with suppress(OSError, WriterClosed):
            await self._answering.tear()
            for frame in self._recorder.lost(failure):
                await self._answering.insert(frame)

    async def _pump(self, source: int, flow: Flow) -> None:
        try:
            async with aclosing(pieces_of(source)) as pieces:
                async for data in pieces:
                    await flow.feed(data)
            if flow.back is not None:
                self._recorder.gate.open()
            await flow.finish()
        except (OSError, WriterClosed):
            pass  # whoever is at the other end reads no more, which is told by closing this one
        except Exception as problem:  # the client is told what it costs
            self._why = f"{type(problem).__name__}: {problem}"
            self._child.stop()
        finally:
            if flow is self._asking:
                self._to_server.close()

    def _cut(self) -> None:
        self.cut = True
        self._say("The connection was cut, as a fault or a person wanted.")
        self._to_client.close()
        self._child.stop()

    def _printed(self, line: bytes) -> bytes:
        """The frame on a line of the server."""
        if not (frame := frame_of(line.removesuffix(b"\n"))) and line.strip():
            self._recorder.tap.stray(line.rstrip(b"\n"))
        return frame

    def _logged(self, line: bytes) -> bytes:
        """None: it is a line of standard error."""
        self._recorder.tap.stderr(line.rstrip(b"\r\n")[:STDERR_LINE])
        return b""


def _asked(line: bytes) -> bytes:
    """The frame on a line of the client."""
    return line.rstrip(b"\r\n") if line.strip() else b""
