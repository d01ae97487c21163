"""Servers that are programs: frames on standard input and output, one a line (specification, basic/transports)."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import shlex
import signal
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches

from mcp_studio.config.model import Kind, ServerConfig
from mcp_studio.errors import ConnectionLost, Unreachable, UsageError
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Outgoing
from mcp_studio.transport import guard_start
from mcp_studio.transport.base import Opened, Sink, Tap
from mcp_studio.transport.guard_start import GuardProcess, Launched, child_environment
from mcp_studio.transport.lines import Line, Oversize, answered_request, dropped_text, size_text, too_large
from mcp_studio.transport.pipes import LineReader, PipeWriter, WriterClosed


class StartFailure(Exception):
    """The server could not be started: `step` is `fork`, `cwd`, `exec` or `guard`, `errno` the system's reason."""

    def __init__(self, step: str, errno: int) -> None:
        super().__init__(step, errno)
        self.step = step
        self.errno = errno


class GuardedChild:
    """One server process. Its descriptors belong to whoever asked for it; the control socket is this object's own."""

    def __init__(self, launched: Launched) -> None:
        self._loop = loop = asyncio.get_running_loop()
        self.pid = 0
        self.stdin_fd = launched.stdin
        self.stdout_fd = launched.stdout
        self.stderr_fd = launched.stderr
        self.left = 0
        """How many processes it left behind when it ended by itself; they were ended."""
        self.started: asyncio.Future[None] = loop.create_future()
        """Done when the program runs; a `StartFailure` where it does not."""
        self.exited: asyncio.Future[int | None] = loop.create_future()
        """The exit code, negative for a signal; None when its keeper was killed and nobody knows."""
        self.gone: asyncio.Future[None] = loop.create_future()
        """Done when neither it nor any process that it started is left."""
        self._control = launched.control
        self._text = b""
        loop.add_reader(self._control, self._readable)

    def _readable(self) -> None:
        try:
            data = self._control.recv(4096)
        except OSError:
            data = b""
        *lines, self._text = (self._text + data).split(b"\n")
        for line in lines:
            self._hear(*line.decode().split())
        if not data:
            self.release()

    def _hear(self, word: str, *values: str) -> None:
        if word == "pid":
            self.pid = int(values[0])
            self.started.set_result(None)
        elif word == "fail":
            self.started.set_exception(StartFailure(values[0], int(values[1])))
        elif word == "exit":
            self.exited.set_result(int(values[0]))
        elif word == "left":
            self.left = int(values[0])

    def stop(self) -> None:
        """Have it and all that it started ended: SIGTERM, after a second SIGKILL."""
        self._say(b"s")

    def kill(self) -> None:
        """Have it and all that it started killed."""
        self._say(b"k")

    def _say(self, word: bytes) -> None:
        try:
            self._control.send(word)
        except OSError:
            pass  # the keeper is gone, which `_readable` is about to learn

    def release(self) -> None:
        """Hear no more of it. Whatever is left is ended by its keeper. Any number of times."""
        if self._control.fileno() < 0:
            return
        self._loop.remove_reader(self._control)
        self._control.close()
        if not self.started.done():
            self.started.set_exception(StartFailure("guard", 0))
        if not self.exited.done():
            self.exited.set_result(None)
        self.gone.set_result(None)


async def spawn(guard: GuardProcess, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> GuardedChild:
    """Start `argv` with exactly this environment, in this folder, in a session of its own.

    Raises:
        StartFailure: the program could not be started.
        Unreachable: there is no guard.
    """
    launched = guard.launch(argv, env, cwd)
    child = GuardedChild(launched)
    try:
        await child.started
    except BaseException:
        child.release()
        launched.close()
        raise
    return child


_FROM = {
    "npx": "npx comes with Node.js: https://nodejs.org",
    "node": "node comes with Node.js: https://nodejs.org",
    "npm": "npm comes with Node.js: https://nodejs.org",
    "uvx": "uvx comes with uv: https://docs.astral.sh/uv",
    "uv": "uv is at https://docs.astral.sh/uv",
    "python": "Many systems have it as python3 only.",
    "python3": "Python is at https://www.python.org",
    "docker": "Docker is at https://docs.docker.com",
    "bunx": "bunx comes with Bun: https://bun.sh",
    "deno": "Deno is at https://deno.com",
}
_NAMES_READ = 20_000
"""Names read from the PATH's folders when looking for a similar command."""
_LAST_LINES = 5
_LAST_CHARACTERS = 1_000


def cannot_start(failure: StartFailure, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> Unreachable:
    """The sentence, and what to try, for a program that did not start."""
    command, path, reason = argv[0], env.get("PATH", os.defpath), os.strerror(failure.errno)
    found = _find(command, path, cwd)
    hint = ""
    match failure.step, failure.errno:
        case "cwd", number:
            what = {errno.ENOENT: "does not exist", errno.ENOTDIR: "is not a folder"}
            text = f"The working folder {cwd} {what.get(number, f'cannot be entered: {reason}')}."
            hint = "Correct cwd in the server's entry."
        case "fork", _:
            text, hint = f"No process could be made for {command}: {reason}.", "Too many processes are running."
        case "guard", _:
            text, hint = f"The guard process ended while {command} was being started.", "Connect again."
        case _, errno.ENOENT | errno.ENOTDIR if found:
            text = f"{found} cannot be run: the interpreter that it names does not exist."
            hint = "Its first line, or its loader, names a program that is not installed."
        case _, errno.ENOENT | errno.ENOTDIR:
            what = f"file {command}" if "/" in command else f"command {command} on the PATH"
            text, hint = f"There is no {what}.", _name_hint(command, path)
        case _, errno.EACCES if os.path.isdir(found):
            text = f"{found} is a folder, not a program."
        case _, errno.EACCES:
            text, hint = f"{found or command} is not executable.", f"Try: chmod +x {found or command}"
        case _, errno.ENOEXEC:
            text = f"{found or command} is neither a program nor a script that names its interpreter."
            hint = "Name its interpreter as the command and the file as first argument."
        case _, errno.E2BIG:
            text = f"The arguments or the environment of {command} are too long for this system."
        case _:
            text = f"{command} cannot be run: {reason}."
    return Unreachable(text, hint=hint)


def _find(command: str, path: str, cwd: str) -> str:
    """The file that the command names, executable or not; empty if there is none."""
    places = [""] if "/" in command else path.split(os.pathsep)
    files = (os.path.join(cwd, place, command) for place in places)
    return next((file for file in files if os.path.exists(file)), "")


def _name_hint(command: str, path: str) -> str:
    if " " in command.strip():
        return "The command is the program alone: what follows it belongs into args."
    if "/" in command or command in _FROM:
        return _FROM.get(command, "")
    names: list[str] = list(_FROM)
    for place in path.split(os.pathsep):
        with suppress(OSError):
            names += os.listdir(place or ".")
    near = get_close_matches(command, names[:_NAMES_READ], n=1, cutoff=0.7)
    return f"Did you mean {near[0]}?" if near else ""


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


class StdioTransport:
    """A server as a child process under the guard."""

    kind: Kind = "stdio"

    def __init__(self, config: ServerConfig, limits: Limits, tap: Tap) -> None:
        self._config = config
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
        config = self._config
        argv = (config.command, *config.args)
        target = shlex.join(argv)
        if not config.command:
            raise Unreachable(f"The entry of {config.name} names no command.")
        env = child_environment(config)
        try:
            child = await spawn(guard_start.process, argv, env, self._cwd)
        except StartFailure as failure:
            raise cannot_start(failure, argv, env, self._cwd) from None
        self._sink = sink
        self._tap.note(f"started {target} as process {child.pid}")
        try:
            self._stdout = await LineReader.open(child.stdout_fd, self._limits.message, self._on_stdout)
            self._stderr = await LineReader.open(child.stderr_fd, STDERR_LINE, self._on_stderr)
            self._stdin = await PipeWriter.open(child.stdin_fd, self._limits.write)
        except BaseException:
            child.release()
            raise
        self._child = child
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
            self._tap.note(dropped_text(line, self._limits.message))
            out = answered_request(line)
            if out is not None and self._listens:
                self._listens.undelivered(out, too_large(line, self._limits.message))
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
        if self._listens:
            self._listens.frame(line)

    @property
    def _listens(self) -> Sink | None:
        return self._sink if self._closing is None and self._lost is None else None

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
