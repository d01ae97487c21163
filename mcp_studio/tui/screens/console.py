"""The console of one server: a frame is written by hand and sent, and what comes back is listed below it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import cast

from textual import getters, on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Static, TextArea

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json
from mcp_studio.present import connections, units
from mcp_studio.safetext import safe
from mcp_studio.session.raw import RawConnection, RawExchange, RawSender
from mcp_studio.trace.message import WireMessage
from mcp_studio.tui.form.json_editor import JsonArea
from mcp_studio.tui.screens import console_text
from mcp_studio.tui.screens.choose import Choose
from mcp_studio.tui.screens.console_text import Template
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.find import Findable
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.line import Line, spread
from mcp_studio.tui.views.virtual_list import VirtualList

_PAUSE = 0.1
"""Seconds between two looks at what came."""
_HISTORY = 50
_LOOKS = {"error": "bad", "invalid": "bad", "stderr": "warn", "stray": "warn", "result": "ok"}


class Console(Dialog[None]):
    """What is typed, and what was sent, is kept as a draft of the server.

    Args:
        text: a frame to begin with, instead of the draft.
    """

    DEFAULT_CLASSES = "-large"
    DEFAULT_CSS = """
    Console {
        & JsonArea { height: 10; }
        & VirtualList { height: 1fr; min-height: 3; }
        & Findable { height: 1fr; min-height: 3; }
    }
    """
    choices = (
        Choice("submit", "Send", "primary"),
        Choice("template", "Start from…"),
        Choice("older", "Older"),
        Choice("newer", "Newer"),
        Choice("alone", "Connect without a handshake"),
        Choice("copy", "Copy the answer"),
        Choice("back", "Close"),
    )
    editor = getters.query_one(JsonArea)
    came = getters.query_one("#came", VirtualList)
    outcome = getters.query_one("#outcome", Static)

    def __init__(self, server: str, text: str = "") -> None:
        super().__init__()
        self._server = server
        self._begin = text
        self._sent: list[str] = []
        self._place = 0
        self._typed = ""
        """What stood in the editor before older frames were looked at."""
        self._bare: RawConnection | None = None
        self._exchange: RawExchange | None = None
        self._view = JsonView()

    def heading(self) -> str:
        return f"Console of {self._server}"

    def body(self) -> Iterable[Widget]:
        yield Static(id="where", markup=False)
        yield JsonArea()
        yield Static(id="verdict", markup=False)
        yield Static(id="outcome", markup=False)
        yield VirtualList(
            self._draw, key=lambda entry: entry.number, empty="What comes back is listed here.", id="came"
        )
        yield Findable(self._view)

    def on_mount(self) -> None:
        draft = self.app.studio.memory.drafts.get(self._draft_key)
        typed = cast("dict[str, Json]", draft).get("text") if isinstance(draft, dict) else None
        self._sent = console_text.history_of(draft)
        self._place = len(self._sent)
        kept = typed if isinstance(typed, str) else ""
        first = Template("tools/list" if self._sender is not None else "initialize", "request")
        self.editor.text = self._begin or kept or self._text_of(first)
        self.editor.focus()
        self._look()
        self.set_interval(_PAUSE, self._look)

    def on_unmount(self) -> None:
        """Nothing stays connected behind the dialog."""
        self._end_bare()

    @property
    def _draft_key(self) -> str:
        return f"console:{self._server}"

    # Who sends

    @property
    def _sender(self) -> RawSender | RawConnection | None:
        if self._bare is not None:
            return self._bare
        try:
            return self.app.studio.manager.by_hand(self._server)
        except StudioError:
            return None

    def _text_of(self, template: Template) -> str:
        sender = self._sender
        return console_text.text_of(template, sender.spare_id() if sender else 1, sender.stamp if sender else {})

    # What is shown

    def _look(self) -> None:
        """Show what came, and how it is connected."""
        if self._server not in self.app.studio.manager.names():
            self.dismiss(None)
            return
        if self._bare is not None and self._bare.ended.done():
            self._end_bare()
        self.query_one("#where", Static).update(self._where())
        self.query_one("#alone", Button).label = "End that" if self._bare is not None else "Connect without a handshake"
        if (exchange := self._exchange) is not None:
            came = exchange.came_back()
            if len(came) != self.came.row_count:
                self.came.show(came)
                self._show_row()
            self.outcome.update(self._how(exchange, len(came)))

    def _where(self) -> Content:
        if self._bare is not None:
            words = "connected without a handshake: nothing is sent but what you write"
            return Content.styled(f"{glyphs().half} {words}", "$state-busy")
        status = self.app.studio.manager.status(self._server)
        if status.state == "ready":
            return Content.styled(f"{glyphs().on} connected, {safe(status.version)}", "$state-ready")
        return Content.styled(f"{glyphs().off} {connections.state_words(status)}", "$quiet")

    def _how(self, exchange: RawExchange, came: int) -> Content:
        """How the exchange went so far."""
        note = "; one of its ids is in use by the studio" if exchange.collides else ""
        if exchange.error is not None:
            return Content.styled(f"{glyphs().bad} {safe(exchange.error.message, 300)}", "$state-failed")
        if exchange.ms is not None:
            return Content.styled(f"{glyphs().ok} answered after {units.duration(exchange.ms)}{note}", "$state-ready")
        if not exchange.done:
            waiting = "waiting for the answer" if exchange.wants_answer else "sent; listening for a moment"
            return Content.styled(f"{glyphs().half} {waiting}{note}", "$state-busy")
        missing = "no reply" if exchange.wants_answer else "sent" if came else "sent; nothing came back"
        return Content.styled(f"{glyphs().dot} {missing}{note}", "$quiet")

    def _draw(self, entry: WireMessage, width: int, selected: bool) -> Line:
        arrow = {"in": glyphs().received, "out": glyphs().sent}.get(entry.direction, glyphs().dot)
        number = "" if entry.id is None else f" {safe(entry.id, 20)}"
        body = self._exchange.body(entry) if self._exchange else entry.body
        text = "" if entry.kind == "http" else safe(body[:400].decode("utf-8", "replace"), 200)
        left = [
            (f"{arrow} ", "dim"),
            (entry.kind, _LOOKS.get(entry.kind, "")),
            (f"{number} {safe(entry.method, 60)}", ""),
        ]
        clock = time.strftime("%H:%M:%S", time.localtime(entry.time))
        return spread([*left, (f"  {text}", "dim")], [(f" {clock}", "dim")], width)

    @on(VirtualList.Highlighted)
    def show_highlighted(self, event: VirtualList.Highlighted) -> None:
        event.stop()
        self._show_row()

    def _show_row(self) -> None:
        if (row := self.came.row) is not None and self._exchange is not None:
            self._view.show(self._exchange.body(row))

    @on(TextArea.Changed)
    def judge(self, event: TextArea.Changed) -> None:
        """Say what the text will be sent as, and keep it."""
        event.stop()
        good, words = console_text.verdict(self.editor.text)
        sign = glyphs().ok if good else glyphs().warning
        text = Content.styled(f"{sign} {safe(words, 300)}", "$quiet" if good else "$state-busy")
        self.query_one("#verdict", Static).update(text)
        self._keep()

    # What the person does

    def action_submit(self) -> None:
        """Send the frame as it stands."""
        sender, text = self._sender, self.editor.text
        if sender is None:
            words = f"{self._server} is not connected. Connect without a handshake to send something all the same."
            self.app.say(words, "warning")
            return
        self._remember(text)
        frame, newlines = console_text.frame_of(text)
        self._exchange = sender.send(frame, newlines=newlines)
        self.came.show(())
        self._look()

    def action_template(self) -> None:
        """Start from a method, or from something broken."""
        version = "" if self._bare is not None else self.app.studio.manager.status(self._server).version
        templates = console_text.templates(version)

        def chosen(place: str | None) -> None:
            if place is not None:
                self._remember(self.editor.text)
                self.editor.text = self._text_of(templates[int(place)])

        options = [(str(place), f"{one.name}  {one.kind}") for place, one in enumerate(templates)]
        self.app.push_screen(Choose("Start from", options), chosen)

    def action_older(self) -> None:
        self._recall(-1)

    def action_newer(self) -> None:
        self._recall(1)

    def _recall(self, step: int) -> None:
        """Go through what was sent before."""
        if self._place >= len(self._sent):
            self._typed = self.editor.text
        place = self._place + step
        if 0 <= place <= len(self._sent):
            self._place = place
            self.editor.text = self._sent[place] if place < len(self._sent) else self._typed
        else:
            self.app.say("Nothing was sent before that." if step < 0 else "That is the newest.")

    def action_alone(self) -> None:
        """Connect without a handshake, or end that."""
        if self._bare is not None:
            self._end_bare()
        else:
            self.app.attempt(self, self._connect_alone(), "bare")

    async def _connect_alone(self) -> None:
        self._bare = await self.app.studio.open_raw(self.app.studio.manager.config(self._server))

    def action_copy(self) -> None:
        if (row := self.came.row) is not None and self._exchange is not None:
            self.app.copy(self._exchange.body(row).decode("utf-8", "replace"))

    def _remember(self, text: str) -> None:
        if text.strip():
            self._sent = [*(one for one in self._sent if one != text), text][-_HISTORY:]
        self._place = len(self._sent)
        self._keep()

    def _keep(self) -> None:
        self.app.studio.memory.drafts.put(self._draft_key, {"text": self.editor.text, "sent": list(self._sent)})

    def _end_bare(self) -> None:
        if self._bare is not None:
            self.app.studio.spawn(self._bare.close())
            self._bare = None
