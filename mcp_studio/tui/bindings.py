"""Textual bindings, made from the table of actions."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from mcp_studio.tui.actions import Scope, scoped


def bindings(*scopes: Scope) -> list[BindingType]:
    """The bindings of some scopes; each carries its action's id, so that `[keys]` can give it other keys.

    Keys with ctrl act before a field that has the focus sees them; letters are the field's.
    """
    found: list[BindingType] = []
    for action in scoped(*scopes):
        keys = [key for key in action.keys.split(",") if key]
        for priority in (True, False):
            some = [key for key in keys if key.startswith("ctrl+") == priority]
            if some:
                show = action.show and some[0] == keys[0]
                title = action.short or action.title
                found.append(
                    Binding(",".join(some), action.id, title, show=show, priority=priority, id=action.id,
                            tooltip=action.title)
                )  # fmt: skip
    return found
