"""May the file of a project be used? It can start programs, so exactly what it would start is shown."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.config.model import ServerConfig, Untrusted
from mcp_studio.present.definition import cautions
from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Dialog


class Trust(Dialog[bool], scope="trust"):
    """Answers True when the file may be used as it is now."""

    reads = True
    answers = frozenset(("yes", "no"))

    def __init__(self, file: Untrusted) -> None:
        super().__init__()
        self._file = file

    def heading(self) -> Content:
        """What it is about."""
        return Content("May this project's servers be used?")

    def body(self) -> Iterable[Widget]:
        """The file, and all that it would start."""
        parts: list[str | tuple[str, str]] = [
            (safe(self._file.file, 500), "b"),
            "\nstarts programs with your rights. Nothing of it runs before you agree.\n",
            "You are asked again when it changes.\n",
        ]
        for server in self._file.servers:
            parts += ["\n", (safe(server.name), "b $accent"), *_what(server)]
        yield Static(Content.assemble(*parts))

    def action_yes(self) -> None:
        """Use it."""
        self.dismiss(True)

    def action_no(self) -> None:
        """Leave it."""
        self.dismiss(False)


def _what(server: ServerConfig) -> list[str | tuple[str, str]]:
    if server.url:
        connects = ["\n  connects to  ", safe(server.url, 1_000), *_names("headers", server.headers)]
        return [*connects, *((f"\n  {safe(caution, 1_000)}", "$warning") for caution in cautions(server))]
    argv = shlex.join((server.command, *server.args))
    found: list[str | tuple[str, str]] = ["\n  runs  ", (safe(argv, 4_000), "b")]
    found += _names("env", (*server.env, *server.inherit_env))
    return [*found, "\n  in    ", safe(server.cwd or "the folder you are in", 1_000)]


def _names(word: str, names: Iterable[str]) -> list[str | tuple[str, str]]:
    """Names only: values can be secrets."""
    known = ", ".join(names)
    return [f"\n  {word:<6}", safe(known, 1_000)] if known else []
