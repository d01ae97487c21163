"""The viewers of a result, and what is put into them. Imported with the first result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.widget import Widget

from mcp_studio.call.outcome import CallOutcome, Rejected, Succeeded, ToolFailed
from mcp_studio.jsontext import Json, dumps
from mcp_studio.safetext import safe
from mcp_studio.tui import blocks, late
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


def kind_for(tab: str, outcome: CallOutcome) -> str:
    """Which viewer a tab needs for this outcome: `text`, `markdown`, `structured` or `raw`."""
    if tab == "text" and not isinstance(outcome, Rejected) and blocks.is_markdown(blocks.blocks_of(raw_of(outcome))):
        return "markdown"
    return tab


def make(kind: str) -> Widget:
    """A viewer of that kind."""
    if kind == "markdown":
        return late.markdown()
    view = TextView(empty="It is empty.") if kind == "text" else JsonView(empty=_EMPTY[kind])
    return Findable(view, classes="viewer")


def put(view: Any, kind: str, outcome: CallOutcome) -> None:
    """Show an outcome in a viewer."""
    result = raw_of(outcome)
    if kind == "markdown":
        view.show("\n\n".join(block.text for block in blocks.blocks_of(result)))
    elif kind == "text":
        view.view.set_text(text_of(outcome))
    elif kind == "raw":
        view.view.set_json(dumps(result))
    else:
        has, value = blocks.structured(result)
        view.view.set_json(dumps(value) if has else b"")


def copy(view: Any) -> None:
    """Copy what a viewer shows: the value under its cursor, the selection, or all of it."""
    (view.view if isinstance(view, Findable) else view).action_copy()


def text_of(outcome: CallOutcome) -> str:
    """The content blocks in order; what is no text is described."""
    if isinstance(outcome, Rejected):
        data = "" if outcome.data is None else f"\n\n{blocks.describe_json(outcome.data)}"
        return f"{outcome.code} {outcome.message}{data}"
    found: Sequence[blocks.Block] = blocks.blocks_of(raw_of(outcome))
    return "\n\n".join(_block(block) for block in found)


def _block(block: blocks.Block) -> str:
    line = blocks.headline(block)
    if block.kind == "text":
        return f"{glyphs().mark} {line}\n{block.text}" if line else block.text
    title = f"{safe(block.title)}: " if block.title and block.kind != "link" else ""
    return f"{glyphs().mark} {title}{line}" + (f"\n{block.text}" if block.text else "")
