"""Pane 1: every server, its state in a sign and in words, and why it failed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from textwrap import wrap
from typing import NamedTuple

from textual.app import ComposeResult
from textual.content import Content
from textual.events import Resize
from textual.message import Message

from mcp_studio.present import connections
from mcp_studio.safetext import safe
from mcp_studio.search.names import Matcher, Row, row
from mcp_studio.session.state import Status
from mcp_studio.tui.bindings import key_for, refuse
from mcp_studio.tui.panels.filtered_pane import FilteredPane
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, Piece, cut, fit, mark_matches, spread, width_of
from mcp_studio.tui.views.virtual_list import VirtualList

EMPTY = (
    "No servers yet.\n\n"
    "Press n and paste a command, a URL or an mcp.json snippet.\n\n"
    "Or try everything on the bundled one: mcp-studio demo"
)
NONE = "No server has these words; esc ends the filter."
_REASON_LINES = 3


class Server(NamedTuple):
    """What the pane is given about one server."""

    status: Status
    kind: str
    offers: int
    """Tools, or everything else it offers where it has no tools."""
    unit: str = "t"
    wrong: bool = False
    """It does something wrong, which its details say."""
    ended: str = ""
    """How it ended, until somebody has looked at that."""
    stray: int = 0
    """Lines on its standard output that were no protocol."""
    insecure: bool = False
    """Its certificate may be anybody's."""
    signing: bool = False
    """Somebody is signing in to it."""
    address: str = ""
    """Its URL, or the command that starts it."""


class _Row(NamedTuple):
    server: Server
    reason: str
    """A line of the reason under the server's own row; empty for that row itself."""
    line: int
    look: str = "dim"


_SHORT = {"websocket": "ws"}
"""Transports whose names are longer than their column."""
_SIGNS = {"ok": "on", "busy": "half", "bad": "bad", "off": "off"}
_LOOKS = {"ok": "ok", "busy": "warn", "bad": "bad", "off": "dim"}


class ServersPanel(FilteredPane, scope="servers"):
    """The list of servers."""

    number = 1
    typed = FilteredPane.typed | {"toggle_server"}

    class Wanted(Message):
        """The person wants something done: `open toggle restart add edit delete copy roots logs ending stray token`
        or `sign_in`."""

        def __init__(self, what: str, server: str) -> None:
            super().__init__()
            self.what = what
            self.server = server

    class Highlighted(Message):
        """The cursor came to another server."""

        def __init__(self, server: str) -> None:
            super().__init__()
            self.server = server

    def __init__(self) -> None:
        super().__init__(id="servers")
        self._servers: Sequence[Server] = ()
        self.list: VirtualList[_Row] = VirtualList(
            self._draw_row,
            key=lambda row: (row.server.status.server, row.line),
            stops=lambda row: not row.line,
            empty=EMPTY,
        )

    def compose(self) -> ComposeResult:
        """One list, and what narrows it."""
        yield self.filter
        yield self.list

    def on_mount(self) -> None:
        """Name the pane."""
        self.show_title(Content("Servers"))

    def show(self, servers: Sequence[Server]) -> None:
        """Show these servers, in this order."""
        self._servers = servers
        self.set_class(not servers, "-empty")
        self.fill()

    @property
    def current(self) -> str:
        """The name of the server under the cursor, or an empty string."""
        return self.list.row.server.status.server if self.list.row else ""

    def go_to(self, name: str) -> None:
        """Put the cursor on a server, also on one that a filter hides."""
        if not self.list.go_to_key((name, 0)) and self.matcher.words:
            self.matcher = Matcher("")
            self.fill()
            self.list.go_to_key((name, 0))
            self.run_worker(self.end_filter())

    def home(self) -> Hashable:
        """The server under the cursor."""
        return self.current, 0

    def on_resize(self, event: Resize) -> None:
        """Reasons are wrapped to the width."""
        super().on_resize(event)
        self.fill()

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Say which server the cursor is on."""
        event.stop()
        self.post_message(self.Highlighted(self.current))

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click shows the details."""
        event.stop()
        self.action_open()

    def fill(self, *, keep: bool = True) -> None:
        """Show the servers that have all words of the filter."""
        shown = [server for server in self._servers if self.matcher.match(self._text(server))]
        self.show_note(Content(f"{len(shown):,} of {len(self._servers):,}") if self.matcher.words else None)
        self.list.empty = NONE if self._servers and not shown else EMPTY
        width = max(12, self.list.row_width - 3)
        rows: list[_Row] = []
        for server in shown:
            rows.append(_Row(server, "", 0))
            if server.insecure:
                lines = wrap(f"{glyphs().warning} {connections.INSECURE}", width, subsequent_indent="  ")
                rows += [_Row(server, line, 100 + number, "bad") for number, line in enumerate(lines)]
            status = server.status
            failed = status.error is not None and status.state in ("failed", "retrying", "needs_auth")
            if reason := safe(status.error.message, 400) if failed and status.error else safe(server.ended, 200):
                lines = wrap(
                    reason, width, max_lines=_REASON_LINES, placeholder=glyphs().more, break_on_hyphens=False
                ) or [reason]
                rows += [_Row(server, line, number) for number, line in enumerate(lines, 1)]
        self.list.set_rows(rows, keep=keep)

    def _text(self, server: Server) -> Row:
        """Name, transport, address and state, as they are compared with what is typed."""
        state = f"{self._words(server)} {connections.state_words(server.status)}"
        return row(server.status.server, f"{server.kind} {server.address} {state}")

    def _draw_row(self, row: _Row, width: int, selected: bool) -> Line:
        if row.reason:
            return [("   ", ""), (cut(row.reason, width - 3, more=glyphs().more), row.look)]
        status, signs = row.server.status, glyphs()
        tone = connections.tone(status)
        words = self._words(row.server)
        warned = [(f" {signs.warning}", "warn")] if row.server.wrong else []
        warned += [(f" {signs.stray}{min(row.server.stray, 999)}", "warn")] if row.server.stray else []
        sign: Piece = (f"{getattr(signs, _SIGNS[tone])} ", _LOOKS[tone])
        longest = max((len(server.status.server) for server in self._servers), default=0)
        states = max((len(self._words(server)) for server in self._servers), default=0)
        room = width - states - width_of(warned) - len("●  ")
        # Where names would be cut, the transport gives way: it stands in the details too.
        kind = f"{_SHORT.get(row.server.kind, row.server.kind):<5} " if longest + len("stdio ") <= room else ""
        least = 6 if room - len(kind) >= 6 else min(6, longest)
        names = max(least, min(longest, room - len(kind)))
        left = [sign, *mark_matches(fit(safe(status.server), names, more=signs.more), self.matcher.words)]
        state: list[Piece] = [(f" {kind}", "dim"), (words, _LOOKS[tone] if tone != "ok" else "")]
        return spread([*left, *state, *warned], [], width)

    def _words(self, server: Server) -> str:
        words = connections.state_short(server.status, server.offers, server.unit)
        if server.status.state != "needs_auth":
            return words
        return f"{'signing in' if server.signing else words}: {key_for(self, 'server-sign-in')}"

    def _ask(self, what: str) -> None:
        if self.current or what == "add":
            self.post_message(self.Wanted(what, self.current))
        elif self._servers:
            refuse(self, NONE)
        else:
            refuse(self, f"There is no server yet; {key_for(self, 'server-add')} adds one.")

    def action_open(self) -> None:
        """Show details of the server."""
        self._ask("open")

    def action_toggle_server(self) -> None:
        """Connect or disconnect it."""
        self._ask("toggle")

    def action_restart(self) -> None:
        """Connect it again now."""
        self._ask("restart")

    def action_add(self) -> None:
        """Add a server."""
        self._ask("add")

    def action_edit(self) -> None:
        """Edit its entry."""
        self._ask("edit")

    def action_delete(self) -> None:
        """Remove it."""
        self._ask("delete")

    def action_logs(self) -> None:
        """Show its log messages."""
        self._ask("logs")

    def action_console(self) -> None:
        """Send any message to it by hand."""
        self._ask("console")

    def action_ending(self) -> None:
        """Show how it ended."""
        self._ask("ending")

    def action_stray(self) -> None:
        """Show what it printed besides the protocol."""
        self._ask("stray")

    def action_sign_in(self) -> None:
        """Sign in to it."""
        self._ask("sign_in")

    def action_token(self) -> None:
        """Show its token."""
        self._ask("token")

    def action_copy(self) -> None:
        """Copy its name."""
        self._ask("copy")

    def action_roots(self) -> None:
        """Edit the roots that it is told of."""
        self._ask("roots")
