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
from mcp_studio.tui.screens.dialog import Choice, Dialog

Parts = list[str | tuple[str, str]]


class ProjectTrust(Dialog[bool]):
    """Answers True when the file may be used as it is now."""

    choices = (Choice("yes", "Use it", "warning"), Choice("back", "Not now"))

    def __init__(self, file: Untrusted) -> None:
        super().__init__()
        self._file = file

    def heading(self) -> str:
        return "Use the servers of this project?"

    def body(self) -> Iterable[Widget]:
        parts: Parts = [
            (safe(self._file.file, 500), "bold"),
            "\nstarts programs with your rights. Nothing of it runs before you agree.",
            "\nYou are asked again when it changes.\n",
        ]
        for server in self._file.servers:
            parts += ["\n", (safe(server.name, 80), "bold $accent"), *_what(server)]
        yield Static(Content.assemble(*parts))

    def on_mount(self) -> None:
        self.query_one("#back").focus()

    def action_yes(self) -> None:
        self.dismiss(True)


def _what(server: ServerConfig) -> Parts:
    """What an entry starts or connects to."""
    if server.url:
        connects: Parts = ["\n  connects to  ", safe(server.url, 1_000), *_names("headers", server.headers)]
        return [*connects, *((f"\n  {safe(caution, 1_000)}", "$warning") for caution in cautions(server))]
    argv = shlex.join((server.command, *server.args))
    found: Parts = ["\n  runs  ", (safe(argv, 4_000), "bold")]
    found += _names("env", (*server.env, *server.inherit_env))
    return [*found, "\n  in    ", safe(server.cwd or "the folder you are in", 1_000)]


def _names(word: str, names: Iterable[str]) -> Parts:
    """Names only: values can be secrets."""
    known = ", ".join(names)
    return [f"\n  {word:<6}", safe(known, 1_000)] if known else []
