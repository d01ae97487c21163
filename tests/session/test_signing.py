"""Signing in as the studio runs it: who is asked, who waits, and what ends it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from mcp_studio.call.call import Lost, Succeeded
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Auth, Config, ServerConfig, Settings, Source, Timeouts
from mcp_studio.errors import UsageError
from mcp_studio.limits import Limits
from mcp_studio.paths import Paths
from mcp_studio.studio import Studio
from tests.session.signing_stand_ins import CHALLENGE, Protected, put_in_place
from tests.studio_support import http, opened, stdio
from tests.support import python_server, wait_until

ECHO = Ref("tool", "s", "echo")
TOKEN = "let-me-in"


async def test_nobody_is_asked_while_connecting_and_the_challenge_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = put_in_place(monkeypatch)

    async with Protected(TOKEN) as server, opened(replace(http(server.url), source=Source("user", "f"))) as studio:
        status = studio.manager.status("s")
        assert status.state == "needs_auth" and not studio.inbox.pending
        assert status.error is not None and status.error.hint == "Sign in: mcp-studio auth login s"
        sign_in = studio.sign_ins.sign_in("s", step_by_step=True)
        assert accounts.sign_ins[0].how == {"scopes": (), "challenge": CHALLENGE, "step_by_step": True}
        assert studio.sign_ins.sign_in("s") is sign_in is studio.sign_ins.running("s"), "one at a time"
        accounts.sign_ins[0].finish()
        await wait_until(lambda: studio.manager.status("s").state == "ready")
        assert studio.sign_ins.running("s") is None and accounts.sign_ins[0].runs == 1


async def test_a_sign_in_that_fails_leaves_the_server_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = put_in_place(monkeypatch)

    async with Protected(TOKEN) as server, opened(http(server.url)) as studio:
        studio.sign_ins.sign_in("s")
        accounts.sign_ins[0].finish("failed")
        await wait_until(lambda: studio.sign_ins.running("s") is None)
        assert studio.manager.status("s").state == "needs_auth" and len(server.requests) == 1
        studio.sign_ins.sign_in("s")
        assert len(accounts.sign_ins) == 2, "it can be tried again"


async def test_calls_that_are_refused_share_one_question_and_go_on_when_somebody_has_signed_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accounts = put_in_place(monkeypatch)
    settings = Settings(limits=Limits(prompts=1))

    async with Protected() as server:
        short = http(server.url, timeouts=Timeouts(idle=1, total=10))
        async with opened(short, settings=settings) as studio:
            server.token = TOKEN
            calls = [studio.call_tool(ECHO, {"text": str(n)}, approved=True) for n in range(3)]
            await wait_until(lambda: accounts.refusals == 3)
            (question,) = studio.inbox.pending
            assert (question.kind, question.server) == ("sign_in", "s")
            assert question.reasons == ("It would ask for: notes",) and not studio.inbox.waiting("s")
            await asyncio.sleep(1.1)  # longer than the idle limit
            assert not any(call.outcome for call in calls), "deadlines stand still"
            assert any(call.asking for call in calls), "it is shown to wait for a person"
            assert question.sign_in is not None
            assert question.sign_in() is question.sign_in(step_by_step=True) is studio.sign_ins.sign_in("s")
            accounts.sign_ins[0].finish()
            outcomes = [await call.wait() for call in calls]
            assert all(isinstance(outcome, Succeeded) for outcome in outcomes)
            assert not studio.inbox.pending and len(accounts.sign_ins) == 1
            assert not any(call.asking for call in calls)
            notes = [entry.body.decode() for entry in studio.trace if entry.kind == "note"]
            assert notes[-2:] == ["you are asked to sign in: It wants to know who you are.", "sign-in done"]
            spans = [entry.span for entry in studio.trace if entry.method == "tools/call" and entry.span]
            assert all(span.asked for span in spans), "a person's time is in them"


async def test_a_question_is_answered_by_a_sign_in_that_somebody_began_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accounts = put_in_place(monkeypatch)

    async with Protected() as server, opened(http(server.url)) as studio:
        studio.sign_ins.sign_in("s", scopes=("admin",))
        server.token = TOKEN
        call = studio.call_tool(ECHO, {"text": "x"}, approved=True)
        await wait_until(lambda: studio.inbox.pending)
        accounts.sign_ins[0].finish()
        assert isinstance(await call.wait(), Succeeded) and not studio.inbox.pending


async def test_who_has_declined_is_not_asked_again_for_what_nobody_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = put_in_place(monkeypatch)

    async with Protected() as server, opened(http(server.url)) as studio:
        server.token = TOKEN
        studio.manager.refresher.again("s")
        await wait_until(lambda: studio.inbox.pending)
        studio.inbox.pending[0].answer("decline")
        before = accounts.refusals
        studio.manager.refresher.again("s")
        await wait_until(lambda: accounts.refusals > before)
        await asyncio.sleep(0.05)
        assert not studio.inbox.pending
        call = studio.call_tool(ECHO, {"text": "x"}, approved=True)
        await wait_until(lambda: studio.inbox.pending)
        studio.sign_ins.sign_in("s")
        accounts.sign_ins[0].finish()
        assert isinstance(await call.wait(), Succeeded)


@pytest.mark.parametrize("can_ask", [True, False])
async def test_who_declines_or_is_not_there_has_a_call_that_failed_and_a_connection_that_goes_on(
    can_ask: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in_place(monkeypatch)

    async with Protected() as server, opened(http(server.url), can_ask=can_ask) as studio:
        server.token = TOKEN
        call = studio.call_tool(ECHO, {"text": "x"}, approved=True)
        if can_ask:
            await wait_until(lambda: studio.inbox.pending)
            studio.inbox.pending[0].answer("decline")
        outcome = await call.wait()
        assert isinstance(outcome, Lost) and outcome.error.exit_code == 3
        server.token = ""
        assert isinstance(await studio.call_tool(ECHO, {"text": "x"}, approved=True).wait(), Succeeded)
        assert studio.manager.status("s").state == "ready"


async def test_the_question_goes_with_the_last_call_that_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = put_in_place(monkeypatch)

    async with Protected() as server, opened(http(server.url)) as studio:
        server.token = TOKEN
        calls = [studio.call_tool(ECHO, {"text": "x"}, approved=True) for _ in range(2)]
        await wait_until(lambda: accounts.refusals == 2)
        calls[0].cancel()
        await calls[0].wait()
        assert studio.inbox.pending
        calls[1].cancel()
        await calls[1].wait()
        await wait_until(lambda: not studio.inbox.pending)
        again = studio.call_tool(ECHO, {"text": "x"}, approved=True)
        await wait_until(lambda: studio.inbox.pending)
        studio.inbox.pending[0].answer("cancel")
        assert isinstance(await again.wait(), Lost)


async def test_a_question_that_nobody_answers_waits_for_whoever_is_in_the_browser(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accounts = put_in_place(monkeypatch)

    settings = Settings(limits=Limits(answer=0.2))
    async with Protected() as server, opened(http(server.url), settings=settings) as studio:
        server.token = TOKEN
        call = studio.call_tool(ECHO, {"text": "x"}, approved=True)
        await wait_until(lambda: studio.inbox.pending)
        assert studio.inbox.pending[0].sign_in is not None
        studio.inbox.pending[0].sign_in()
        await wait_until(lambda: not studio.inbox.pending)
        assert call.outcome is None
        accounts.sign_ins[0].finish()
        assert isinstance(await call.wait(), Succeeded)


async def test_stopping_a_server_does_not_wait_for_its_token(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = put_in_place(monkeypatch)

    accounts.renewing = asyncio.Event()
    config = http("http://127.0.0.1:9/", auth=Auth(kind="workload", assertion="/x"))
    async with Studio.open(Config(servers={"s": config}), Paths.default(), can_ask=True) as studio:
        await wait_until(lambda: studio.manager.status("s").state == "connecting")
        await asyncio.wait_for(studio.manager.stop("s"), 15)
        assert studio.manager.status("s").state == "disabled"


@pytest.mark.parametrize("change", ["removed", "renamed", "elsewhere", "another client", "group", "closed"])
async def test_a_sign_in_ends_with_its_server_and_with_its_entry(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = put_in_place(monkeypatch)

    async with Protected(TOKEN) as server, opened(http(server.url)) as studio:
        sign_in = studio.sign_ins.sign_in("s")
        changed: dict[str, ServerConfig] = {
            "renamed": http(server.url, "t"),
            "elsewhere": http(server.url + "2"),
            "another client": http(server.url, auth=Auth(client_id="me")),
            "group": http(server.url, group="g"),
        }
        if change == "removed":
            await studio.manager.remove("s")
        elif change == "closed":
            await studio.close()
        else:
            await studio.manager.replace(changed[change], "s")
        assert sign_in.state == "cancelled"
        assert accounts.signed_in is False


async def test_signing_out_ends_the_connection_that_used_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = put_in_place(monkeypatch)
    accounts.signed_in = True

    # A file of sign-ins, or a grant without a person: else nobody is asked for a token before one is wanted.
    Paths.default().state.mkdir(parents=True)
    (Paths.default().state / "sign-ins.json").write_text("{}")
    async with Protected(TOKEN) as server, opened(http(server.url)) as studio:
        assert studio.manager.status("s").state == "ready" and len(studio.catalog.entries("tool")) == 6
        assert await studio.sign_ins.sign_out("s") == "The token was revoked."
        await wait_until(lambda: studio.manager.status("s").state == "needs_auth")
        accounts.signed_in = True
        studio.manager.start("s")
        assert (await studio.manager.settle("s")).state == "ready"
        await studio.sign_ins.forget("s", client=True)
        await wait_until(lambda: studio.manager.status("s").state == "needs_auth")
        assert accounts.told == ["forget s True"]


async def test_trying_a_server_out_uses_the_sign_in_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = put_in_place(monkeypatch)

    async with Protected(TOKEN) as server, opened(http(server.url)) as studio:
        studio.sign_ins.sign_in("s")
        accounts.sign_ins[0].finish()
        await wait_until(lambda: studio.manager.status("s").state == "ready")
        report = await studio.test(http(server.url, "t"))
        assert report.status.state == "ready" and report.counts["tool"] == 6


async def test_a_program_is_not_signed_in_to_and_an_unknown_server_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_place(monkeypatch)

    async with opened(stdio(python_server("raw_server"))) as studio:
        with pytest.raises(UsageError, match="s is a program"):
            studio.sign_ins.sign_in("s")
        with pytest.raises(UsageError, match="no server 'x'"):
            studio.sign_ins.sign_in("x")


async def test_a_header_that_was_configured_leaves_signing_in_out(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = put_in_place(monkeypatch)
    accounts.signed_in = True

    async with Protected(TOKEN) as server:
        given = http(server.url, headers={"Authorization": "Bearer wrong-one"})
        never = http(server.url, "never", auth=Auth(kind="none"))
        async with opened(given, never) as studio:
            for name in ("s", "never"):
                status = studio.manager.status(name)
                assert status.state == "needs_auth" and status.error is not None
                assert "auth login" not in status.error.hint
