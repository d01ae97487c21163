"""The console of one server: a frame is written by hand and sent, and what comes back is listed below it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static, TextArea

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json
from mcp_studio.present import connections, units
from mcp_studio.safetext import safe
from mcp_studio.session.raw import RawConnection, RawExchange, RawSender
from mcp_studio.trace.message import WireMessage
from mcp_studio.tui import by_hand
from mcp_studio.tui.form.area import AreaEditor
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.screens.template_choice import TemplateChoice
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.line import Line, spread
from mcp_studio.tui.views.messages import Copied
from mcp_studio.tui.views.virtual_list import VirtualList

if TYPE_CHECKING:
    from mcp_studio.studio import Studio
    from mcp_studio.tui.app import StudioApp

_POLL = 0.1
_HISTORY = 50
_LOOKS = {"error": "bad", "invalid": "bad", "stderr": "warn", "stray": "warn", "result": "ok"}
_EMPTY = "What comes back stands here."


class Console(Dialog[None], scope="console"):
    """What is typed, and what was sent, is kept as a draft of the server.

    Args:
        text: a frame to begin with, instead of the draft.
    """

    def __init__(self, studio: Studio, server: str, text: str = "") -> None:
        super().__init__()
        self._studio = studio
        self._server = server
        self._key = f"console:{server}"
        draft = studio.memory.drafts.get(self._key)
        self._sent = by_hand.history_of(draft)
        self._place = len(self._sent)
        typed = cast("dict[str, Json]", draft).get("text") if isinstance(draft, dict) else None
        self._kept = typed if isinstance(typed, str) else ""
        self._begin = text
        self._bare: RawConnection | None = None
        self._exchange: RawExchange | None = None
        self._stamp: object = None
        self._line = Static(classes="quiet")
        self._editor = AreaEditor(classes="frame")
        self._verdict = Static()
        self._outcome = Static()
        self._list: VirtualList[WireMessage] = VirtualList(self._draw, key=lambda entry: entry.number, empty=_EMPTY)
        self._view = JsonView(classes="viewer")

    def heading(self) -> Content:
        """Whose console it is."""
        return Content(f"Console of {safe(self._server, 60)}")

    def body(self) -> Iterable[Widget]:
        """The frame, what it is, and what came back."""
        return self._line, self._editor, self._verdict, self._outcome, self._list, self._view

    def on_mount(self) -> None:
        """Put back what was typed, or begin with what is given."""
        self._editor.text = self._begin or self._kept or self._first()
        self._editor.focus()
        self._tell()
        self._poll()
        self.set_interval(_POLL, self._poll)

    # Who sends

    @property
    def _sender(self) -> RawSender | RawConnection | None:
        if self._bare is not None:
            return self._bare
        try:
            return self._studio.manager.by_hand(self._server)
        except StudioError:
            return None

    @property
    def _version(self) -> str:
        return "" if self._bare is not None else self._studio.manager.status(self._server).version

    def _first(self) -> str:
        ready = self._sender is not None
        return self._text(by_hand.Template("tools/list" if ready else "initialize", "request"))

    def _text(self, template: by_hand.Template) -> str:
        sender = self._sender
        return by_hand.text_of(template, sender.spare_id() if sender else 1, sender.stamp if sender else {})

    # What is shown

    def _poll(self) -> None:
        if self._server not in self._studio.manager.names():
            self.dismiss(None)
            return
        if self._bare is not None and self._bare.ended.done():
            self._end_bare()
        self._line.update(self._where())
        exchange = self._exchange
        if exchange is None:
            self._outcome.display = False
            return
        stamp = exchange.number, exchange.done, len(exchange.answers), self._studio.trace.total
        if stamp == self._stamp:
            return
        self._stamp = None if not exchange.done else stamp
        came = exchange.came_back()
        self._list.set_rows(came)
        self._outcome.display = True
        self._outcome.update(self._how(exchange, len(came)))
        self._show_row()

    def _where(self) -> Content:
        signs = glyphs()
        if self._bare is not None:
            words = "connected without a handshake: nothing is sent but what you write"
            return Content.styled(f"{signs.half} {words}", "$state-busy")
        status = self._studio.manager.status(self._server)
        if status.state == "ready":
            return Content.styled(f"{signs.on} connected, {safe(status.version)}", "$state-ready")
        key = cast("StudioApp", self.app).spell("console-alone")
        words = f"{connections.state_words(status)} {key} connects without a handshake."
        return Content.styled(f"{signs.off} {words}", "$quiet")

    def _how(self, exchange: RawExchange, came: int) -> Content:
        signs, notes = glyphs(), []
        if exchange.collides:
            notes.append("one of its ids is in use: the first answer is taken for the studio's own request")
        if exchange.error is not None:
            return Content.styled(f"{signs.bad} {safe(exchange.error.message, 300)}", "$state-failed")
        if exchange.ms is not None:
            notes.insert(0, f"answered after {units.duration(exchange.ms)}")
            return Content.styled(f"{signs.ok} {'; '.join(notes)}", "$state-ready")
        if not exchange.done:
            waiting = "waiting for the answer" if exchange.wants_answer else "sent; listening for a moment"
            return Content.styled(f"{signs.half} {'; '.join([waiting, *notes])}", "$state-busy")
        missing = "no answer" if exchange.wants_answer else "sent" if came else "sent; nothing came back"
        return Content.styled(f"{signs.dot} {'; '.join([missing, *notes])}", "$quiet")

    def _draw(self, entry: WireMessage, width: int, selected: bool) -> Line:
        signs = glyphs()
        arrow = {"in": signs.received, "out": signs.sent}.get(entry.direction, signs.dot)
        name = entry.method if entry.kind != "http" or entry.direction == "in" else f"{entry.method} …"
        number = "" if entry.id is None else f" {safe(entry.id, 20)}"
        body = self._exchange.body(entry) if self._exchange else entry.body
        said = "" if entry.kind == "http" else safe(body[:400].decode("utf-8", "replace"), 200)
        left: Line = [
            (f"{arrow} ", "dim"),
            (entry.kind, _LOOKS.get(entry.kind, "")),
            (f"{number} {safe(name, 60)}", ""),
        ]
        clock = time.strftime("%H:%M:%S", time.localtime(entry.time))
        return spread([*left, (f"  {said}", "dim")], [(f" {clock}", "dim")], width)

    def _show_row(self) -> None:
        row, exchange = self._list.row, self._exchange
        body = exchange.body(row) if row is not None and exchange is not None else b""
        if body != self._view.data:
            self._view.set_json(body)

    def _tell(self) -> None:
        good, words = by_hand.verdict(self._editor.text)
        sign = glyphs().ok if good else glyphs().warning
        self._verdict.update(Content.styled(f"{sign} {safe(words, 300)}", "$quiet" if good else "$state-busy"))

    # Events

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Say what the frame is, and keep it."""
        event.stop()
        self._tell()
        self._keep()

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Show the message under the cursor."""
        event.stop()
        self._show_row()

    def on_copied(self, event: Copied) -> None:
        """Put it on the clipboard."""
        event.stop()
        self.app.copy_to_clipboard(event.text)

    def on_unmount(self) -> None:
        """Nothing stays connected behind the dialog."""
        self._end_bare()

    # Actions

    def action_send(self) -> None:
        """Send the frame as it stands."""
        sender, text = self._sender, self._editor.text
        if sender is None:
            key = cast("StudioApp", self.app).spell("console-alone")
            words = f"{self._server} is not connected; {key} connects without a handshake."
            cast("StudioApp", self.app).say(words, "warning")
            return
        self._remember(text)
        frame, newlines = by_hand.frame_of(text)
        self._exchange = sender.send(frame, newlines=newlines)
        self._stamp = None
        self._poll()

    def action_template(self) -> None:
        """Start from something else; what stands there is kept among what was sent."""

        def chosen(template: by_hand.Template | None) -> None:
            if template is not None:
                self._put(self._text(template))

        self.app.push_screen(TemplateChoice(by_hand.templates(self._version)), chosen)

    def action_recall(self, step: int) -> None:
        """Go through what was sent before."""
        if self._place >= len(self._sent) and self._editor.text not in self._sent[-1:]:
            self._kept = self._editor.text
        place = self._place + step
        if not 0 <= place <= len(self._sent):
            cast("StudioApp", self.app).say("Nothing was sent before that." if step < 0 else "That is the newest.")
            return
        self._place = place
        self._editor.text = self._sent[place] if place < len(self._sent) else self._kept
        self._editor.focus()

    def action_alone(self) -> None:
        """Connect without a handshake, or end that."""
        if self._bare is not None:
            self._end_bare()
        else:
            self.run_worker(self._connect_alone(), group="bare", exclusive=True)

    async def _connect_alone(self) -> None:
        try:
            self._bare = await self._studio.open_raw(self._studio.manager.config(self._server))
        except StudioError as error:
            cast("StudioApp", self.app).fail(error)
        self._poll()

    def action_copy(self) -> None:
        """Copy the message under the cursor."""
        if self._list.row is not None and self._exchange is not None:
            cast("StudioApp", self.app).copy(self._exchange.body(self._list.row).decode("utf-8", "replace"))

    def action_close(self) -> None:
        """Leave; what is typed is kept."""
        self.dismiss(None)

    # Helpers

    def _put(self, text: str) -> None:
        """Another text; the one that stands there can be recalled."""
        if self._editor.text.strip():
            self._remember(self._editor.text)
        self._editor.text = text
        self._editor.focus()

    def _remember(self, text: str) -> None:
        if text in self._sent:
            self._sent.remove(text)
        self._sent = [*self._sent[1 - _HISTORY :], text]
        self._place = len(self._sent)
        self._kept = ""
        self._keep()

    def _keep(self) -> None:
        self._studio.memory.drafts.put(self._key, {"text": self._editor.text, "sent": list(self._sent)})

    def _end_bare(self) -> None:
        if self._bare is not None:
            self._studio.spawn(self._bare.close())
            self._bare = None
