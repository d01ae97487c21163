"""Servers that are programs: frames on standard input and output, one a line (specification, basic/transports)."""

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
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Outgoing
from mcp_studio.protocol.lines import Line, LineSplitter, Oversize, answered_request, dropped_text, size_text, too_large
from mcp_studio.transport.base import Opened, Sink, Tap
from mcp_studio.transport.guard import GuardedChild, StartFailure, child_environment, guard

SLICE = 0.003
"""Seconds of lines handled before others on the loop have their turn."""


class LineReader(asyncio.Protocol):
    """Hands over the lines of a pipe."""

    def __init__(self, limit: int, on_line: Callable[[Line], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_line = on_line
        self._splitter = LineSplitter(limit)
        self._lines: deque[Line] = deque()
        self._scheduled = self._at_end = False
        self.ended: asyncio.Future[None] = self._loop.create_future()
        """Done when everything up to the end of the pipe was handed over, or reading was closed."""

    @classmethod
    async def open(cls, fd: int, limit: int, on_line: Callable[[Line], None]) -> LineReader:
        """Read a pipe, which belongs to the reader from now on."""
        reader = cls(limit, on_line)
        await asyncio.get_running_loop().connect_read_pipe(lambda: reader, os.fdopen(fd, "rb", 0))
        return reader

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.ReadTransport", transport)

    def data_received(self, data: bytes) -> None:
        self._lines += self._splitter.feed(data)
        if not self._scheduled:
            self._hand_over()

    def connection_lost(self, exc: Exception | None) -> None:
        self._at_end = True
        self._lines += self._splitter.finish()
        if not self._scheduled:
            self._hand_over()

    def _hand_over(self) -> None:
        """Hand over lines for one slice of time; if some are left, nothing is read until they had their turn."""
        self._scheduled = False
        until = monotonic() + SLICE
        while self._lines:
            try:
                self._on_line(self._lines.popleft())
            except Exception as problem:  # it costs this line and none of those behind it
                self._loop.call_exception_handler({"message": "a line could not be handled", "exception": problem})
            if self._lines and monotonic() > until:
                self._transport.pause_reading()
                self._scheduled = True
                self._loop.call_soon(self._hand_over)
                return
        self._transport.resume_reading()
        if self._at_end and not self.ended.done():
            self.ended.set_result(None)

    def close(self) -> None:
        """Read no more. Any number of times."""
        self._transport.close()
        self._lines.clear()
        self._on_line = lambda line: None
        if not self.ended.done():
            self.ended.set_result(None)


class WriterClosed(Exception):
    """Nothing can be written any more."""


class PipeWriter(asyncio.BaseProtocol):
    """Writes messages to a pipe one after the other, each whole."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._taken = 0
        """Bytes that were to be written so far."""
        self._empty = asyncio.Event()
        """All of them are."""
        self._empty.set()
        self.stalled = False
        """Whether writing failed because nobody read for too long."""
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the pipe is closed, by either end."""

    @classmethod
    async def open(cls, fd: int, patience: float) -> PipeWriter:
        """Write to a pipe, which belongs to the writer from now on."""
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
        """Write all of `data`, in the order of the calls; it is completed even if the caller is cancelled.

        Raises:
            WriterClosed: the pipe is closed, or nothing could be written for `patience` seconds.
        """
        if self._transport.is_closing():
            raise WriterClosed
        self._transport.write(data)
        self._taken += len(data)
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
        return self._taken - self._transport.get_write_buffer_size()

    def close(self) -> None:
        """Close the pipe; who waits to write gets WriterClosed. Any number of times."""
        if self._transport.get_write_buffer_size():
            self._transport.abort()
        else:
            self._transport.close()


_FROM = {
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
    """The sentence, and what to try, for a program that did not start."""
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
        hint = _FROM.get(command, "")
        if " " in command.strip():
            hint = "The command is the program alone: what follows it belongs into args."
        return Unreachable(f"There is no command {command} on the PATH.", hint=hint)
    if failure.errno == errno.EACCES:
        return Unreachable(f"{command} is no executable file.", hint=f"Try: chmod +x {command}")
    hint = ""
    if failure.errno == errno.ENOEXEC:
        hint = "Name its interpreter as the command and the file as first argument."
    return Unreachable(f"{command} cannot be run: {reason}.", hint=hint)


def how_it_ended(code: int | None) -> str:
    """`ended with exit code 3`, `was ended by SIGKILL`."""
    if code is None:
        return "ended together with its guard"
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def last_words(lines: Iterable[bytes]) -> str:
    """The end of what it wrote on standard error, on one line; empty if it wrote nothing."""
    told = [line.decode("utf-8", "replace").strip() for line in lines]
    return " | ".join([line for line in told if line][-_LAST_LINES:])[-_LAST_CHARACTERS:]


VERDICT = 0.5
"""Seconds to wait for the exit code when a pipe has closed, so that the failure can name it."""
DRAIN = 2.0
"""Seconds for handing over what a server that has ended wrote before."""
LEFTOVERS = 3.0
"""Seconds for the guard to end what a server left behind."""
STDERR_LINE = 16 * 1024
"""Longest line of standard error that is kept whole, in bytes."""
BOM = b"\xef\xbb\xbf"
_JSON = re.compile(rb'\{\s*(?:["}]|$)|\[\s*(?:[\[{"\]\d-]|true|false|null|$)')
"""How an object or an array begins: not as `[info] ready` and `{'a': 1}` do, which are printed text."""


def frame_of(line: bytes) -> bytes:
    """The frame on a line of standard output; empty where it is printed text, or nothing."""
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
        argv: finds what is started in the place of the entry's command, where that stands inside walls; it may block.
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
        self._last: deque[bytes] = deque(maxlen=20)

    async def open(self, sink: Sink) -> Opened:
        """Start the server; it runs when this returns.

        Raises:
            Unreachable: it could not be started; the sentence says why.
        """
        config, argv = self._config, (self._config.command, *self._config.args)
        if not config.command:
            raise Unreachable(f"The entry of {config.name} names no command.")
        try:
            inside = await asyncio.to_thread(self._argv) if self._argv else argv
            child = await guard.spawn(inside, child_environment(config), self._cwd)
        except StartFailure as failure:
            raise cannot_start(failure, config.command, self._cwd) from None
        self._sink = sink
        self._tap.note(f"started {shlex.join(argv)} as process {child.pid}")
        try:
            self._stdout = await LineReader.open(child.stdout_fd, self._limits.message, self._on_stdout)
            self._stderr = await LineReader.open(child.stderr_fd, STDERR_LINE, self._on_stderr)
            self._stdin = await PipeWriter.open(child.stdin_fd, self._limits.write)
        except BaseException:
            child.release()
            raise
        self._child = child
        self._watch = asyncio.create_task(self._watch_for_end(child), name=f"stdio {config.name}")
        return Opened(shlex.join(argv), child.pid)

    async def send(self, out: Outgoing) -> None:
        """Write one frame; see `Transport.send`."""
        # A newline is only white space to JSON, and the end of the message to this transport.
        await self._write(out.frame.replace(b"\n", b" ") if b"\n" in out.frame else out.frame)

    async def send_raw(self, data: bytes, *, newlines: bool = False) -> None:
        """Write one line as it is; see `Transport.send_raw`."""
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
        """Nothing depends on the version here."""

    def abandon(self, request_id: int | str) -> None:
        """Nothing belongs to one request here."""

    async def close(self) -> None:
        """End the server and everything that it started; returns when that is done, at most a moment past its limit."""
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
        self._last.append(line[:1_000])
        self._tap.stderr(line)

    async def _watch_for_end(self, child: GuardedChild) -> None:
        """Wait for the server to end, or to close one of its pipes; then tell the sink, with all that is known."""
        ends = (child.exited, self._stdout.ended, self._stdin.broken)
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if await _within(VERDICT, child.exited):
            await _within(LEFTOVERS, child.gone)
            await _within(DRAIN, self._stdout.ended, self._stderr.ended)
        self._lost = self._verdict(child)
        self._tell(child, self._lost.message)
        if self._sink and self._closing is None:
            self._sink.closed(self._lost)

    def _verdict(self, child: GuardedChild) -> ConnectionLost:
        name = self._config.name
        if child.exited.done():
            text = f"{name} {how_it_ended(child.exited.result())}"
        elif self._stdin.stalled:
            text = f"{name} has not read its input for {self._limits.write:g} seconds"
        elif self._stdin.broken.done():
            text = f"{name} has closed its standard input"
        else:
            text = f"{name} has closed its standard output"
        words = last_words(self._last)
        return ConnectionLost(f"{text}; it said last: {words}" if words else f"{text}.")

    def _tell(self, child: GuardedChild, text: str) -> None:
        self._tap.note(text)
        if child.left:
            self._tap.note(f"ended {child.left} more of its processes, which it had left behind")

    async def _end(self, child: GuardedChild) -> None:
        """Ask, insist, kill; what cannot wait any more is left to the keeper, who hears of it by `release`."""
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
                self._tell(child, f"{self._config.name} was closed: it {how_it_ended(child.exited.result())}")
        finally:
            self._stdout.close()
            self._stderr.close()
            child.release()


async def _within(seconds: float, *futures: asyncio.Future[None] | asyncio.Future[int | None]) -> bool:
    """Wait for all of them, for so long; tell whether they are done."""
    await asyncio.wait(futures, timeout=seconds)
    return all(future.done() for future in futures)
