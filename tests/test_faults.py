"""Servers that misbehave: every fault that a client can meet ends in an outcome with a reason, in bounded time."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from mcp_studio.call.call import CallOutcome, Lost, Rejected, Succeeded, TimedOut
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Settings, Timeouts
from mcp_studio.limits import DEFAULT
from mcp_studio.studio import Studio
from tests.studio_support import call, opened, stdio, text
from tests.support import python_server, run, wait_until

SETTINGS = Settings(limits=replace(DEFAULT, probe=0.3, close=1.0))
PATIENT = Timeouts(connect=60, idle=60, total=100)
"""What is no matter of deadlines has time, also on a busy machine."""


def on(fault: str, act: Callable[[Studio], Awaitable[None]], *options: str, timeout: float = 120, **more: Any) -> None:
    """Run `act` in a studio whose only server has a fault."""

    async def go() -> None:
        config = stdio(python_server("raw_faults", "--fault", fault, *options), **{"timeouts": PATIENT, **more})
        async with opened(config, settings=SETTINGS) as studio:
            await act(studio)

    run(go(), timeout)


def answer_to(fault: str, *options: str, **more: Any) -> CallOutcome:
    """The outcome of an echo on a server with a fault."""
    found: list[CallOutcome] = []

    async def act(studio: Studio) -> None:
        assert studio.manager.status("s").state == "ready", studio.manager.status("s").error
        found.append(await call(studio, "echo", text="hi"))

    on(fault, act, *options, **more)
    return found[0]


# ---------------------------------------------------------------------- answers


BORNE = (
    *("stray", "stray-flood", "crlf", "split-writes", "invalid-utf8", "lone-surrogate", "nul", "huge-number"),
    *("duplicate-keys", "duplicate-response", "orphan-response", "string-id", "null-id-first", "batch", "no-jsonrpc"),
    *("unknown-notification", "big-progress", "notification-flood", "list-changed-flood", "big-result"),
    *("big-result-id-last", "unknown-content", "stderr-flood", "empty-result"),
)
ALSO_MODERN = ("stray", "string-id", "batch", "big-progress", "notification-flood", "big-result", "empty-result")


@pytest.mark.parametrize(
    ("fault", "modern"), [*((one, ()) for one in BORNE), *((one, ("--modern",)) for one in ALSO_MODERN)]
)
def test_the_answer_arrives_in_spite_of(fault: str, modern: tuple[str, ...]) -> None:
    outcome = answer_to(fault, "--count", "2000", *modern)
    assert isinstance(outcome, Succeeded), outcome


@pytest.mark.parametrize(
    ("fault", "warning"),
    [
        ("stray", "standard output"),
        ("duplicate-response", "twice"),
        ("orphan-response", "never sent"),
        ("string-id", "string"),
        ("null-id-first", "without an id, so no request can be told about it: what? (-32700)"),
        ("batch", "batch"),
        ("big-progress", "progress"),
    ],
)
def test_what_the_server_does_wrong_is_said_in_plain_words(fault: str, warning: str) -> None:
    async def act(studio: Studio) -> None:
        await call(studio, "echo", text="hi")
        await wait_until(lambda: any(warning in text for text in studio.manager.status("s").warnings))

    on(fault, act)


@pytest.mark.parametrize(
    "fault",
    [
        "truncated",
        "raw-control",
        "deep-json",
        "nan",
        "no-result",
        "bad-error",
        "bad-error-code",
        "result-and-error",
    ],
)
def test_an_unusable_answer_ends_the_call_at_once_with_a_reason(fault: str) -> None:
    began = time.monotonic()
    outcome = answer_to(fault)
    assert isinstance(outcome, (Lost, Rejected)), outcome
    assert time.monotonic() - began < 15
    assert outcome.error.message and outcome.sent if isinstance(outcome, Lost) else outcome.message or outcome.problems


@pytest.mark.parametrize("fault", ["silent-call", "wrong-id", "null-id", "object-id", "endless-progress"])
def test_a_call_without_an_answer_ends_at_its_deadline(fault: str) -> None:
    endless = fault == "endless-progress"
    outcome = answer_to(fault, timeouts=Timeouts(30, 10, 1.5) if endless else Timeouts(30, 0.5, 20))
    assert isinstance(outcome, TimedOut), outcome
    assert ("total" if endless else "idle") in outcome.limit


@pytest.mark.parametrize("fault", ["unknown-content", "schema-mismatch", "null-result", "list-result", "empty-result"])
def test_a_result_of_the_wrong_shape_is_shown_with_its_problems(fault: str) -> None:
    async def act(studio: Studio) -> None:
        tool = "echo" if fault != "schema-mismatch" else next(
            (entry.ref.name for entry in studio.catalog.entries("tool") if entry.view.raw.get("outputSchema")), "echo"
        )  # fmt: skip
        handle = studio.call_tool(Ref("tool", "s", tool), {"text": "hi"}, approved=True)
        await handle.wait()
        await wait_until(lambda: handle.over.is_set())
        assert handle.outcome and handle.outcome.problems

    on(fault, act)


def test_an_unknown_result_type_is_invalid_in_the_modern_era() -> None:
    outcome = answer_to("unknown-result-type", "--modern")
    assert isinstance(outcome, Rejected) and "hologram" in outcome.problems[0]
    assert outcome.data["resultType"] == "hologram"


def test_a_flood_of_requests_from_the_server_is_refused_within_bounds() -> None:
    async def act(studio: Studio) -> None:
        assert isinstance(await call(studio, "echo", text="hi"), Succeeded)
        assert len(studio.inbox.pending) <= DEFAULT.prompts

    on("server-requests", act, "--count", "500")


# ---------------------------------------------------------------------- starting and negotiating


@pytest.mark.parametrize("fault", ["silent-discover", "dies-on-discover", "discover-garbage", "old-version"])
def test_faults_of_the_probe_do_not_keep_an_older_server_from_connecting(fault: str) -> None:
    async def act(studio: Studio) -> None:
        status = studio.manager.status("s")
        assert status.state == "ready" and not status.modern, status.error
        assert text(await call(studio, "echo", text="hi")) == "hi"

    on(fault, act)


def test_a_slow_server_connects_within_its_deadline() -> None:
    async def act(studio: Studio) -> None:
        assert studio.manager.status("s").state == "ready"

    on("slow-start", act, "--delay", "1")
    on("slow-start", act, "--delay", "1", "--modern")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("dies-at-start", "3"),
        ("never-reads", "1 s"),
        ("closed-stdin", ""),
        ("closed-stdout", ""),
        ("discover-disjoint", "version"),
        ("unknown-version", "1999-01-01"),
        ("init-error", "refused initialize"),
        ("init-garbage", "version"),
        ("silent", "1 s"),
    ],
)
def test_a_server_that_cannot_be_used_says_why(fault: str, words: str) -> None:
    async def act(studio: Studio) -> None:
        status = studio.manager.status("s")
        assert status.state == "failed" and status.error
        assert words in status.error.message

    on(fault, act, timeouts=Timeouts(connect=1) if words == "1 s" else PATIENT)


def test_the_last_words_of_a_server_that_ends_at_once_are_told() -> None:
    async def act(studio: Studio) -> None:
        error = studio.manager.status("s").error
        assert error and studio.manager.supervisor("s").tap.stderr_lines
        assert studio.manager.supervisor("s").tap.stderr_lines[-1].split()[0] in f"{error.message} {error.hint}"

    on("dies-at-start", act)


# ---------------------------------------------------------------------- lists


def test_malformed_tools_are_shown_beside_the_good_ones() -> None:
    async def act(studio: Studio) -> None:
        entries = studio.catalog.entries("tool")
        assert [entry for entry in entries if entry.problem] and len([e for e in entries if not e.problem]) >= 2

    on("bad-tool", act)


@pytest.mark.parametrize(
    ("fault", "state", "complaint"),
    [
        ("bad-list", "failed", "array"),
        ("missing-list", "failed", "array"),
        ("list-error", "failed", "refused"),
        ("cursor-loop", "fresh", "circle"),
        ("bad-cursor", "fresh", "nextCursor"),
        ("empty-cursor", "fresh", ""),
    ],
)
def test_lists_with_faults_keep_what_came_and_say_the_rest(fault: str, state: str, complaint: str) -> None:
    async def act(studio: Studio) -> None:
        listing = studio.catalog.listing("s", "tool")
        assert listing.state == state
        assert complaint in listing.error and bool(complaint) == bool(listing.error)
        assert studio.catalog.entries("prompt")

    on(fault, act)


def test_endless_pages_end_at_the_bound() -> None:
    async def act(studio: Studio) -> None:
        assert "limits." in studio.catalog.listing("s", "tool").capped

    on("endless-cursors", act)


@pytest.mark.parametrize("modern", [(), ("--modern",)])
@pytest.mark.parametrize("fault", ["slow-pages", "slow-bytes"])
@pytest.mark.parametrize(("option", "named"), [("", "timeouts.total"), ("--timeout", "--timeout")])
def test_all_pages_of_a_list_together_end_at_the_deadline(
    fault: str, modern: tuple[str, ...], option: str, named: str
) -> None:
    async def act(studio: Studio) -> None:
        listing = studio.catalog.listing("s", "tool")
        assert f"tools/list within 0.5 s in all ({named})" in listing.error
        assert bool(listing.entries) == (fault == "slow-pages")

    on(fault, act, *modern, timeouts=Timeouts(60, None, 0.5, option))


def test_duplicate_names_survive() -> None:
    async def act(studio: Studio) -> None:
        assert len(studio.catalog.find(Ref("tool", "s", "echo"))) == 2

    on("duplicate-names", act)


def test_thousands_of_tools_are_listed() -> None:
    async def act(studio: Studio) -> None:
        assert len(studio.catalog.entries("tool")) >= 2_000

    on("many-tools", act)


def test_checking_against_evil_schemas_ends_and_says_that_it_is_unchecked() -> None:
    async def act(studio: Studio) -> None:
        for entry in studio.catalog.entries("tool"):
            began = time.monotonic()
            await studio.checker.check(
                entry.view.raw.get("inputSchema"), {"text": "a" * 40 + "!", "name": "a" * 40 + "!"}
            )
            assert time.monotonic() - began < DEFAULT.check_time + 3

    on("evil-schemas", act, timeout=120)


# ---------------------------------------------------------------------- leaving


@pytest.mark.parametrize("fault", ["stubborn", "grandchildren", "leaves-child"])
async def test_stubborn_servers_and_their_children_are_gone_within_bounds(fault: str) -> None:
    pids: list[int] = []

    async def go() -> float:
        config = stdio(python_server("raw_faults", "--fault", fault), timeouts=PATIENT)
        async with opened(config, settings=SETTINGS) as studio:
            pids.append(studio.manager.status("s").pid)
            if fault != "stubborn":
                await wait_until(
                    lambda: any("children" in line for line in studio.manager.supervisor("s").tap.stderr_lines)
                )
            for line in studio.manager.supervisor("s").tap.stderr_lines:
                pids.extend(int(word) for word in line.split() if word.isdigit())
            began = time.monotonic()
        return time.monotonic() - began

    assert await go() < SETTINGS.limits.close_all + 5, "the limit, and what a busy machine adds"

    await wait_until(lambda: not any(alive(pid) for pid in pids), what=f"{pids} gone")


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
