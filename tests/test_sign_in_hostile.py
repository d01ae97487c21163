"""Signing in to servers that misbehave: it ends with a sentence, in time, and what is secret goes nowhere else."""

from __future__ import annotations

import pytest

from mcp_studio.auth.signin import SignIn
from mcp_studio.errors import StudioError
from tests.servers.auth_manners import MANNERS
from tests.servers.auth_server import AuthServer, World
from tests.sign_in_kit import Visitor, listened_at, signing, until
from tests.studio_support import http
from tests.support import run

NEVER_HERE = {"token-private", "prm-private"}
"""These name private networks, where tests send nothing; see `test_sign_in_reach`."""
CHOOSE = {"several-issuers", "issuer-changes", "prm-many-servers"}
"""A person has to choose an authorization server."""
CLIENT = {"no-registration"}
"""A person has to say who we are."""
FINE = {
    *("register-hostile", "type-lower", "expires-missing", "expires-huge", "expires-text", "expires-null"),
    *("scope-narrow", "scope-none", "scope-wide", "no-refresh", "challenge-other", "401-bare", "callback-junk"),
    *("hostile-text", "metadata-extras", "401-for-ever", "403-for-ever", "mcp-redirect"),
    *("refresh-refused", "refresh-client-forgotten", "refresh-500", "refresh-kept", "refresh-narrow", "refresh-type"),
    *("refresh-empty", "revoke-500", "revoke-silent"),
}
"""Nothing of these is wrong with signing in itself, or not so that it could not be done."""
EITHER = {
    *("expires-negative", "expires-zero", "scope-list", "scope-hostile", "refresh-number", "token-long"),
    *("challenge-garbage", "challenge-long", "prm-cloud-challenge", "prm-elsewhere", "prm-500", "prm-no-servers"),
    *("register-redirect", "register-other", "token-429", "prm-no-resource", "type-missing", "register-expired"),
}
"""Whether to go on is a matter of taste."""
HANGS = {name for name in MANNERS if name.endswith(("silent", "slow", "endless"))} - {"revoke-silent"}
WAITS = {
    *("authorize-elsewhere", "authorize-html", "authorize-500", "state-missing", "state-wrong", "state-double"),
    *("register-other", "code-huge", "code-missing", "code-double", "code-and-error"),
}
"""Nobody comes back from the browser, or only strangers do."""
ELSEWHERE = {"authorize-elsewhere", "token-elsewhere", "register-elsewhere"}
"""An authorization server may have its endpoints at another host (RFC 8414 2)."""


def told(sign_in: SignIn) -> str:
    """All that a front end could show of it, without making it harmless: secrets are looked for here."""
    parts = [sign_in.error.message, sign_in.error.hint] if sign_in.error else []
    for step in sign_in.steps:
        parts += [step.title, step.detail, step.hint]
        parts += [text for one in step.exchanges for text in (one.purpose, one.url, one.request, one.response)]
    return "\n".join(parts)


async def attempt(name: str) -> None:
    """One sign-in, and what must be true of it."""
    limits = {"sign_in_request": 0.5} if name in HANGS else {}
    limits |= {"sign_in": 1.0} if name in WAITS else {"sign_in": 15.0}
    async with AuthServer(name) as world, signing(http(world.url), **limits) as (studio, visitor):
        try:
            sign_in = await until(studio.sign_ins.sign_in("s"), "choosing", "client")
        except StudioError as error:
            raise AssertionError("a sign-in tells by its state, not by raising") from error
        state, text = sign_in.state, told(sign_in)
        if name in CHOOSE or name in CLIENT:
            assert state == ("choosing" if name in CHOOSE else "client"), text
            sign_in.cancel()
            assert (await until(sign_in)).state == "cancelled"
        elif name in FINE:
            assert state == "done", text
        else:
            assert state == "failed" or (name in EITHER and state == "done"), (state, text)
        if state == "failed":
            assert sign_in.error is not None and len(sign_in.error.message) > 20, sign_in.error
            assert not studio.manager.status("s").state == "ready"
        await nothing_got_out(world, visitor, sign_in, text, name)


async def nothing_got_out(world: World, visitor: Visitor, sign_in: SignIn, text: str, name: str) -> None:
    """No secret in what is told, none at another origin, no odd page opened, no listener left."""
    for secret in world.secrets():
        assert secret not in text, "a secret is told"
        for one in world.seen("", "elsewhere"):
            assert name in ELSEWHERE or secret not in repr(one), f"a secret went elsewhere: {one}"
    if name not in ELSEWHERE | {"prm-elsewhere"}:
        assert world.seen("", "elsewhere") == []
    assert all(url.startswith(world.issuer.origin) or name in ELSEWHERE for url in visitor.opened), visitor.opened
    if sign_in.redirect_uri:
        assert int(sign_in.redirect_uri.split("/")[2].partition(":")[2]) not in listened_at()


@pytest.mark.parametrize("name", [name for name in MANNERS if name not in NEVER_HERE])
def test_it_ends_well_or_with_a_sentence(name: str) -> None:
    run(attempt(name))
