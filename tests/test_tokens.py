"""Tokens, codes, verifiers and secrets of clients are in no file, no screen, no export and no list of processes."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from mcp_studio.call.call import Succeeded
from mcp_studio.call.copying.formats import FORMATS as FORMS
from mcp_studio.call.copying.formats import copy_as
from mcp_studio.call.copying.subject import Subject
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.load import load
from mcp_studio.config.model import Config, Settings
from mcp_studio.errors import StudioError
from mcp_studio.paths import Paths
from mcp_studio.studio import Studio
from mcp_studio.trace.export.formats import FORMATS, export
from mcp_studio.vault import keyring
from tests import leaks
from tests.servers.auth_manners_wire import silent
from tests.servers.auth_server import AuthServer, World
from tests.sign_in_kit import Visitor, signed_in, signing, until
from tests.studio_support import call, http, text
from tests.support import run, wait_until

PASSPHRASE = "a passphrase of a test, Zq+/x&"
FILE = Settings(secrets="file")


@pytest.fixture
def passphrase() -> str:
    """What the encrypted file is opened with."""
    keyring.ask_with(lambda new: PASSPHRASE)
    return PASSPHRASE


async def whole_life(world: World, studio: Studio) -> None:
    """All that can be done with a sign-in, as a person does it."""
    await signed_in(studio)
    assert "client-" in text(await call(studio, "whoami"))
    token = await studio.sign_ins.accounts.token(studio.manager.config("s"))
    await call(studio, "echo", text=f"this is my token: {token}")
    studio.memory.drafts.put("tool:s:echo", {"text": token})
    world.expire()
    assert isinstance(await call(studio, "whoami"), Succeeded)
    await studio.sign_ins.refresh("s")
    stepping = asyncio.create_task(call(studio, "write_notes", text="x"))
    await wait_until(lambda: studio.inbox.pending or stepping.done(), what="a question")
    (question,) = studio.inbox.pending
    assert question.sign_in is not None
    assert (await until(question.sign_in())).state == "done"
    assert isinstance(await stepping, Succeeded)
    assert (await studio.sign_ins.account("s")) is not None
    await studio.sign_ins.sign_out("s")


@pytest.mark.parametrize("about", [{"opaque": True, "registered_method": "client_secret_post"}, {"dpop": "required"}])
def test_a_whole_life_leaves_no_secret_in_any_file(home: Path, passphrase: str, about: dict[str, object]) -> None:
    async def go() -> set[str]:
        async with AuthServer(**about) as world:
            config = Config(FILE, {"s": http(world.url)})
            async with Studio.open(config, Paths.default(), can_ask=True, origin="test") as studio:
                studio.sign_ins.accounts.browser = Visitor()
                await studio.manager.settle("s")
                await whole_life(world, studio)
                for kind, form in FORMATS.items():
                    await export(studio.trace, None, kind, home / f"export.{form.ending}", studio.redactor)
            assert len(world.seen("/token")) >= 4
            return world.secrets()

    secrets = run(go())
    pieces = leaks.left(home)
    assert len(secrets) > 10
    for place in ("body", str(home / "export"), "what is in"):
        assert any(b"code_verifier" in data for name, data in pieces if name.startswith(place)), f"it is in {place}"
    assert leaks.found({*secrets, passphrase}, pieces) == []
    assert leaks.found(secrets, [("a test", f"Bearer {max(secrets)}".encode())]), "what is there would be found"


CONFIGURED = """
[servers.s]
url = "{url}"
[servers.s.auth]
kind = "client_credentials"
client_id = "robot"
client_secret = "{secret}"
"""


def test_a_secret_of_a_client_in_the_configuration_is_nowhere_else(home: Path) -> None:
    secret = "robot-secret-Zq+/x&0123456789"

    async def go() -> list[leaks.Piece]:
        async with AuthServer() as world:
            world.issuer.clients["robot"] = {
                "client_id": "robot", "client_secret": secret, "redirect_uris": [],
                "token_endpoint_auth_method": "client_secret_basic",
            }  # fmt: skip
            paths = Paths.default()
            paths.config_file.parent.mkdir(parents=True)
            paths.config_file.write_text(CONFIGURED.format(url=world.url, secret=secret))
            config = load(paths, home)
            assert config.problems == ()
            async with Studio.open(config, paths, can_ask=True, origin="test") as studio:
                assert (await studio.manager.settle("s")).state == "ready"
                await studio.manager.listed("s")
                await call(studio, "echo", text=f"it is {secret}")
                subject = Subject(Ref("tool", "s", "echo"), {"text": secret}, server=studio.manager.config("s"))
                copies = [copy_as(subject, form) for form in FORMS]
            assert world.seen("/token")[0].headers["authorization"].startswith("Basic ")
            return [(f"copied as {one.id}", repr(one).encode()) for one in copies]

    copies = run(go())
    left = [piece for piece in leaks.left(home) if not piece[0].endswith("config.toml")]
    assert leaks.found([secret], [*copies, *left]) == []


@pytest.mark.parametrize(
    "name", ["token-echo", "401-for-ever", "code-wrong", "refresh-refused", "authorize-error-mix-up", "revoke-500"]
)
def test_what_goes_wrong_leaves_no_secret_either(name: str, home: Path, passphrase: str) -> None:
    async def go() -> set[str]:
        async with AuthServer(name) as world:
            config = Config(FILE, {"s": http(world.url)})
            async with Studio.open(config, Paths.default(), can_ask=True, origin="test") as studio:
                studio.sign_ins.accounts.browser = Visitor()
                await studio.manager.settle("s")
                sign_in = await until(studio.sign_ins.sign_in("s"))
                if sign_in.state == "done":
                    status = await studio.manager.settle("s")
                    world.expire()
                    if status.state == "ready":
                        await call(studio, "whoami")
                    for end in (studio.sign_ins.refresh, studio.sign_ins.sign_out):
                        try:
                            await end("s")
                        except StudioError as error:
                            assert leaks.found(world.secrets(), [("error", repr(error.args).encode())]) == []
            return world.secrets()

    secrets = run(go())
    assert leaks.found({*secrets, passphrase}, leaks.left(home)) == []


# ---------------------------------------------------------------------------------- what is promised of tokens


async def test_many_calls_wait_once_for_an_authorization_server_that_is_silent() -> None:
    async with AuthServer() as world, signing(http(world.url), sign_in_request=0.5) as (studio, _):
        await signed_in(studio)
        world.manner = world.manner._replace(reply={"token": silent})
        world.expire()
        begun = time.monotonic()
        outcomes = await asyncio.gather(*(call(studio, "whoami") for _ in range(20)))
        assert time.monotonic() - begun < 20 * 0.5, "one after the other takes longer"
        assert not any(isinstance(one, Succeeded) for one in outcomes) and not studio.inbox.pending
        world.manner = world.manner._replace(reply={})
        assert isinstance(await call(studio, "whoami"), Succeeded), "it is tried again"


async def test_one_address_never_gets_the_token_of_another() -> None:
    """Two resources on one origin, two sign-ins: each request carries the token that was given for its address."""

    async with AuthServer() as world:
        servers = [http(world.url, "one"), http(world.at("/stream"), "two")]
        async with signing(*servers) as (studio, _):
            await signed_in(studio, "one")
            assert studio.manager.status("two").state == "needs_auth"
            await signed_in(studio, "two")
            for name in ("one", "two"):
                assert isinstance(
                    await studio.call_tool(Ref("tool", name, "whoami"), {}, approved=True).wait(), Succeeded
                )
        used = {one.path: set[str]() for one in world.seen("", "resource")}
        for one in world.seen("", "resource"):
            used[one.path] |= {one.headers["authorization"]} if "authorization" in one.headers else set()
        assert used["/mcp"] and used["/stream"] and not used["/mcp"] & used["/stream"]
        assert not any(used[path] for path in used if path.startswith("/.well-known"))
