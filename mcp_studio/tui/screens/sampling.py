"""A sampling request: the person reads what an LLM would be sent, and writes the reply, as text or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Input, Static, Tab, Tabs, TextArea

from mcp_studio.jsontext import Json
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.session.rules import message_result
from mcp_studio.tui.form.json_editor import JsonEditor
from mcp_studio.tui.screens import sampling_text
from mcp_studio.tui.screens.dialog import Choice
from mcp_studio.tui.screens.request import CANCEL, DECLINE, LATER, RequestDialog

_LISTS_SINCE = "2025-11-25"
_NEEDS: Mapping[str, tuple[str, ...]] = {
    "text": ("text",), "image": ("data", "mimeType"), "audio": ("data", "mimeType"), "tool_use": ("id", "name"),
}  # fmt: skip


class Sampling(RequestDialog):
    """Answers the `CreateMessageResult`; decline and cancel both become the refusal (client/sampling)."""

    wants = "requests an LLM completion"
    DEFAULT_CLASSES = "-large"
    DEFAULT_CSS = """
    Sampling {
        & #asked { height: 1fr; min-height: 5; background: $panel; padding: 0 1; margin-bottom: 1; }
        & #reply { height: auto; }
        & TextArea, & JsonEditor { height: 8; }
        & #model { width: 40; }
        & Horizontal { height: auto; }
    }
    """
    choices = (Choice("accept", "Reply", "primary"), DECLINE, CANCEL, LATER)
    area = getters.query_one("#text-reply", TextArea)
    model = getters.query_one("#model", Input)
    json = getters.query_one(JsonEditor)

    def __init__(self, request: InputRequest, times: Callable[[InputRequest], str]) -> None:
        super().__init__(request, times)
        self._tools = sampling_text.offered(request.params)
        draft = cast("dict[str, Json]", request.draft) if isinstance(request.draft, dict) else {}
        self._reply: Json = draft.get("reply") or message_result("")
        self._as_json = draft.get("json") is True or not _is_text(self._reply)
        self._text = str(draft.get("text", ""))
        """Text of the JSON editor that is no JSON yet."""

    def question(self) -> ComposeResult:
        with VerticalScroll(id="asked"):
            yield Static(Content.assemble(*sampling_text.parts_of(self.request.params)))
        yield Tabs(Tab("Reply as text", id="as-text"), Tab("Reply as JSON", id="as-json"))
        with Vertical(id="reply"):
            yield TextArea(_text_of(self._reply), id="text-reply", compact=True)
            with Horizontal(id="model-line"):
                yield Static("model ", classes="label")
                yield Input(_member(self._reply, "model"), id="model", compact=True)
            yield JsonEditor(self._reply, text=self._text)
            yield Button("Add the use of a tool", id="add-tool", compact=True)

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(Tabs).active = "as-json" if self._as_json else "as-text"
        self._show_mode()

    @on(Tabs.TabActivated)
    def turn(self, event: Tabs.TabActivated) -> None:
        """The reply goes along; what only JSON can show stays JSON."""
        event.stop()
        as_json = event.tab.id == "as-json"
        if not as_json and (self.json.unreadable or not _is_text(self._reply)):
            self.query_one(Tabs).active = "as-json"
            self.refuse("The reply has parts that only JSON can show.")
            return
        if as_json != self._as_json:
            self._as_json = as_json
            if as_json:
                self.json.show(self._reply)
            else:
                self.area.text, self.model.value = _text_of(self._reply), _member(self._reply, "model")
        self._show_mode()

    def _show_mode(self) -> None:
        self.area.display = self.query_one("#model-line").display = not self._as_json
        self.json.display = self._as_json
        self.query_one("#add-tool").display = self._as_json and bool(self._tools)
        self.set_focus(self._first())

    def _first(self) -> Widget:
        if not self._as_json:
            return self.area
        return next(widget for widget in self.json.walk_children(Widget, with_self=True) if widget.focusable)

    @on(TextArea.Changed, "#text-reply")
    @on(Input.Changed, "#model")
    def collect(self) -> None:
        if not self._as_json:
            self._reply = {**message_result(self.area.text), "model": self.model.value}
            self._keep()

    @on(JsonEditor.Changed)
    def take_json(self, event: JsonEditor.Changed) -> None:
        event.stop()
        if self._as_json:
            self._reply = event.value
            self._keep()

    def _keep(self) -> None:
        """What was typed is there again after Later."""
        text = self.json.text if self._as_json and self.json.unreadable else ""
        self.request.draft = {"reply": self._reply, "json": self._as_json, "text": text}
        self.refuse("")

    @on(Button.Pressed, "#add-tool")
    def add_tool(self, event: Button.Pressed) -> None:
        """Add the use of the first tool that the server offers, to be edited."""
        event.stop()
        reply = dict(cast("dict[str, Json]", self._reply)) if isinstance(self._reply, dict) else {}
        blocks = [block for block in _blocks(reply) if not _is_blank(block)]
        use: Json = {"type": "tool_use", "id": f"call_{len(blocks) + 1}", "name": next(iter(self._tools)), "input": {}}
        content: Json = [*blocks, use] if blocks else use
        self._reply = {**reply, "content": content, "stopReason": "toolUse"}
        self.json.show(self._reply)
        self._keep()

    def action_accept(self) -> None:
        """Send the reply, once it is one."""
        if problem := self._problem():
            self.refuse(f"Not sent: {safe(problem, 300)}")
        else:
            self.dismiss(Answer("accept", self._reply))

    def _problem(self) -> str:
        if self._as_json and self.json.unreadable:
            return self.json.unreadable[0].message
        if found := problem_of(self._reply, self._tools):
            return found
        version = self.app.studio.manager.status(self.request.server).version
        content = cast("dict[str, Json]", self._reply).get("content")
        if isinstance(content, list) and version and version < _LISTS_SINCE:
            return f"Several blocks came with {_LISTS_SINCE}; this server speaks {version}."
        return ""


def problem_of(reply: Json, tools: Mapping[str, object]) -> str:
    """The first thing that keeps a reply from being sent, in a sentence; empty where there is none."""
    if not isinstance(reply, dict):
        return "The reply must be a JSON object."
    if reply.get("role") not in ("assistant", "user"):
        return "role must be assistant or user."
    if not _member(reply, "model"):
        return "model is required: the name of the model that replies."
    if "stopReason" in reply and not isinstance(reply["stopReason"], str):
        return "stopReason must be text."
    blocks = _blocks(reply)
    for number, block in enumerate(blocks, 1):
        if wrong := _block_problem(block, tools):
            return f"Block {number}: {wrong}"
    return "" if any(not _is_blank(block) for block in blocks) else "The reply is empty."


def _block_problem(block: Json, tools: Mapping[str, object]) -> str:
    if not isinstance(block, dict):
        return "content must be an object with a type."
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in (*_NEEDS, "tool_result"):
        return "type must be text, image, audio or tool_use."
    for key in _NEEDS.get(kind, ()):
        if not isinstance(block.get(key), str) or (kind != "text" and not block[key]):
            return f"{key} is required and must be text."
    if kind == "tool_use" and block["name"] not in tools:
        return "it uses a tool that the server did not offer."
    return "input must be an object." if kind == "tool_use" and not isinstance(block.get("input"), dict) else ""


def _blocks(reply: Json) -> list[Json]:
    """The content as a list, whichever way it is written."""
    content = cast("dict[str, Json]", reply).get("content") if isinstance(reply, dict) else None
    return list(cast("list[Json]", content)) if isinstance(content, list) else [content]


def _is_blank(block: Json) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and not str(block.get("text", "")).strip()


def _is_text(reply: Json) -> bool:
    """Whether the text view shows all of it."""
    blocks = _blocks(reply)
    one = blocks[0] if len(blocks) == 1 else None
    known = isinstance(reply, dict) and reply.keys() <= {"role", "model", "stopReason", "content"}
    usual = known and cast("dict[str, Json]", reply).get("stopReason") in (None, "endTurn")
    return usual and isinstance(one, dict) and one.keys() == {"type", "text"} and isinstance(one["text"], str)


def _text_of(reply: Json) -> str:
    block = _blocks(reply)[0] if _blocks(reply) else None
    return str(block.get("text", "")) if isinstance(block, dict) else ""


def _member(reply: Json, name: str) -> str:
    value = cast("dict[str, Json]", reply).get(name) if isinstance(reply, dict) else None
    return value if isinstance(value, str) else ""
