"""Signing in from the screen against a real authorization server: from a server's row to the call that needed more."""

from __future__ import annotations

import pytest
from mcp_studio.tui.screens.exchanges import Exchanges
from mcp_studio.tui.screens.sign_in import SignInDialog

from mcp_studio.config.model import ServerConfig, Settings
from tests.auth.signing import visit
from tests.servers.auth_server import AuthServer
from tests.tui.stage import Stage, on_stage

MEMORY = Settings(secrets="memory")


def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)


async def dialog(stage: Stage) -> SignInDialog:
    await stage.until(lambda: isinstance(stage.app.screen, SignInDialog), "dialog")
    found = stage.app.screen
    assert isinstance(found, SignInDialog)
    return found


async def page(stage: Stage, shown: SignInDialog) -> str:
    """The address of the page, once it is there."""
    await stage.until(lambda: shown.run_now is not None and shown.run_now.state == "browser", "a page")
    assert shown.run_now is not None
    return shown.run_now.authorization_url


async def test_from_a_row_that_wants_a_sign_in_to_a_call_that_wants_more(monkeypatch: pytest.MonkeyPatch) -> None:
    no_browser(monkeypatch)

    async with (
        AuthServer() as world,
        on_stage(ServerConfig("notes", url=world.url), settings=MEMORY, size=(80, 24)) as stage,
    ):
        await stage.told("notes wants a sign-in: a on it")
        await stage.shows("sign in: a")
        await stage.press("1", "a")
        shown = await dialog(stage)
        await stage.shows("wants you to sign in", "kept in   memory", "Nothing has been sent yet")
        await stage.press("s")
        await stage.shows("metadata of the server", "GET http://127.0.0.1")
        await stage.press("n")
        await stage.shows("metadata of the authorization server")
        await stage.press("r")
        url = await page(stage, shown)
        assert shown.run_now is not None and not shown.run_now.opened
        await stage.shows("host      127.0.0.1", "No browser can be opened here")
        await stage.press("escape")
        await stage.shows("signing in: a")
        await stage.press("a")
        shown = await dialog(stage)
        await visit(await visit(url))
        await stage.shows("✓ Signed in to notes.", "✓ Where it is kept", "mcp:tools")
        await stage.press("home", "j", "j", "j", "j", "enter")
        await stage.until(lambda: isinstance(stage.app.screen, Exchanges), "exchanges")
        await stage.shows("token for the code", "‹redacted›")
        text = stage.screen_text()
        assert not [secret for secret in world.secrets() if secret in text]
        await stage.press("escape", "escape")
        await stage.until(lambda: stage.studio.manager.status("notes").state == "ready", "connected")
        await stage.studio.manager.listed("notes")

        # A call that wants more than was given.
        await stage.open("read_notes")
        await stage.press("ctrl+j")
        shown = await dialog(stage)
        await stage.shows("notes.read_notes is waiting", "notes:read", "d Decline")
        await stage.press("enter")
        await visit(await visit(await page(stage, shown)))
        await stage.shows("✓ Signed in to notes.")
        assert shown.request is not None and shown.request.reply.result().action == "accept"
        await stage.press("escape")
        await stage.shows("read_notes: done")
        await stage.open("write_notes")
        stage.main.calling.opened.value = {"text": "x"}
        await stage.press("ctrl+j")
        shown = await dialog(stage)
        await stage.press("d")
        await stage.until(lambda: stage.main.calling.call.outcome is not None, "an outcome")
        await stage.shows("notes:write")


async def test_a_token_that_the_server_does_not_take_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    no_browser(monkeypatch)

    async with (
        AuthServer("401-for-ever") as world,
        on_stage(ServerConfig("notes", url=world.url), settings=MEMORY) as stage,
    ):
        await stage.press("1", "a")
        shown = await dialog(stage)
        await stage.shows("kept in   memory")
        await stage.press("enter")
        await visit(await visit(await page(stage, shown)))
        await stage.shows("✓ Signed in to notes.", "notes wants a sign-in.")
