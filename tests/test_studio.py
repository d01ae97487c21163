"""The engine from end to end: real servers, both eras, stdio and HTTP."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from dataclasses import replace

import pytest

from mcp_studio.call.call import Cancelled, Denied, Lost, Rejected, Succeeded, TimedOut, ToolFailed
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import PolicyRule, ServerConfig, Settings, Timeouts
from mcp_studio.errors import Unreachable
from mcp_studio.limits import DEFAULT
from tests.studio_support import call, http, opened, stdio, text
from tests.support import python_server, run, wait_until
from tests.support_servers import http_server

RAW = python_server("raw_server")
MODERN = python_server("raw_server", "--modern")
SDK = python_server("sdk_everything")


# ---------------------------------------------------------------------- connecting


@pytest.mark.parametrize(
    ("argv", "era", "version"),
    [
        (RAW, "auto", "2025-11-25"),
        (RAW, "legacy", "2025-11-25"),
        (MODERN, "auto", "2026-07-28"),
        (MODERN, "modern", "2026-07-28"),
        (SDK, "auto", "2026-07-28"),
        (SDK, "legacy", "2025-11-25"),
    ],
)
async def test_stdio_servers_of_both_eras_connect_and_list_and_answer(argv: list[str], era: str, version: str) -> None:
    async with opened(stdio(argv, era=era)) as studio:
        status = studio.manager.status("s")
        assert (status.state, status.version) == ("ready", version), status.error
        assert studio.catalog.listing("s", "prompt").state == "fresh"
        assert text(await call(studio, "echo", text="hi")) == "hi"


@pytest.mark.parametrize("era", ["legacy", "auto", "modern"])
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_http_servers_of_both_eras_connect_and_list_and_answer(era: str, options: tuple[str, ...]) -> None:
    async def go(url: str) -> None:
        async with opened(http(url, era=era)) as studio:
            status = studio.manager.status("s")
            assert status.state == "ready", status.error
            assert status.modern == (era != "legacy")
            assert text(await call(studio, "echo", text="hi")) == "hi"
            kinds = {entry.kind for entry in studio.trace}
            assert {"http", "request", "result"} <= kinds

    with http_server(*options) as url:
        run(go(url))


async def test_the_era_that_worked_is_remembered_and_so_is_the_catalog() -> None:
    async def go() -> list[str]:
        async with opened(stdio(RAW)) as studio:
            return [entry.method for entry in studio.trace if entry.kind == "request"]

    assert "server/discover" in await go()
    assert "server/discover" not in await go()

    async with opened(stdio(RAW, enabled=False)) as studio:
        listing = studio.catalog.listing("s", "tool")
        assert listing.state == "remembered" and listing.entries[0].remembered
        outcome = await call(studio, "echo")
        assert isinstance(outcome, Lost) and not outcome.sent


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (ServerConfig("s", command="no-such-program-at-all"), "no-such-program-at-all"),
        (ServerConfig("s", command="false"), "exit"),
        (ServerConfig("s", url="http://127.0.0.1:9/mcp"), "127.0.0.1:9"),
        (ServerConfig("s", command="true", cwd="/no/such/folder"), "/no/such/folder"),
    ],
)
async def test_servers_that_cannot_be_reached_say_why_and_can_be_tried_again(config: ServerConfig, words: str) -> None:
    async with opened(config) as studio:
        status = studio.manager.status("s")
        over = "retrying" if config.url else "failed"
        assert status.state == over and status.error
        assert words in status.error.message
        studio.manager.start("s")
        assert studio.manager.status("s").state in ("idle", "connecting", over)
        assert (await studio.manager.settle("s")).state == over


async def test_a_server_that_never_answers_costs_its_deadline_and_nobody_else() -> None:
    silent = stdio(["sleep", "60"], "silent", timeouts=Timeouts(connect=0.6))

    began = time.monotonic()
    settings = Settings(start_processes=2, limits=replace(DEFAULT, probe=0.2))
    async with opened(silent, stdio(RAW, "quick"), settings=settings) as studio:
        assert time.monotonic() - began < 15
        assert studio.manager.status("quick").state == "ready"
        status = studio.manager.status("silent")
        assert status.state == "failed" and "0.6 s" in str(status.error)


async def test_no_more_processes_start_at_a_time_than_allowed() -> None:
    names = [f"s{number}" for number in range(6)]

    most = 0
    settings = Settings(start_processes=2)
    async with opened(settings=settings) as studio:

        def count(_: str) -> None:
            nonlocal most
            states = [studio.manager.status(name).state for name in studio.manager.names()]
            most = max(most, states.count("connecting"))

        studio.manager.changed.connect(count)
        for name in names:
            studio.manager.add(stdio(RAW, name))
        for name in names:
            assert (await studio.manager.settle(name)).state == "ready"
    assert most == 2


# ---------------------------------------------------------------------- calls


async def test_the_kinds_of_outcome_are_told_apart() -> None:
    async with opened(stdio(SDK)) as studio:
        assert isinstance(await call(studio, "add", a=1, b=2), Succeeded)
        assert isinstance(await call(studio, "fail", reason="why"), ToolFailed)
        refused = await call(studio, "refuse")
        assert isinstance(refused, Rejected) and refused.code == -31050 and refused.data == {"hint": "tomorrow"}
        assert isinstance(await call(studio, "leave"), Lost)


async def test_a_destructive_tool_asks_first_and_no_means_no() -> None:
    async with opened(stdio(RAW)) as studio:
        handle = studio.call_tool(Ref("tool", "s", "fail"), {})
        await wait_until(lambda: studio.inbox.pending)
        question = studio.inbox.pending[0]
        assert question.kind == "approval" and "it is marked destructive" in question.reasons and handle.asking
        question.answer("decline")
        assert isinstance(await handle.wait(), Denied)
        handle = studio.call_tool(Ref("tool", "s", "fail"), {})
        await wait_until(lambda: studio.inbox.pending)
        studio.inbox.pending[0].answer("accept")
        assert isinstance(await handle.wait(), ToolFailed)


async def test_a_rule_denies_without_sending_anything() -> None:
    settings = Settings(policy=(PolicyRule("s.echo", "deny"),))
    async with opened(stdio(RAW), settings=settings) as studio:
        outcome = await studio.call_tool(Ref("tool", "s", "echo"), {}).wait()
        assert isinstance(outcome, Denied) and "s.echo" in outcome.rule
        assert not [entry for entry in studio.trace if entry.method == "tools/call"]


@pytest.mark.parametrize("argv", [RAW, MODERN])
async def test_progress_is_told_while_a_call_runs(argv: list[str]) -> None:
    async with opened(stdio(argv)) as studio:
        handle = studio.call_tool(Ref("tool", "s", "count"), {"steps": 3})
        told: list[float] = []
        handle.changed.connect(lambda c: told.append(c.progress.done) if c.progress and not c.outcome else None)
        assert text(await handle.wait()) == "done"
        assert told == [1, 2, 3]


@pytest.mark.parametrize("argv", [RAW, MODERN])
async def test_cancelling_tells_the_server_and_the_connection_stays(argv: list[str]) -> None:
    async with opened(stdio(argv)) as studio:
        handle = studio.call_tool(Ref("tool", "s", "wait"), {"seconds": 30})
        await wait_until(lambda: any(entry.method == "tools/call" for entry in studio.trace))
        handle.cancel()
        assert isinstance(await handle.wait(), Cancelled)
        await wait_until(lambda: any(entry.method == "notifications/cancelled" for entry in studio.trace))
        assert text(await call(studio, "echo", text="still here")) == "still here"


async def test_a_call_without_a_sign_of_life_times_out_and_progress_extends_it() -> None:
    async with opened(stdio(RAW, timeouts=Timeouts(idle=0.3, total=5))) as studio:
        outcome = await call(studio, "wait", seconds=3)
        assert isinstance(outcome, TimedOut) and "timeouts.idle" in outcome.limit
        assert text(await call(studio, "count", steps=8, pause=0.1)) == "done"


@pytest.mark.parametrize(("argv", "era"), [(RAW, "auto"), (MODERN, "auto"), (SDK, "auto"), (SDK, "legacy")])
async def test_an_elicitation_reaches_a_person_and_its_answer_the_server(argv: list[str], era: str) -> None:
    async with opened(stdio(argv, era=era, timeouts=Timeouts(idle=0.4))) as studio:
        handle = studio.call_tool(Ref("tool", "s", "ask"), {})
        await wait_until(lambda: studio.inbox.pending or handle.outcome)
        question = studio.inbox.pending[0]
        assert question.subject == "s.ask" and question.schema["properties"]["name"]["title"] == "Name"
        await asyncio.sleep(0.6)  # longer than the idle limit: no deadline runs while a person is asked
        question.answer("accept", {"name": "Ada"})
        assert "Ada" in text(await handle.wait())
        handle = studio.call_tool(Ref("tool", "s", "ask"), {})
        await wait_until(lambda: studio.inbox.pending)
        studio.inbox.pending[0].answer("decline")
        assert "decline" in text(await handle.wait())


async def test_a_front_end_that_cannot_ask_advertises_nothing() -> None:
    async with opened(stdio(RAW, era="legacy"), can_ask=False) as studio:
        (first,) = [entry for entry in studio.trace if entry.method == "initialize" and entry.kind == "request"]
        assert b'"capabilities":{}' in first.body
        assert "-32601" in text(await call(studio, "ask"))


async def test_resources_prompts_and_completion() -> None:
    async with opened(stdio(RAW)) as studio:
        read = await studio.read_resource("s", "raw://note").wait()
        assert isinstance(read, Succeeded) and read.result["contents"][0]["text"] == "A note."
        ref = Ref("prompt", "s", "greet")
        got = await studio.get_prompt(ref, {"who": "Ada"}).wait()
        assert isinstance(got, Succeeded) and "Ada" in str(got.result)
        assert (await studio.caller.complete(ref, "who", "A", {})).values == ("Ada", "Grace")


# ---------------------------------------------------------------------- change and loss


@pytest.mark.parametrize("state", ["ready", "stopping", "retrying", "failed"])
async def test_a_call_on_a_server_that_has_ended_starts_it_again(state: str) -> None:
    settings = Settings(limits=replace(DEFAULT, restarts=0 if state == "failed" else 5))
    async with opened(stdio(RAW), settings=settings) as studio:
        connection, first = studio.manager.connection("s"), studio.manager.status("s").pid
        reached = asyncio.Event()
        studio.manager.changed.connect(lambda _: studio.manager.status("s").state == state and reached.set())
        os.kill(first, signal.SIGKILL)
        await (asyncio.wait((connection.ended,)) if state == "ready" else reached.wait())
        assert text(await call(studio, "echo", text="again")) == "again"
        assert studio.manager.status("s").pid not in (0, first)
        await studio.manager.stop("s")
        off = await call(studio, "echo", text="off")
        assert isinstance(off, Lost) and "not connected" in off.error.message, "a person wants it off"


async def test_disconnecting_connecting_and_restarting() -> None:
    async with opened(stdio(RAW)) as studio:
        await studio.manager.stop("s")
        assert studio.manager.status("s").state == "disabled"
        with pytest.raises(Unreachable, match="not connected"):
            studio.manager.connection("s")
        studio.manager.start("s")
        assert (await studio.manager.settle("s")).state == "ready"
        before = studio.manager.status("s").pid
        studio.manager.restart("s")
        assert (await studio.manager.settle("s")).pid not in (0, before)


async def test_trying_a_server_out_leaves_nothing_behind() -> None:
    async with opened() as studio:
        report = await studio.test(stdio(RAW, "new"))
        assert report.status.state == "ready" and report.counts["tool"] == 6
        report = await studio.test(ServerConfig("new", command="no-such-program-at-all"))
        assert report.status.state == "failed" and "no-such-program" in str(report.status.error)
        report = await studio.test(ServerConfig("new", command="echo", args=("hello",)))
        assert report.status.state == "failed" and report.printed == ("hello",)
        assert studio.manager.names() == ()
