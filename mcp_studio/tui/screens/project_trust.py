"""Asking whether to use the servers of a project, and what an entry starts."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from mcp_studio.config.model import ServerConfig, Untrusted
from mcp_studio.present import units
from mcp_studio.present.definition import cautions
from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Choice, Dialog, Parts, Widgets, fact


class ProjectTrust(Dialog[bool]):
    """Asks whether to use a project's file, and shows exactly what it would start, because it can start programs."""

    TITLE = "Use the servers of this project?"
    AUTO_FOCUS = "#back"
    choices = (Choice("yes", "Use it", "warning", True), Choice("back", "Not now"))

    def __init__(self, file: Untrusted) -> None:
        super().__init__()
        self._file = file

    def body(self) -> Widgets:
        parts: Parts = [
            (safe(self._file.file, 500), "bold"),
            "\nstarts programs with your rights. Nothing of it runs before you agree.",
            "\nYou are asked again when it changes.\n",
        ]
        for server in self._file.servers:
            parts += ["\n", (safe(server.name, 80), "bold $accent"), "\n", *what_starts(server)]
        yield Static(Content.assemble(*parts))


def what_starts(server: ServerConfig) -> Parts:
    """What an entry starts or connects to; of headers and variables only the names, as values can be secrets."""
    if server.url:
        warnings = ((f"{safe(caution, 1_000)}\n", "$warning") for caution in cautions(server))
        return [*fact("connects to", server.url), *fact("headers", ", ".join(server.headers)), *warnings]
    argv = units.command_line((server.command, *server.args))
    names = ", ".join((*server.env, *server.inherit_env))
    return [*fact("runs", argv, "bold"), *fact("env", names), *fact("in", server.cwd or "the folder you are in")]
