"""Textual bindings, made from the table of actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.binding import Binding, BindingType
from textual.widget import Widget

from mcp_studio.tui.actions import Scope, scoped

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp


def bindings(*scopes: Scope) -> list[BindingType]:
    """The bindings of some scopes; each carries its action's id, so that `[keys]` can give it other keys."""
    return [
        Binding(a.keys, a.method, a.title, show=a.show, priority=a.priority, id=a.id, tooltip=a.title)
        for a in scoped(*scopes)
    ]


def key_for(widget: Widget, action: str) -> str:
    """The key of an action as the person has it and writes it: `^j`."""
    return cast("StudioApp", widget.app).spell(action)


def refuse(widget: Widget, why: str) -> None:
    """Say why an action does nothing here."""
    cast("StudioApp", widget.app).say(why, "warning")
