"""Tools that are Python objects: registered, described, checked, called in time, again, side by side."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, ClassVar

import pytest

from mcp_studio.catalog.listing import Ref
from mcp_studio.errors import UsageError
from mcp_studio.registry.record import ToolRecord
from mcp_studio.toolset.registry import CallReport, CallRules, Registry

SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string", "pattern": "^[a-z]*$"}, "times": {"type": "integer", "default": 2}},
    "required": ["text"],
}


class Echo:
    """Says it again."""

    name = "echo"
    input_schema = SCHEMA
    cost = 0.25

    def call(self, arguments: dict[str, Any]) -> str:
        return arguments["text"] * arguments.get("times", 1)


class Late:
    """Answers when it is allowed to."""

    def __init__(self, name: str = "late") -> None:
        self.name = name
        self.begun = threading.Event()
        self.go = threading.Event()

    def call(self, arguments: dict[str, Any]) -> str:
        self.begun.set()
        assert self.go.wait(60)
        return self.name


class Asynchronous:
    name = "later"
    description = "A coroutine function."

    async def call(self, arguments: dict[str, Any]) -> Any:
        await asyncio.sleep(arguments.get("seconds", 0))
        return arguments


class Fickle:
    """Fails so many times."""

    name = "fickle"

    def __init__(self, failures: int) -> None:
        self.failures = failures

    def call(self, arguments: dict[str, Any]) -> str:
        self.failures -= 1
        if self.failures >= 0:
            raise ConnectionResetError("not now")
        return "done"


def registry_of(*tools: object, **rules: Any) -> Registry:
    registry = Registry(rules=CallRules(**rules))
    for tool in tools:
        registry.register(tool)
    return registry


class NoName:
    def call(self, arguments: dict[str, Any]) -> None: ...


class NoCall:
    name = "x"


@pytest.mark.parametrize(
    ("tool", "said"),
    [(NoName(), "needs a `name`.*NoName has none"), (NoCall(), r"'x' needs `call\(arguments\)`"), (7, "int has none")],
)
def test_what_lacks_a_name_or_a_call_is_refused(tool: object, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        registry_of(tool)


def test_tools_are_described_and_called() -> None:
    registry = registry_of(Echo(), Asynchronous())
    assert registry.describe() == {
        "echo": {"description": "Says it again.", "input_schema": SCHEMA},
        "later": {"description": "A coroutine function.", "input_schema": {}},
    }
    assert registry.call("echo", {"text": "a"}) == "a"
    assert registry.call("later", {"x": 1}) == {"x": 1}
    with pytest.raises(KeyError):
        registry.call("unknown", {})
    with pytest.raises(KeyError, match="text"):  # the tool's own
        registry.call("echo", {})
    registry.unregister("echo")
    with pytest.raises(KeyError):
        registry.call("echo", {"text": "a"})
    assert registry.get("echo") is None


def test_arguments_are_completed_and_checked_where_that_is_wanted() -> None:
    registry = registry_of(Echo(), validate=True)
    assert registry.call("echo", {"text": "a"}) == "aa"
    with pytest.raises(UsageError, match=r"do not fit its schema: /text 'A' does not match.*; /times 'x' is not of"):
        registry.call("echo", {"text": "A", "times": "x"})
    with pytest.raises(UsageError, match="'text' is a required property"):
        registry.call("echo")


def test_a_tool_of_a_server_is_checked_where_it_is_called_and_not_by_patterns_of_its_own() -> None:
    class Foreign(Echo):
        ref = Ref("tool", "s", "echo")
        input_schema: ClassVar = {"type": "object", "properties": {"text": {"type": "string", "pattern": "^(a+)+$"}}}

    registry = registry_of(Foreign(), validate=True)
    assert registry.call("echo", {"text": "a" * 60 + "b"}) == "a" * 60 + "b"


@pytest.mark.parametrize(
    ("allow", "deny", "allowed"),
    [(("*",), (), True), (("e*",), ("x*",), True), (("x*",), (), False), (("*",), ("ec*",), False)],
)
def test_only_what_is_allowed_is_called_and_described(
    allow: tuple[str, ...], deny: tuple[str, ...], allowed: bool
) -> None:
    registry = registry_of(Echo(), allow=allow, deny=deny)
    assert ("echo" in registry.describe()) is allowed
    if allowed:
        assert registry.call("echo", {"text": "a"}) == "a"
    else:
        with pytest.raises(UsageError, match="'echo' is not allowed here"):
            registry.call("echo", {"text": "a"})


async def test_a_tool_that_takes_too_long_is_given_up() -> None:
    late = Late()
    registry = registry_of(late, Asynchronous(), timeout=0.05)
    for calling in (registry.acall("late"), asyncio.to_thread(registry.call, "late")):
        with pytest.raises(TimeoutError, match=r"'late' did not answer within 0\.05 seconds"):
            await calling
    with pytest.raises(TimeoutError, match="'later' did not answer"):
        await registry.acall("later", {"seconds": 60})
    late.go.set()


@pytest.mark.parametrize(
    ("failures", "retries", "tries", "fails"), [(2, 2, 3, False), (2, 1, 2, True), (0, -1, 1, False)]
)
async def test_what_raises_is_tried_again(failures: int, retries: int, tries: int, fails: bool) -> None:
    for asynchronous in (False, True):
        registry, reports = registry_of(Fickle(failures), retries=retries), list[CallReport]()
        registry.reported.connect(reports.append)
        try:
            called = await registry.acall("fickle") if asynchronous else registry.call("fickle")
        except ConnectionResetError:
            called = ""
        assert called == ("" if fails else "done")
        (report,) = reports
        assert (report.name, report.tries) == ("fickle", tries)
        assert report.error == ("ConnectionResetError: not now" if fails else "")


def test_calls_are_measured_and_counted() -> None:
    registry, reports = registry_of(Echo()), list[CallReport]()
    registry.reported.connect(reports.append)
    registry.call("echo", {"text": "a"})
    with pytest.raises(KeyError):
        registry.call("echo", {})
    assert [(one.error, one.cost) for one in reports] == [("", 0.25), ("KeyError: 'text'", 0.25)]
    assert all(one.ms >= 0 for one in reports)
    record = registry.find("echo")
    assert record.uses == 2 and record.last_used > 0 and [one.name for one in registry.hot()] == ["echo"]


async def test_functions_do_not_hold_up_the_loop_and_wait_their_turn_in_a_queue() -> None:
    tools = [Late(f"late{number}") for number in range(3)]
    registry = registry_of(*tools, Echo(), workers=2)
    futures = [registry.submit(tool.name) for tool in tools]
    assert all([await asyncio.to_thread(tool.begun.wait, 60) for tool in tools[:2]])
    assert not tools[2].begun.is_set() and futures[2].cancel()
    waiting = asyncio.create_task(registry.acall("echo", {"text": "a"}))
    for tool in tools:
        tool.go.set()
    assert await waiting == "a"
    assert [future.result(60) for future in futures[:2]] == ["late0", "late1"]
    with pytest.raises(KeyError):
        registry.submit("unknown")


async def test_inside_a_loop_a_coroutine_has_to_be_awaited() -> None:
    registry = registry_of(Echo(), Asynchronous())
    assert registry.call("echo", {"text": "a"}) == "a"
    with pytest.raises(UsageError, match=r"use `await registry\.acall"):
        registry.call("later")
    assert await registry.acall("later", {"x": 1}) == {"x": 1}


def test_a_tool_may_call_another_one() -> None:
    class Outer:
        name = "outer"

        def call(self, arguments: dict[str, Any]) -> str:
            return registry.call("echo", {"text": "inner"})

    registry = registry_of(Echo(), Outer(), timeout=60, workers=1)
    assert registry.call("outer") == "inner"


def test_a_tool_takes_no_name_of_another_and_keeps_what_was_said_of_it() -> None:
    registry = Registry()
    registry.add([ToolRecord("s.echo", "s"), ToolRecord("mine", source="hand")])

    class Named(Echo):
        def __init__(self, name: str) -> None:
            self.name = name

    for name, whose in (("s.echo", "of the server s"), ("mine", r"\(hand\)")):
        with pytest.raises(UsageError, match=f"There is a tool '{name}' {whose} already"):
            registry.register(Named(name))
    assert registry.describe() == {}
    registry.register(Echo(), category="own", tags=["a"])
    registry.register(Echo())
    assert (registry.find("echo").category, registry.find("echo").tags) == ("own", ("a",))
    assert registry.find("echo").source == "process" and [hit.name for hit in registry.search("says")] == ["echo"]
