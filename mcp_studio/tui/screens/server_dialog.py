"""Adding or editing a server: paste anything, look at the details, try it, save it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static, TextArea

from mcp_studio.config.expand import effective
from mcp_studio.config.importers import parse_paste
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import ConfigError
from mcp_studio.present import connections, units
from mcp_studio.safetext import safe
from mcp_studio.schema.field import errors
from mcp_studio.tui import secret_offers
from mcp_studio.tui.entering import merged, secret_warnings
from mcp_studio.tui.entry import server_of, value_of
from mcp_studio.tui.form.form_view import FormView
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.screens.entry_form import EntryForm
from mcp_studio.tui.server_files import place_of, save
from mcp_studio.tui.server_form import server_form
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.vault.base import beside

if TYPE_CHECKING:
    from mcp_studio.studio import Studio, TestReport
    from mcp_studio.tui.app import StudioApp

Importing = Callable[["Studio"], ModalScreen[ServerConfig]]
_PAUSE = 0.15


class ServerDialog(Dialog[ServerConfig], scope="server dialog"):
    """Answers the server that was saved."""

    def __init__(self, studio: Studio, old: ServerConfig | None, importing: Importing) -> None:
        super().__init__()
        self._import = importing
        self._studio = studio
        self._old = old
        self._base = old or ServerConfig("")
        self._many: list[ServerConfig] = []
        self._known: set[secret_offers.Clear] = set()
        self._paste = TextArea(compact=True, classes="paste", placeholder="npx -y @scope/server …   https://…   {…}")
        self._filled = value_of(self._base)
        self.form = EntryForm(server_form(), self._filled, sends=False)
        self._note = Static(classes="note")
        self._timer: Timer | None = None

    def heading(self) -> Content:
        """Adding, or which server is edited."""
        return Content(f"Edit {safe(self._old.name, 60)}" if self._old else "Add server")

    def body(self) -> Iterable[Widget]:
        """The paste box, the details, and a line on how it went."""
        if self._old is None:
            yield Static(Content("Paste a command, a URL or an mcp.json snippet"), classes="quiet")
            yield self._paste
        place = place_of(self._studio, self._old.name if self._old else "").file
        yield Static(Content(f"Saved in {safe(place, 300)}"), classes="quiet")
        yield self.form
        yield self._note

    def on_mount(self) -> None:
        """An existing entry is there to be edited, a new one to be pasted."""
        self.query_one("#box").add_class("-wide")
        self._note.display = False
        if self._old:
            self.form.focus_field("/connect/command" if self._base.command else "/connect/url")
            self.call_after_refresh(self.form.show_top)
            if secret_offers.clear([self._old], set()):
                self._warn(self._old)
        else:
            self._paste.focus()
        self.form.show_problems(secret_warnings(self.form.value))

    # What is typed

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Read a paste once the person pauses."""
        if event.text_area is self._paste:
            if self._timer:
                self._timer.stop()
            self._timer = self.set_timer(_PAUSE, self._read_paste)

    def on_form_view_changed(self, event: FormView.Changed) -> None:
        """What was said of the old details need not be true of these."""
        event.stop()
        self.form.show_problems(secret_warnings(event.value))
        if not self._many:
            self._say("", "")

    def _read_paste(self) -> None:
        self._many = []
        if not self._paste.text.strip():
            self._say("", "")
            return
        try:
            found = parse_paste(self._paste.text)
        except ConfigError as problem:
            self._say("bad", f"{problem.message} {problem.hint}")
            return
        self._base = replace(found[0], name=self._free_name(found[0].name))
        new = value_of(self._base)
        self.form.fill(merged(self._filled, self.form.value, new))
        self.form.show_problems(secret_warnings(self.form.value))
        self._filled = new
        if len(found) > 1:
            self._many = found
            names = ", ".join(safe(server.name, 40) for server in found[:8])
            self._say("off", f"{len(found)} servers: {names}. Saving adds all of them; the details are of the first.")
        else:
            self._warn(self._base)

    def _free_name(self, name: str) -> str:
        taken = set(self._studio.manager.names())
        return next(free for free in (name, *(f"{name}-{n}" for n in range(2, 1_000))) if free not in taken)

    def _warn(self, server: ServerConfig) -> None:
        secrets = secret_offers.clear([server], set())
        if secrets:
            names, key = secret_offers.words(secrets), self._key("server-keep")
            self._say("busy", f"{names} looks secret and would be written in clear: {key} keeps it in the keyring.")
        else:
            self._say("off", f"Ready to {self._key('server-test')} test or {self._key('server-save')} save.")

    # What is done with it

    def _entry(self) -> ServerConfig | None:
        """What the form says; None where that is none, which is told."""
        self.form.understand()
        wrong = errors((*self.form.unreadable, *self.form.problems))
        if wrong:
            self.form.focus_first_problem()
            self._say("bad", f"{wrong[0].place}: {wrong[0].message}.")
            return None
        try:
            return server_of(self.form.value, self._base)
        except ConfigError as problem:
            self._tell_problem(problem)
            return None

    def _tell_problem(self, problem: ConfigError) -> None:
        if problem.key:
            self.form.tell(problem)
        self._say("bad", f"{problem.message} {problem.hint}")

    def action_test(self) -> None:
        """Try it without saving."""
        if server := self._entry():
            self._say("busy", "Connecting …")
            self.run_worker(self._test(server), group="test", exclusive=True)

    async def _test(self, server: ServerConfig) -> None:
        try:
            ready = await beside(effective, server)
        except ConfigError as problem:
            self._tell_problem(problem)
            return
        self._tell(await self._studio.test(ready))

    def _tell(self, report: TestReport) -> None:
        status = report.status
        if status.state == "ready":
            offers = ", ".join(units.plural(count, kind) for kind, count in report.counts.items() if count)
            facts = (
                f"connected in {units.duration(report.ms)}",
                safe(status.version),
                offers or "it offers nothing",
            )
            warnings = "".join(f"\n{glyphs().warning} {safe(text, 300)}" for text in status.warnings[:3])
            self._say("ok", " · ".join(facts) + warnings)
        else:
            error = status.error
            reason = f"{safe(error.message, 600)} {safe(error.hint, 300)}" if error else connections.state_words(status)
            if status.state == "needs_auth":
                reason += f" Save it: {self._key('server-sign-in')} on its row signs in."
            self._say("bad", reason)

    def action_save(self) -> None:
        """Save and connect."""
        entry = self._entry()
        servers = [entry, *self._many[1:]] if entry else []
        old = self._old.name if self._old else ""
        for server in servers:
            if server.name in self._studio.manager.names() and server.name != old:
                taken = f"There is a server {safe(server.name, 60)} already; choose another name."
                self._tell_problem(ConfigError(taken, key="/name" if server is entry else ""))
                return
        clear = secret_offers.clear(servers, self._known)
        if clear:
            secret_offers.ask(self, clear, lambda what: self._decided(what, servers))
        elif servers:
            self.run_worker(self._save(servers, old), group="save", exclusive=True)

    def _decided(self, what: str, servers: list[ServerConfig]) -> None:
        """What is to be done with secrets in clear is asked once."""
        if what == "keep":
            self.run_worker(self._keep(servers, then_save=True), group="save", exclusive=True)
        else:
            self._known |= secret_offers.known(servers)
            self.action_save()

    def action_keep(self) -> None:
        """Put the secrets that stand in clear into the keyring, and references in their places."""
        entry = self._entry()
        servers = [entry, *self._many[1:]] if entry else []
        if not servers:
            return
        if secret_offers.clear(servers, set()):
            self._say("busy", "Keeping …")
            self.run_worker(self._keep(servers), group="save", exclusive=True)
        else:
            self._say("off", "Nothing in it looks secret and stands in clear.")

    async def _keep(self, servers: list[ServerConfig], *, then_save: bool = False) -> None:
        try:
            kept, place = await secret_offers.moved(self._studio.redactor, servers)
        except ConfigError as problem:
            self._tell_problem(problem)
            return
        self._base, self._filled = kept[0], value_of(kept[0])
        self._many = kept if self._many else []
        self.form.fill(self._filled)
        self.form.show_problems(secret_warnings(self.form.value))
        self._say("ok", f"It is kept in {place}; the entry refers to it.")
        if then_save:
            self.action_save()

    async def _save(self, servers: list[ServerConfig], old: str) -> None:
        try:
            for server in servers:
                await save(self._studio, server, old)
        except ConfigError as problem:
            self._tell_problem(problem if len(servers) == 1 else ConfigError(problem.message, hint=problem.hint))
        else:
            self.dismiss(servers[0])

    def action_import_files(self) -> None:
        """Take servers over from other clients."""
        self.app.push_screen(self._import(self._studio), self._imported)

    def _imported(self, server: ServerConfig | None) -> None:
        if server is not None:
            self.dismiss(server)

    def action_back(self) -> None:
        """Leave without saving."""
        self.dismiss(None)

    def _key(self, action: str) -> str:
        return cast("StudioApp", self.app).spell(action)

    def _say(self, tone: str, text: str) -> None:
        looks = {"ok": ("ok", "$state-ready"), "bad": ("bad", "$state-failed"), "busy": ("half", "$state-busy")}
        sign, colour = looks.get(tone, ("dot", "$quiet"))
        shown = safe(text, 1_500, lines=True).strip()
        self._note.display = bool(shown)
        self._note.update(Content.assemble((f"{getattr(glyphs(), sign)} {shown}", colour)) if shown else Content(""))
