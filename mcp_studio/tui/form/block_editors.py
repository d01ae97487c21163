"""Editors of the blocks that a reply is made of: text, and the use of a tool."""

from __future__ import annotations

from typing import cast

from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.jsontext import Json
from mcp_studio.schema.form import build
from mcp_studio.tui.form.area import AreaEditor
from mcp_studio.tui.form.form_view import FormView


class BlockEditor(Vertical):
    """One block, under a title where it needs one; `block` is what it says now.

    What is typed rises as the messages of the editors inside.
    """

    DEFAULT_CSS = """
    BlockEditor {
        height: auto; width: 1fr; margin-top: 1;
        & > Static { color: $foreground 60%; height: 1; }
        & > AreaEditor { height: auto; min-height: 3; max-height: 12; }
        & > FormView { height: auto; max-height: 16; }
    }
    """

    def __init__(self, title: str, editor: Widget) -> None:
        super().__init__(*([Static(Content(title))] if title else []), editor)
        self.editor = editor

    @property
    def block(self) -> dict[str, Json]:
        """The block as it is sent."""
        return {}

    @property
    def unreadable(self) -> str:
        """Why it cannot be sent as it is typed; empty where it can."""
        return ""

    def start(self) -> None:
        """Go there."""
        self.editor.focus()


class TextBlock(BlockEditor):
    """A block of text."""

    def __init__(self, text: str) -> None:
        self._area = AreaEditor(text)
        super().__init__("", self._area)

    @property
    def block(self) -> dict[str, Json]:
        """The block as it is sent."""
        return {"type": "text", "text": self._area.text}


class ToolBlock(BlockEditor):
    """A block that uses a tool, with its arguments as JSON."""

    def __init__(self, schema: Json, block: dict[str, Json]) -> None:
        value: Json = {key: block[key] for key in ("name", "input", "id") if block.get(key)}
        self._form = FormView(build(schema), value)
        super().__init__("uses a tool", self._form)

    @property
    def block(self) -> dict[str, Json]:
        """The block as it is sent."""
        value = self._form.value
        return {"type": "tool_use", "input": {}, **(cast("dict[str, Json]", value) if isinstance(value, dict) else {})}

    @property
    def unreadable(self) -> str:
        """Why it cannot be sent as it is typed; empty where it can."""
        problems = (*self._form.unreadable, *self._form.problems)
        errors = [problem for problem in problems if problem.severity == "error"]
        if not errors:
            return ""
        self._form.show_problems(errors)
        return f"{errors[0].place} {errors[0].message}"
