"""The console of one server: a frame is written by hand and sent, and what comes back is listed below it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from textual import getters, on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Static, TextArea

from mcp_studio.errors import LimitExceeded, StudioError
from mcp_studio.jsontext import Json, JsonProblem, items_of, loads, mapping, printable
from mcp_studio.present import connections, units
from mcp_studio.protocol.events import NONE, request
from mcp_studio.protocol.message import Malformed, Notification, Request, parse
from mcp_studio.protocol.versions import LATEST_HANDSHAKE
from mcp_studio.safetext import safe
from mcp_studio.session.raw import RawConnection, RawExchange, RawSender
from mcp_studio.trace.lint.methods import CLIENT_REQUESTS, Availability
from mcp_studio.trace.message import WireMessage
from mcp_studio.tui.form.json_editor import JsonArea
from mcp_studio.tui.screens.choose import Choose
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.find import Findable
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.line import Line, spread
from mcp_studio.tui.views.trace_row import clock
from mcp_studio.tui.views.virtual_list import VirtualList

_PAUSE = 0.1
"""Seconds between two looks at what came."""
_HISTORY = 50
_ALONE = "No handshake"
_LOOKS = {"error": "bad", "invalid": "bad", "stderr": "warn", "stray": "warn", "result": "ok"}
_HIDDEN = "‹redacted›"
_PARAMS: dict[str, Json] = {
    "initialize": {
        "protocolVersion": LATEST_HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"},
    },
    "tools/call": {"name": "", "arguments": {}},
    "prompts/get": {"name": "", "arguments": {}},
    **{f"resources/{verb}": {"uri": ""} for verb in ("read", "subscribe", "unsubscribe")},
    "completion/complete": {"ref": {"type": "ref/prompt", "name": ""}, "argument": {"name": "", "value": ""}},
    "logging/setLevel": {"level": "debug"},
    "subscriptions/listen": {"notifications": {"toolsListChanged": True}},
    **{f"tasks/{verb}": {"taskId": ""} for verb in ("get", "result", "cancel")},
    "tasks/update": {"taskId": "", "inputResponses": {}},
    "notifications/cancelled": {"requestId": 0, "reason": "by hand"},
    "notifications/progress": {"progressToken": 0, "progress": 1},
}  # fmt: skip

_TOLD = {
    "notifications/initialized": Availability(last=LATEST_HANDSHAKE),
    "notifications/cancelled": Availability(),
    "notifications/progress": Availability(last=LATEST_HANDSHAKE),
    "notifications/roots/list_changed": Availability(last=LATEST_HANDSHAKE),
    "notifications/tasks/status": Availability(LATEST_HANDSHAKE, LATEST_HANDSHAKE),
}
"""What a client may say (specification, schema, ClientNotification)."""


class Console(Dialog[None]):
    """What is typed, and what was sent, is kept as a draft of the server.

    Args:
        text: a frame to begin with, instead of the draft.
    """

    DEFAULT_CLASSES = "-large"
    DEFAULT_CSS = """
    Console {
        & JsonArea { height: 40%; }
        & VirtualList { height: 1fr; min-height: 2; }
        & Findable { height: 1fr; min-height: 2; }
    }
    """
    choices = (
        Choice("submit", "Send", "primary"),
        Choice("template", "Template…"),
        Choice("sent_before", "Sent…"),
        Choice("alone", _ALONE),
        Choice("copy", "Copy"),
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
        draft = mapping(self.app.studio.memory.drafts.get(self._draft_key))
        self._sent = [text for text in items_of(draft.get("sent")) if isinstance(text, str)]
        first = Template("tools/list" if self._sender is not None else "initialize", "request")
        self.editor.text = self._begin or str(draft.get("text") or "") or self._text_of(first)
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
        return text_of(template, *((sender.spare_id(), sender.stamp) if sender else (1, {})))

    # What is shown

    def _look(self) -> None:
        """Show what came, and how it is connected."""
        if self._server not in self.app.studio.manager.names():
            self.dismiss(None)
            return
        if self._bare is not None and self._bare.ended.done():
            self._end_bare()
        self.query_one("#where", Static).update(self._where())
        self.query_one("#alone", Button).label = "Disconnect" if self._bare is not None else _ALONE
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
        what = (entry.kind, _LOOKS.get(entry.kind, "")), (f"{number} {safe(entry.method, 60)}", "")
        return spread([(f"{arrow} ", "dim"), *what, (f"  {text}", "dim")], [(f" {clock(entry.time)}", "dim")], width)

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
        good, words = verdict(self.editor.text)
        sign = glyphs().ok if good else glyphs().warning
        text = Content.styled(f"{sign} {safe(words, 300)}", "$quiet" if good else "$state-busy")
        self.query_one("#verdict", Static).update(text)
        self._keep()

    # What the person does

    def action_submit(self) -> None:
        """Send the frame as it stands."""
        sender, text = self._sender, self.editor.text
        if sender is None:
            words = f"{self._server} is not connected. {_ALONE} opens a connection that sends nothing by itself."
            self.app.say(words, "warning")
            return
        self._remember(text)
        frame, newlines = frame_of(text)
        self._exchange = sender.send(frame, newlines=newlines)
        self.came.show(())
        self._look()

    def action_template(self) -> None:
        """Start from a method, or from something broken."""
        version = "" if self._bare is not None else self.app.studio.manager.status(self._server).version
        found = templates(version)
        self._start_from([f"{one.name}  {one.kind}" for one in found], lambda place: self._text_of(found[place]))

    def action_sent_before(self) -> None:
        """Start from a frame that was sent before, the newest first."""
        sent = self._sent[::-1]
        if sent:
            self._start_from(sent, lambda place: sent[place])
        else:
            self.app.say("Nothing was sent before.")

    def _start_from(self, shown: list[str], text: Callable[[int], str]) -> None:
        def chosen(place: str | None) -> None:
            if place is not None:
                self._remember(self.editor.text)
                self.editor.text = text(int(place))

        options = [(str(place), one) for place, one in enumerate(shown)]
        self.app.push_screen(Choose("Start from", options), chosen)

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
        self._keep()

    def _keep(self) -> None:
        self.app.studio.memory.drafts.put(self._draft_key, {"text": self.editor.text, "sent": list(self._sent)})

    def _end_bare(self) -> None:
        if self._bare is not None:
            self.app.studio.spawn(self._bare.close())
            self._bare = None


class Template(NamedTuple):
    """Something to start from."""

    name: str
    kind: str
    """`request`, `notification`, `answer` or `broken`."""


def templates(version: str) -> list[Template]:
    """What there is to start from in a version; in all of them where none is agreed on."""
    found = [Template(name, "request") for name, span in CLIENT_REQUESTS.items() if not version or span.has(version)]
    found.sort()
    told = [Template(name, "notification") for name, span in _TOLD.items() if not version or span.has(version)]
    return [
        *found, *told, Template("result", "answer"), Template("error", "answer"),
        Template("not JSON", "broken"), Template("id null", "broken"), Template("no method", "broken"),
        Template("batch", "broken"),
    ]  # fmt: skip


def text_of(template: Template, identity: int, stamp: dict[str, Json]) -> str:
    """The text to start from."""
    params = _PARAMS.get(template.name, NONE)
    head: dict[str, Json] = {"jsonrpc": "2.0", "id": identity}
    match template.kind, template.name:
        case "request", name:
            return printable(request(name, params, identity=identity, meta=stamp))
        case "notification", name:
            return printable(request(name, params))
        case _, "result":
            return printable({**head, "result": {}})
        case _, "error":
            return printable({**head, "error": {"code": -32603, "message": "by hand"}})
        case _, "id null":
            return printable(request("ping", identity=None, meta=stamp))
        case _, "no method":
            return printable(head)
        case _, "batch":
            both = [request("ping", identity=f"{identity}{letter}", meta=stamp) for letter in "ab"]
            return printable(both)
        case _:
            return f'{{"jsonrpc": "2.0", "id": {identity}, "method": '


def frame_of(text: str) -> tuple[bytes, bool]:
    """What is sent for a text, and whether its newlines have to go through.

    To JSON a newline is white space, and on standard input the end of the frame: there JSON goes on one line. What is
    no JSON is sent as it was typed.
    """
    try:
        loads(text)
    except (JsonProblem, LimitExceeded):
        return text.encode("utf-8", "surrogatepass"), "\n" in text
    return " ".join(line.strip() for line in text.splitlines()).encode("utf-8", "surrogatepass"), False


def verdict(text: str) -> tuple[bool, str]:
    """Whether a text is a message, and what it is, in words."""
    if not text.strip():
        return False, "empty"
    try:
        loads(text)
    except JsonProblem as problem:
        return False, f"no JSON: {problem}; it is sent as it stands"
    except LimitExceeded as problem:
        return False, problem.message
    parsed = parse(text.encode("utf-8", "surrogatepass"))
    first = parsed.messages[0]
    if parsed.batch:
        return True, f"a batch of {len(parsed.messages)}"
    if isinstance(first, Malformed):
        return False, f"no message: {first.reason.partition(';')[0]}; it is sent as it stands"
    hidden = f"; {_HIDDEN} stands for a secret that the trace does not keep" if _HIDDEN in text else ""
    if isinstance(first, Request):
        return not hidden, f"request {first.method}, id {printable(first.id)}{hidden}"
    if isinstance(first, Notification):
        return not hidden, f"notification {first.method}{hidden}"
    return not hidden, f"answer to {printable(first.id)}{hidden}"
