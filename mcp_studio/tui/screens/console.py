"""The console of a server: it sends a typed message, malformed or not, and lists the answers."""

from __future__ import annotations

from textual import getters, on, work
from textual.content import Content
from textual.widgets import Button, Static, TextArea

from mcp_studio.errors import LimitExceeded, StudioError
from mcp_studio.jsontext import Json, JsonProblem, items_of, loads, mapping, printable
from mcp_studio.present import connections, units
from mcp_studio.protocol.events import NONE, request
from mcp_studio.protocol.message import Malformed, Notification, Request, parse
from mcp_studio.protocol.versions import LATEST_HANDSHAKE
from mcp_studio.safetext import safe
from mcp_studio.session.raw import RawConnection, RawExchange, RawSender
from mcp_studio.trace.lint.methods import CLIENT_REQUESTS
from mcp_studio.trace.message import WireMessage
from mcp_studio.tui.form.json_editor import JsonArea
from mcp_studio.tui.screens.dialog import Choice, Choose, Dialog, Item, Widgets
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.rows import Findable, Line, VirtualList, glyphs, spread
from mcp_studio.tui.views.trace_table import arrow

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
    "notifications/initialized": NONE,
    "notifications/cancelled": {"requestId": 0, "reason": "by hand"},
    "notifications/progress": {"progressToken": 0, "progress": 1},
    "notifications/roots/list_changed": NONE,
}  # fmt: skip
"""Parameters for the templates of messages; the other requests have none."""
_READY, _BUSY = "$state-ready", "$state-busy"
_COLOURS = {"on": _READY, "ok": _READY, "half": _BUSY, "warning": _BUSY, "bad": "$state-failed"}
"""The colour of a line, by the name of its glyph."""


class Console(Dialog[None]):
    """Sends typed frames to a server. The typed text and the sent frames are stored as a draft of the server.

    Args:
        text: the first frame, instead of the draft.
    """

    DEFAULT_CLASSES = "-large"
    choices = (
        Choice("submit", "Send", "primary"), Choice("template", "Start from…"), Choice("alone", _ALONE),
        Choice("copy", "Copy"), Choice("back", "Close"),
    )  # fmt: skip
    every = 0.1
    editor = getters.query_one(JsonArea)
    came = getters.query_one("#came", VirtualList)

    def __init__(self, server: str, text: str = "") -> None:
        super().__init__(f"Console of {server}")
        self._server, self._draft_key = server, f"console:{server}"
        self._begin = text
        self._sent: list[str] = []
        self._bare: RawConnection | None = None
        self._exchange: RawExchange | None = None
        self._view = JsonView()

    def body(self) -> Widgets:
        yield Static(id="where", markup=False)
        yield JsonArea()
        yield Static(id="verdict", markup=False)
        yield Static(id="outcome", markup=False)
        empty = "What comes back is listed here."
        yield VirtualList(self._draw, key=lambda entry: entry.number, empty=empty, id="came")
        yield Findable(self._view)

    def on_mount(self) -> None:
        draft = mapping(self.app.studio.memory.drafts.get(self._draft_key))
        self._sent = [text for text in items_of(draft.get("sent")) if isinstance(text, str)]
        first = self._text_of("tools/list" if self._sender is not None else "initialize")
        self.editor.text = self._begin or str(draft.get("text") or "") or first

    def on_unmount(self) -> None:
        self._end_bare()

    # Who sends

    @property
    def _sender(self) -> RawSender | None:
        if self._bare is not None:
            return self._bare
        try:
            return self.app.studio.manager.by_hand(self._server)
        except StudioError:
            return None

    def _text_of(self, method: str) -> str:
        sender = self._sender
        return text_of(method, *((sender.spare_id(), sender.stamp) if sender else (1, {})))

    # What is shown

    def look(self) -> None:
        """Show the received messages, and the state of the connection."""
        if self._server not in self.app.studio.manager.names():
            self.dismiss(None)
            return
        if self._bare is not None and self._bare.ended.done():
            self._end_bare()
        self._tell("where", *self._where())
        self.query_one("#alone", Button).label = "Disconnect" if self._bare is not None else _ALONE
        if (exchange := self._exchange) is not None:
            came = exchange.came_back()
            if len(came) != self.came.row_count:
                self.came.show(came)
            self._tell("outcome", *_outcome(exchange))

    def _tell(self, place: str, sign: str, words: str) -> None:
        text = f"{getattr(glyphs(), sign)} {safe(words, 300)}"
        self.query_one(f"#{place}", Static).update(Content.styled(text, _COLOURS.get(sign, "$quiet")))

    def _where(self) -> tuple[str, str]:
        if self._bare is not None:
            return "half", "connected without a handshake: only what you write is sent"
        status = self.app.studio.manager.status(self._server)
        if status.state == "ready":
            return "on", f"connected, {status.version}"
        return "off", connections.state_words(status)

    def _draw(self, entry: WireMessage, width: int, selected: bool) -> Line:
        number = "" if entry.id is None else f" {safe(entry.id, 20)}"
        text = "" if entry.kind == "http" else safe(entry.body[:400].decode("utf-8", "replace"), 200)
        sign, look = arrow(entry.direction)
        what = (entry.kind, _LOOKS.get(entry.kind, "")), (f"{number} {safe(entry.method, 60)}", "")
        return spread(
            [(f"{sign} ", look), *what, (f"  {text}", "dim")], [(f" {units.clock(entry.time)}", "dim")], width
        )

    @on(VirtualList.Highlighted)
    def show_row(self) -> None:
        if (row := self.came.row) is not None:
            self._view.show(row.body)

    @on(TextArea.Changed)
    def judge(self) -> None:
        """Show what the text will be sent as, and store the text."""
        good, words = verdict(self.editor.text)
        self._tell("verdict", "ok" if good else "warning", words)
        self._keep()

    # What the person does

    def action_submit(self) -> None:
        """Send the frame exactly as typed."""
        sender = self._sender
        if sender is None:
            self._exchange = None
            self._tell("outcome", "warning", f"Not connected. The button {_ALONE} opens a bare connection.")
            return
        self._remember()
        frame, newlines = frame_of(self.editor.text)
        self._exchange = sender.send(frame, newlines=newlines)
        self.came.show(())
        self.look()

    @work
    async def action_template(self) -> None:
        """Start from an earlier frame, the newest first, or from a method."""
        version = "" if self._bare is not None else self.app.studio.manager.status(self._server).version
        options = [Item(verdict(text)[1], text, "sent before") for text in reversed(self._sent)]
        options += [Item(method, self._text_of(method)) for method in templates(version)]
        if text := await self.app.push_screen_wait(Choose("Start from", options)):
            self._remember()
            self.editor.text = text

    @work(group="bare", exclusive=True)
    async def action_alone(self) -> None:
        """Connect without a handshake, or end that."""
        if self._bare is not None:
            self._end_bare()
        else:
            self._bare = await self.app.studio.open_raw(self.app.studio.manager.config(self._server))

    def action_copy(self) -> None:
        if (row := self.came.row) is not None:
            self.app.copy(row.body.decode("utf-8", "replace"))

    def _remember(self) -> None:
        """Add the editor's text to the frames that can be sent again."""
        text = self.editor.text
        if text.strip():
            self._sent = [*(one for one in self._sent if one != text), text][-_HISTORY:]
        self._keep()

    def _keep(self) -> None:
        self.app.studio.memory.drafts.put(self._draft_key, {"text": self.editor.text, "sent": list(self._sent)})

    def _end_bare(self) -> None:
        if self._bare is not None:
            self.app.studio.spawn(self._bare.close())
            self._bare = None


def _outcome(exchange: RawExchange) -> tuple[str, str]:
    """The present state of the exchange as text, and its glyph."""
    if exchange.error is not None:
        return "bad", exchange.error.message
    if exchange.ms is not None:
        return "ok", f"answered after {units.duration(exchange.ms)}"
    if not exchange.done:
        return "half", "waiting for the answer" if exchange.wants_answer else "listening for a moment"
    return "dot", "no reply" if exchange.wants_answer else "sent"


def templates(version: str) -> list[str]:
    """The methods of a version that have templates; the methods of all versions if none is negotiated."""
    requests = [method for method, span in CLIENT_REQUESTS.items() if not version or span.has(version)]
    return [*sorted(requests), *(method for method in _PARAMS if method.startswith("notifications/"))]


def text_of(method: str, identity: int, stamp: dict[str, Json]) -> str:
    """The template of a message for a method."""
    if method.startswith("notifications/"):
        return printable(request(method, _PARAMS[method]))
    return printable(request(method, _PARAMS.get(method, NONE), identity=identity, meta=stamp))


def frame_of(text: str) -> tuple[bytes, bool]:
    """The bytes that are sent for a text, and whether they contain newlines that must be sent.

    In JSON a newline is white space, but on standard input it ends the frame, so JSON is sent on one line. A text that
    is no JSON is sent as it was typed.
    """
    try:
        loads(text)
    except (JsonProblem, LimitExceeded):
        return text.encode("utf-8", "surrogatepass"), "\n" in text
    return " ".join(line.strip() for line in text.splitlines()).encode("utf-8", "surrogatepass"), False


def verdict(text: str) -> tuple[bool, str]:
    """Whether a text is a valid message, and what it is."""
    if not text.strip():
        return False, "empty"
    try:
        loads(text)
    except (JsonProblem, LimitExceeded) as problem:
        return False, f"invalid JSON: {str(problem).rstrip('.')}; it is sent as it stands"
    parsed = parse(text.encode("utf-8", "surrogatepass"))
    match parsed.messages[0]:
        case _ if parsed.batch:
            words = f"a batch of {len(parsed.messages)}"
        case Malformed() as first:
            return False, f"no message: {first.reason.partition(';')[0]}; it is sent as it stands"
        case Request() as first:
            words = f"request {first.method}, id {printable(first.id)}"
        case Notification() as first:
            words = f"notification {first.method}"
        case first:
            words = f"answer to {printable(first.id)}"
    if _HIDDEN in text:
        return False, f"{words}; {_HIDDEN} stands for a secret that the trace does not keep"
    return True, words
