"""Groups of servers that can stand in for one another: which member a call goes to, and which ones come next."""

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
"""In front of the name of a group, where a server could be named too."""
_POINTS = 0.05
"""Success rates that differ by less are equal."""
_FASTER = 0.8
"""A member takes over from the one that serves when it needs less than this share of its time."""
_MOMENT = 1.0
"""Seconds that a server which would come first has to become ready once another one can serve."""
_CALL = "tools/call"
_TEMPLATES = 100
"""Templates that an address is compared with."""


class Member(NamedTuple):
    """One server of a group, as a tool of it would be routed now."""

    server: str
    healthy: bool
    """It is ready, and says something when it is asked."""
    drained: bool
    priority: int
    success: float
    """From 0 to 1; 1 without any call."""
    average: float | None
    """Milliseconds, moving; None without any call."""


class Groups:
    """Routes tools by priority, health, success rate and latency; a person can prefer, drain and release members."""

    def __init__(self, manager: ConnectionManager, numbers: Numbers, catalog: Catalog) -> None:
        self._manager = manager
        self._numbers = numbers
        self._catalog = catalog
        self._drained: set[str] = set()
        self._preferred: dict[str, str] = {}
        self._serving: dict[tuple[str, str], str] = {}
        """Which member a tool went to last."""

    def of(self, server: str) -> str:
        """The group of a server; empty where it has none."""
        return self._manager.config(server).group

    def tags(self, server: str) -> tuple[str, ...]:
        """What a server can be found by besides its name: its group."""
        group = self.of(server) if server in self._manager.names() else ""
        return (group,) if group else ()

    def members(self, group: str, tool: str, preferred: str = "") -> tuple[Member, ...]:
        """The servers of a group that offer a tool, or may, best first; a call may name the one that it prefers."""
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
        """The member that a tool goes to; it goes there again until another one is clearly better.

        Raises:
            UsageError: no server of such a group offers the tool.
        """
        found = self.members(group, tool, preferred)
        if not found:
            raise UsageError(f"No server of the group {group!r} has the tool {tool!r}.")
        self._serving[group, tool] = found[0].server
        return found[0].server

    async def route(self, group: str, tool: str, preferred: str = "") -> str:
        """The same once it is known who has the tool: where one can serve, only a moment is waited for a better one,
        but for one that the call prefers. Where nobody that is connected can, one is started that starts on demand.

        Raises:
            UsageError: no server of such a group offers the tool.
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
        """As `server_of`, once it is known who has the resource: where one can serve, others have a moment more."""

        def look() -> tuple[bool, bool]:
            unread = [name for name in self._manager.names() if self._unread(name, "resource", "template")]
            with suppress(UsageError):
                return self._manager.supervisor(self.server_of(uri)).healthy, bool(unread)
            return False, bool(unread)

        await self._until_clear(look)
        return self.server_of(uri)

    async def _until_clear(self, look: Callable[[], tuple[bool, bool]]) -> None:
        """Wait as long as something may come: `look` says whether somebody can serve, and whether that is so."""
        signals = (self._manager.changed, self._catalog.changed)
        await until(lambda: look()[0] or not look()[1], *signals)
        await at_most(_MOMENT, until(lambda: not look()[1], *signals))

    def server_of(self, uri: str) -> str:
        """The server that lists a resource or template, else the one with a template that the address fits.

        Raises:
            UsageError: there is none, or there are several that are not of one group.
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
        """What matters where a group has a resource: there are no figures of each."""
        supervisor, preferred = self._manager.supervisor(server), self.by_hand(server) == "preferred"
        return server not in self._drained, supervisor.healthy, preferred, supervisor.config.priority

    def others(self, server: str, tool: str, tried: Iterable[str] = ()) -> tuple[Member, ...]:
        """The members that could take a call of a server's tool, best first; none where it has no group."""
        group, out = self.of(server), {server, *tried}
        found = self.members(group, tool) if group else ()
        return tuple(one for one in found if one.server not in out and not one.drained)

    def slowest(self, ref: Ref) -> float:
        """Seconds of the slowest answer of a tool."""
        tally = self._numbers.of(ref.server, _CALL, ref.name)
        return tally.durations.most / 1000 if tally else 0.0

    def prefer(self, server: str) -> None:
        """Route everything of its group to a server as long as it is healthy."""
        self._drained.discard(server)
        self._preferred[self.of(server)] = server

    def drain(self, server: str) -> None:
        """Route nothing to a server any more; what runs there goes on."""
        self.release(server)
        self._drained.add(server)

    def release(self, server: str) -> None:
        """Take back what was preferred or drained by hand."""
        self._drained.discard(server)
        group = self.of(server)
        if self._preferred.get(group) == server:
            del self._preferred[group]

    def by_hand(self, server: str) -> str:
        """`preferred`, `drained`, or an empty string."""
        preferred = self._preferred.get(self.of(server)) == server
        return "drained" if server in self._drained else "preferred" if preferred else ""

    def _unread(self, server: str, *kinds: EntryKind) -> bool:
        """Whether a server is being connected, or its lists read, so that it shows in a while what it offers."""
        supervisor = self._manager.supervisor(server)
        if supervisor.connection is None:
            return not supervisor.settled.is_set()
        return any(self._catalog.listing(server, kind).state in ("empty", "loading") for kind in kinds)

    def _offers(self, server: str, tool: str) -> bool:
        """Whether a server lists a tool, or nobody knows yet what it lists; one that is off offers nothing."""
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
