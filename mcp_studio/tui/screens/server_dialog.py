"""Adding or editing a server: paste anything, look at the details, try it, save it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from textual.containers import Horizontal
from textual.content import Content
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Checkbox, Input, Select, Static, TextArea

from mcp_studio.config.expand import effective
from mcp_studio.config.model import ServerConfig
from mcp_studio.config.snippet import parse_paste
from mcp_studio.errors import ConfigError
from mcp_studio.safetext import safe
from mcp_studio.tui import describe
from mcp_studio.tui.entry import ERAS, Texts, bare_secrets, is_url, server_of, texts_of
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.screens.protocol_part import ProtocolPart
from mcp_studio.tui.server_files import save
from mcp_studio.tui.views.glyphs import glyphs

if TYPE_CHECKING:
    from mcp_studio.studio import Studio, TestReport
    from mcp_studio.tui.app import StudioApp

Importing = Callable[["Studio"], ModalScreen[ServerConfig]]
_PAUSE = 0.15
_LABELS = {
    "name": "name", "target": "command, URL", "args": "arguments", "env": "env", "headers": "headers", "cwd": "folder",
}  # fmt: skip
_HINTS = {
    "name": "how you call it", "target": "npx, uvx, a path … or https://…", "args": "as in a shell",
    "cwd": "where it is started",
}  # fmt: skip


class Mark(Checkbox):
    """A checkbox that needs no colour to tell its state, drawn as forms draw theirs."""

    BUTTON_LEFT = BUTTON_RIGHT = ""
    BUTTON_INNER = "[ ]"

    def watch_value(self) -> None:
        """Draw the state."""
        inner = "[x]" if self.value else "[ ]"
        self.BUTTON_INNER = inner  # pyright: ignore[reportConstantRedefinition] - Textual asks the instance
        super().watch_value()
        self.refresh()


class ServerDialog(Dialog[ServerConfig], scope="server dialog"):
    """Answers the server that was saved."""

    def __init__(self, studio: Studio, old: ServerConfig | None, importing: Importing) -> None:
        super().__init__()
        self._import = importing
        self._studio = studio
        self._old = old
        self._base = old or ServerConfig("")
        self._many: list[ServerConfig] = []
        self._paste = TextArea(compact=True, classes="paste", placeholder="npx -y @scope/server …   https://…   {…}")
        self._note = Static(classes="note")
        self._protocol = ProtocolPart()
        self._timer: Timer | None = None

    def heading(self) -> Content:
        """Adding, or which server is edited."""
        return Content(f"Edit {safe(self._old.name, 60)}" if self._old else "Add server")

    def body(self) -> Iterable[Widget]:
        """The paste box, the details, and a line on how it went."""
        if self._old is None:
            yield Static(Content("Paste a command, a URL or an mcp.json snippet"), classes="quiet")
            yield self._paste
        for key, label in _LABELS.items():
            yield Horizontal(Static(Content(label), classes="label"), _field(key), classes="row", id=f"row-{key}")
        yield Horizontal(
            Static(Content("era"), classes="label"),
            Select[str]([(era, era) for era in ERAS], value="auto", allow_blank=False, compact=True, id="field-era"),
            Mark(Content("believe hints"), compact=True, id="field-trust"),
            Mark(Content("at start"), True, compact=True, id="field-enabled"),
            classes="row",
        )
        yield self._protocol
        yield self._note

    def on_mount(self) -> None:
        """An existing entry is there to be edited, a new one to be pasted."""
        self._fill(texts_of(self._base))
        if self._old:
            self.query_one("#field-target", Input).focus()
        else:
            self._paste.focus()
        self._show_kind()

    # What is typed

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Read a paste once the person pauses."""
        if event.text_area is self._paste:
            if self._timer:
                self._timer.stop()
            self._timer = self.set_timer(_PAUSE, self._read_paste)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Commands and addresses have different details."""
        if event.input.id == "field-target":
            self._show_kind()

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
        self._fill(texts_of(self._base))
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
        secrets = bare_secrets(server)
        if secrets:
            names = ", ".join(safe(name, 60) for name in secrets)
            self._say(
                "busy", f"{names} looks secret and would be written in clear: ${{keyring:NAME}} or ${{NAME}} hides it."
            )
        else:
            self._say("off", f"Ready to {self._key('server-test')} test or {self._key('server-save')} save.")

    def _fill(self, texts: Texts) -> None:
        for key in _LABELS:
            field = self.query_one(f"#field-{key}")
            if isinstance(field, TextArea):
                field.text = texts[key]
            elif isinstance(field, Input):
                field.value = texts[key]
        self.query_one("#field-era", Select).value = texts["era"]
        for key in ("trust", "enabled"):
            self.query_one(f"#field-{key}", Checkbox).value = bool(texts[key])
        self._protocol.fill(texts)

    def _texts(self) -> Texts:
        texts: Texts = {"era": str(cast("object", self.query_one("#field-era", Select).value))}
        for key in _LABELS:
            field = self.query_one(f"#field-{key}")
            texts[key] = field.text if isinstance(field, TextArea) else cast(Input, field).value
        for key in ("trust", "enabled"):
            texts[key] = "yes" if self.query_one(f"#field-{key}", Checkbox).value else ""
        return texts | self._protocol.texts

    def _show_kind(self) -> None:
        url = is_url(self.query_one("#field-target", Input).value)
        for key in ("args", "env", "cwd"):
            self.query_one(f"#row-{key}").display = not url
        self.query_one("#row-headers").display = url

    # What is done with it

    def _entry(self) -> ServerConfig | None:
        try:
            return server_of(self._texts(), self._base)
        except ConfigError as problem:
            self._say("bad", problem.message)
            self._protocol.reveal(problem.key)
            self.query_one(f"#field-{problem.key}").focus()
            return None

    def action_test(self) -> None:
        """Try it without saving."""
        if server := self._entry():
            self._say("busy", "Connecting …")
            self.run_worker(self._test(server), group="test", exclusive=True)

    async def _test(self, server: ServerConfig) -> None:
        try:
            ready = await asyncio.to_thread(effective, server)
        except ConfigError as problem:
            self._say("bad", f"{problem.message} {problem.hint}")
            return
        self._tell(await self._studio.test(ready))

    def _tell(self, report: TestReport) -> None:
        status = report.status
        if status.state == "ready":
            offers = ", ".join(describe.plural(count, kind) for kind, count in report.counts.items() if count)
            facts = (
                f"connected in {describe.duration(report.ms)}",
                safe(status.version),
                offers or "it offers nothing",
            )
            warnings = "".join(f"\n{glyphs().warning} {safe(text, 300)}" for text in status.warnings[:3])
            self._say("ok", " · ".join(facts) + warnings)
        else:
            error = status.error
            reason = f"{safe(error.message, 600)} {safe(error.hint, 300)}" if error else describe.state_words(status)
            self._say("bad", reason)

    def action_save(self) -> None:
        """Save and connect."""
        servers = self._many or [server for server in (self._entry(),) if server]
        old = self._old.name if self._old else ""
        for server in servers:
            if server.name in self._studio.manager.names() and server.name != old:
                self._say("bad", f"There is a server {safe(server.name, 60)} already; choose another name.")
                return
        if servers:
            self.run_worker(self._save(servers, old), group="save", exclusive=True)

    async def _save(self, servers: list[ServerConfig], old: str) -> None:
        try:
            for server in servers:
                await save(self._studio, server, old)
        except ConfigError as problem:
            self._say("bad", f"{problem.message} {problem.hint}")
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
        self._note.update(Content.assemble((f"{getattr(glyphs(), sign)} {shown}", colour)) if shown else Content(""))


def _field(key: str) -> Widget:
    if key in ("env", "headers"):
        hint = "NAME=value, one a line" if key == "env" else "Name: value, one a line"
        return TextArea(id=f"field-{key}", compact=True, classes="lines", placeholder=hint, tab_behavior="focus")
    return Input(id=f"field-{key}", compact=True, placeholder=_HINTS.get(key, ""))
