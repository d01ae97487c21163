"""Adding or editing a server: paste any description, check the fields, test the connection, save."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from textual import getters, on, work
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Label, Select, Static, TextArea

from mcp_studio.config.expand import effective
from mcp_studio.config.model import ServerConfig, Source
from mcp_studio.errors import ConfigError, StudioError
from mcp_studio.jsontext import Json
from mcp_studio.present import connections, units
from mcp_studio.safetext import safe
from mcp_studio.schema.field import SchemaProblem
from mcp_studio.session.state import TestReport
from mcp_studio.threads import beside
from mcp_studio.tui import server_files
from mcp_studio.tui.app import failure_text
from mcp_studio.tui.form.view import FormView
from mcp_studio.tui.screens import server_entry
from mcp_studio.tui.screens.dialog import Choice, Dialog, Widgets
from mcp_studio.tui.screens.secrets import offered
from mcp_studio.tui.views.rows import glyphs

_PLACEHOLDER = "Paste a command line, a URL, JSON of an mcp.json, or claude mcp add …"


class Draft(NamedTuple):
    """The content of the form."""

    value: Json
    filled: Json
    """The value with which the form was last filled, before the person's edits."""
    base: ServerConfig
    more: tuple[ServerConfig, ...] = ()
    """Further servers of the paste."""
    pasted: str = ""
    pending: Mapping[str, str] = {}
    """Text by JSON pointer that is no JSON, though the field requires JSON."""


class ServerForm(Dialog[ServerConfig]):
    """Edits a server's entry; answers the saved server.

    Args:
        old: the server to edit; None to add one.
        drafts: unsaved drafts by server name; whoever opens the dialog again passes the same drafts.
    """

    DEFAULT_CLASSES = "-broad"
    choices = (
        Choice("submit", "Save", "primary"), Choice("test", "Test"), Choice("import_servers", "Import…"),
        Choice("start_over", "Discard"), Choice("back", "Close"),
    )  # fmt: skip
    form = getters.query_one(FormView)

    def __init__(self, old: ServerConfig | None, drafts: dict[str, Draft]) -> None:
        super().__init__(f"Edit {old.name}" if old else "Add a server")
        self._old = old
        self._server = old.name if old else ""
        self._drafts = drafts
        self._draft = drafts.get(self._server) or self._blank()
        self._unreadable = ""
        """Why what is pasted describes no server."""
        self._unknown = old.command if old else ""
        """The command that is saved even if there is no such program."""

    def _blank(self) -> Draft:
        base = self._old or ServerConfig("")
        return Draft(server_entry.value_of(base), server_entry.value_of(base), base)

    def body(self) -> Widgets:
        if self._old is None:
            yield TextArea(self._draft.pasted, placeholder=_PLACEHOLDER, compact=True, id="paste")
        yield FormView(server_entry.server_form(), self._draft.value)
        places = server_files.places_of(self.app.studio, self._server)
        options = [(Content(safe(place.file, 300)), place) for place in places]
        select = Select(options, value=places[0], allow_blank=False, compact=True)
        yield Horizontal(Label("Saved in", classes="label"), select, id="place")
        for file in self.app.studio.config.files:
            if file.endswith(".json") and self._old is None:
                yield Static(Content(f"Not in {safe(file, 200)}: the studio only reads JSON files."), classes="quiet")

    def on_mount(self) -> None:
        self.show_buttons(import_servers=self._old is None)
        self.form.show(server_entry.server_form(), self._draft.value, self._draft.pending)
        self._show_warnings()
        if self._server in self._drafts:
            self.note("This was typed earlier, and is not saved yet.", "quiet")
        if self._old is None:
            self.query_one(TextArea).focus().select_all()  # another paste replaces what was pasted earlier
        else:
            self.form.focus_field("/connect/command" if self._draft.base.command else "/connect/url")

    def action_back(self) -> None:
        draft = self._draft._replace(value=self.form.value, pending=self.form.pending)
        self._drafts.pop(self._server, None)
        if draft != self._blank():
            self._drafts[self._server] = draft
        self.dismiss(None)

    # What is typed

    @on(TextArea.Changed, "#paste")
    def read_paste(self, event: TextArea.Changed) -> None:
        """Fill the form from what is pasted or typed, or say why that describes no server."""
        pasted = event.text_area.text
        self._draft, self._unreadable = self._draft._replace(pasted=pasted, more=()), ""
        self.note("")
        try:
            servers = server_entry.pasted_servers(pasted) if pasted.strip() else [ServerConfig("")]
        except ConfigError as problem:
            servers, self._unreadable = [ServerConfig("")], failure_text(problem)  # no field keeps a part of it
            self.note(self._unreadable, "bad")
        found = self._with_free_names(servers)
        new = server_entry.value_of(found[0])
        self.form.set_value(server_entry.merged(self._draft.filled, self.form.value, new))
        self._show_warnings()
        self._draft = self._draft._replace(filled=new, base=found[0], more=tuple(found[1:]))
        if self._draft.more:
            names = ", ".join(safe(server.name, 40) for server in found[:8])
            self.note(f"{len(found)} servers: {names}. Saving adds all of them; the fields are of the first.", "quiet")

    @on(FormView.Changed)
    def form_changed(self, event: FormView.Changed) -> None:
        event.stop()
        self._show_warnings()
        self.note("")

    def _show_warnings(self) -> None:
        self.form.show_problems(server_entry.secret_warnings(self.form.value))

    def _with_free_names(self, servers: Iterable[ServerConfig]) -> list[ServerConfig]:
        taken = set(self.app.studio.manager.names())
        found: list[ServerConfig] = []
        for server in servers:
            names = (server.name, *(f"{server.name}-{number}" for number in range(2, 1_000)))
            found.append(replace(server, name=next(name for name in names if name not in taken)))
            taken.add(found[-1].name)
        return found

    # What is done with it

    def _entry(self) -> ServerConfig | None:
        """The server that the form describes; None if the form has a problem, which is shown."""
        if self._unreadable and self.query("#paste:focus"):
            self.note(self._unreadable, "bad")
            return None
        if wrong := self.form.check():
            self.note(f"{wrong[0].sentence}.", "bad")
            return None
        try:
            return server_entry.server_of(self.form.value, self._draft.base)
        except ConfigError as problem:
            self._tell(problem)
            return None

    def _tell(self, problem: StudioError) -> None:
        """Show a problem, and show it at its field, too."""
        if isinstance(problem, ConfigError) and problem.key:
            place = server_entry.pointer_of(problem.key)
            self.form.show_problems([SchemaProblem(place, problem.message)])
            self.form.focus_field(place)
        self.note(failure_text(problem), "bad")

    @work(group="test", exclusive=True)
    async def action_test(self) -> None:
        """Connect without saving."""
        if (server := self._entry()) is None:
            return
        self.note("Connecting …", "quiet")
        try:
            report = await self.app.studio.test(await beside(effective, server))
        except StudioError as problem:
            self._tell(problem)
        else:
            self._report(report)

    def _report(self, report: TestReport) -> None:
        status = report.status
        if status.state == "ready":
            offers = ", ".join(units.plural(count, kind) for kind, count in report.counts.items() if count)
            facts = (f"Connected in {units.duration(report.ms)}", safe(status.version), offers or "it offers nothing")
            warnings = "".join(f"\n{glyphs().warning} {safe(text, 300)}" for text in status.warnings[:3])
            self.note(" · ".join(facts) + warnings, "ok")
        else:
            error = status.error
            reason = f"{safe(error.message, 600)} {safe(error.hint, 300)}" if error else connections.state_words(status)
            sign_in = " Save it, then sign in to it." if status.state == "needs_auth" else ""
            printed = f"\nIt printed: {safe(report.printed[-1], 300)}" if report.printed else ""
            self.note(reason + sign_in + printed, "bad")

    @work(group="save", exclusive=True)
    async def action_submit(self) -> None:
        """Save and connect."""
        if (entry := self._entry()) is None:
            return
        if entry.command != self._unknown and not server_entry.has_program(entry):
            self._unknown = entry.command
            again = f"Press {self.app.key_of('submit')} again to save it anyway."
            self.note(f"There is no command {safe(entry.command, 100)} on this machine. {again}", "bad")
            return
        servers = [entry, *self._draft.more]
        place, name = self.query_one(Select).value, entry.name
        assert isinstance(place, Source)
        try:
            if name in self.app.studio.manager.names() and name != self._server:
                raise ConfigError(f"There is a server {name} already; choose another name.", key="/name")
            ready = await offered(self.app, servers)
            for server in ready or ():
                await server_files.save(self.app.studio, server, self._server, place)
        except StudioError as problem:
            self._tell(problem)
            return
        if ready:
            self._drafts.pop(self._server, None)
            self.dismiss(ready[0])

    @work
    async def action_import_servers(self) -> None:
        from mcp_studio.tui.screens.import_servers import ImportServers

        if server := await self.app.push_screen_wait(ImportServers()):
            self.dismiss(server)

    def action_start_over(self) -> None:
        """Empty the form, or show the saved entry."""
        self._drafts.pop(self._server, None)
        self._draft = self._blank()
        for area in self.query("#paste").results(TextArea):
            area.text = ""
        self.form.set_value(self._draft.value)
        self.note("")
