"""Servers are signed in to without a person, end to end, against an authorization server of our own."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from mcp_studio.errors import SignInNeeded
from mcp_studio.transport.base import RefusedRequest
from tests.auth.signing import Desk, server
from tests.auth.test_assertions import pem, private
from tests.servers.auth_server import AuthServer, World

SECRET = "secret-of-the-client"
WELL_KNOWN = "/.well-known/oauth-authorization-server"


def public() -> str:
    return private("P-256").public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def with_secret(world: World, _folder: Path) -> dict[str, Any]:
    world.issuer.clients["me"] = {
        "client_id": "me",
        "client_secret": SECRET,
        "token_endpoint_auth_method": "client_secret_basic",
    }
    return {"kind": "client_credentials", "client_id": "me", "client_secret": SECRET}


def with_key(world: World, folder: Path) -> dict[str, Any]:
    world.issuer.clients["me"] = {"client_id": "me", "token_endpoint_auth_method": "private_key_jwt"}
    world.issuer.keys["me"] = public()
    (folder / "key.pem").write_text(pem("P-256"))
    return {"kind": "private_key_jwt", "client_id": "me", "key": str(folder / "key.pem")}


def enterprise(world: World, folder: Path) -> dict[str, Any]:
    identity = jwt.encode({"sub": "ada", "exp": int(time.time()) + 600}, pem("P-256"), algorithm="ES256")
    world.issuer.identity = identity
    (folder / "id_token").write_text(identity)
    return {
        **with_secret(world, folder),
        "kind": "enterprise",
        "idp_token_endpoint": f"{world.issuer.url}/idp/token",
        "idp_client_id": "idp-me",
        "idp_id_token": str(folder / "id_token"),
    }


def workload(world: World, folder: Path) -> dict[str, Any]:
    world.issuer.clients["me"] = {"client_id": "me", "token_endpoint_auth_method": "none"}
    world.issuer.keys["me"] = public()
    claims = {"iss": "https://platform.example", "aud": world.issuer.url, "exp": int(time.time()) + 600}
    (folder / "token").write_text(jwt.encode(claims, pem("P-256"), algorithm="ES256"))
    return {"kind": "workload", "client_id": "me", "assertion": str(folder / "token")}


Setup = Callable[[World, Path], dict[str, Any]]
KINDS: list[Setup] = [with_secret, with_key, enterprise, workload]


@pytest.mark.parametrize("setup", KINDS)
@pytest.mark.parametrize("options", [{}, {"dpop": "required", "nonces": True}], ids=["bearer", "dpop"])
async def test_a_token_comes_without_a_person(setup: Setup, options: dict[str, Any], tmp_path: Path) -> None:
    async with AuthServer(**options) as world:
        desk = Desk(tmp_path)
        config = server(world.url, **setup(world, tmp_path))
        signed = await desk.done(config)
        assert signed.state == "done", (signed.error, signed.error and signed.error.hint)
        assert signed.account and signed.account.scopes == ("mcp:tools",) and not desk.pages
        assert signed.account.token_type == ("DPoP" if options else "Bearer")
        told = str(signed.steps) + str(signed.account)
        for secret in (
            *world.secrets(),
            SECRET,
            *(request.form.get("assertion", "") for request in world.requests),
        ):
            assert not secret or secret not in told


async def test_another_token_is_got_for_whoever_asks_though_there_was_none_before(tmp_path: Path) -> None:
    async with AuthServer() as world:
        desk, config = Desk(tmp_path), server(world.url, **with_secret(world, tmp_path))
        for _ in range(2):
            account = await desk.accounts.refresh(config, desk.tap)
            assert account.scopes == ("mcp:tools",)
        assert sum(request.path == "/token" for request in world.requests) == 2


async def test_a_server_that_takes_no_token_has_nobody_sign_in(tmp_path: Path) -> None:
    async with AuthServer() as world:
        desk = Desk(tmp_path)
        access = desk.accounts.access(server(world.url, **with_secret(world, tmp_path)), desk.tap, None)
        assert access is not None
        assert await access.refused(RefusedRequest(401, "POST", world.url, [], [], "", 1))
        with pytest.raises(SignInNeeded) as caught:
            await access.refused(
                RefusedRequest(401, "POST", world.url, await access.lines("POST", world.url), [], "", 2)
            )
        assert "check [servers.one.auth]" in caught.value.hint and "auth login" not in caught.value.hint


async def test_a_secret_that_is_refused_is_sent_once(tmp_path: Path) -> None:
    async with AuthServer() as world:
        desk = Desk(tmp_path)
        given = with_secret(world, tmp_path) | {"client_secret": "another-secret-than-that"}
        signed = await desk.done(server(world.url, **given))
        assert signed.state == "failed" and signed.error
        assert "invalid_client" in signed.error.message and "another-secret" not in str(signed.steps)
        assert "check [servers.one.auth]" in signed.error.hint
        assert sum(request.path == "/token" for request in world.requests) == 1


@pytest.mark.parametrize("setup", KINDS)
async def test_nothing_follows_the_server_to_another_authorization_server(setup: Setup, tmp_path: Path) -> None:
    async with AuthServer(issuers=2) as world:
        world.current = 0
        desk, given = Desk(tmp_path), setup(world, tmp_path)
        assert (await desk.done(server(world.url, **given))).state == "done"
        world.migrate()
        for later in (desk, Desk(tmp_path)):  # in the same studio, and in one that was started since
            signed = await later.done(server(world.url, **given))
            assert signed.state == "failed" and signed.error
            assert "Nothing of it was sent" in signed.error.message and "issuer = " in signed.error.hint
        assert {one.path for one in world.requests if one.server == "issuer2"} == {WELL_KNOWN}
        await later.accounts.forget(server(world.url, **given), client=True)
        anew = await later.done(server(world.url, **given))
        assert anew.error and "now names the authorization server" not in anew.error.message


async def test_entries_at_one_address_have_the_tokens_and_the_failures_of_their_own_tables(tmp_path: Path) -> None:
    async with AuthServer() as world:
        desk = Desk(tmp_path)
        right = server(world.url, **with_secret(world, tmp_path))
        world.issuer.clients["other"] = {**world.issuer.clients["me"], "client_id": "other"}
        other = server(world.url, kind="client_credentials", client_id="other", client_secret=SECRET)
        wrong = server(world.url, kind="client_credentials", client_id="me", client_secret="no")
        for config in (wrong, right, other):
            await desk.accounts.sign_in(config, desk.tap).run()
        assert await desk.accounts.account(wrong) is None
        clients = [(await desk.accounts.account(one)).client_id for one in (right, other)]  # type: ignore[union-attr]
        assert clients == ["me", "other"] and len(await desk.accounts.accounts()) == 2
