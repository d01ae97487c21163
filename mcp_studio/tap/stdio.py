"""The tap of a server that is a program: on our standard input and output is its client, and it is our child."""

from __future__ import annotations

import asyncio
import math
import os
import shlex
import signal
import stat
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from mcp_studio.protocol.lines import LineSplitter, Oversize
from mcp_studio.tap.gate import Gate
from mcp_studio.tap.recorder import Flow, Recorder, Say
from mcp_studio.transport.guard import GuardedChild, StartFailure, guard
from mcp_studio.transport.stdio import (
    DRAIN,
    LEFTOVERS,
    STDERR_LINE,
    VERDICT,
    PipeWriter,
    WriterClosed,
    cannot_start,
    frame_of,
    how_it_ended,
)  # fmt: skip

_CHUNK = 1 << 16
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_UNKNOWN = 1
"""Exit code where nobody knows that of the server."""


async def tap_program(argv: Sequence[str], recorder: Recorder, gate: Gate, say: Say) -> int:
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
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, _pass_on, child, number)
    try:
        code = await _Wires(child, recorder, gate, say).run()
        recorder.tap.note(f"{recorder.tap.server} {how_it_ended(code)}")
        return _UNKNOWN if code is None else 128 - code if code < 0 else code
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
        child.release()
        recorder.tap.ended()


def _pass_on(child: GuardedChild, number: int) -> None:
    if not child.exited.done():
        os.kill(child.pid, number)


class _Wires:
    """The three streams between the client and the program."""

    def __init__(self, child: GuardedChild, recorder: Recorder, gate: Gate, say: Say) -> None:
        self._child, self._recorder, self._gate, self._say = child, recorder, gate, say
        self._why = ""
        """What has gone wrong with the tap itself."""

    async def run(self) -> int | None:
        """Until the program has ended and what it wrote was passed on; its exit code, None where that is not known."""
        child, recorder, gate = self._child, self._recorder, self._gate
        outlet, copying = _outlet()
        self._to_server = await PipeWriter.open(child.stdin_fd, math.inf)
        self._to_client = await PipeWriter.open(outlet, math.inf)
        self._asking = Flow(recorder, gate, recorder.sent, self._to_server.write, _asked, _line, self._cut)
        self._answering = Flow(
            recorder, gate, recorder.received, self._to_client.write, self._printed, _line, self._cut
        )
        self._asking.back, self._answering.back = self._answering, self._asking
        stderr = threading.Thread(target=_copy, args=(child.stderr_fd, 2, self._stderr()), daemon=True)
        stderr.start()
        pumps = [asyncio.create_task(pump) for pump in (self._ask(_inlet()), self._respond(child.stdout_fd))]
        try:
            await asyncio.wait((child.exited,))
            gate.open()
            await asyncio.wait((child.gone,), timeout=LEFTOVERS)
            # Its output ends with it: a client that reads slowly gets all of it.
            await asyncio.wait(pumps[1:], timeout=DRAIN if child.exited.result() is None else None)
            for thread in (stderr, *copying):
                await asyncio.to_thread(thread.join, DRAIN)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.wait(pumps)
        return child.exited.result()

    async def _ask(self, source: int) -> None:
        """Pass on what the client says; when it closes its end, so does the server's."""
        await self._pump(source, self._asking)
        self._to_server.close()

    async def _respond(self, source: int) -> None:
        """Pass on what the server says. What it can answer no more because of us is answered here."""
        await self._pump(source, self._answering)
        exited = self._child.exited
        await asyncio.wait((exited,), timeout=VERDICT)
        if exited.done() and exited.result() is None:
            self._why = self._why or "the process that guards the server was killed"
        if self._why:
            told = f"The tap failed: {self._why}. The server's answer is lost."
            self._say(told)
            with suppress(WriterClosed):
                for frame in self._recorder.lost(told):
                    await self._answering.insert(frame)
        self._to_client.close()

    async def _pump(self, source: int, flow: Flow) -> None:
        reader = asyncio.StreamReader(_CHUNK)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(source, "rb", 0)
        )
        try:
            while data := await reader.read(_CHUNK):
                await flow.feed(data)
            self._gate.open()
            await flow.finish()
        except WriterClosed:
            pass  # whoever is at the other end reads no more, which is told by closing this one
        except Exception as problem:  # the client is told what it costs
            self._why = f"{type(problem).__name__}: {problem}"
            self._child.stop()
        finally:
            transport.close()

    def _cut(self) -> None:
        self._to_client.close()
        self._child.stop()

    def _printed(self, line: bytes) -> bytes:
        """The frame on a line of the server."""
        if not (frame := frame_of(line.removesuffix(b"\n"))) and line.strip():
            self._recorder.tap.stray(line.rstrip(b"\n"))
        return frame

    def _stderr(self) -> Callable[[bytes], None]:
        """Takes what came on standard error, in its thread."""
        loop, splitter, tap = asyncio.get_running_loop(), LineSplitter(STDERR_LINE), self._recorder.tap

        def take(data: bytes) -> None:
            for line in splitter.feed(data) if data else splitter.finish():
                tap.stderr((line.head if isinstance(line, Oversize) else line).removesuffix(b"\r"))

        return lambda data: None if loop.is_closed() else loop.call_soon_threadsafe(take, data) and None


def _asked(line: bytes) -> bytes:
    """The frame on a line of the client."""
    return line.rstrip(b"\r\n") if line.strip() else b""


def _line(_: bytes, frame: bytes) -> bytes:
    """A frame as a line: a newline in it is white space to JSON, and would end it here."""
    return frame.replace(b"\n", b" ") + b"\n"


def _inlet() -> int:
    """Our standard input, to be read by the event loop; what else reads it finds nothing."""
    source, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    if _is_pipe(source):
        return source
    inlet, end = os.pipe()
    threading.Thread(target=_copy, args=(source, end, _nobody, True), daemon=True).start()
    return inlet


def _outlet() -> tuple[int, list[threading.Thread]]:
    """Our standard output likewise, and what has to end before all is written; what else is printed is no answer."""
    target = os.dup(1)
    os.dup2(2, 1)
    if _is_pipe(target):
        return target, []
    end, outlet = os.pipe()
    thread = threading.Thread(target=_copy, args=(end, target, _nobody, True), daemon=True)
    thread.start()
    return outlet, [thread]


def _is_pipe(fd: int) -> bool:
    """Whether it is ours alone. Others may share files and terminals: none of those may be made to not block."""
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _nobody(data: bytes) -> None:
    """Nobody wants to know."""


def _copy(source: int, target: int, told: Callable[[bytes], None], close: bool = False) -> None:
    """Copy until the source ends, in a thread; an empty piece tells the end."""
    os.set_blocking(source, True)
    with suppress(OSError):
        while data := os.read(source, _CHUNK):
            told(data)
            with suppress(BrokenPipeError):
                while data:
                    data = data[os.write(target, data) :]
    told(b"")
    for fd in (source, *((target,) if close else ())):
        os.close(fd)
