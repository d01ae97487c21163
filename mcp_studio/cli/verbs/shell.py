"""`shell`: run verbs on one open connection, one per line, without naming the server. Reads a terminal or a pipe."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from mcp_studio.cli import verbs
from mcp_studio.cli.engine import connected, execute
from mcp_studio.cli.grammar import VERBS
from mcp_studio.cli.options import help_text, parse, show, standard_input
from mcp_studio.cli.questions import Asker
from mcp_studio.cli.targets import of_server, with_secrets
from mcp_studio.cli.terminal import INTERRUPTED, EndOfInput, Lines, Output, prompt, say
from mcp_studio.config.model import Config
from mcp_studio.errors import UsageError, nearest
from mcp_studio.paths import Paths
from mcp_studio.safetext import safe
from mcp_studio.studio import Studio

_VERBS = ("list", "search", "call", "read", "get", "complete", "skills", "tasks", "watch", "send")
_OWN = ("--answer", "--json", "--query", "--quiet")
"""Options allowed in a line although the shell has them too; its other options concern the connection."""


def run(out: Output) -> int:
    """Run the lines. With a pipe the exit code is that of the first failure; on a terminal it is 0."""
    chosen, server, _ = of_server(out, 0)
    if not server:
        raise UsageError("Which server?", hint="mcp-studio shell SERVER")
    config, out.lines = with_secrets(chosen, out), True
    with asyncio.Runner() as runner:
        shell = Shell(config, server, out, runner)
        try:
            return shell.serve()
        except KeyboardInterrupt:
            return INTERRUPTED
        finally:
            runner.run(shell.ends.aclose())


class Shell:
    """A studio that stays open: it answers its server while a verb runs and while it waits for a line.

    Raises:
        StudioError: the studio could not be opened.
    """

    def __init__(self, config: Config, server: str, out: Output, runner: asyncio.Runner) -> None:
        self.config, self._server, self._out, self._runner = config, server, out, runner
        self._lines, self._terminal = Lines(), sys.stdin.isatty()
        rules, self.ends = Asker(out).rules, AsyncExitStack()
        opened = Studio.open(config, Paths.default(), can_ask=True, origin="command line")
        self._studio = runner.run(self.ends.enter_async_context(opened))
        for rule in reversed(rules):
            self._studio.rules.add(rule)

    def serve(self) -> int:
        """Connect, then read and run lines until `exit` or the end of the input. Returns the exit code."""
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
        """Read the next line; None at the end of the input."""
        while True:
            if self._terminal:
                prompt(f"{safe(self._server, 40)}> ")
            try:
                return self._runner.run(self._lines.read())
            except KeyboardInterrupt:
                if not self._terminal:
                    raise
                say("")
            except EndOfInput:
                return None

    def _line(self, line: str, out: Output) -> int:
        """Run one line like a command line.

        Raises:
            StudioError: the line is not understood, or what it does failed.
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
        standard_input.cache_clear()  # each line reads it anew
        return verbs.runner(options.verb)(out)

    def run(self, body: Callable[[Studio], Awaitable[int]]) -> int:
        """Run something in the studio. Ctrl-C cancels it and waits for it to clean up.

        Raises:
            KeyboardInterrupt: it was cancelled.
        """
        return self._runner.run(self._work(body))

    async def _work(self, body: Callable[[Studio], Awaitable[int]]) -> int:
        if self._studio.manager.status(self._server).state in ("retrying", "failed"):
            self._studio.manager.start(self._server)
        return await body(self._studio)

    async def _greet(self, studio: Studio) -> int:
        await connected(studio, self._server, self._out)
        if self._terminal:
            self._out.note(f"connected to {self._server}; `help` shows what can be typed, `exit` leaves")
        return 0
