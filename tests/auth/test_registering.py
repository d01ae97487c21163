"""Registering at authorization servers that are particular about scopes."""

from __future__ import annotations

import json
from pathlib import Path

from tests.auth.signing import Desk, server
from tests.servers.auth_options import Manner
from tests.servers.auth_server import AuthServer, World
from tests.servers.http_raw import Reply, Request


async def no_scopes(world: World, got: Request, reply: Reply) -> bool:
    """Scopes of a resource are none of the authorization server's own (as npm's oidc-provider says it)."""
    if "scope" not in got.json:
        return False
    told = {"error": "invalid_client_metadata", "error_description": "scope must only contain supported scope values"}
    await reply.body("400 Bad Request", json.dumps(told).encode())
    return True


async def test_scopes_that_cannot_be_registered_are_left_out_and_asked_for_all_the_same(tmp_path: Path) -> None:
    async with AuthServer() as world:
        world.manner = Manner("refuses scopes", reply={"register": no_scopes})
        desk = Desk(tmp_path)
        for _ in range(2):
            sign_in = await desk.done(server(world.url))
            assert sign_in.state == "done" and sign_in.account is not None
            assert sign_in.account.scopes == ("mcp:tools",)
        assert len(world.seen("/register")) == 2, "one with scopes, one without, and none for the second time"


async def narrow(world: World, got: Request, reply: Reply) -> bool:
    """A registration holds for the scopes that it names."""
    asked = got.json
    await reply.body(
        "201 Created", json.dumps({**asked, "client_id": (name := f"c{len(world.issuer.clients)}")}).encode()
    )
    world.issuer.clients[name] = {**asked, "client_id": name}
    return True


async def test_a_client_of_few_scopes_is_replaced_by_one_of_all_that_were_ever_wanted(tmp_path: Path) -> None:
    async with AuthServer() as world:
        world.manner = Manner("narrow", reply={"register": narrow})
        desk = Desk(tmp_path)
        for scopes in ((), ("notes:read",), (), ("notes:read",)):
            assert (await desk.done(server(world.url), scopes=scopes)).state == "done"
        asked = [json.loads(one.body)["scope"] for one in world.seen("/register")]
        assert asked == ["mcp:tools", "mcp:tools notes:read"]
