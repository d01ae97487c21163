"""`shell`: verbs without their server, a line each, on one connection; from a terminal or a pipe."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from types import FrameType

from mcp_studio.cli import late
from mcp_studio.cli.asking import Asker
from mcp_studio.cli.engine import connected, execute
from mcp_studio.cli.help import answer
from mcp_studio.cli.options import ALLOWED, Options, parse
from mcp_studio.cli.output import Output
from mcp_studio.cli.plan import Plan, make
from mcp_studio.config.table import nearest
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.paths import Paths
from mcp_studio.safetext import safe
from mcp_studio.studio import Studio

with suppress(ImportError):  # Windows, and Pythons that are built without it
    import_module("readline")  # gives `input` a history

_VERBS = ("list", "search", "call", "read", "get", "complete", "skills", "tasks", "watch", "send")
_OURS = frozenset(ALLOWED["shell"].split()) - {"--answer", "--json", "--quiet"}
"""Options that are about the connection, which every line has in common."""
_INTERRUPTED = 130
_LONGEST = 100_000
"""Characters of a line."""


def run(plan: Plan, options: Options, out: Output) -> int:
    """Do what the lines say; the exit code of the first of a pipe that failed, and 0 on a terminal."""
    gc.enable()  # it is off while small verbs run, which end before there is much to collect
    out.server, out.lines = plan.server, True
    asker = Asker(options.values("--answer"))
    shell = Shell(plan, out, asker)
    try:
        with shell:
            code = execute(plan, out, shell.greet, asker=asker) or shell.serve()
    except KeyboardInterrupt:  # a signal came just when waiting was over
        code = _INTERRUPTED
    return shell.ended or code


class Shell:
    """A studio that stays open, in a thread of its own: it answers its server also while a line is typed.

    Raises:
        StudioError: it could not be opened.
    """

    def __init__(self, plan: Plan, out: Output, asker: Asker) -> None:
        self._plan = plan
        self._out = out
        self._asker = asker
        self._opened: Future[Studio] = Future()
        self._lost: StudioError | None = None
        self._terminal = sys.stdin.isatty()
        self._waiting = False
        self.ended = 0
        """The exit code, once a signal wants it to end."""

    def __enter__(self) -> Shell:
        self._out.shell = self
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            if number := getattr(signal, name, None):  # Windows has not all of them
                signal.signal(number, self._signalled)
        self._closed = ThreadPoolExecutor(1, "studio").submit(asyncio.run, self._hold())
        self._opened.result()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._leaving.set)
        self._closed.result()

    def _signalled(self, number: int, _: FrameType | None) -> None:
        # Raised anywhere else it could keep the studio from being closed, and its thread the process from ending.
        if number != signal.SIGINT:
            self.ended = 128 + number
        waiting, self._waiting = self._waiting, False  # `input` can be interrupted once, and not twice
        if waiting:
            raise KeyboardInterrupt

    async def _hold(self) -> None:
        self._loop, self._leaving = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with Studio.open(self._plan.config, Paths.default(), can_ask=True, origin="command line") as studio:
                for rule in reversed(self._asker.rules):
                    studio.rules.add(rule)
                studio.manager.changed.connect(lambda _: self._watch(studio))
                self._opened.set_result(studio)
                await self._leaving.wait()
        except BaseException as error:  # boundary: whoever waits in the other thread gets it
            if self._opened.done():
                raise
            self._opened.set_exception(error)

    def _watch(self, studio: Studio) -> None:
        status = studio.manager.status(self._plan.server)
        if status.state in ("retrying", "failed"):
            self._lost = status.error

    # ------------------------------------------------------------------ lines

    def serve(self) -> int:
        """Read lines and do what they say, until `exit` or the end of input."""
        failed = 0
        while not self.ended and (line := self._read()) is not None and line.strip() != "exit":
            out = Output(json=self._out.json, quiet=self._out.quiet)
            out.shell, out.redactor, out.told, out.lines = self, self._out.redactor, self._out.told, self._out.json
            out.options = self._out.options
            code = out.attempt(lambda line=line, out=out: self._do(line, out))
            sys.stdout.flush()
            failed = failed or code
            if code == _INTERRUPTED and not self._terminal:
                break
        return 0 if self._terminal else failed

    def _read(self) -> str | None:
        """The next line; None at the end of input."""
        prompt = f"{safe(self._plan.server, 40)}> " if self._terminal else ""
        while True:
            self._waiting = True
            try:
                if self.ended:
                    return None
                if self._terminal and sys.stdout.isatty():
                    return input(prompt)
                sys.stderr.write(prompt)
                sys.stderr.flush()
                return sys.stdin.readline() or None
            except EOFError:
                with suppress(OSError):  # the terminal may be gone
                    sys.stdout.write("\n")
                    sys.stdout.flush()
                return None
            except (KeyboardInterrupt, SystemError):  # the other where a signal comes while `input` returns a line
                if not self._terminal or self.ended:
                    self.ended = self.ended or _INTERRUPTED
                    return None
                sys.stderr.write("\n")
            except (OSError, UnicodeDecodeError):
                return None
            finally:
                self._waiting = False

    def _do(self, line: str, out: Output) -> int:
        """One line, as a command line of its own.

        Raises:
            StudioError: it cannot be meant, or what it wants failed.
        """
        if len(line) > _LONGEST:
            raise UsageError(f"The line has more than {_LONGEST:,} characters.", hint="Large arguments: --args @FILE")
        try:
            words = shlex.split(line)
        except ValueError as problem:
            raise UsageError(f"The line cannot be read: {str(problem).lower()}.") from None
        if not words or words[0].startswith("#"):
            return 0
        if words[0] == "help" or "--help" in words:
            return answer([word for word in words if word in (*_VERBS, "--help")] or ["shell"])
        if words[0] not in _VERBS:
            hint = nearest(words[0][:40], (*_VERBS, "help", "exit")) or f"There are {', '.join(_VERBS)}, help and exit."
            raise UsageError(f"There is no command `{words[0][:40]}` here.", hint=hint)
        options = parse(words)
        if fixed := [*(_OURS & options.given.keys()), *(["--"] if options.command is not None else [])]:
            hint = f"Give it where the shell begins: mcp-studio shell {fixed[0]} …"
            raise UsageError(f"{fixed[0]} is for the whole shell.", hint=hint)
        out.json, out.quiet = out.json or options.json, out.quiet or options.quiet
        return late.perform(make(options, self._plan.config), options, out)

    # ------------------------------------------------------------------ the connection

    def run(self, body: Callable[[Studio], Awaitable[int]], out: Output) -> int:
        """Run something in the studio; Ctrl-C cancels it, and it may take its time for that.

        Raises:
            KeyboardInterrupt: it was cancelled.
        """
        loop, stopped = self._loop, asyncio.Event()

        async def doing() -> int:
            task = asyncio.ensure_future(self._revived(body, out))
            stopping = asyncio.ensure_future(stopped.wait())
            await asyncio.wait((task, stopping), return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            task.cancel()
            await asyncio.wait((task,))
            return task.result()

        waiting: Future[int] = asyncio.run_coroutine_threadsafe(doing(), loop)
        while True:
            self._waiting = True
            try:
                if self.ended:
                    loop.call_soon_threadsafe(stopped.set)
                return waiting.result()
            except KeyboardInterrupt:
                loop.call_soon_threadsafe(stopped.set)
            except concurrent.futures.CancelledError:
                raise KeyboardInterrupt from None
            finally:
                self._waiting = False

    async def _revived(self, body: Callable[[Studio], Awaitable[int]], out: Output) -> int:
        studio = self._opened.result()
        self._revive(studio, out)
        return await body(studio)

    def _revive(self, studio: Studio, out: Output) -> None:
        """Tell that the server was lost since the last line, and start it again where nothing else does."""
        lost, self._lost = self._lost, None
        if lost is None:
            return
        name = self._plan.server
        again = "started" if studio.manager.config(name).kind == "stdio" else "connected"
        out.note(f"{lost.message.rstrip('.')}. It is {again} again.")
        if studio.manager.status(name).state != "ready":
            studio.manager.start(name)

    async def greet(self, studio: Studio) -> int:
        """Connect, and say what there is."""
        await connected(studio, self._plan.server, self._out)
        if self._terminal:
            self._out.note(f"connected to {self._plan.server}; `help` shows what can be typed, `exit` leaves")
        return 0
