"""Every way of signing in that the specification has, through the whole studio, against our authorization server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_studio.auth import fetch
from mcp_studio.call.call import Succeeded
from mcp_studio.config.model import ServerConfig, Settings, Tls
from tests.servers.auth_resource import PATHS
from tests.servers.auth_server import AuthServer, World
from tests.sign_in_kit import signed_in, signing, until
from tests.studio_support import call, http, text
from tests.support import wait_until
from tests.transport.test_edge_tls import certificate

WAYS: dict[str, dict[str, Any]] = {
    "as it is meant": {},
    "opaque tokens": {"opaque": True},
    "metadata of OpenID": {"metadata": ("oidc",)},
    "an issuer with a path": {"issuer_path": "/tenant1"},
    "its OpenID metadata": {"issuer_path": "/tenant1", "metadata": ("oidc",)},
    "its OpenID metadata at the end": {"issuer_path": "/tenant1", "metadata": ("oidc-appended",)},
    "no metadata in the challenge": {"prm": "path"},
    "metadata at the root": {"prm": "root"},
    "metadata somewhere": {"prm": "custom"},
    "no challenge": {"challenge": False, "prm": "path"},
    "before 2025-06-18": {"prm": "none", "same_origin": True, "resource_needed": False},
    "before 2025-06-18, without metadata": {
        "prm": "none", "same_origin": True, "resource_needed": False, "metadata": (), "iss": False,
    },
    "without iss": {"iss": False},
    "client id documents": {"documents": True, "registration": False},
    "secrets by Basic": {"methods": ("client_secret_basic",)},
    "secrets in the form": {"methods": ("client_secret_post",)},
    "public clients": {"methods": ("none",)},
    "offline access": {"offline": True},
    "no scopes anywhere": {"challenge_scope": "", "prm_scopes": (), "base_scope": ""},
    "an open handshake": {"open_handshake": True},
    "by name": {"host": "localhost"},
    "no port but the registered one": {"any_port": False},
    "DPoP offered": {"dpop": "offered"},
    "DPoP required": {"dpop": "required"},
    "DPoP with nonces": {"dpop": "required", "nonces": True},
    "refresh tokens that stay": {"rotate": False},
}  # fmt: skip
DOCUMENT = Settings(secrets="memory", client_metadata_url="https://studio.example/client.json")


async def use(world: World, server: ServerConfig) -> None:
    """Sign in, call, be refused and renew, call again; with a browser once."""
    async with signing(server, settings=DOCUMENT) as (studio, visitor):
        if studio.manager.status("s").state == "ready":
            await answered(studio)  # the handshake is open, the lists are not
        else:
            await signed_in(studio)
        assert "client" in text(await call(studio, "whoami"))
        world.expire()
        assert isinstance(await call(studio, "whoami"), Succeeded)
        assert len(visitor.opened) == 1
        assert (await studio.sign_ins.account("s")) is not None


async def answered(studio: Any) -> None:
    """A question of a connection that is ready."""
    await wait_until(lambda: studio.inbox.pending, what="a question")
    (question,) = studio.inbox.pending
    assert (await until(question.sign_in())).state == "done"
    await studio.manager.listed("s")


@pytest.mark.parametrize("way", WAYS)
async def test_a_person_signs_in_once(way: str) -> None:
    async with AuthServer(**WAYS[way]) as world:
        await use(world, http(world.url))


@pytest.mark.parametrize("path", PATHS)
async def test_every_transport_signs_in(path: str) -> None:
    async with AuthServer() as world:
        await use(world, http(world.at(path), transport="sse" if path == "/sse" else ""))


@pytest.mark.parametrize("path", ["/mcp", "/ws"])
async def test_over_tls_a_certificate_authority_of_ones_own_is_enough(path: str, tmp_path: Path) -> None:
    tls, ca = certificate(tmp_path)

    async with AuthServer(tls=tls) as world:
        await use(world, http(world.at(path), tls=Tls(ca=str(ca))))


async def test_not_checking_a_server_does_not_mean_its_authorization_server(tmp_path: Path) -> None:
    tls, _ = certificate(tmp_path)

    async with AuthServer(tls=tls, issuer_host="localhost") as world:
        async with signing(http(world.url, tls=Tls(insecure=True))) as (studio, visitor):
            sign_in = await until(studio.sign_ins.sign_in("s"))
            assert sign_in.state == "failed" and sign_in.error is not None
            assert "certificate" in sign_in.error.message
            assert world.seen("", "issuer1") == [] and visitor.opened == []


async def test_a_public_server_cannot_name_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The MCP server's address counts as public here; the authorization server is on this machine."""

    async def public(self: object) -> str:
        return "public"

    monkeypatch.setattr(fetch.Network, "reach", public)

    for name in ("", "token-private", "prm-private"):
        async with AuthServer(name) as world, signing(http(world.url)) as (studio, visitor):
            sign_in = await until(studio.sign_ins.sign_in("s"))
            assert sign_in.state == "failed" and sign_in.error is not None
            assert world.seen("", "issuer1") == [] and visitor.opened == []
