"""A sampling request: the person reads the messages for an LLM, and writes the reply as text or as JSON.

Specification, client/sampling. Text from the server passes through `safe`; a text that is too long is cut, with a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from textual import getters, on
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Static, TextArea

from mcp_studio.jsontext import Json, items_of, mapping, pretty
from mcp_studio.present import blocks
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.session.rules import message_result
from mcp_studio.tui.form.json_editor import JsonEditor
from mcp_studio.tui.screens.dialog import Choice
from mcp_studio.tui.screens.elicitation import DECLINE, LATER, RequestDialog, Times
from mcp_studio.tui.views.lines import TabLine

_LISTS_SINCE = "2025-11-25"
_NEEDS: Mapping[str, tuple[str, ...]] = {
    "text": ("text",), "image": ("data", "mimeType"), "audio": ("data", "mimeType"), "tool_use": ("id", "name"),
    "tool_result": (),
}  # fmt: skip
_TEXT, _MESSAGES, _TOOLS, _ALL = 10_000, 100, 50, 50_000
"""Characters of one text, messages, tools, and characters in all, that are shown."""


class Sampling(RequestDialog):
    """Answers a `CreateMessageResult`; if declined, the server gets the refusal of the specification."""

    wants = "requests an LLM completion"
    DEFAULT_CLASSES = "-large"
    choices = (Choice("accept", "Reply", "primary"), DECLINE, LATER)
    area = getters.query_one("#text-reply", TextArea)
    json = getters.query_one(JsonEditor)

    def __init__(self, request: InputRequest, times: Times) -> None:
        super().__init__(request, times)
        self._tools = offered(request.params)
        draft = mapping(request.draft)
        self._reply: Json = draft.get("reply") or message_result("")
        self._as_json = draft.get("json") is True or not _is_text(self._reply)
        self._text = str(draft.get("text", ""))
        """Text of the JSON editor that is no JSON."""

    def question(self) -> Iterable[Widget]:
        yield VerticalScroll(*self._request_widgets(), id="asked")
        yield TabLine({"as-text": "Reply as text", "as-json": "Reply as JSON"})
        yield TextArea(_text_of(self._reply), id="text-reply", compact=True)
        yield JsonEditor(self._reply, text=self._text)
        yield Button("Add the use of a tool", id="add-tool", compact=True)

    def _request_widgets(self) -> Iterable[Widget]:
        size = 0
        for title, text in sections_of(self.request.params):
            yield Static(Content.styled(safe(title, 60), "bold $accent"))
            if text:
                yield self.foreign(text, _TEXT)
            if (size := size + len(text)) > _ALL:
                yield Static("The rest is longer than can be shown; the trace has it all.", classes="warn")
                return

    def on_mount(self) -> None:
        self.query_one(TabLine).active = "as-json" if self._as_json else "as-text"
        self._show_mode()

    @on(TabLine.Activated)
    def turn(self) -> None:
        """Switch between text and JSON and take the reply along; a reply that text cannot show stays JSON."""
        as_json = self.query_one(TabLine).active == "as-json"
        if not as_json and (self.json.unreadable or not _is_text(self._reply)):
            self.query_one(TabLine).active = "as-json"
            self.note(self._problem() if self.json.unreadable else "The reply has parts that text cannot show.", "bad")
            return
        if as_json and not self._as_json:
            self.json.show(self._reply)
        elif self._as_json and not as_json:
            self.area.text = _text_of(self._reply)
        self._as_json = as_json
        self._show_mode()

    def _show_mode(self) -> None:
        self.area.display = not self._as_json
        self.json.display = self._as_json
        self.area.move_cursor(self.area.document.end)  # after Later, typing goes on where it ended
        self.query_one("#add-tool").display = self._as_json and bool(self._tools)
        inside = self.json.walk_children(Widget, with_self=True)
        self.set_focus(next(widget for widget in inside if widget.focusable) if self._as_json else self.area)

    @on(TextArea.Changed, "#text-reply")
    @on(JsonEditor.Changed)
    def take_reply(self) -> None:
        self._keep(self.json.value if self._as_json else message_result(self.area.text))

    def _keep(self, reply: Json) -> None:
        """Store the reply, so that it is there again after Later."""
        self._reply = reply
        text = self.json.area.text if self._as_json and self.json.unreadable else ""
        self.request.draft = {"reply": reply, "json": self._as_json, "text": text}
        self.note("")

    @on(Button.Pressed, "#add-tool")
    def add_tool(self, event: Button.Pressed) -> None:
        """Add the use of the first offered tool, for the person to edit."""
        found = [block for block in _blocks(self._reply) if not _is_blank(block)]
        use: Json = {"type": "tool_use", "id": f"call_{len(found) + 1}", "name": next(iter(self._tools)), "input": {}}
        content: Json = [*found, use] if found else use
        self._keep({**mapping(self._reply), "content": content, "stopReason": "toolUse"})
        self.json.show(self._reply)

    def action_accept(self) -> None:
        """Send the reply if it is valid."""
        if problem := self._problem():
            self.note(f"Not sent: {safe(problem, 300)}", "bad")
        else:
            self.dismiss(Answer("accept", self._reply))

    def _problem(self) -> str:
        if self._as_json and self.json.unreadable:
            return self.json.unreadable[0].message
        version = self.app.studio.manager.status(self.request.server).version
        if isinstance(mapping(self._reply).get("content"), list) and version and version < _LISTS_SINCE:
            return f"Several blocks came with {_LISTS_SINCE}; this server speaks {version}."
        return problem_of(self._reply, self._tools)


# The reply


def problem_of(reply: Json, tools: Mapping[str, object]) -> str:
    """The first problem that keeps a reply from being sent, as a sentence; empty if there is none."""
    if not isinstance(reply, dict):
        return "The reply must be a JSON object."
    known, found = mapping(reply), _blocks(reply)
    if known.get("role") not in ("assistant", "user"):
        return "role must be assistant or user."
    if not (known.get("model") and isinstance(known["model"], str)):
        return "model is required: the name of the model that replies."
    if not isinstance(known.get("stopReason", ""), str):
        return "stopReason must be text."
    for number, block in enumerate(found, 1):
        if wrong := _block_problem(block, tools):
            return f"Block {number}: {wrong}"
    return "The reply is empty." if all(map(_is_blank, found)) else ""


def _block_problem(block: Json, tools: Mapping[str, object]) -> str:
    if not isinstance(block, dict):
        return "content must be an object with a type."
    known = mapping(block)
    kind = str(known.get("type"))
    if kind not in _NEEDS:
        return "type must be text, image, audio or tool_use."
    for key in _NEEDS[kind]:
        if not isinstance(known.get(key), str) or (kind != "text" and not known[key]):
            return f"{key} is required and must be text."
    if kind == "tool_use" and known["name"] not in tools:
        return "it uses a tool that the server did not offer."
    return "input must be an object." if kind == "tool_use" and not isinstance(known.get("input"), dict) else ""


def _blocks(reply: Json) -> list[Json]:
    """The content of a reply as a list, even if it is a single block."""
    content = mapping(reply).get("content")
    return items_of(content) if isinstance(content, list) else [content]


def _is_blank(block: Json) -> bool:
    return mapping(block).get("type") == "text" and not _text_of({"content": block}).strip()


def _is_text(reply: Json) -> bool:
    """Whether the text view can show the whole reply."""
    return reply == message_result(_text_of(reply))


def _text_of(reply: Json) -> str:
    return "".join(str(mapping(block).get("text", "")) for block in _blocks(reply)[:1])


# The request


def sections_of(params: dict[str, Json]) -> list[tuple[str, str]]:
    """The whole request: a title and a text for each part. Foreign text."""
    found = [("system", params["systemPrompt"])] if isinstance(params.get("systemPrompt"), str) else []
    messages = items_of(params.get("messages"))
    for message in messages[:_MESSAGES]:
        content = "\n".join(text for block in _blocks(message) for text in _texts(block))
        found.append((str(mapping(message).get("role", "no role")), content))
    if len(messages) > _MESSAGES:
        found.append((f"and {len(messages) - _MESSAGES} more messages", ""))
    if tools := offered(params):
        found.append((f"Tools that the completion may use  {len(tools)}", "\n".join(map(_tool, tools.values()))))
    if wanted := {name: value for name, value in params.items() if name not in ("systemPrompt", "messages", "tools")}:
        found.append(("Requested of the model", pretty(wanted)))
    return found


def offered(params: dict[str, Json]) -> dict[str, dict[str, Json]]:
    """The tools that the reply may use, by name."""
    tools = map(mapping, items_of(params.get("tools"))[:_TOOLS])
    return {tool["name"]: tool for tool in tools if isinstance(tool.get("name"), str)}


def _texts(item: Json) -> Iterator[str]:
    """The texts of a block."""
    known = mapping(item)
    match known.get("type"):
        case "text" if isinstance(known.get("text"), str):
            yield known["text"]
        case "tool_use":
            yield f"uses {known.get('name')}  {known.get('id')}"
            yield pretty(known.get("input"))
        case "tool_result":
            yield f"result{' failed' if known.get('isError') is True else ''} of {known.get('toolUseId')}"
            for block in items_of(known.get("content")):
                yield from _texts(block)
            if "structuredContent" in known:
                yield pretty(known["structuredContent"])
        case _:  # images, sounds, resources: their kind and size; anything else as JSON
            yield from ("".join(blocks.plain(block)) for block in blocks.blocks_of({"content": [item]}))


def _tool(tool: dict[str, Json]) -> str:
    arguments = ", ".join(mapping(mapping(tool.get("inputSchema")).get("properties")))
    takes = f"\n  takes {arguments}" if arguments else ""
    return f"{tool['name']}  {str(tool.get('description', ''))[:600]}{takes}"
