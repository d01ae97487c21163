"""Servers that are programs: frames on standard input and output, one a line (specification, basic/transports)."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from collections import deque

from mcp_studio.config.model import Kind, ServerConfig
from mcp_studio.errors import ConnectionLost, Unreachable, UsageError
from mcp_studio.limits import Limits
from mcp_studio.protocol.outgoing import Outgoing
from mcp_studio.protocol.skim import Node, Skimmed
from mcp_studio.transport import guard_client
from mcp_studio.transport.base import Opened, Sink
from mcp_studio.transport.endings import cannot_start, how_it_ended, last_words
from mcp_studio.transport.environment import child_environment
from mcp_studio.transport.guard_client import Guard, GuardedChild, StartFailure
from mcp_studio.transport.lines import Line, Oversize
from mcp_studio.transport.oversize import answer_for, size_text
from mcp_studio.transport.pipes import LineReader, PipeWriter, WriterClosed
from mcp_studio.transport.tap import Tap

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


class StdioTransport:
    """A server as a child process under the guard."""

    kind: Kind = "stdio"

    def __init__(self, config: ServerConfig, limits: Limits, tap: Tap, *, guard: Guard | None = None) -> None:
        self._config = config
        self._limits = limits
        self._tap = tap
        self._guard = guard or guard_client.default
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
        config = self._config
        argv = (config.command, *config.args)
        target = shlex.join(argv)
        if not config.command:
            raise Unreachable(f"The entry of {config.name} names no command.")
        env = child_environment(config)
        cwd = _absolute(config.cwd)
        try:
            child = await self._guard.spawn(argv, env, cwd)
        except StartFailure as failure:
            raise cannot_start(failure, argv, env, cwd) from None
        self._sink = sink
        self._child = child
        self._tap.note(f"started {target} as process {child.pid}")
        self._stdout = LineReader(child.stdout_fd, self._limits.message, self._on_stdout, skim=True)
        self._stderr = LineReader(child.stderr_fd, STDERR_LINE, self._on_stderr)
        self._stdin = PipeWriter(child.stdin_fd, self._limits.write)
        self._watch = asyncio.create_task(self._watch_for_end(child), name=f"stdio {config.name}")
        return Opened(target, child.pid)

    async def send(self, out: Outgoing) -> None:
        """Write one frame; see `Transport.send`."""
        # A newline is only white space to JSON, and the end of the message to this transport.
        await self._write(out.frame.replace(b"\n", b" ") if b"\n" in out.frame else out.frame)

    async def send_raw(self, data: bytes, *, headers: tuple[tuple[str, str], ...] = (), newlines: bool = False) -> None:
        """Write one line as it is; see `Transport.send_raw`."""
        if b"\n" in data and not newlines:
            lines = data.count(b"\n") + 1
            raise UsageError(
                f"The frame has {lines} lines: {self._config.name} would take each of them for a frame of its own.",
                hint="Put it on one line, or have it sent as it is.",
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

    def standing(self, request_id: int | str | None) -> str:
        """Nothing is known of one request here."""
        return ""

    async def close(self) -> None:
        """End the server and everything that it started; returns when that is done, at most a moment past its limit."""
        if self._child is None:
            return
        if self._closing is None:
            self._closing = asyncio.create_task(self._end(self._child), name=f"closing {self._config.name}")
        await asyncio.shield(self._closing)

    def _on_stdout(self, line: Line) -> None:
        if isinstance(line, Oversize):
            self._too_long(line)
            return
        if isinstance(line, Skimmed):
            self._tap.received(line.data)
            self._deliver(line.data, line.root)
            return
        if not line.startswith(b'{"'):
            text = line.strip()
            if not text:
                return
            if text.startswith(BOM):
                line = text = text[len(BOM) :].lstrip()
            if not _JSON.match(text):
                self._tap.stray(line)
                return
        if line.endswith(b"\r"):
            line = line[:-1]
        self._tap.received(line)
        self._deliver(line)

    def _too_long(self, line: Oversize) -> None:
        limit = self._limits.message
        self._tap.note(
            f"dropped a line of {size_text(line.size)}: longer than {size_text(limit)}, the limit called message"
        )
        if frame := answer_for(line, limit):
            self._deliver(frame)

    def _deliver(self, frame: bytes, root: Node | None = None) -> None:
        if self._sink and self._closing is None and self._lost is None:
            self._sink.frame(frame, root)

    def _on_stderr(self, line: Line) -> None:
        if isinstance(line, Skimmed):
            line = line.data
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


def _absolute(folder: str) -> str:
    return os.path.abspath(folder or ".")


async def _within(seconds: float, *futures: asyncio.Future[None] | asyncio.Future[int | None]) -> bool:
    """Wait for all of them, for so long; tell whether they are done."""
    await asyncio.wait(futures, timeout=seconds)
    return all(future.done() for future in futures)
