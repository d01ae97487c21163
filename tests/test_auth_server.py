"""The tests' own authorization server is one: it gives tokens to who follows the rules, and to nobody else."""

from __future__ import annotations

import json
import secrets
from http.client import HTTPConnection
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from tests.servers.auth_proofs import challenge_of
from tests.servers.auth_server import World, threaded

BACK = "http://127.0.0.1:1/callback"


class Answer(NamedTuple):
    """An HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def ask(url: str, method: str = "GET", body: str = "", **headers: str) -> Answer:
    """One HTTP request, nothing followed."""
    at = urlsplit(url)
    line = HTTPConnection(at.netloc, timeout=60)
    try:
        kind = {"Content-Type": "application/json" if body.startswith("{") else "application/x-www-form-urlencoded"}
        line.request(method, f"{at.path}?{at.query}", body or None, {**(kind if body else {}), **headers})
        got = line.getresponse()
        return Answer(got.status, {name.lower(): value for name, value in got.getheaders()}, got.read())
    finally:
        line.close()


def post(url: str, **form: str) -> Answer:
    """A form."""
    return ask(url, "POST", urlencode(form))


def signed_in(world: World, path: str = "/mcp", **changes: str) -> tuple[dict[str, str], Answer]:
    """The whole way to a token; `changes` go into the token request. What was sent, and the answer."""
    resource = world.origin + path
    meta = ask(world.issuer.origin + "/.well-known/oauth-authorization-server").json
    client = ask(meta["registration_endpoint"], "POST", json.dumps(
        {"redirect_uris": [BACK], "token_endpoint_auth_method": "none"})).json  # fmt: skip
    verifier = secrets.token_urlsafe(40)
    proof = {"code_challenge": challenge_of(verifier), "code_challenge_method": "S256", "resource": resource}
    asked = {"response_type": "code", "client_id": client["client_id"], "redirect_uri": BACK, "state": "st", **proof}
    found = ask(f"{meta['authorization_endpoint']}?{urlencode(asked)}")
    query = dict(parse_qsl(urlsplit(found.headers["location"]).query))
    assert query["state"] == "st" and query["iss"] == meta["issuer"]
    form = {"grant_type": "authorization_code", "code": query["code"], "redirect_uri": BACK, "resource": resource,
            "client_id": client["client_id"], "code_verifier": verifier} | changes  # fmt: skip
    return form, post(meta["token_endpoint"], **form)


def listed(world: World, token: str) -> Answer:
    """tools/list with a token."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    return ask(world.url, "POST", json.dumps(message), Authorization=f"Bearer {token}")


def test_the_whole_way_gives_a_token_that_opens_the_server() -> None:
    with threaded() as world:
        refused = ask(world.url, "POST", json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))
        assert refused.status == 401 and "resource_metadata=" in refused.headers["www-authenticate"]
        form, answer = signed_in(world)
        assert answer.status == 200, answer
        assert listed(world, answer.json["access_token"]).status == 200
        assert listed(world, "another").status == 401
        world.expire()
        assert listed(world, answer.json["access_token"]).status == 401
        again = {"grant_type": "refresh_token", "client_id": form["client_id"], "resource": world.url}
        renewed = post(world.issuer.url + "/token", refresh_token=answer.json["refresh_token"], **again)
        assert listed(world, renewed.json["access_token"]).status == 200
        reused = post(world.issuer.url + "/token", refresh_token=answer.json["refresh_token"], **again)
        assert reused.json["error"] == "invalid_grant", "a refresh token is good for once"
        assert listed(world, renewed.json["access_token"]).status == 401, "and its reuse ends all that came of it"
        assert {form["code"], form["code_verifier"], renewed.json["refresh_token"]} <= world.secrets()


WRONG = ({"code_verifier": "x" * 43}, {"resource": "http://127.0.0.1/"}, {"client_id": "other"}, {"code": "made-up"})


@pytest.mark.parametrize("wrong", [*WRONG, {"redirect_uri": BACK + "/other"}], ids=str)
def test_a_code_is_good_for_nobody_else(wrong: dict[str, str]) -> None:
    with threaded() as world:
        assert signed_in(world, **wrong)[1].status in (400, 401)


def test_a_code_is_good_for_once() -> None:
    with threaded() as world:
        form, answer = signed_in(world)
        assert post(world.issuer.url + "/token", **form).json["error"] == "invalid_grant"
        assert listed(world, answer.json["access_token"]).status == 401, "what it gave ends too"


def test_a_tool_may_want_another_scope() -> None:
    with threaded() as world:
        token = signed_in(world)[1].json["access_token"]
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "write_notes"}}
        refused = ask(world.url, "POST", json.dumps(call), Authorization=f"Bearer {token}")
        assert refused.status == 403
        assert 'error="insufficient_scope"' in refused.headers["www-authenticate"]
        assert 'scope="notes:write"' in refused.headers["www-authenticate"]
