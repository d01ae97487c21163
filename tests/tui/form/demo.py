"""An app of nothing but a form, for tests and for looking at it: `python -m tests.tui.form.demo [json]`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.filter import LineFilter
from textual.widgets import Input

from mcp_studio.jsontext import Json
from mcp_studio.schema.field import Form
from mcp_studio.schema.form import build
from mcp_studio.tui import themes
from mcp_studio.tui.form import choices
from mcp_studio.tui.form.view import FormView
from mcp_studio.tui.walls import WALL

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "customer": {"type": "string", "description": "Who ordered, as written on the invoice.", "minLength": 2},
        "quantity": {"type": "integer", "minimum": 1, "maximum": 50, "description": "How many."},
        "price": {"type": ["number", "null"], "default": 9.90},
        "express": {"type": "boolean", "description": "Send it today"},
        "payment": {"oneOf": [{"const": "card", "title": "Card"}, {"const": "inv", "title": "Invoice"}]},
        "country": {
            "enum": ["Austria", "Brazil", "Chile", "Denmark", "Egypt", "Finland", "Ghana", "Hungary", "India", "Japan"]
        },
        "labels": {"type": "array", "items": {"enum": ["gift", "fragile", "heavy"]}, "maxItems": 2},
        "range": {"anyOf": [{"type": "object", "properties": {"start": {}, "end": {}}}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"type": "string"}, "title": "Tags", "description": "Free words."},
        "password": {"type": "string"},
        "content": {"type": "string", "description": "A text of several lines. " * 8},
    },
    "required": ["customer", "quantity", "payment"],
}


def rest(patch: pytest.MonkeyPatch, seconds: float) -> None:
    """Have a server asked for completions so long after a key, however slow the machine is between keys."""
    patch.setattr(choices, "PAUSE", seconds)


class FormApp(App[None]):
    """A form between two inputs; keeps every change that the form posts."""

    CSS = "FormView { height: 1fr; }"

    def __init__(self, form: Form | None = None, value: Json = None, **options: Any) -> None:
        super().__init__()
        self.animation_level = "none"
        self.form = FormView(build(SCHEMA) if form is None else form, value, **options)
        self.changes: list[Json] = []

    def get_css_variables(self) -> dict[str, str]:
        return themes.complete(super().get_css_variables())

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), WALL]

    def compose(self) -> ComposeResult:
        yield Input(id="before", compact=True)
        yield self.form
        yield Input(id="after", compact=True)

    def on_form_view_changed(self, event: FormView.Changed) -> None:
        self.changes.append(event.value)

    def lines(self) -> list[str]:
        """What the form shows, a line of words each, without the sign of the field menu."""
        region = self.form.region
        strips = self.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        shown = (strip.crop(region.x, region.right - 1).text for strip in strips[region.y : region.bottom])
        return [" ".join(text.removesuffix("⋮").split()) for text in (line.rstrip() for line in shown)]


VALUES: Mapping[str, Json] = {
    "full": {
        "customer": "Ada Lovelace",
        "quantity": "two",
        "price": 5,
        "express": True,
        "payment": "card",
        "range": {"start": 1},
        "labels": ["gift"],
        "other": 1,
        "content": "one\ntwo",
        "password": "secret",
    },
}

if __name__ == "__main__":
    FormApp(value=VALUES.get("".join(sys.argv[1:]))).run()
