"""Signing in, end to end, against an authorization server of our own."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from mcp_studio.auth.signin import SignIn
from mcp_studio.errors import SignInNeeded, UsageError, VaultRefused
from mcp_studio.limits import Limits
from mcp_studio.vault.base import MemoryVault
from tests.auth.kit import Ask, Reply, Web
from tests.auth.signing import LIMITS, Desk, server, until, visit
from tests.servers.auth_server import AuthServer
from tests.support import run


def query(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def texts(sign_in: SignIn) -> str:
    shown = [(step.title, step.detail, step.hint, step.exchanges) for step in sign_in.steps]
    return f"{shown} {sign_in.error and sign_in.error.message} {sign_in.error and sign_in.error.hint}"


async def failed(state: Path, manner: str = "", *, limits: Limits = LIMITS, **how: Any) -> SignIn:
    """A sign-in that does not work, and told no secret."""
    async with AuthServer(manner) as world:
        sign_in = await Desk(state, limits=limits).done(server(world.url), **how)
        assert sign_in.state == "failed" and sign_in.error is not None
        assert not [secret for secret in world.secrets() if secret in texts(sign_in)]
        assert sign_in.account is None and sign_in.until == 0
        return sign_in


async def test_a_person_signs_in_and_everything_is_told_but_no_secret(tmp_path: Path) -> None:
    async with AuthServer() as world:
        desk = Desk(tmp_path)
        sign_in = await desk.done(server(world.url))
        assert sign_in.state == "done", texts(sign_in)
        assert [step.state for step in sign_in.steps] == ["done"] * 6
        assert sign_in.account and sign_in.account.issuer == world.issuer.url and sign_in.account.refreshable
        assert sign_in.started_callback and len(desk.pages) == 1
        assert not [secret for secret in world.secrets() if secret in texts(sign_in)]
        assert all(step.detail for step in sign_in.steps)
        assert {request.purpose for request in desk.tap.requests} >= {"registration", "token for the code"}
        asked = query(desk.pages[0])
        assert asked["resource"] == world.url and asked["code_challenge_method"] == "S256"
        (token,) = world.seen("/token")
        assert token.form["resource"] == world.url and token.form["redirect_uri"] == sign_in.redirect_uri


async def test_signing_in_again_registers_nothing_anew(tmp_path: Path) -> None:
    async with AuthServer() as world:
        desk = Desk(tmp_path)
        for _ in range(2):
            assert (await desk.done(server(world.url))).state == "done"
        assert len(world.seen("/register")) == 1


async def test_a_registered_client_keeps_its_port_and_another_port_is_registered_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_studio.auth.callback.PORT", 0)

    async with AuthServer(any_port=False) as world:
        desk = Desk(tmp_path)
        first = await desk.done(server(world.url))
        again = await desk.done(server(world.url))
        assert first.state == again.state == "done" and first.redirect_uri == again.redirect_uri
        assert len(world.seen("/register")) == 1
        with socket.create_server(("127.0.0.1", urlsplit(first.redirect_uri).port or 0)):
            other = await desk.done(server(world.url))
        assert other.state == "done" and other.redirect_uri != first.redirect_uri, texts(other)
        assert len(world.seen("/register")) == 2
        named = await desk.done(server(world.url, redirect_host="localhost"))
        assert named.state == "done" and named.redirect_uri.startswith("http://localhost:")


@pytest.mark.parametrize("how", ["paste", "visit"])
async def test_without_a_browser_the_redirect_is_pasted(tmp_path: Path, how: str) -> None:
    async with AuthServer() as world:
        desk, pages = Desk(tmp_path), list[str]()

        async def nowhere(url: str) -> bool:
            pages.append(url)
            return False

        desk.accounts.browser = nowhere
        sign_in = desk.accounts.sign_in(server(world.url), desk.tap)
        task = asyncio.create_task(sign_in.run())
        await until(sign_in, lambda one: one.state == "browser" and pages)
        assert not sign_in.opened and not await sign_in.open_page()
        assert 0 < sign_in.until - time.monotonic() <= LIMITS.sign_in
        for wrong in ("", "nonsense", "https://elsewhere.example/callback?code=1&state=2"):
            with pytest.raises(UsageError):
                sign_in.paste(wrong)
        with pytest.raises(UsageError):
            sign_in.paste(f"{sign_in.redirect_uri}?code=1&state=of-somebody-else")
        back = await visit(sign_in.authorization_url)
        sign_in.paste(back) if how == "paste" else await visit(back)
        await task
        assert sign_in.state == "done", texts(sign_in)
        with pytest.raises(UsageError):
            sign_in.paste(back)


async def test_the_listener_is_gone_when_it_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_studio.auth.callback.PORT", 0)  # Others on this machine may sign in just now.

    async with AuthServer() as world:
        sign_in = await Desk(tmp_path).done(server(world.url))
        port = urlsplit(sign_in.redirect_uri).port
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", port)) != 0


async def test_step_by_step_stops_before_each_request(tmp_path: Path) -> None:
    async with AuthServer() as world:
        desk, stops = Desk(tmp_path), list[str]()
        sign_in = desk.accounts.sign_in(server(world.url), desk.tap, step_by_step=True)

        def look(one: SignIn) -> None:
            if one.state == "paused" and one.next_request is not None:
                if len(stops) <= len(world.requests):
                    stops.append(one.next_request.purpose)
                one.go_on()

        sign_in.changed.connect(look)
        task = asyncio.create_task(sign_in.run())
        await until(sign_in, lambda one: one.state == "browser")
        assert desk.pages == []  # The person opens it, like everything else.
        await sign_in.open_page()
        await task
        assert sign_in.state == "done", texts(sign_in)
        assert list(dict.fromkeys(stops)) == [
            "challenge of the server",
            "metadata of the server",
            "metadata of the authorization server",
            "registration",
            "token for the code",
        ]


async def test_running_through_and_cancelling_while_it_is_stopped(tmp_path: Path) -> None:
    async with AuthServer() as world:
        desk = Desk(tmp_path)
        sign_in = desk.accounts.sign_in(server(world.url), desk.tap, step_by_step=True)
        task = asyncio.create_task(sign_in.run())
        await until(sign_in, lambda one: one.state == "paused")
        assert not world.requests and sign_in.next_request
        sign_in.run_through()
        await task
        assert sign_in.state == "done"
        stopped = desk.accounts.sign_in(server(world.url), desk.tap, step_by_step=True)
        task = asyncio.create_task(stopped.run())
        await until(stopped, lambda one: one.state == "paused")
        before = len(world.requests)
        stopped.cancel()
        await task
        assert stopped.state == "cancelled" and stopped.error and len(world.requests) == before


async def test_cancelling_anywhere_ends_it_and_stores_nothing(tmp_path: Path) -> None:
    async with AuthServer(consent="page") as world:
        desk = Desk(tmp_path)
        early = desk.accounts.sign_in(server(world.url), desk.tap)
        early.cancel()
        await early.run()
        assert early.state == "cancelled" and not world.requests
        waits = desk.accounts.sign_in(server(world.url), desk.tap)
        task = asyncio.create_task(waits.run())
        await until(waits, lambda one: one.state == "browser")
        waits.cancel()
        waits.cancel()
        await task
        assert waits.state == "cancelled" and await desk.accounts.accounts() == []
        killed = desk.accounts.sign_in(server(world.url), desk.tap)
        task = asyncio.create_task(killed.run())
        await until(killed, lambda one: one.state == "browser")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert killed.state == "cancelled"


async def test_a_person_chooses_among_several_and_is_not_asked_again(tmp_path: Path) -> None:
    async with AuthServer(issuers=2) as world:
        desk, config = Desk(tmp_path), server(world.url)
        sign_in = desk.accounts.sign_in(config, desk.tap)
        task = asyncio.create_task(sign_in.run())
        await until(sign_in, lambda one: one.state == "choosing")
        with pytest.raises(UsageError):
            sign_in.choose("https://evil.example")
        second = world.issuers[1].url
        assert second in sign_in.choices
        sign_in.choose(second)
        await task
        assert sign_in.account and sign_in.account.issuer == second
        again = await desk.done(config)
        assert again.account and again.account.issuer == second
        wanted = await desk.done(server(world.url, issuer=world.issuers[0].url))
        assert wanted.account and wanted.account.issuer == world.issuers[0].url
        other = await desk.done(server(world.url, issuer="https://evil.example"))
        assert other.state == "failed" and "names" in texts(other)


async def test_a_client_id_is_asked_for_where_nothing_else_is_left(tmp_path: Path) -> None:
    async with AuthServer("no-registration") as world:
        desk = Desk(tmp_path)
        sign_in = desk.accounts.sign_in(server(world.url), desk.tap)
        task = asyncio.create_task(sign_in.run())
        await until(sign_in, lambda one: one.state == "client")
        assert "registration_endpoint" in sign_in.client_reason
        for wrong in ("", " "):
            with pytest.raises(UsageError):
                sign_in.give_client(wrong)
        uri = "http://127.0.0.1:1/callback"
        world.issuer.clients["mine"] = {
            "client_id": "mine",
            "redirect_uris": [uri],
            "token_endpoint_auth_method": "none",
        }
        sign_in.give_client(" mine ")
        await task
        assert sign_in.state == "done" and sign_in.account and sign_in.account.client_how == "typed", texts(sign_in)


async def test_another_issuer_gets_a_client_of_its_own(tmp_path: Path) -> None:
    async with AuthServer(issuers=2) as world:
        world.current = 0
        desk, config = Desk(tmp_path), server(world.url)
        assert (await desk.done(config)).state == "done"
        world.migrate()
        before = len(world.requests)
        assert (await desk.done(config)).state == "done"
        sent = [one for one in world.requests[before:] if one.server == "issuer2"]
        old = world.issued["client_secret"] + list(world.issuers[0].clients)
        assert sent and not [one for one in sent if any(secret in str(one) for secret in old)]
        assert len([one for one in sent if one.path == "/register"]) == 1


async def test_a_configured_client_is_not_shown_to_another_issuer(tmp_path: Path) -> None:
    async with AuthServer(issuers=2) as world:
        world.current = 0
        mine = {"client_id": "mine", "redirect_uris": ["http://127.0.0.1:1/callback"], "client_secret": "hush-hush"}
        for issuer in world.issuers:
            issuer.clients["mine"] = {**mine, "token_endpoint_auth_method": "client_secret_basic"}
        desk = Desk(tmp_path)
        config = server(world.url, client_id="mine", client_secret="hush-hush")
        assert (await desk.done(config)).state == "done"
        world.migrate()
        before = len(world.requests)
        moved = await desk.done(config)
        assert moved.state == "failed" and "Nothing of it was sent" in texts(moved)
        assert not [one for one in world.requests[before:] if "mine" in str(one) and one.server == "issuer2"]
        said = await desk.done(
            server(world.url, client_id="mine", client_secret="hush-hush", issuer=world.issuers[1].url)
        )
        assert said.state == "done", texts(said)


async def test_further_scopes_are_asked_for_besides(tmp_path: Path) -> None:
    async with AuthServer(offline=True, scopes=("mcp:tools", "admin", "offline_access")) as world:
        desk = Desk(tmp_path)
        sign_in = await desk.done(server(world.url), scopes=["admin"])
        assert sign_in.account and set(sign_in.account.scopes) == {"mcp:tools", "admin", "offline_access"}
        assert sign_in.account.refreshable


async def test_nobody_is_sent_to_a_browser_for_what_cannot_be_kept(tmp_path: Path) -> None:
    async with AuthServer() as world:
        desk = Desk(tmp_path)

        def refuse() -> MemoryVault:
            raise VaultRefused("There is no keyring.", hint="Install one.")

        desk.open = refuse
        sign_in = await desk.done(server(world.url))
        assert sign_in.state == "failed" and sign_in.steps[0].detail == "There is no keyring." and not world.requests


def test_nobody_comes_back(tmp_path: Path) -> None:
    limits = Limits(sign_in=0.2)
    sign_in = run(failed(tmp_path, "authorize-html", limits=limits))
    assert "Nobody came back" in texts(sign_in) and sign_in.steps[3].state == "failed"


async def test_a_redirect_of_somebody_else_is_told_and_waiting_goes_on(tmp_path: Path) -> None:
    async with AuthServer("state-wrong") as world:
        desk = Desk(tmp_path)
        sign_in = desk.accounts.sign_in(server(world.url), desk.tap)
        task = asyncio.create_task(sign_in.run())
        await until(sign_in, lambda one: "another state" in one.steps[3].hint)
        assert sign_in.state == "browser"
        sign_in.cancel()
        await task


async def test_a_client_that_nobody_came_back_with_is_registered_anew(tmp_path: Path) -> None:
    """The page in the browser says that it does not know the client: only the person sees that."""

    async with AuthServer() as world:
        desk, config = Desk(tmp_path), server(world.url)
        hasty = Desk(tmp_path, desk.vault, limits=Limits(sign_in=1.0))
        assert (await desk.done(config)).state == "done"
        world.forget()
        assert (await hasty.done(config)).state == "failed"
        assert (await desk.done(config)).state == "done"
        assert len(world.seen("/register")) == 2


@pytest.mark.parametrize(
    ("manner", "step", "word"),
    [
        ("prm-wrong-resource", "resource", "resource"),
        ("prm-redirect", "resource", "not followed"),
        ("prm-huge", "resource", "larger"),
        ("wrong-issuer", "issuer", "issuer"),
        ("no-pkce", "issuer", "code_challenge_methods_supported"),
        ("metadata-bomb", "issuer", "larger"),
        ("metadata-redirect-loop", "issuer", "not followed"),
        ("authorize-javascript", "issuer", "authorization_endpoint"),
        ("register-redirect", "client", "evil.example"),
        ("iss-wrong", "permission", "comes from"),
        ("iss-missing", "permission", "nobody"),
        ("authorize-error", "permission", "temporarily_unavailable"),
        ("token-echo", "token", "invalid_grant"),
        ("token-redirect", "token", "not followed"),
        ("token-long", "token", "access_token"),
    ],
)
def test_what_goes_wrong_is_said_at_its_step(tmp_path: Path, manner: str, step: str, word: str) -> None:
    sign_in = run(failed(tmp_path, manner))
    (wrong,) = [one for one in sign_in.steps if one.state == "failed"]
    assert wrong.name == step and word in wrong.detail, texts(sign_in)


async def test_junk_at_the_listener_does_not_disturb(tmp_path: Path) -> None:
    async with AuthServer("callback-junk") as world:
        assert (await Desk(tmp_path).done(server(world.url))).state == "done"


async def test_what_was_set_aside_goes_on_in_another_process_once(tmp_path: Path) -> None:
    async with AuthServer() as world:
        vault, config = MemoryVault(), server(world.url)
        desk = Desk(tmp_path, vault)
        desk.accounts.browser = lambda url: asyncio.sleep(0, False)
        first = desk.accounts.sign_in(config, desk.tap)
        task = asyncio.create_task(first.run())
        await until(first, lambda one: one.state == "browser")
        await first.set_aside()
        await task
        assert first.state == "cancelled"
        back = await visit(first.authorization_url)
        other = Desk(tmp_path, vault)
        wrong = other.accounts.sign_in(config, other.tap, redirect_url="nonsense")
        await wrong.run()
        assert wrong.state == "failed"
        second = other.accounts.sign_in(config, other.tap, redirect_url=back)
        await second.run()
        assert second.state == "done", texts(second)
        third = other.accounts.sign_in(config, other.tap, redirect_url=back)
        await third.run()
        assert third.state == "failed" and "waits for its redirect" in texts(third)


async def test_nothing_can_be_set_aside_in_memory(tmp_path: Path) -> None:
    async with AuthServer() as world:
        desk = Desk(tmp_path)
        desk.accounts.store(server(world.url)).lasting = False
        desk.accounts.browser = lambda url: asyncio.sleep(0, False)
        sign_in = desk.accounts.sign_in(server(world.url), desk.tap)
        with pytest.raises(UsageError):
            await sign_in.set_aside()
        task = asyncio.create_task(sign_in.run())
        await until(sign_in, lambda one: one.state == "browser")
        with pytest.raises(SignInNeeded, match="memory only"):
            await sign_in.set_aside()
        assert sign_in.state == "browser"
        sign_in.cancel()
        await task


@pytest.mark.parametrize("status", [200, 404, 405])
async def test_a_server_that_wants_nothing_is_not_taken_for_an_old_one(tmp_path: Path, status: int) -> None:
    def answer(ask: Ask) -> Reply:
        return (status if ask.path == "/mcp" else 404, [("Content-Type", "application/json")], b"{}")

    async with Web(answer) as web:
        sign_in = await Desk(tmp_path).done(server(web.url + "/mcp"))
        assert sign_in.state == "failed" and f"status {status}" in texts(sign_in)
        assert not [one for one in web.asked if one.path == "/register"]


async def test_entries_at_one_address_with_clients_of_their_own_have_sign_ins_of_their_own(tmp_path: Path) -> None:
    async with AuthServer() as world:
        desk = Desk(tmp_path)
        for name in ("one", "two"):
            client = {"client_id": name, "token_endpoint_auth_method": "none", "redirect_uris": None}
            world.issuer.clients[name] = client
        one, two = (server(world.url, client_id=name) for name in ("one", "two"))
        assert (await desk.done(one)).state == "done"
        assert await desk.accounts.account(two) is None
        assert (await desk.done(two)).state == "done"
        for config, name in ((one, "one"), (two, "two")):
            account = await desk.accounts.account(config)
            assert account is not None and account.client_id == name


@pytest.mark.parametrize("manner", ["prm-elsewhere", "prm-cloud-challenge", "challenge-garbage"])
async def test_metadata_that_may_not_be_used_is_no_reason_for_older_ways(manner: str, tmp_path: Path) -> None:
    async with AuthServer(manner, prm="none") as world:
        signed = await Desk(tmp_path).done(server(world.url))
        assert signed.state == "failed" and signed.error
        assert "names its metadata" in signed.error.message and "own origin" in signed.error.hint
        asked = {request.path for request in world.requests}
        assert not asked & {"/metadata", "/register", "/token", "/authorize"}, asked
