"""What the trace shows only when it is asked for: imported then."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.screen import ModalScreen

    from mcp_studio.trace.message import WireMessage
    from mcp_studio.trace.store import TraceStore
    from mcp_studio.tui.panels.trace_detail import TraceDetail


def trace_dialog(store: TraceStore, entry: WireMessage) -> ModalScreen[None]:
    """One exchange of the trace."""
    from mcp_studio.tui.screens.trace_dialog import TraceDialog

    return TraceDialog(store, entry)


def trace_detail() -> TraceDetail:
    """The same beside the trace, on a wide screen."""
    from mcp_studio.tui.panels.trace_detail import TraceDetail

    return TraceDetail(id="trace-detail")
