"""Pane 1: every server in one row, its state as glyph and colour, and what is done with it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from textual import events, getters, on, work
from textual.app import ComposeResult
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from mcp_studio.call.saved import folders
from mcp_studio.catalog.listing import KINDS
from mcp_studio.config.model import ServerConfig, Untrusted
from mcp_studio.errors import ConfigError, ConnectionLost, StudioError, Unreachable
from mcp_studio.present import connections, crashes, units
from mcp_studio.safetext import safe
from mcp_studio.session.groups import MARK
from mcp_studio.session.state import Status
from mcp_studio.tui import server_files
from mcp_studio.tui.panes.pane import Pane
from mcp_studio.tui.views.rows import Line, Piece, VirtualList, cut, fit, glyphs, mark_matches, spread, width_of

if TYPE_CHECKING:
    from mcp_studio.trace.postmortem import How, Mortem
    from mcp_studio.tui.screens.server_form import Draft

_TONES = {"ok": ("on", "ok"), "busy": ("half", "warn"), "bad": ("bad", "bad"), "off": ("off", "dim")}
"""The glyph and the look of a row, by tone."""
_ENDS: Mapping[How, str] = {
    "exit": "exit code {}", "signal": "", "status": "HTTP {}", "refused": "refused", "dropped": "dropped",
    "timeout": "no reply", "session": "session lost", "stalled": "stalled", "stdout": "closed stdout",
    "stdin": "closed stdin",
}  # fmt: skip
"""The end of a server in a few words; a signal has its own name."""
_LONGEST = 24
"""The most cells of a name in a row with further facts."""
_BROKEN = {"failed", "needs_auth", "retrying"}


class Heading(NamedTuple):
    """The heading above the members of a group."""

    group: str
    states: tuple[str, ...]
    """The states of all members."""
    folded: bool


_SHORT = {"needs_auth": "sign in", "disabled": "off", "idle": "waiting"}


def _state_short(status: Status) -> str:
    """The state in one or two words for a narrow row: `retry 4 s`, `off`."""
    if status.state == "retrying" and (left := status.retry_at - time.monotonic()) > 0.5:
        return f"retry {left:.0f} s"
    return _SHORT.get(status.state, status.state)


class ServerRow(NamedTuple):
    """The facts about one server, as its row shows them."""

    status: Status
    config: ServerConfig
    headed: bool
    """Whether a heading above the row names the group."""
    by_hand: str
    """`preferred` or `drained`."""
    offers: str
    """The number of its offers: `19`, or `5 prompts` if it has no tools."""
    why: str
    """Why the server is not connected, or while it is off, how it ended by itself, until the person has seen that."""
    warned: bool
    """Whether the server does something wrong; its details say what."""
    on_demand: bool
    """Whether the next call starts the server."""
    signing_in: bool

    @property
    def matters(self) -> tuple[str, ...]:
        """The offers or the trouble as texts for rows of any width, the longest first."""
        if self.signing_in:
            return ("signing in",)
        state = self.offers if self.status.state == "ready" else _state_short(self.status)
        if self.on_demand and self.status.state == "disabled":
            state = "on demand"
        group = "" if self.headed or not self.config.group else f"@{safe(self.config.group, 20)}"
        now = " ".join(filter(None, (group, self.by_hand, state)))
        if self.why and self.status.state == "failed":
            return (f"{self.by_hand} {self.why}".strip(), self.why)
        if self.why:
            return f"{self.why}, {now}", now, now.split()[-1]
        return now, state.split()[-1]

    @property
    def text(self) -> str:
        """The text that the filter searches."""
        config, status = self.config, self.status
        address = config.url or " ".join((config.command, *config.args))
        words = status.server, self.transport, address, status.state, f"@{config.group}", self.matters[0]
        return " ".join(words).casefold()

    @property
    def transport(self) -> str:
        """The transport in at most five letters."""
        spoken = self.status.spoken or self.config.kind
        return "ws" if spoken == "websocket" else spoken


def _key(row: Heading | ServerRow) -> tuple[bool, str]:
    return (True, row.group) if isinstance(row, Heading) else (False, row.status.server)


def _error_in_short(error: StudioError) -> str:
    if error.http is not None and error.http.status >= 300:
        return f"HTTP {error.http.status}"
    kinds = (ConnectionLost, "connection lost"), (Unreachable, "not started"), (ConfigError, "bad entry")
    return next((words for kind, words in kinds if isinstance(error, kind)), "protocol error")


class ServersPane(Pane, scope="servers"):
    """The list of servers; moving the cursor narrows the catalog to the server under it."""

    list = getters.query_one("#server-list", VirtualList)

    @dataclass
    class Selected(Message):
        """The catalog should show only this server; all servers if it is empty."""

        server: str

    @dataclass
    class TraceRequested(Message):
        """The trace should show a message."""

        number: int

    def __init__(self) -> None:
        super().__init__()
        self.filter = Input(placeholder="filter: name, address or state", id="server-filter", compact=True)
        self.filter.display = False
        self._rows: dict[str, ServerRow] = {}
        self._ends: dict[str, Mortem] = {}
        """The newest end of each server that the person has been told."""
        self._unseen: set[str] = set()
        """Servers that ended by themselves since the person last looked."""
        self._folded: set[str] = set()
        """Groups whose members are hidden."""
        self._watched: dict[str, tuple[str, ...]] = {}
        """The globs of the servers that restart when files change."""
        self._drafts: dict[str, Draft] = {}
        """Unsaved entries by the name of their server; a new entry has an empty name."""

    def compose(self) -> ComposeResult:
        yield VirtualList(self._draw, key=_key, id="server-list")

    def entry_point(self) -> Widget:
        return self.list

    def begin(self) -> None:
        """Ask about project files once the screen is there; offer servers if there are none."""
        studio = self.app.studio
        if studio.config.untrusted:
            self.run_worker(self._ask_trust(tuple(studio.config.untrusted)), group="begin")
        elif not studio.manager.names():
            from mcp_studio.tui.screens.import_servers import FirstStart

            self.app.push_screen(FirstStart())

    @property
    def current(self) -> str:
        """The name of the server under the cursor; empty if there is none."""
        return self.list.row.status.server if isinstance(self.list.row, ServerRow) else ""

    @property
    def heading(self) -> str:
        """The `@group` or the name of the server under the cursor; empty if there is neither."""
        return f"{MARK}{self.list.row.group}" if isinstance(self.list.row, Heading) else self.current

    # Showing

    def refresh_servers(self) -> None:
        """Show the present state of all servers."""
        manager = self.app.studio.manager
        groups = Counter(manager.config(name).group for name in manager.names())
        # Two servers need no headings.
        headed = {group for group, count in groups.items() if group and count > 1 and groups.total() > 2}
        before, self._rows = self._rows, {name: self._row(name, headed) for name in manager.names()}
        for name, row in self._rows.items():
            state = row.status.state
            if state == "needs_auth" and not (name in before and before[name].status.state == state):
                self.app.say(f"{safe(name, 60)} needs a sign-in: enter on it in the servers (1).", "warning")
            globs = self.app.studio.manager.config(name).watch
            if globs != self._watched.get(name, ()):
                self._watched[name] = globs
                self.run_worker(self._reload(name, globs), group=f"watch {name}", exclusive=True)
        self._fill()

    async def _reload(self, name: str, globs: tuple[str, ...]) -> None:
        """Restart a server whenever its files change, and say what differs. An earlier worker for it has ended."""
        from mcp_studio.call.reload import Reloader

        studio = self.app.studio
        places = folders(studio.paths, Path.cwd(), studio.config.settings.calls)
        reloader = Reloader(studio.caller, places, name)
        if globs:
            async for one in reloader.run(globs, calls=False):
                bad, doubtful = one.error is not None, one.breaking or one.other
                if one.files:
                    self.app.say(one.said, "error" if bad else "warning" if doubtful else "information")

    def _row(self, name: str, headed: Collection[str]) -> ServerRow:
        studio = self.app.studio
        config, status = studio.manager.config(name), studio.manager.status(name)
        counts = {kind: len(studio.catalog.listing(name, kind).entries) for kind in KINDS}
        kind = next((kind for kind in KINDS if counts[kind]), "tool")
        offers = f"{counts[kind]:,}" if kind == "tool" else units.plural(counts[kind], kind)
        by_hand, on_demand = studio.groups.by_hand(name), studio.manager.supervisor(name).on_demand
        why, signing_in = self._why(status), studio.sign_ins.running(name) is not None
        warned = bool(status.warnings) or studio.trace.ledger(name).wrong or config.tls.insecure
        return ServerRow(status, config, config.group in headed, by_hand, offers, why, warned, on_demand, signing_in)

    def _why(self, status: Status) -> str:
        """Why a server is not connected, or how it ended by itself; a new end is announced."""
        name, mortems = status.server, self.app.studio.manager.supervisor(status.server).mortems
        newest = mortems[-1] if mortems and mortems[-1].ending.how != "closed" else None
        if newest is not None and self._ends.get(name) is not newest:
            self._ends[name] = newest
            self._unseen.add(name)
            if newest.ready:
                lost = f", {units.plural(len(newest.flights), 'request')} without a reply" if newest.flights else ""
                self.app.say(f"{crashes.first_line(newest)}{lost}. Enter on the server (1) shows how.", "warning")
        broken = status.state in ("failed", "retrying")
        if newest is not None and broken and newest.stray and not newest.ready:
            return f"no MCP: '{safe(newest.stray[0], 60)}'"
        if newest is not None and (broken or (name in self._unseen and status.state != "ready")):
            words = _ENDS.get(newest.ending.how, "ended")
            return words.format(newest.ending.code) if words else crashes.headline(newest.ending).split()[-1]
        return _error_in_short(status.error) if status.error and broken else ""

    def tick(self) -> None:
        """Count down for servers that are about to be retried."""
        if any(row.status.state == "retrying" for row in self._rows.values()):
            self.refresh_servers()

    @on(Input.Changed, "#server-filter")
    def _fill(self) -> None:
        words = self.filter.value.casefold().split()
        found = [row for row in self._rows.values() if all(word in row.text for word in words)]
        add = self.app.key_of("new_server")
        none = f"No servers yet. {add} adds one: paste a command, a URL, or JSON of an mcp.json."
        self.list.empty = "No server matches. Esc ends the filter." if self._rows else none
        rows = self._arranged(found)
        self.list.show(rows)
        self.show_note(f"{len(found):,} of {len(self._rows):,}" if words else "")
        # Its own rows and the border; `auto` would ask a list that draws only what is seen.
        self.list.styles.height = max(2, len(rows)) if self._rows else 4

    def _arranged(self, found: list[ServerRow]) -> list[Heading | ServerRow]:
        """The rows in order, with the members of a group under a heading at the place of the first member."""
        blocks: dict[tuple[bool, str], list[ServerRow]] = {}
        for row in found:
            blocks.setdefault((True, row.config.group) if row.headed else _key(row), []).append(row)
        rows: list[Heading | ServerRow] = []
        for (headed, group), members in blocks.items():
            folded = headed and group in self._folded and not self.filter.value
            if headed:
                states = (row.status.state for row in self._rows.values() if row.config.group == group)
                rows.append(Heading(group, tuple(states), folded))
            rows += [] if folded else members
        return rows

    def _draw(self, row: Heading | ServerRow, width: int, selected: bool) -> Line:
        if isinstance(row, Heading):
            fold = glyphs().folded if row.folded else glyphs().unfolded
            ready, broken = row.states.count("ready"), _BROKEN & {*row.states}
            look = "dim" if not broken else "warn" if ready else "bad"
            count = f"  {ready} of {len(row.states)} ready"
            return spread([(f"{fold} @{safe(row.group, 60)}", "strong")], [(count, look)], width)
        tone = connections.tone(row.status)
        sign, look = _TONES[tone]
        longest = max((len(name) for name in self._rows), default=0)
        inset = 2 if any(row.headed for row in self._rows.values()) else 0
        names = min(longest, _LONGEST, max(8, width - 8 - inset)) + inset
        lead = " " * inset if row.headed else ""
        name = fit(safe(row.status.server), names - len(lead))
        words = self.filter.value.split()
        left = [(f"{lead}{getattr(glyphs(), sign)} ", look), *mark_matches(name, words, "" if tone == "ok" else look)]
        warning: list[Piece] = [(f" {glyphs().warning}", "warn")] if row.warned else []
        room = max(0, width - width_of(left) - width_of(warning) - 2)
        matter = next((one for one in row.matters if len(one) <= room), row.matters[-1])
        if room >= len(matter) + 7:
            left.append((f"  {row.transport:<5}", "dim"))
            room -= 7
        return spread(left, [(f"  {cut(matter, room)}", "dim" if tone == "ok" else look), *warning], width)

    # Choosing

    @on(VirtualList.Highlighted, "#server-list")
    def scope_catalog(self) -> None:
        """Show the offers of the server under the cursor in the catalog."""
        if self.has_focus_within:  # also while a filter is typed
            self.post_message(self.Selected(self.current))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Choose a row by a click even if the cursor is already on it."""
        if event.widget is self.list:
            self.call_after_refresh(self.scope_catalog)

    def go_to(self, name: str) -> None:
        self.filter.value = ""
        self._folded.clear()
        self._fill()
        self.list.go_to((False, name))

    @on(Input.Submitted, "#server-filter")
    def filter_taken(self) -> None:
        self.screen.set_focus(self.list)

    def step_back(self) -> bool:
        return self.end_filter()

    # Actions on the server under the cursor

    def _chosen(self) -> str:
        """The name of the server under the cursor; if there is none, say so."""
        if not self.current:
            self.app.say(f"There is no server here; {self.app.key_of('new_server')} adds one.", "warning")
        return self.current

    def _mark_seen(self, name: str) -> None:
        """Note that the person looks at the end of a server."""
        self._unseen.discard(name)
        self.refresh_servers()

    @on(VirtualList.Chosen, "#server-list")
    def action_open(self) -> None:
        if isinstance(self.list.row, Heading):
            self.action_toggle_item()
        elif name := self._chosen():
            from mcp_studio.tui.screens.server_details import ServerDetails

            self._mark_seen(name)
            self.app.push_screen(ServerDetails(name), self._leave_details)

    action_details = action_open

    async def _leave_details(self, action: str | None) -> None:
        """Run the action whose button closed the details."""
        if action:
            await self.run_action(action)

    def action_toggle_item(self) -> None:
        """Connect a server that is off or failed, disconnect any other; fold or unfold a group."""
        manager = self.app.studio.manager
        if isinstance(self.list.row, Heading):
            self._folded ^= {self.list.row.group}
            self._fill()
            return
        if not (name := self._chosen()):
            return
        if manager.status(name).state in ("disabled", "failed", "needs_auth"):
            manager.start(name)
        else:
            self.run_worker(manager.stop(name), group="servers")

    def action_repeat(self) -> None:
        """Connect the server again now."""
        if name := self._chosen():
            self.app.studio.manager.restart(name)

    def action_prefer(self) -> None:
        self._route(self.app.studio.groups.prefer, "gets the calls of its group as long as it is connected")

    def action_drain(self) -> None:
        self._route(self.app.studio.groups.drain, "gets no more calls of its group")

    def action_release(self) -> None:
        self._route(self.app.studio.groups.release, "gets calls of its group as it is configured")

    def _route(self, change: Callable[[str], None], words: str) -> None:
        name = self._chosen()
        if name and not self.app.studio.groups.of(name):
            self.app.say(f'{name} belongs to no group; group = "NAME" in its entry makes one.', "warning")
        elif name:
            change(name)
            self.app.say(f"{name} {words}.")
            self.refresh_servers()

    def action_forget(self) -> None:
        if name := self._chosen():
            self.app.forget(name)

    def action_copy(self) -> None:
        if name := self._chosen():
            self.app.copy(name, name)

    def action_add(self) -> None:
        self._edit(None)

    def action_edit(self) -> None:
        if name := self._chosen():
            config = self.app.studio.manager.config(name)
            if config.source.origin in ("file", "project") and not server_files.ours(config.source):
                self.app.say(f"{name} comes from {config.source.file}; change it there.", "warning")
            else:
                self._edit(config)

    def _edit(self, config: ServerConfig | None) -> None:
        from mcp_studio.tui.screens.server_form import ServerForm

        self.app.push_screen(ServerForm(config, self._drafts), self._saved)

    async def _saved(self, config: ServerConfig | None) -> None:
        """Go to the server, also because there is nothing else of one that fails."""
        if config is not None:
            self.refresh_servers()
            self.go_to(config.name)
            await self.run_action("screen.pane_servers")
            place = server_files.place_of(self.app.studio, config.name).file
            self.app.say(f"{config.name} is saved in {place}.")

    @work(group="servers", exclusive=True)
    async def action_delete(self) -> None:
        if not (name := self._chosen()):
            return
        from mcp_studio.tui.screens.dialog import Confirm

        source = self.app.studio.manager.config(name).source
        text = f"{safe(name, 60)} is closed and leaves the list."
        if source.origin in ("file", "project") and not server_files.ours(source):
            text += f" Its entry stays in {source.file}, so it is back at the next start."
        elif source.file:
            text += f" Its entry is taken out of {source.file}."
        if await self.app.push_screen_wait(Confirm("Delete the server?", text, "Delete", destroys=True)):
            await server_files.forget(self.app.studio, name)
            self.refresh_servers()
            self.app.say(f"{name} is deleted.")

    def action_export_servers(self) -> None:
        """Write the server, or the group under the cursor, to another client's file."""
        from mcp_studio.tui.screens.export_servers import ExportServers

        group = self.list.row.group if isinstance(self.list.row, Heading) else ""
        members = [name for name, row in self._rows.items() if group and row.config.group == group]
        self.app.push_screen(ExportServers(members or [self.current]))

    def action_sign_in(self) -> None:
        if name := self._chosen():
            from mcp_studio.tui.screens.sign_in import sign_in

            sign_in(self.app, name)

    def action_token(self) -> None:
        """Show the server's token: what it allows, and for how long."""
        if name := self._chosen():
            from mcp_studio.tui.screens.sign_in import show_token

            show_token(self.app, name)

    def action_roots(self) -> None:
        if name := self._chosen():
            from mcp_studio.tui.screens.roots import Roots

            self.app.push_screen(Roots(name))

    def action_console(self) -> None:
        """Send any message to the server by hand."""
        if name := self._chosen():
            from mcp_studio.tui.screens.console import Console

            self.app.push_screen(Console(name))

    def action_server_logs(self) -> None:
        if name := self._chosen():
            from mcp_studio.tui.screens.logs import Logs

            self.app.push_screen(Logs(name), self._show_message)

    def action_exit_report(self) -> None:
        """Show how the server ended, its open requests, and its last output."""
        name = self._chosen()
        if name and not self.app.studio.manager.supervisor(name).mortems:
            self.app.say(f"{safe(name, 60)} has not ended by itself since the studio runs.")
        elif name:
            from mcp_studio.tui.screens.exit_report import ExitReport

            self._mark_seen(name)
            self.app.push_screen(ExitReport(name), self._show_message)

    def action_unexpected_output(self) -> None:
        """Show what the server printed to its standard output apart from the protocol."""
        if name := self._chosen():
            from mcp_studio.tui.screens.exit_report import UnexpectedOutput

            self.app.push_screen(UnexpectedOutput(name), self._show_message)

    def _show_message(self, number: int | None) -> None:
        if number is not None:
            self.post_message(self.TraceRequested(number))

    # Project files that nobody has trusted yet

    async def _ask_trust(self, files: tuple[Untrusted, ...]) -> None:
        from mcp_studio.tui.screens.project_trust import ProjectTrust

        for file in files:
            if await self.app.push_screen_wait(ProjectTrust(file)):
                with self.app.failing():
                    await server_files.agree(self.app.studio, file)
