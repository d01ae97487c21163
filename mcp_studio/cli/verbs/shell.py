"""`shell`: verbs without their server, a line each, on one connection; from a terminal or a pipe."""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module

from mcp_studio.cli import verbs
from mcp_studio.cli.arguments import standard_input
from mcp_studio.cli.engine import connected, execute
from mcp_studio.cli.grammar import VERBS
from mcp_studio.cli.options import Options, help_text, parse, show
from mcp_studio.cli.output import INTERRUPTED, Output
from mcp_studio.cli.questions import Asker
from mcp_studio.cli.targets import configured, select, server_and_words, with_secrets
from mcp_studio.config.model import Config
from mcp_studio.config.table import nearest
from mcp_studio.errors import UsageError
from mcp_studio.paths import Paths
from mcp_studio.safetext import safe
from mcp_studio.studio import Studio

with suppress(ImportError):  # Windows, and Pythons that are built without it
    import_module("readline")  # gives `input` a history

_VERBS = ("list", "search", "call", "read", "get", "complete", "skills", "tasks", "watch", "send")
_OWN = ("--answer", "--json", "--quiet")
"""Options that a line can have though the shell has them, too; the others are about the connection."""


def run(options: Options, out: Output) -> int:
    """Do what the lines say; the exit code of the first of a pipe that failed, and 0 on a terminal."""
    config = configured(out)
    server, _ = server_and_words(config, options, options.words, 0)
    if not server and config.servers:
        raise UsageError("Which server?", hint="mcp-studio shell SERVER")
    config = with_secrets(select(config, [server] if server else []), options, out)
    out.server, out.lines = server, True
    for name in ("SIGTERM", "SIGHUP"):
        if number := getattr(signal, name, None):  # Windows has not all of them
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        with Shell(config, server, out) as shell:
            return shell.serve()
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as end:
        return int(end.code or 0)


class Shell:
    """A studio that stays open, in a thread of its own: it answers its server also while a line is typed.

    Raises:
        StudioError: it could not be opened.
    """

    def __init__(self, config: Config, server: str, out: Output) -> None:
        self.config = config
        self._server = server
        self._rules = Asker(out).rules
        self._out = out
        self._opened: Future[Studio] = Future()
        self._task: asyncio.Task[int] | None = None
        self._terminal = sys.stdin.isatty()

    def __enter__(self) -> Shell:
        self._closed = ThreadPoolExecutor(1, "studio").submit(asyncio.run, self._hold())
        self._opened.result()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._leaving.set)
        self._closed.result()

    async def _hold(self) -> None:
        self._loop, self._leaving = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with Studio.open(self.config, Paths.default(), can_ask=True, origin="command line") as studio:
                for rule in reversed(self._rules):
                    studio.rules.add(rule)
                self._opened.set_result(studio)
                await self._leaving.wait()
        except BaseException as error:  # boundary: whoever waits in the other thread gets it
            if self._opened.done():
                raise
            self._opened.set_exception(error)

    def serve(self) -> int:
        """Connect, read lines and do what they say, until `exit` or the end of input."""
        failed = self._do(lambda out: execute(self.config, out, self._greet))
        if failed:
            return failed
        while (line := self._read()) is not None and line.strip() != "exit":
            code = self._do(lambda out, line=line: self._line(line, out))
            failed = failed or code
            if code == INTERRUPTED and not self._terminal:
                break
        return 0 if self._terminal else failed

    def _do(self, work: Callable[[Output], int]) -> int:
        out = Output(self._out.options)
        out.shell, out.server, out.redactor, out.noted = self, self._server, self._out.redactor, self._out.noted
        out.lines = self._out.json
        code = out.attempt(lambda: work(out))
        sys.stdout.flush()
        return code

    def _read(self) -> str | None:
        """The next line; None at the end of input."""
        prompt = f"{safe(self._server, 40)}> " if self._terminal else ""
        while True:
            try:
                if self._terminal and sys.stdout.isatty():
                    return input(prompt)
                sys.stderr.write(prompt)
                sys.stderr.flush()
                return sys.stdin.readline() or None
            except KeyboardInterrupt:
                if not self._terminal:
                    raise
                sys.stderr.write("\n")
            except (EOFError, OSError, UnicodeDecodeError):
                with suppress(OSError):  # the terminal may be gone
                    sys.stdout.write("\n")
                return None

    def _line(self, line: str, out: Output) -> int:
        """One line, as a command line of its own.

        Raises:
            StudioError: it cannot be meant, or what it wants failed.
        """
        try:
            words = shlex.split(line)
        except ValueError as problem:
            raise UsageError(f"The line cannot be read: {str(problem).lower()}.") from None
        if not words or words[0].startswith("#"):
            return 0
        if words[0] == "help" or "--help" in words:
            return show(help_text([*(word for word in words if word in _VERBS), "shell", "--help"]) or "")
        if words[0] not in _VERBS:
            hint = nearest(words[0][:40], (*_VERBS, "help", "exit")) or f"There are {', '.join(_VERBS)}, help and exit."
            raise UsageError(f"There is no command `{words[0][:40]}` here.", hint=hint)
        options = parse(words)
        fixed = [name for name in options.given if VERBS["shell"].option(name) and name not in _OWN]
        if fixed or options.command is not None:
            name = [*fixed, "--"][0]
            hint = f"Give it where the shell begins: mcp-studio shell {name} …"
            raise UsageError(f"{name} is for the whole shell.", hint=hint)
        whole = self._out.options
        kept = {name: whole.values(name) for name in whole.given if name not in ("--answer", "--server")}
        options.given = {**kept, **options.given}
        options.command = whole.command
        out.take(options)
        standard_input.cache_clear()  # each line reads anew
        return verbs.run(options, out)

    def run(self, body: Callable[[Studio], Awaitable[int]]) -> int:
        """Run something in the studio; Ctrl-C cancels it, and it may take its time for that.

        Raises:
            KeyboardInterrupt: it was cancelled.
        """

        async def work() -> int:
            self._task, studio = asyncio.current_task(), self._opened.result()
            self._revive(studio)
            return await body(studio)

        running = asyncio.run_coroutine_threadsafe(work(), self._loop)
        try:
            return running.result()
        except (KeyboardInterrupt, SystemExit):
            asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
            raise

    async def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    def _revive(self, studio: Studio) -> None:
        """Tell that the server is lost, and start it again."""
        status = studio.manager.status(self._server)
        if status.state in ("retrying", "failed") and status.error is not None:
            again = "started" if studio.manager.config(self._server).kind == "stdio" else "connected"
            self._out.note(f"{status.error.message.rstrip('.')}. It is {again} again.")
            studio.manager.start(self._server)

    async def _greet(self, studio: Studio) -> int:
        await connected(studio, self._server, self._out)
        if self._terminal:
            self._out.note(f"connected to {self._server}; `help` shows what can be typed, `exit` leaves")
        return 0
