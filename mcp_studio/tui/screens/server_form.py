"""Adding or editing a server: paste anything, look at the details, test it, save it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from textual import getters, on
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Select, Static, TextArea

from mcp_studio.config.expand import effective
from mcp_studio.config.importers import parse_paste
from mcp_studio.config.model import ServerConfig, Source
from mcp_studio.errors import ConfigError, StudioError
from mcp_studio.jsontext import Json
from mcp_studio.present import connections, units
from mcp_studio.safetext import safe
from mcp_studio.schema.field import SchemaProblem, errors
from mcp_studio.session.state import TestReport
from mcp_studio.tui import server_files
from mcp_studio.tui.form.view import FormView
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.screens.server_entry import merged, pointer_of, secret_warnings, server_form, server_of, value_of
from mcp_studio.tui.screens.vault import offered
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.vault.base import beside

_PAUSE = 0.15
"""Seconds without a key after which a paste is read."""
_PLACEHOLDER = "npx -y @scope/server …   or   https://example.com/mcp   or a piece of an mcp.json"
_TONES = {"ok": ("ok", "$state-ready"), "bad": ("bad", "$state-failed"), "busy": ("half", "$state-busy")}


class ServerForm(Dialog[ServerConfig]):
    """Answers the server that was saved."""

    DEFAULT_CLASSES = "-large"
    DEFAULT_CSS = """
    ServerForm {
        & TextArea { height: 4; margin-bottom: 1; }
        & Select { width: 1fr; margin-bottom: 1; }
        & #note { margin-top: 1; }
    }
    """
    choices = (
        Choice("submit", "Save", "primary"),
        Choice("test", "Test"),
        Choice("import_servers", "Import from other clients"),
        Choice("back", "Cancel"),
    )
    pasted: ClassVar[str] = ""
    """What was pasted and left unsaved: it is there again."""
    form = getters.query_one(FormView)
    note = getters.query_one("#note", Static)

    def __init__(self, old: ServerConfig | None) -> None:
        super().__init__()
        self._old = old
        self._base = old or ServerConfig("")
        self._more: list[ServerConfig] = []
        """Further servers of a paste."""
        self._filled: Json = value_of(self._base)
        self._timer: Timer | None = None

    def heading(self) -> str:
        return f"Edit {self._old.name}" if self._old else "Add a server"

    def body(self) -> Iterable[Widget]:
        if self._old is None:
            yield Static("Paste a command, a URL or a piece of an mcp.json", classes="label")
            yield TextArea(ServerForm.pasted, placeholder=_PLACEHOLDER, compact=True)
        yield Static("Saved in", classes="label")
        places = server_files.places_of(self.app.studio, self._old.name if self._old else "")
        yield Select([(place.file, place) for place in places], value=places[0], allow_blank=False, compact=True)
        yield FormView(server_form(), self._filled)
        yield Static(id="note")

    def on_mount(self) -> None:
        self.query_one("#import_servers").display = self._old is None
        self.form.show_problems(secret_warnings(self.form.value))
        if self._old is None:
            self.query_one(TextArea).focus()
        else:
            self.form.focus_field("/connect/command" if self._base.command else "/connect/url")

    # What is typed

    @on(TextArea.Changed)
    def read_soon(self, event: TextArea.Changed) -> None:
        """Read a paste once the person pauses."""
        if self.query(TextArea) and event.text_area is self.query_one("#body TextArea", TextArea):
            ServerForm.pasted = event.text_area.text
            if self._timer:
                self._timer.stop()
            self._timer = self.set_timer(_PAUSE, self._read_paste)

    @on(FormView.Changed)
    def check_secrets(self, event: FormView.Changed) -> None:
        event.stop()
        self.form.show_problems(secret_warnings(event.value))
        self._say("", "")

    def _read_paste(self) -> None:
        self._more = []
        text = ServerForm.pasted.strip()
        if not text:
            self._say("", "")
            return
        try:
            found = parse_paste(text)
        except ConfigError as problem:
            self._tell(problem)
            return
        self._base = replace(found[0], name=self._free_name(found[0].name))
        new = value_of(self._base)
        self.form.set_value(merged(self._filled, self.form.value, new))
        self.form.show_problems(secret_warnings(self.form.value))
        self._filled, self._more = new, found[1:]
        if self._more:
            names = ", ".join(safe(server.name, 40) for server in found[:8])
            self._say("", f"{len(found)} servers: {names}. Saving adds all of them; the fields are of the first.")

    def _free_name(self, name: str) -> str:
        taken = set(self.app.studio.manager.names())
        return next(free for free in (name, *(f"{name}-{n}" for n in range(2, 1_000))) if free not in taken)

    # What is done with it

    def _entry(self) -> ServerConfig | None:
        """What the form says; None where that is no entry, which is told."""
        wrong = errors((*self.form.unreadable, *self.form.problems))
        if wrong:
            self.form.focus_first_problem()
            self._say("bad", f"{wrong[0].place}: {wrong[0].message}.")
            return None
        try:
            return server_of(self.form.value, self._base)
        except ConfigError as problem:
            self._tell(problem)
            return None

    def _tell(self, problem: StudioError) -> None:
        """Say a problem at the field that it is about, too."""
        if isinstance(problem, ConfigError) and problem.key:
            place = pointer_of(problem.key)
            self.form.show_problems([SchemaProblem(place, problem.message)])
            self.form.focus_field(place)
        self._say("bad", f"{problem.message} {problem.hint}")

    def action_test(self) -> None:
        """Connect without saving."""
        if server := self._entry():
            self._say("busy", "Connecting …")
            self.run_worker(self._test(server), group="test", exclusive=True)

    async def _test(self, server: ServerConfig) -> None:
        try:
            ready = await beside(effective, server)
        except ConfigError as problem:
            self._tell(problem)
        else:
            self._report(await self.app.studio.test(ready))

    def _report(self, report: TestReport) -> None:
        status = report.status
        if status.state == "ready":
            offers = ", ".join(units.plural(count, kind) for kind, count in report.counts.items() if count)
            facts = (f"connected in {units.duration(report.ms)}", safe(status.version), offers or "it offers nothing")
            warnings = "".join(f"\n{glyphs().warning} {safe(text, 300)}" for text in status.warnings[:3])
            self._say("ok", " · ".join(facts) + warnings)
        else:
            error = status.error
            reason = f"{safe(error.message, 600)} {safe(error.hint, 300)}" if error else connections.state_words(status)
            sign_in = " Save it, then sign in to it." if status.state == "needs_auth" else ""
            self._say("bad", reason + sign_in)

    def action_submit(self) -> None:
        """Save and connect."""
        if entry := self._entry():
            self.run_worker(self._save([entry, *self._more]), group="save", exclusive=True)

    async def _save(self, servers: list[ServerConfig]) -> None:
        old = self._old.name if self._old else ""
        place = self.query_one(Select).value
        try:
            for server in servers:
                if server.name in self.app.studio.manager.names() and server.name != old:
                    taken = f"There is a server {safe(server.name, 60)} already; choose another name."
                    raise ConfigError(taken, key="/name" if server is servers[0] else "")
            ready = await offered(self, self.app.studio.redactor, servers)
            for server in ready or ():
                assert isinstance(place, Source)
                await server_files.save(self.app.studio, server, old, place)
        except StudioError as problem:
            self._tell(problem)
            return
        if ready:
            ServerForm.pasted = ""
            self.dismiss(ready[0])

    def action_import_servers(self) -> None:
        from mcp_studio.tui.screens.import_servers import ImportServers

        def imported(server: ServerConfig | None) -> None:
            if server is not None:
                self.dismiss(server)

        self.app.push_screen(ImportServers(), imported)

    def _say(self, tone: str, text: str) -> None:
        sign, colour = _TONES.get(tone, ("dot", "$quiet"))
        shown = safe(text, 1_500, lines=True).strip()
        self.note.update(Content.styled(f"{getattr(glyphs(), sign)} {shown}", colour) if shown else Content(""))
