"""Servers that are local programs: one frame per line on standard streams (specification, basic/transports)."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import shlex
import signal
from collections import deque
from collections.abc import Callable, Iterable
from time import monotonic
from typing import cast

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import ConnectionLost, Unreachable, UsageError
from mcp_studio.limits import Limits, size_text
from mcp_studio.protocol.events import Outgoing
from mcp_studio.protocol.lines import Line, LineSplitter, Oversize, answered_request, dropped_text, too_large
from mcp_studio.transport.base import Opened, Sink, Tap
from mcp_studio.transport.guard import GuardedChild, StartFailure, child_environment, guard

SLICE = 0.003
"""Seconds for which lines are handled before other tasks get a turn."""
_CHUNK = 1 << 16
"""Bytes of one read, which are all that a pipe holds."""


class LineReader:
    """Reads a pipe and hands over its lines; it owns the descriptor.

    A read pipe of asyncio asks for 256 KB each time, for which the system maps memory that it then gives back: that
    takes longer than the read itself.
    """

    def __init__(self, fd: int, limit: int, on_line: Callable[[Line], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._fd = fd
        self._on_line = on_line
        self._splitter = LineSplitter(limit)
        self._lines: deque[Line] = deque()
        self._at_end = self._paused = False
        self.ended: asyncio.Future[None] = self._loop.create_future()
        """Done when all lines up to the end of the pipe were handed over, or the reader was closed."""
        os.set_blocking(fd, False)
        self._loop.add_reader(fd, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return
        self._at_end = not data
        self._lines += self._splitter.feed(data) if data else self._splitter.finish()
        self._hand_over()

    def _hand_over(self) -> None:
        """Hand over lines for one slice of time; if some are left, reading pauses until they had their turn."""
        until = monotonic() + SLICE
        while self._lines:
            try:
                self._on_line(self._lines.popleft())
            except Exception as problem:  # the error costs this line only, and not the later ones
                self._loop.call_exception_handler({"message": "a line could not be handled", "exception": problem})
            if self._lines and monotonic() > until:
                self._paused = True
                self._loop.remove_reader(self._fd)
                self._loop.call_soon(self._hand_over)
                return
        if self._at_end:
            self.close()
        elif self._paused and not self.ended.done():
            self._paused = False
            self._loop.add_reader(self._fd, self._read)

    def close(self) -> None:
        """Stop reading; it may be called more than once."""
        self._lines.clear()
        if not self.ended.done():
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self.ended.set_result(None)


class WriterClosed(Exception):
    """The pipe is closed, so nothing can be written."""


class PipeWriter(asyncio.BaseProtocol):
    """Writes messages to a pipe in turn, each as a whole."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._total = 0
        """The number of bytes that were passed to `write`."""
        self._empty = asyncio.Event()
        """Set when all of them are written."""
        self._empty.set()
        self.stalled = False
        """Whether writing failed because the other end did not read for too long."""
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when either end has closed the pipe."""

    @classmethod
    async def open(cls, fd: int, patience: float) -> PipeWriter:
        """Write to a pipe; the writer owns the descriptor from now on."""
        writer = cls(patience)
        await asyncio.get_running_loop().connect_write_pipe(lambda: writer, os.fdopen(fd, "wb", 0))
        return writer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)
        self._transport.set_write_buffer_limits(0)

    def pause_writing(self) -> None:
        self._empty.clear()

    def resume_writing(self) -> None:
        self._empty.set()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.broken.done():
            self.broken.set_result(None)
        self._empty.set()

    async def write(self, data: bytes) -> None:
        """Write all of `data`, in the order of the calls; writing completes even if the caller is cancelled.

        Raises:
            WriterClosed: the pipe is closed, or nothing could be written for `patience` seconds.
        """
        if self._transport.is_closing():
            raise WriterClosed
        self._transport.write(data)
        self._total += len(data)
        while not self._empty.is_set():
            before = self._written
            try:
                async with asyncio.timeout(self._patience):
                    await self._empty.wait()
            except TimeoutError:
                if self._written == before:
                    self.stalled = True
                    self._transport.abort()
        if self.broken.done():
            raise WriterClosed

    @property
    def _written(self) -> int:
        return self._total - self._transport.get_write_buffer_size()

    def close(self) -> None:
        """Close the pipe; waiting writers get WriterClosed. It may be called more than once."""
        if self._transport.get_write_buffer_size():
            self._transport.abort()
        else:
            self._transport.close()


_INSTALL_HINTS = {
    "npx": "npx comes with Node.js: https://nodejs.org",
    "node": "node comes with Node.js: https://nodejs.org",
    "npm": "npm comes with Node.js: https://nodejs.org",
    "uvx": "uvx comes with uv: https://docs.astral.sh/uv",
    "uv": "uv is at https://docs.astral.sh/uv",
    "python": "Many systems have it as python3 only.",
    "docker": "Docker is at https://docs.docker.com",
}
_LAST_LINES = 5
_LAST_CHARACTERS = 1_000


def cannot_start(failure: StartFailure, command: str, cwd: str) -> Unreachable:
    """The error of a program that did not start, with a hint."""
    reason = os.strerror(failure.errno)
    if failure.step == "guard":
        return Unreachable(f"The guard process ended while {command} was being started.", hint="Connect again.")
    if failure.step == "cwd":
        text = f"The working folder {cwd} cannot be entered: {reason}."
        return Unreachable(text, hint="Correct cwd in the server's entry.")
    if failure.errno == errno.ENOENT and "/" in command:
        if os.path.exists(os.path.join(cwd, command)):
            return Unreachable(f"{command} cannot be run: the interpreter that it names does not exist.")
        return Unreachable(f"There is no file {command}.")
    if failure.errno == errno.ENOENT:
        hint = _INSTALL_HINTS.get(command, "")
        if " " in command.strip():
            hint = "The command is the program alone: what follows it belongs into args."
        return Unreachable(f"There is no command {command} on the PATH.", hint=hint)
    if failure.errno == errno.EACCES:
        return Unreachable(f"{command} is no executable file.", hint=f"Try: chmod +x {command}")
    wants = "Name its interpreter as the command and the file as first argument."
    return Unreachable(f"{command} cannot be run: {reason}.", hint=wants if failure.errno == errno.ENOEXEC else "")


def how_it_ended(code: int | None) -> str:
    """`ended with exit code 3`, `was ended by SIGKILL`."""
    if code is None:
        return "ended together with its guard"
    return f"ended with exit code {code}" if code >= 0 else f"was ended by {signal_name(-code)}"


def signal_name(number: int) -> str:
    """`SIGSEGV`; `signal 40` if the number has no name here."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def end_of(code: int | None) -> tuple[str, int]:
    """How a process ended, for programs: `how` and `code` of an error."""
    return ("guard", 0) if code is None else ("exit", code) if code >= 0 else ("signal", -code)


def last_words(lines: Iterable[bytes]) -> str:
    """The last lines on standard error, as one line; empty if there are none."""
    texts = [line.decode("utf-8", "replace").strip() for line in lines]
    return " | ".join([line for line in texts if line][-_LAST_LINES:])[-_LAST_CHARACTERS:]


VERDICT = 0.5
"""Seconds to wait for the exit code after a pipe has closed, so that the error can name it."""
DRAIN = 2.0
"""Seconds to hand over the remaining output of a server that has ended."""
LEFTOVERS = 3.0
"""Seconds for the guard to end the processes that a server left behind."""
RECENT = 10.0
"""Seconds for which a line of standard error may be the reason for an end."""
STDERR_LINE = 16 * 1024
"""The most bytes of a line of standard error that are kept."""
BOM = b"\xef\xbb\xbf"
_JSON = re.compile(rb'\{\s*(?:["}]|$)|\[\s*(?:[\[{"\]\d-]|true|false|null|$)')
"""Matches the beginning of an object or an array, but not of printed text such as `[info] ready` or `{'a': 1}`."""


def frame_of(line: bytes) -> bytes:
    """The frame on a line of standard output; empty if the line is printed text, or blank."""
    if not line.startswith(b'{"'):
        text = line.strip()
        if text.startswith(BOM):
            line = text = text[len(BOM) :].lstrip()
        if not _JSON.match(text):
            return b""
    return line.removesuffix(b"\r")


Argv = Callable[[], tuple[str, ...]]


class StdioTransport:
    """A server as a child process under the guard.

    Args:
        argv: returns the command that starts the server inside its sandbox, instead of the entry's command; may block.
    """

    def __init__(self, config: ServerConfig, limits: Limits, tap: Tap, argv: Argv | None = None) -> None:
        self._config = config
        self._argv = argv
        self._cwd = os.path.abspath(config.cwd or ".")
        self._limits = limits
        self._tap = tap
        self._sink: Sink | None = None
        self._child: GuardedChild | None = None
        self._lost: ConnectionLost | None = None
        self._watch: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._stderr_tail: deque[tuple[float, bytes]] = deque(maxlen=20)

    async def open(self, sink: Sink) -> Opened:
        """Start the server; it runs when this returns.

        Raises:
            Unreachable: it could not be started; the error says why.
        """
        config, argv = self._config, (self._config.command, *self._config.args)
        if not config.command:
            raise Unreachable(f"The entry of {config.name} names no command.")
        try:
            command = await asyncio.to_thread(self._argv) if self._argv else argv
            child = await guard.spawn(command, child_environment(config), self._cwd)
        except StartFailure as failure:
            raise cannot_start(failure, config.command, self._cwd) from None
        self._sink = sink
        self._tap.note(f"started {shlex.join(argv)} as process {child.pid}", "started", shlex.join(argv))
        try:
            self._stdout = LineReader(child.stdout_fd, self._limits.message, self._on_stdout)
            self._stderr = LineReader(child.stderr_fd, STDERR_LINE, self._on_stderr)
            self._stdin = await PipeWriter.open(child.stdin_fd, self._limits.write)
        except BaseException:
            child.release()
            raise
        self._child = child
        self._watch = asyncio.create_task(self._watch_for_end(child), name=f"stdio {config.name}")
        return Opened(shlex.join(argv), child.pid)

    async def send(self, out: Outgoing) -> None:
        """Write one frame; see `Transport.send`."""
        # A newline is only white space in JSON, but would end the message on this transport.
        await self._write(out.frame.replace(b"\n", b" ") if b"\n" in out.frame else out.frame)

    async def send_raw(self, data: bytes, *, newlines: bool = False) -> None:
        """Write one line unchanged; see `Transport.send_raw`."""
        if b"\n" in data and not newlines:
            raise UsageError(
                f"The frame has several lines: {self._config.name} would take each of them for a frame of its own.",
                hint="Put it on one line.",
            )
        await self._write(data)

    async def _write(self, frame: bytes) -> None:
        if self._lost:
            raise self._lost.with_traceback(None)
        if self._child is None or self._closing is not None:
            raise ConnectionLost(f"{self._config.name} is not connected.")
        self._tap.sent(frame)
        try:
            await self._stdin.write(frame + b"\n")
        except WriterClosed:
            if self._watch:
                await asyncio.wait((self._watch,))
            raise (self._lost or ConnectionLost(f"The connection to {self._config.name} was closed.")) from None

    def negotiated(self, version: str) -> None:
        """Does nothing: stdio does not depend on the version."""

    def abandon(self, request_id: int | str) -> None:
        """Does nothing: no part of the transport belongs to one request."""

    async def close(self) -> None:
        """End the server and all its processes; returns once they are gone, or soon after `limits.close` seconds."""
        if self._child is None:
            return
        if self._closing is None:
            self._closing = asyncio.create_task(self._end(self._child), name=f"closing {self._config.name}")
        await asyncio.shield(self._closing)

    def _on_stdout(self, line: Line) -> None:
        sink = self._sink if self._closing is None and self._lost is None else None
        if isinstance(line, Oversize):
            self._tap.note(dropped_text(line, self._limits.message))
            if sink and (out := answered_request(line)) is not None:
                sink.undelivered(out, too_large(line, self._limits.message))
            return
        if not (frame := frame_of(line)):
            if line.strip():
                self._tap.stray(line)
            return
        self._tap.received(frame)
        if sink:
            sink.frame(frame)

    def _on_stderr(self, line: Line) -> None:
        if isinstance(line, Oversize):
            line = line.head + f"… {size_text(line.size - len(line.head))} more".encode()
        line = line.removesuffix(b"\r")
        self._stderr_tail.append((monotonic(), line[:1_000]))
        self._tap.stderr(line)

    async def _watch_for_end(self, child: GuardedChild) -> None:
        """Wait for the server to end or to close a pipe, then report to the sink all that is known about it."""
        ends = (child.exited, self._stdout.ended, self._stdin.broken)
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if await _within(VERDICT, child.exited):
            await _within(LEFTOVERS, child.gone)
            await _within(DRAIN, self._stdout.ended, self._stderr.ended)
        self._lost = lost = self._verdict(child)
        self._note_end(child, lost.message, f"{lost.how} {lost.code}")
        if self._sink and self._closing is None:
            self._sink.closed(lost)

    def _verdict(self, child: GuardedChild) -> ConnectionLost:
        how, code, text = "stdout", 0, "has closed its standard output"
        if child.exited.done():
            (how, code), text = end_of(child.exited.result()), how_it_ended(child.exited.result())
        elif self._stdin.stalled:
            how, text = "stalled", f"has not read its input for {self._limits.write:g} seconds"
        elif self._stdin.broken.done():
            how, text = "stdin", "has closed its standard input"
        words = last_words(line for at, line in self._stderr_tail if monotonic() - at < RECENT)
        lost = ConnectionLost(f"{self._config.name} {text}{f'; it said last: {words}' if words else '.'}")
        lost.how, lost.code = how, code
        return lost

    def _note_end(self, child: GuardedChild, text: str, end: str = "") -> None:
        self._tap.note(text, end)
        if child.left:
            self._tap.note(f"ended {child.left} more of its processes, which it had left behind")

    async def _end(self, child: GuardedChild) -> None:
        """Close its input, then stop it, then kill it; `release` leaves whatever still runs to the keeper."""
        try:
            if self._watch:
                self._watch.cancel()
            self._stdin.close()
            allowed = self._limits.close
            leave = min(self._limits.leave, allowed / 2)
            if not await _within(leave, child.gone):
                child.stop()
                if not await _within(allowed - leave, child.gone):
                    child.kill()
                    await _within(VERDICT, child.gone)
            await _within(VERDICT, self._stdout.ended, self._stderr.ended)
            if child.exited.done() and self._lost is None:
                self._note_end(child, f"{self._config.name} was closed: it {how_it_ended(child.exited.result())}")
        finally:
            self._stdout.close()
            self._stderr.close()
            child.release()


async def _within(seconds: float, *futures: asyncio.Future[None] | asyncio.Future[int | None]) -> bool:
    """Wait at most `seconds` for these futures; return whether all are done."""
    await asyncio.wait(futures, timeout=seconds)
    return all(future.done() for future in futures)
