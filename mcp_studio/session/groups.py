"""Groups of servers that can stand in for one another: which member a call goes to, and which ones come next."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mcp_studio.catalog.catalog import Catalog, suggestion
from mcp_studio.catalog.listing import Ref
from mcp_studio.errors import UsageError
from mcp_studio.schema.uritemplate import fits
from mcp_studio.session.manager import ConnectionManager
from mcp_studio.trace.statistics import Numbers, Tally

MARK = "@"
"""In front of the name of a group, where a server could be named too."""
_POINTS = 0.05
"""Success rates that differ by less are equal."""
_FASTER = 0.8
"""A member takes over from the one that serves when it needs less than this share of its time."""
_CALL = "tools/call"
_TEMPLATES = 100
"""Templates that an address is compared with."""


class Member(NamedTuple):
    """One server of a group, as a tool of it would be routed now."""

    server: str
    healthy: bool
    drained: bool
    priority: int
    success: float
    """From 0 to 1; 1 without any call."""
    average: float | None
    """Milliseconds, moving; None without any call."""


class Groups:
    """Routes tools by priority, health, success rate and latency; a person can prefer, drain and release members."""

    def __init__(self, manager: ConnectionManager, numbers: Callable[[], Numbers], catalog: Catalog) -> None:
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

    def members(self, group: str, tool: str) -> tuple[Member, ...]:
        """The servers of a group that offer a tool, best first."""
        servers = [name for name in self._manager.names() if self.of(name) == group]
        numbers = self._numbers()
        numbers.look()
        found = [self._member(name, numbers, tool) for name in servers if self._offers(name, tool)]
        return tuple(sorted(found, key=self._order(group, tool, found)))

    def best(self, group: str, tool: str) -> str:
        """The member that a tool goes to; it goes there again until another one is clearly better.

        Raises:
            UsageError: no server of such a group offers the tool.
        """
        found = self.members(group, tool)
        if not found:
            raise UsageError(f"No server of the group {group!r} has the tool {tool!r}.")
        self._serving[group, tool] = found[0].server
        return found[0].server

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
        ready, preferred = self._manager.status(server).state == "ready", self.by_hand(server) == "preferred"
        return server not in self._drained, ready, preferred, self._manager.config(server).priority

    def others(self, server: str, tool: str) -> tuple[str, ...]:
        """The members that could take a call of a server's tool, best first; none where it has no group."""
        group = self.of(server)
        found = self.members(group, tool) if group else ()
        return tuple(one.server for one in found if one.server != server and not one.drained)

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

    def _offers(self, server: str, tool: str) -> bool:
        """Whether a server lists a tool, or nobody knows yet what it lists."""
        unknown = self._manager.status(server).state in ("idle", "connecting", "retrying", "disabled")
        known = self._catalog.find(Ref("tool", server, tool))
        return bool(known) or (unknown and not self._catalog.listing(server, "tool").entries)

    def _member(self, server: str, numbers: Numbers, tool: str) -> Member:
        tally = numbers.of(server, _CALL, tool) or Tally()
        config, status = self._manager.config(server), self._manager.status(server)
        return Member(
            server, status.state == "ready", server in self._drained, config.priority,
            1.0 - tally.error_rate, tally.average,
        )  # fmt: skip

    def _order(self, group: str, tool: str, found: list[Member]) -> Callable[[Member], tuple[object, ...]]:
        best = max((one.success for one in found if one.healthy), default=1.0)
        preferred, serving = self._preferred.get(group), self._serving.get((group, tool))

        def key(one: Member) -> tuple[object, ...]:
            average = float("inf") if one.average is None else one.average
            if one.server == serving:
                average *= _FASTER
            return (
                one.drained, not one.healthy, one.server != preferred, -one.priority,
                one.success < best - _POINTS, average, one.server != serving,
            )  # fmt: skip

        return key
