"""The tap of a local server: its client is on our standard input and output, and the server is our child process."""

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
from mcp_studio.threads import beside
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

_CHUNK = 1 << 16
_UNKNOWN_CODE = 1
"""The exit code if the server's is unknown, or the tap has ended the server."""


async def tap_program(argv: Sequence[str], recorder: Recorder, say: Say) -> int:
    """Start a program, pass on everything between it and our client, and return its exit code once it has ended.

    The program gets our whole environment, and the signals that would end us. A signal's exit code is 128 and its
    number.

    Raises:
        Unreachable: the program cannot be started.
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
        return _UNKNOWN_CODE if code is None or wires.cut else 128 - code if code < 0 else code
    finally:
        child.release()
        recorder.tap.ended()


def _pass_on(child: GuardedChild, number: int) -> None:
    if not child.exited.done():
        os.kill(child.pid, number)


class Writer:
    """Writes to a file or terminal as `PipeWriter` does to a pipe, but in threads: other processes may share it."""

    def __init__(self, fd: int) -> None:
        self._file = open(fd, "wb", 0)
        self._lock = asyncio.Lock()
        self.close = self._file.close

    async def write(self, data: bytes) -> None:
        async with self._lock:
            while data and not self._file.closed:
                data = data[await beside(self._file.write, data) :]


async def writer_to(sink: int) -> PipeWriter | Writer:
    """A writer for a pipe, file or terminal; the writer owns the descriptor from now on."""
    return await PipeWriter.open(sink, math.inf) if _is_pipe(sink) else Writer(sink)


async def pieces_of(source: int) -> AsyncGenerator[bytes]:
    """Read a pipe, file or terminal; the generator owns the descriptor from now on."""
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
    """Whether it is a pipe, which is ours alone: files and terminals may be shared, and must stay blocking."""
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


class _Wires:
    """The three streams between the client and the program."""

    def __init__(self, child: GuardedChild, recorder: Recorder, say: Say) -> None:
        self._child, self._recorder, self._say = child, recorder, say
        self.cut = False
        """Whether a person or a fault has cut the connection."""
        self._failure = ""
        """The failure of the tap itself."""

    async def run(self) -> int | None:
        """Run until the program has ended and its output was passed on; returns its exit code, None if unknown."""
        child, recorder, outlet = self._child, self._recorder, os.dup(1)
        os.dup2(2, 1)  # prints of ours must not reach the client
        self._to_server = await PipeWriter.open(child.stdin_fd, math.inf)
        self._to_client = await writer_to(outlet)
        self._requests = Flow(recorder, "out", LINE, _client_frame, self._to_server.write, self._cut)
        self._responses = Flow(recorder, "in", LINE, self._server_frame, self._to_client.write, self._cut)
        self._requests.back, self._responses.back = self._responses.insert, self._requests.insert
        logging = Flow(recorder, "in", LINE, self._log_line, Writer(os.dup(2)).write, self._cut)
        streams = (os.dup(0), self._requests), (child.stdout_fd, self._responses), (child.stderr_fd, logging)
        pumps = [asyncio.create_task(self._pump(*stream)) for stream in streams]
        try:
            await asyncio.wait((child.exited,))
            code = child.exited.result()
            recorder.gate.open()
            await asyncio.wait((child.gone,), timeout=LEFTOVERS)
            # The server's output ends when it does; a slow client still gets all of it.
            await asyncio.wait(pumps[1:2], timeout=DRAIN if code is None else None)
            await asyncio.wait(pumps[2:], timeout=DRAIN)
            if why := self._failure or ("the process that guards the server was killed" if code is None else ""):
                await self._report_failure(f"The tap failed: {why}. The server's answer is lost.")
            return code
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.wait(pumps)

    async def _report_failure(self, failure: str) -> None:
        """Answer the requests that the server cannot answer any more because the tap failed."""
        self._say(failure)
        with suppress(OSError, WriterClosed):
            await self._responses.tear()
            for frame in self._recorder.lost(failure):
                await self._responses.insert(frame)

    async def _pump(self, source: int, flow: Flow) -> None:
        try:
            async with aclosing(pieces_of(source)) as pieces:
                async for data in pieces:
                    await flow.feed(data)
            if flow.back is not None:
                self._recorder.gate.open()
            await flow.finish()
        except (OSError, WriterClosed):
            pass  # the other end has closed its pipe; closing ours passes that on
        except Exception as problem:  # the client gets an answer that says so
            self._failure = f"{type(problem).__name__}: {problem}"
            self._child.stop()
        finally:
            if flow is self._requests:
                self._to_server.close()

    def _cut(self) -> None:
        self.cut = True
        self._say("The connection was cut, as a fault or a person wanted.")
        self._to_client.close()
        self._child.stop()

    def _server_frame(self, line: bytes) -> bytes:
        """The frame on a line of the server's standard output."""
        if not (frame := frame_of(line.removesuffix(b"\n"))) and line.strip():
            self._recorder.tap.stray(line.rstrip(b"\n"))
        return frame

    def _log_line(self, line: bytes) -> bytes:
        """Record a line of standard error, which has no frame."""
        self._recorder.tap.stderr(line.rstrip(b"\r\n")[:STDERR_LINE])
        return b""


def _client_frame(line: bytes) -> bytes:
    """The frame on a line of the client."""
    return line.rstrip(b"\r\n") if line.strip() else b""
