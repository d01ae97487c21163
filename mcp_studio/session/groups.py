"""Groups of servers that can replace one another: which server gets a call, and which ones come next."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

from mcp_studio.catalog.catalog import Catalog, suggestion
from mcp_studio.catalog.listing import EntryKind, Ref
from mcp_studio.errors import UsageError
from mcp_studio.schema.uritemplate import fits
from mcp_studio.session.manager import ConnectionManager
from mcp_studio.session.state import at_most, until
from mcp_studio.trace.statistics import Numbers, Tally

MARK = "@"
"""Precedes the name of a group where a server could be named too."""
_POINTS = 0.05
"""Success rates that differ by less count as equal."""
_FASTER = 0.8
"""Another server replaces the serving one if it needs less than this share of its time."""
_MOMENT = 1.0
"""Seconds that a better server gets to become ready once another one can serve."""
_CALL = "tools/call"
_TEMPLATES = 100
"""Templates that a URI is compared with."""


class Member(NamedTuple):
    """One server of a group, with its figures for a tool."""

    server: str
    healthy: bool
    """Whether the server is ready and not silent."""
    drained: bool
    priority: int
    success: float
    """The success rate from 0 to 1; 1 without calls."""
    average: float | None
    """The moving average in milliseconds; None without calls."""


class Groups:
    """Routes tools by priority, health, success rate and latency; a person can prefer, drain and release servers."""

    def __init__(self, manager: ConnectionManager, numbers: Numbers, catalog: Catalog) -> None:
        self._manager = manager
        self._numbers = numbers
        self._catalog = catalog
        self._drained: set[str] = set()
        self._preferred: dict[str, str] = {}
        self._serving: dict[tuple[str, str], str] = {}
        """The server that got each tool's last call."""

    def of(self, server: str) -> str:
        """The group of a server; empty where it has none."""
        return self._manager.config(server).group

    def tags(self, server: str) -> tuple[str, ...]:
        """Words for finding a server besides its name: its group."""
        group = self.of(server) if server in self._manager.names() else ""
        return (group,) if group else ()

    def members(self, group: str, tool: str, preferred: str = "") -> tuple[Member, ...]:
        """The servers of a group that offer a tool, or may do so, best first; a call may name its preferred one."""
        servers = [name for name in self._manager.names() if self.of(name) == group]
        self._numbers.look()
        found = [self._member(name, tool) for name in servers if self._offers(name, tool)]
        best = max((one.success for one in found if one.healthy), default=1.0)
        preferred, serving = preferred or self._preferred.get(group, ""), self._serving.get((group, tool))

        def order(one: Member) -> tuple[object, ...]:
            average = float("inf") if one.average is None else one.average
            if one.server == serving:
                average *= _FASTER
            return (
                one.drained, not one.healthy, one.server != preferred, -one.priority,
                one.success < best - _POINTS, average, one.server != serving,
            )  # fmt: skip

        return tuple(sorted(found, key=order))

    def best(self, group: str, tool: str, preferred: str = "") -> str:
        """The server for a tool's call; it stays the same until another one is clearly better.

        Raises:
            UsageError: no server of the group offers the tool.
        """
        found = self.members(group, tool, preferred)
        if not found:
            raise UsageError(f"No server of the group {group!r} has the tool {tool!r}.")
        self._serving[group, tool] = found[0].server
        return found[0].server

    async def route(self, group: str, tool: str, preferred: str = "") -> str:
        """The server for a tool's call, once it is known who offers the tool.

        If one can serve, a better one gets only a moment, except the one that the call prefers. If no connected server
        can, one is started that starts on demand.

        Raises:
            UsageError: no server of the group offers the tool.
        """

        def look() -> tuple[bool, bool]:
            found = self.members(group, tool, preferred)
            unread = [one for one in found if self._unread(one.server, "tool") and not one.drained]
            if not found or not found[0].healthy or found[0] in unread or preferred in [one.server for one in unread]:
                return False, bool(unread)
            return True, any(one.priority > found[0].priority for one in unread)

        await self._until_clear(look)
        server = self.best(group, tool, preferred)
        if self._manager.status(server).state != "disabled":
            return server
        self._manager.start(server)
        return await self.route(group, tool, preferred)

    async def reader(self, uri: str) -> str:
        """The server of a resource, once it is known who has it; if one can serve, others get only a moment."""

        def look() -> tuple[bool, bool]:
            unread = [name for name in self._manager.names() if self._unread(name, "resource", "template")]
            with suppress(UsageError):
                return self._manager.supervisor(self.server_of(uri)).healthy, bool(unread)
            return False, bool(unread)

        await self._until_clear(look)
        return self.server_of(uri)

    async def _until_clear(self, look: Callable[[], tuple[bool, bool]]) -> None:
        """Wait for servers that may still come: `look` says whether one can serve, and whether others may come."""
        signals = (self._manager.changed, self._catalog.changed)
        await until(lambda: look()[0] or not look()[1], *signals)
        await at_most(_MOMENT, until(lambda: not look()[1], *signals))

    def server_of(self, uri: str) -> str:
        """The server that lists a resource or template, else one with a matching template.

        Raises:
            UsageError: no server has it, or several have that are not in one group.
        """
        entries = (*self._catalog.entries("resource"), *self._catalog.entries("template"))
        known = [entry.ref for entry in entries if not entry.remembered]
        found = {ref.server for ref in known if ref.name == uri}
        if not found:
            some = [ref for ref in known if ref.kind == "template" and uri.startswith(ref.name.partition("{")[0])]
            found = {ref.server for ref in some[:_TEMPLATES] if fits(ref.name, uri)}
        if not found:
            raise UsageError(f"No server has the resource `{uri}`.{suggestion(uri, [ref.name for ref in known])}")
        names = [name for name in self._manager.names() if name in found]
        if len(names) > 1 and (len({self.of(name) for name in names}) > 1 or not self.of(names[0])):
            listed = ", ".join(names)
            raise UsageError(f"Several servers have the resource `{uri}`: {listed}.", hint="Name one of them.")
        return max(names, key=self._rank)

    def _rank(self, server: str) -> tuple[bool, bool, bool, int]:
        """The rank of a group's server for a resource, of which there are no figures."""
        supervisor, preferred = self._manager.supervisor(server), self.by_hand(server) == "preferred"
        return server not in self._drained, supervisor.healthy, preferred, supervisor.config.priority

    def others(self, server: str, tool: str, tried: Iterable[str] = ()) -> tuple[Member, ...]:
        """The servers that could take a call of a server's tool, best first; none without a group."""
        group, out = self.of(server), {server, *tried}
        found = self.members(group, tool) if group else ()
        return tuple(one for one in found if one.server not in out and not one.drained)

    def slowest(self, ref: Ref) -> float:
        """Seconds of the slowest answer of a tool."""
        tally = self._numbers.of(ref.server, _CALL, ref.name)
        return tally.durations.most / 1000 if tally else 0.0

    def prefer(self, server: str) -> None:
        """Route all calls of the group to a server as long as it is healthy."""
        self._drained.discard(server)
        self._preferred[self.of(server)] = server

    def drain(self, server: str) -> None:
        """Route no further calls to a server; running calls continue."""
        self.release(server)
        self._drained.add(server)

    def release(self, server: str) -> None:
        """Undo `prefer` and `drain`."""
        self._drained.discard(server)
        group = self.of(server)
        if self._preferred.get(group) == server:
            del self._preferred[group]

    def by_hand(self, server: str) -> str:
        """`preferred`, `drained`, or an empty string."""
        preferred = self._preferred.get(self.of(server)) == server
        return "drained" if server in self._drained else "preferred" if preferred else ""

    def _unread(self, server: str, *kinds: EntryKind) -> bool:
        """Whether a server connects, or its lists are being read, so that its offer will soon be known."""
        supervisor = self._manager.supervisor(server)
        if supervisor.connection is None:
            return not supervisor.settled.is_set()
        return any(self._catalog.listing(server, kind).state in ("empty", "loading") for kind in kinds)

    def _offers(self, server: str, tool: str) -> bool:
        """Whether a server lists a tool, or may do so while its lists are unknown; a disabled one offers nothing."""
        state = self._manager.status(server).state
        if state == "disabled" and not self._manager.supervisor(server).on_demand:
            return False
        unknown = state in ("idle", "connecting", "retrying", "disabled") or self._unread(server, "tool")
        known = self._catalog.find(Ref("tool", server, tool))
        return bool(known) or (unknown and not self._catalog.listing(server, "tool").entries)

    def _member(self, server: str, tool: str) -> Member:
        tally, supervisor = self._numbers.of(server, _CALL, tool) or Tally(), self._manager.supervisor(server)
        return Member(
            server, supervisor.healthy, server in self._drained, supervisor.config.priority,
            1.0 - tally.error_rate, tally.average,
        )  # fmt: skip
