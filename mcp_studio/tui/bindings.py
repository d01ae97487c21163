"""Textual bindings, made from the table of actions."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from mcp_studio.tui.actions import Scope, scoped


def bindings(*scopes: Scope) -> list[BindingType]:
    """The bindings of some scopes; each carries its action's id, so that `[keys]` can give it other keys."""
    return [
        Binding(a.keys, a.method, a.title, show=a.show, priority=a.priority, id=a.id, tooltip=a.title)
        for a in scoped(*scopes)
    ]
