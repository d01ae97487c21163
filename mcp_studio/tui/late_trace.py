"""What the trace shows only when it is asked for: imported then."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import ModuleType

    from textual.screen import ModalScreen

    from mcp_studio.call.call import Call
    from mcp_studio.config.model import ServerConfig
    from mcp_studio.session.state import Status
    from mcp_studio.trace.message import WireMessage
    from mcp_studio.trace.postmortem import Mortem
    from mcp_studio.trace.recording import Recording
    from mcp_studio.tui.panels.mortem_card import MortemCard
    from mcp_studio.tui.panels.trace import TracePanel
    from mcp_studio.tui.panels.trace_detail import TraceDetail
    from mcp_studio.tui.screens.mortem_dialog import Wish


def trace_dialog(recording: Recording, entry: WireMessage, panel: TracePanel | None = None) -> ModalScreen[None]:
    """One exchange of the trace; with `panel` the person can go on from message to message."""
    from mcp_studio.tui.screens.trace_dialog import TraceDialog

    return TraceDialog(recording, entry, panel)


def acts() -> ModuleType:
    """Marks, comments and comparing; see `trace_acts`."""
    from mcp_studio.tui import trace_acts

    return trace_acts


def opening() -> ModuleType:
    """Choosing sessions; see `screens.opening`."""
    from mcp_studio.tui.screens import opening as module

    return module


def trace_detail() -> TraceDetail:
    """The same beside the trace, on a wide screen."""
    from mcp_studio.tui.panels.trace import TracePanel
    from mcp_studio.tui.panels.trace_detail import TraceDetail

    return TraceDetail(id="trace-detail")


def mortem_words() -> ModuleType:
    """How the end of a connection reads in a line."""
    from mcp_studio.trace import mortem_words as words

    return words


def mortem_of(call: Call, known: Iterable[Mortem]) -> Mortem | None:
    """The ending that a call was lost to."""
    from mcp_studio.call import interrupted

    return interrupted.mortem_of(call, known)


def mortem_text() -> ModuleType:
    """The card on the end of a connection."""
    from mcp_studio.tui import mortem_text as text

    return text


def mortem_card() -> MortemCard:
    """The same in the place of a result."""
    from mcp_studio.tui.panels.mortem_card import MortemCard

    return MortemCard()


def mortem_dialog(
    known: Callable[[], Sequence[Mortem]], status: Callable[[], Status | None], again: Callable[[Mortem], bool]
) -> ModalScreen[Wish]:
    """How a server ended."""
    from mcp_studio.tui.screens.mortem_dialog import MortemDialog

    return MortemDialog(known, status, again)


def stray_dialog(trace: Recording, server: ServerConfig) -> ModalScreen[int]:
    """What a server printed besides the protocol."""
    from mcp_studio.trace.language import language_of, launcher_of
    from mcp_studio.tui.screens.stray_dialog import StrayDialog

    argv = (server.command, *server.args)
    return StrayDialog(trace, server.name, language_of(argv, server.cwd), launcher_of(argv))
