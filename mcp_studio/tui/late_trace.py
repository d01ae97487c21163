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
    from mcp_studio.trace.message import Recording, WireMessage
    from mcp_studio.trace.postmortem import Mortem
    from mcp_studio.trace.search import Search
    from mcp_studio.trace.statistics import Numbers
    from mcp_studio.tui.opened import Opened
    from mcp_studio.tui.panels.mortem_card import MortemCard
    from mcp_studio.tui.panels.trace import TracePanel
    from mcp_studio.tui.panels.trace_detail import TraceDetail
    from mcp_studio.tui.query_completion import Suggestions
    from mcp_studio.tui.screens.main import MainScreen
    from mcp_studio.tui.screens.mortem_dialog import Wish
    from mcp_studio.tui.screens.usage import Usage


def suggestions(text: str, cursor: int, recording: Recording) -> Suggestions:
    """What could come next in a filter text."""
    from mcp_studio.tui.query_completion import complete

    return complete(text, cursor, recording)


def filter_run(recording: Recording, text: str, now: float | None = None) -> Search:
    """The search behind a filter text; raises QueryError where it is none."""
    from mcp_studio.trace.query.parser import parse
    from mcp_studio.trace.search import Search

    return Search(recording, parse(text, now))


def trace_dialog(recording: Recording, entry: WireMessage, panel: TracePanel | None = None) -> ModalScreen[None]:
    """One exchange of the trace; with `panel` the person can go on from message to message."""
    from mcp_studio.tui.screens.trace_dialog import TraceDialog

    return TraceDialog(recording, entry, panel)


def export_dialog(recording: Recording, entry: WireMessage | None, filtered: Sequence[int] | None) -> ModalScreen[None]:
    """Exporting a trace, or part of it."""
    from mcp_studio.tui.screens.export_dialog import ExportDialog

    return ExportDialog(recording, entry, filtered)


def acts() -> ModuleType:
    """Marks, comments and comparing; see `trace_acts`."""
    from mcp_studio.tui import trace_acts

    return trace_acts


def replays() -> ModuleType:
    """Sending messages again; see `replay_acts`."""
    from mcp_studio.tui import replay_acts

    return replay_acts


def opening() -> ModuleType:
    """Choosing sessions; see `screens.opening`."""
    from mcp_studio.tui.screens import opening as module

    return module


def trace_detail() -> TraceDetail:
    """The same beside the trace, on a wide screen."""
    from mcp_studio.tui.panels.trace_detail import TraceDetail

    return TraceDetail(id="trace-detail")


def usage(screen: MainScreen) -> Usage:
    """What is known from use."""
    from mcp_studio.tui.screens.usage import Usage

    return Usage(screen)


def statistics(recording: Recording, numbers: Numbers, live: bool) -> ModalScreen[str]:
    """Statistics of a trace."""
    from mcp_studio.tui.screens.statistics import Statistics

    return Statistics(recording, numbers, live=live)


def load_dialog(screen: MainScreen, opened: Opened) -> ModalScreen[None]:
    """Calling what is open many times."""
    from mcp_studio.tui.screens.load_dialog import LoadDialog

    return LoadDialog(screen, opened)


def mortem_words() -> ModuleType:
    """How the end of a connection reads in a line."""
    from mcp_studio.present import crashes

    return crashes


def mortem_of(call: Call, known: Iterable[Mortem]) -> Mortem | None:
    """The ending that a call was lost to."""
    from mcp_studio.call import sending

    return sending.mortem_of(call, known)


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
    """What a server of the studio printed besides the protocol."""
    return stray_of(trace, server.name, (server.command, *server.args))


def stray_of(trace: Recording, server: str, argv: Sequence[str]) -> ModalScreen[int]:
    """The same of any server, which was started by a command."""
    from mcp_studio.tui.screens.stray_dialog import StrayDialog

    return StrayDialog(trace, server, argv)


def endings() -> Callable[..., list[Mortem]]:
    """See `postmortem.endings`."""
    from mcp_studio.trace import postmortem

    return postmortem.endings


def command_of(trace: Recording, server: str) -> str:
    """See `postmortem.command_of`."""
    from mcp_studio.trace import postmortem

    return postmortem.command_of(trace, server)
