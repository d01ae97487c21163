"""What stands above the form of an entry: its name, and what its server says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_studio.present import units
from mcp_studio.protocol.views import ResourceView, ToolView
from mcp_studio.safetext import safe
from mcp_studio.tui.panels.catalog_rows import RISKS

if TYPE_CHECKING:
    from mcp_studio.tui.opened import Opened

_RISK_WORDS = {"read": "reads", "write": "writes", "destructive": "destructive"}
_DESCRIPTION = 700
Part = str | tuple[str, str]
"""Text, or text and its style."""


def title_of(opened: Opened) -> list[Part]:
    """Server, name and risk."""
    ref, view = opened.entry.ref, opened.entry.view
    name = view.title or view.name or ref.name if isinstance(view, ResourceView) else ref.name
    parts: list[Part] = [f"{safe(ref.server, 40)}.{safe(name, 80)}"]
    if isinstance(view, ToolView):
        sign, colour = RISKS[view.risk]
        parts += [("  ", ""), (f"{sign} {_RISK_WORDS[view.risk]}", f"${colour}")]
    return parts


def about_of(opened: Opened) -> list[Part]:
    """Title, description and address."""
    view, ref = opened.entry.view, opened.entry.ref
    parts: list[Part] = []
    if view.title and view.title != ref.name:
        parts += [(safe(view.title, 200), "b"), "\n"]
    text = safe(view.description, _DESCRIPTION, lines=True).strip()
    parts.append(text or ("It has no description.", "$quiet"))
    if isinstance(view, ResourceView):
        size = "" if view.size is None else units.size(view.size)
        facts = " · ".join(filter(None, (safe(view.mime_type, 100), size)))
        parts += [("\n", ""), (safe(ref.name, 500), "$primary"), (f"  {facts}", "$quiet")]
    elif ref.kind == "template":
        parts += [("\n", ""), (safe(ref.name, 500), "$primary")]
    return parts
