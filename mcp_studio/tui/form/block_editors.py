"""Editors of the blocks that a reply is made of: text, and the use of a tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.jsontext import Json
from mcp_studio.schema.field import Form, errors
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
    """A block that uses a tool; `form_of` gives the form of the block by the name of the tool."""

    def __init__(self, form_of: Callable[[Json], Form], block: dict[str, Json]) -> None:
        value: dict[str, Json] = {key: block[key] for key in ("name", "input", "id") if block.get(key)}
        self._form_of = form_of
        self._tool = value.get("name")
        self._inputs: dict[str, Json] = {}
        """Arguments of the other tools, as they were left."""
        self._form = FormView(form_of(self._tool), value)
        super().__init__("uses a tool", self._form)

    def start(self) -> None:
        """Go there."""
        self._form.begin()

    def on_form_view_changed(self) -> None:
        """Another tool has other arguments; what was typed for the one before is kept for its return."""
        value = self._form.value
        name = cast("dict[str, Json]", value).get("name") if isinstance(value, dict) else None
        if not isinstance(value, dict) or name == self._tool:
            return
        rest = {key: item for key, item in cast("dict[str, Json]", value).items() if key != "input"}
        self._inputs[str(self._tool)] = cast("dict[str, Json]", value).get("input", {})
        self._tool = name
        kept = self._inputs.get(str(name))
        self._form.show(self._form_of(name), {**rest, "input": kept} if kept else rest)

    @property
    def block(self) -> dict[str, Json]:
        """The block as it is sent."""
        value = self._form.value
        return {"type": "tool_use", "input": {}, **(cast("dict[str, Json]", value) if isinstance(value, dict) else {})}

    @property
    def unreadable(self) -> str:
        """Why it cannot be sent as it is typed; empty where it can."""
        problems = (*self._form.unreadable, *self._form.problems)
        wrong = errors(problems)
        if not wrong:
            return ""
        self._form.show_problems(wrong)
        return wrong[0].sentence
