"""A list of what belongs to an exchange, in the colours of the trace."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from mcp_studio.tui.views.virtual_list import VirtualList

T = TypeVar("T")


class TraceList(VirtualList[T]):
    """A list whose rows have the looks of those of the trace."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"trace--in", "trace--out", "trace--new"}
    DEFAULT_CSS = """
    TraceList {
        & > .trace--in { color: $text-accent; }
        & > .trace--out { color: $text-primary; }
        & > .trace--new { color: $text-accent; }
    }
    """
