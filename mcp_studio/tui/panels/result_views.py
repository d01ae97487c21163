"""The viewers of a result, and what is put into them. Imported with the first result."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from textual.widget import Widget

from mcp_studio.call.call import CallOutcome, Rejected, Succeeded, ToolFailed
from mcp_studio.jsontext import Json, dumps
from mcp_studio.present import blocks
from mcp_studio.protocol.views import reach_lines, reach_of
from mcp_studio.safetext import safe
from mcp_studio.tui import late
from mcp_studio.tui.views.content_view import ContentView, Item
from mcp_studio.tui.views.findable import Findable
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.text_view import TextView

_EMPTY = {"structured": "The result has no structured part.", "raw": "It is empty."}


def raw_of(outcome: CallOutcome | None) -> Json:
    """What the server sent as the result, or as the error."""
    if isinstance(outcome, (Succeeded, ToolFailed)):
        return outcome.result
    if isinstance(outcome, Rejected):
        return {"code": outcome.code, "message": outcome.message, "data": outcome.data}
    return None


def kind_for(tab: str, outcome: CallOutcome, app: str = "") -> str:
    """Which viewer a tab needs for this outcome: `text`, `markdown`, `content`, `structured` or `raw`.

    Args:
        app: the address of the page that the tool has.
    """
    if tab == "markdown" and can_render(outcome):
        return tab
    if tab not in ("text", "markdown"):
        return tab
    if isinstance(outcome, Rejected):
        return "text"
    found = blocks.blocks_of(raw_of(outcome))
    return "content" if app or any(block.kind not in ("text", "unknown") for block in found) else "text"


def can_render(outcome: CallOutcome) -> bool:
    """Whether there is text that may be Markdown, and not too much of it."""
    if isinstance(outcome, Rejected):
        return False
    texts = [block.text for block in blocks.blocks_of(raw_of(outcome)) if block.kind == "text"]
    return bool(texts) and sum(map(len, texts)) <= blocks.MARKDOWN_MOST


def is_markdown(outcome: CallOutcome) -> bool:
    """Whether the server says that its text is Markdown."""
    return can_render(outcome) and blocks.is_markdown(blocks.blocks_of(raw_of(outcome)))


def make(kind: str) -> Widget:
    """A viewer of that kind."""
    if kind == "markdown":
        return late.markdown()
    if kind == "content":
        return ContentView(empty="It is empty.", classes="viewer")
    view = TextView(empty="It is empty.") if kind == "text" else JsonView(empty=_EMPTY[kind])
    return Findable(view, classes="viewer")


def shown_blocks(outcome: CallOutcome, app: str) -> list[blocks.Block]:
    """The blocks of a result, and the page of its tool."""
    found = blocks.blocks_of(raw_of(outcome))
    return [*found, blocks.app_block(app)] if app else found


def put(view: Any, kind: str, outcome: CallOutcome, app: str = "", wanted: bool = False) -> None:
    """Show an outcome in a viewer; `wanted` is to render all text as Markdown."""
    result = raw_of(outcome)
    if kind == "content":
        view.show([_item(block) for block in shown_blocks(outcome, app)])
        return
    if kind == "markdown":
        view.show(blocks.markdown_of(blocks.blocks_of(result), wanted))
    elif kind == "text":
        view.view.set_text(text_of(outcome))
    elif kind == "raw":
        view.view.set_json(dumps(result))
    else:
        has, value = blocks.structured(result)
        view.view.set_json(dumps(value) if has else b"")
        view.view.set_marks(marks(outcome, value))


def marks(outcome: CallOutcome, value: Json) -> dict[str, str]:
    """What is wrong with the structured content, by the JSON pointer of a value that is there."""
    found: dict[str, str] = {}
    for problem in outcome.violations:
        pointer = _existing(value, problem.pointer)
        missing = problem.pointer[len(pointer) :].lstrip("/")
        text = f"{missing} {problem.message}".strip()
        found[pointer] = f"{found[pointer]}; {text}" if pointer in found else text
    return found


def _existing(value: Json, pointer: str) -> str:
    """The longest part of a pointer that leads to something."""
    way = ""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            break
        way += f"/{part}"
    return way


def copy(view: Any) -> None:
    """Copy what a viewer shows: the value under its cursor, the selection, or all of it."""
    (view.view if isinstance(view, Findable) else view).action_copy()


def text_of(outcome: CallOutcome) -> str:
    """The content blocks in order; what is no text is described."""
    if isinstance(outcome, Rejected):
        data = "" if outcome.data is None else f"\n\n{safe(outcome.data, 4_000)}"
        return f"{outcome.code} {outcome.message}{data}"
    found: Sequence[blocks.Block] = blocks.blocks_of(raw_of(outcome))
    return "\n\n".join(_block(block) for block in found)


def _item(block: blocks.Block) -> Item:
    picture = partial(blocks.decode, block) if block.kind == "image" else None
    text = block.text
    if block.kind == "app" and isinstance(block.raw, dict):
        text = "\n".join((*reach_lines(reach_of(block.raw)), "", block.text))
    return Item(blocks.headline(block), blocks.how(block), text, picture, block.uri or block.text)


def _block(block: blocks.Block) -> str:
    line = blocks.headline(block)
    if block.kind == "text":
        return f"{glyphs().mark} {line}\n{block.text}" if line else block.text
    title = f"{safe(block.title)}: " if block.title and block.kind != "link" else ""
    return f"{glyphs().mark} {title}{line}" + (f"\n{block.text}" if block.text else "")
