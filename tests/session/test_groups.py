"""Groups: which member a tool goes to, and what becomes of a call that is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mcp_studio.call.call import Call, Lost, Succeeded
from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.listing import Listing, Ref, salvage
from mcp_studio.config.model import Config, ServerConfig
from mcp_studio.errors import UsageError
from mcp_studio.paths import Paths
from mcp_studio.session.groups import Groups
from mcp_studio.session.manager import ConnectionManager
from mcp_studio.studio import Studio
from mcp_studio.trace.statistics import Numbers, Tally, Target
from tests.studio_support import PATIENT, halted, opened, stdio
from tests.support import python_server, wait_until

RAW = python_server("raw_server")


class Servers:
    """A manager's answers about servers, and their figures, as a test wants them."""

    def __init__(self, **servers: int) -> None:
        self.states = dict.fromkeys(servers, "ready")
        self.priorities = servers
        self.tallies: dict[Target, Tally] = {}

    def names(self) -> tuple[str, ...]:
        return tuple(self.states)

    def config(self, name: str) -> ServerConfig:
        return ServerConfig(name, command="x", group="g", priority=self.priorities[name])

    def status(self, name: str) -> Any:
        return SimpleNamespace(state=self.states[name])

    def supervisor(self, name: str) -> Any:
        ready = self.states[name] == "ready"
        return SimpleNamespace(
            config=self.config(name), healthy=ready, on_demand=False, settled=SimpleNamespace(is_set=lambda: True),
            connection=object() if ready else None,
        )  # fmt: skip

    def answered(self, server: str, *durations: float, failed: int = 0) -> None:
        tally = self.tallies.setdefault(Target(server, "tools/call", "t"), Tally())
        for ms in durations:
            tally.end(1, ms)
        tally.failed += failed

    def groups(self) -> Groups:
        numbers = SimpleNamespace(
            look=lambda: True, servers={}, of=lambda *target: self.tallies.get(Target(*target))
        )  # fmt: skip
        catalog = Catalog()
        for name in self.states:
            catalog.put(Listing(name, "tool", salvage(name, "tool", [{"name": "t", "inputSchema": {}}]), "fresh"))
        return Groups(cast("ConnectionManager", self), cast("Numbers", numbers), catalog)


def test_priority_comes_first_then_success_then_speed() -> None:
    servers = Servers(a=0, b=1, c=1, d=1)
    groups = servers.groups()
    assert [one.server for one in groups.members("g", "t")] == ["b", "c", "d", "a"]
    servers.answered("b", *[10.0] * 20)
    servers.answered("c", *[1.0] * 20, failed=2)
    servers.answered("d", *[5.0] * 20)
    assert [one.server for one in groups.members("g", "t")] == ["d", "b", "c", "a"]
    servers.states["d"] = "retrying"
    assert groups.best("g", "t") == "b"


def test_the_member_that_serves_stays_until_another_one_is_clearly_better() -> None:
    servers = Servers(a=0, b=0)
    groups = servers.groups()
    servers.answered("a", *[10.0] * 20)
    assert groups.best("g", "t") == "a"
    servers.answered("b", *[9.0] * 20)
    assert groups.best("g", "t") == "a", "a tenth faster is no reason to move"
    servers.answered("b", *[1.0] * 40)
    assert groups.best("g", "t") == "b"
    servers.answered("b", failed=2)
    assert groups.best("g", "t") == "b", "less than five points"
    servers.answered("b", failed=10)
    assert groups.best("g", "t") == "a"


def test_a_person_prefers_drains_and_releases_members() -> None:
    servers = Servers(a=0, b=5)
    groups = servers.groups()
    groups.prefer("a")
    assert (groups.best("g", "t"), groups.by_hand("a")) == ("a", "preferred")
    groups.drain("a")
    assert (groups.best("g", "t"), groups.by_hand("a"), groups.others("b", "t")) == ("b", "drained", ())
    groups.release("a")
    assert groups.by_hand("a") == "" and [one.server for one in groups.others("b", "t")] == ["a"]
    with pytest.raises(UsageError, match="group 'h'"):
        groups.best("h", "t")


async def lost_call(tool: str, arguments: dict[str, Any], *, trust: bool = False, failover: bool = False) -> Call:
    """A call on the first of two members, which is killed while it has it; the second one has the lower priority."""
    first = stdio(RAW, "a", group="g", priority=1, trust=trust)
    second = stdio(RAW, "b", group="g", trust=trust)
    async with opened(first, second) as studio:
        assert studio.groups.best("g", tool) == "a"
        with halted(studio, "a") as pid:
            call = studio.call_tool(Ref("tool", "a", tool), arguments, approved=True, failover=failover)
            await wait_until(lambda: call.sendings)
            os.kill(pid, signal.SIGKILL)
            await asyncio.wait_for(call.over.wait(), 20)
    return call


@pytest.mark.parametrize(
    ("tool", "arguments", "given"),
    [("echo", {"text": "x"}, {"trust": True}), ("add", {"a": 1, "b": 2}, {"failover": True})],
)
async def test_a_lost_call_goes_on_to_the_next_member_where_it_may(
    tool: str, arguments: dict[str, Any], given: dict[str, bool]
) -> None:
    call = await lost_call(tool, arguments, **given)
    assert isinstance(call.outcome, Succeeded) and call.ref.server == "b"
    (attempt,) = call.tried
    assert attempt.server == "a" and "SIGKILL" in attempt.why


@pytest.mark.parametrize(
    ("tool", "arguments", "given"),
    [("echo", {"text": "x"}, {"trust": False}), ("add", {"a": 1, "b": 2}, {"trust": True})],
)
async def test_a_call_that_may_not_move_is_lost_and_its_outcome_names_who_could_take_it(
    tool: str, arguments: dict[str, Any], given: dict[str, bool]
) -> None:
    call = await lost_call(tool, arguments, **given)
    assert isinstance(call.outcome, Lost) and call.outcome.sent and call.outcome.alternatives == ("b",)
    assert (call.ref.server, call.tried) == ("a", ())


async def test_a_call_that_was_never_sent_moves_whatever_the_tool_says() -> None:
    broken = stdio(["python3", "-c", "raise SystemExit(3)"], "a", group="g", priority=1)
    async with opened(broken, stdio(RAW, "b", group="g")) as studio:
        call = studio.call_tool(Ref("tool", "a", "add"), {"a": 1, "b": 2}, approved=True)
        assert isinstance(await call.wait(), Succeeded) and call.ref.server == "b"
        assert [attempt.server for attempt in call.tried] == ["a"]


MUTE = [sys.executable, "-c", "import sys; sys.stdin.read()"]
"""A program that never says anything."""
HASTY = replace(PATIENT, limits=replace(PATIENT.limits, failover=0.4))


@pytest.mark.parametrize(
    ("tool", "trust", "moves"), [("echo", True, True), ("echo", False, False), ("add", True, False)]
)
async def test_a_call_leaves_a_member_that_says_nothing_where_it_may(tool: str, trust: bool, moves: bool) -> None:
    arguments: dict[str, Any] = {"text": "x", "a": 1, "b": 2}
    members = (stdio(RAW, name, group="g", priority=at, trust=trust) for at, name in enumerate(("b", "a")))
    async with opened(*members, settings=HASTY) as studio:
        with halted(studio, "a"):
            call = studio.call_tool(Ref("tool", "a", tool), arguments, approved=True)
            if moves:
                assert isinstance(await asyncio.wait_for(call.wait(), 20), Succeeded) and call.ref.server == "b"
                assert "says nothing" in call.tried[0].why
                assert studio.groups.best("g", tool) == "b", "the others do not wait for it"
            else:
                second = studio.call_tool(Ref("tool", "a", "echo"), {"text": "y"}, failover=True)
                assert isinstance(await asyncio.wait_for(second.wait(), 20), Succeeded) and second.ref.server == "b"
                assert call.outcome is None, "it might run twice"
        assert isinstance(await asyncio.wait_for(call.wait(), 20), Succeeded)
        await wait_until(lambda: studio.groups.best("g", tool) == "a")


async def test_a_member_that_is_slow_but_answers_keeps_its_call() -> None:
    members = (stdio(RAW, name, group="g", priority=at) for at, name in enumerate(("b", "a")))
    async with opened(*members, settings=HASTY) as studio:
        call = studio.call_tool(Ref("tool", "a", "wait"), {"seconds": 1.5}, approved=True, failover=True)
        assert isinstance(await call.wait(), Succeeded) and (call.ref.server, call.tried) == ("a", ())


async def test_nobody_waits_for_a_member_that_is_connecting_where_another_one_can_serve() -> None:
    config = {one.name: one for one in (stdio(MUTE, "a", group="g", priority=1), stdio(RAW, "b", group="g"))}
    async with Studio.open(Config(HASTY, config), Paths.default(), can_ask=False) as studio:
        assert await asyncio.wait_for(studio.groups.route("g", "echo"), 10) == "b"
        assert await asyncio.wait_for(studio.groups.reader("raw://notes/any"), 10) == "b"
        call = studio.call_tool(Ref("tool", "a", "add"), {"a": 1, "b": 2}, approved=True)
        assert isinstance(await asyncio.wait_for(call.wait(), 10), Succeeded) and call.ref.server == "b"
        assert "connecting" in call.tried[0].why


async def test_a_disabled_member_takes_no_part_and_one_on_demand_starts_where_no_other_can_serve() -> None:
    off = stdio(RAW, "off", group="g", priority=9, enabled=False, start="demand")
    demand, good = stdio(RAW, "demand", group="g", priority=5, start="demand"), stdio(RAW, "good", group="g")
    config = {one.name: one for one in (off, demand, good)}
    async with Studio.open(Config(PATIENT, config), Paths.default(), can_ask=False) as studio:
        assert await studio.groups.route("g", "echo") == "good"
        assert [one.server for one in studio.groups.members("g", "echo")] == ["good", "demand"]
        await studio.manager.stop("good")
        assert studio.manager.status("demand").state == "disabled"
        assert await studio.groups.route("g", "echo") == "demand"
        assert isinstance(await studio.call_tool(Ref("tool", "demand", "echo"), {"text": "x"}).wait(), Succeeded)
        lost = await studio.call_tool(Ref("tool", "off", "echo"), {"text": "x"}, stays=True).wait()
        assert isinstance(lost, Lost) and studio.manager.status("off").state == "disabled"
