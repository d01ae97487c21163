"""The dialogs of signing in: what they show in each state, and what their buttons tell the sign-in."""

from __future__ import annotations

import pytest
from textual.widgets import Button

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import ServerConfig, Settings
from mcp_studio.errors import ConfigError, StudioError
from mcp_studio.paths import Paths
from mcp_studio.tui.run import PassphraseAsker
from mcp_studio.tui.screens.secrets import Passphrase
from mcp_studio.tui.screens.sign_in import Exchanges, SignInDialog, show_token, sign_in
from mcp_studio.tui.screens.token_view import TokenView
from tests.auth.signing import visit
from tests.servers.auth_server import AuthServer
from tests.tui.sign_in_stage import URL, account, exchange, following, remote, signing
from tests.tui.stage import Stage, on_stage

PLACES = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "SSH_CONNECTION", "SSH_TTY")


async def press(stage: Stage, button: str) -> None:
    """Press a button of the dialog on top, which has to be there."""
    found = stage.app.screen.query_one(f"#{button}", Button)
    assert found.display and not found.disabled, button
    found.press()
    await stage.pilot.pause()


async def test_each_state_is_shown_with_what_can_be_done_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PLACES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.9 51000 10.0.0.1 2222")
    monkeypatch.setenv("USER", "ada")
    async with signing(monkeypatch, remote(insecure=True), size=(80, 24)) as stage:
        # Without a usable keyring another place is chosen before anything is sent.
        stage.accounts.refusal = ConfigError("There is no keyring here.", hint="Install gnome-keyring.")
        sign_in(stage.app, "github")
        await stage.dialog(SignInDialog)
        await stage.shows("There is no keyring here.", "Install gnome-keyring.", "accepts any certificate")
        assert stage.app.focused is stage.app.screen.query_one("#keep"), "enter does what the first button does"
        await press(stage, "keep")
        await stage.shows("Where tokens are kept", "Memory: forgotten")
        await stage.press("enter")
        await stage.shows("stored in +memory", "▲ Tokens are stored in memory only", "You get an address to open")
        assert stage.runs == []
        # Every step and its exchanges; leaving lets it go on.
        await press(stage, "begin")
        await stage.until(lambda: stage.runs, "a sign-in")
        flow = stage.run
        flow.step(0, "done", "one authorization server: https://auth.example", exchange(1), exchange(2))
        flow.step(1, "running", "", exchange(3, purpose="reads\x1b[31m metadata"))
        await stage.shows("✓ Protected resource +one authorization server", "2 ▸", "◐ Authorization server")
        stage.app.screen.query_one("#steps").focus()
        await stage.press("home", "down", "enter")
        await stage.dialog(Exchanges)
        await stage.shows("Authorization server: 1 exchange", "reads␛\\[31m metadata", "grant_type=authorization_code")
        await stage.press("escape", "escape")
        await stage.told("Signing in to github goes on")
        sign_in(stage.app, "github")
        await stage.dialog(SignInDialog)
        assert len(stage.runs) == 1
        # The page of the browser, on another machine.
        flow.browser()
        await stage.shows("14:5. left", "host +auth.example", "No browser can be opened here")
        await stage.shows("  Copy +Exchanges +Cancel +Later")
        assert "Open page" not in stage.text
        assert "ssh -N -L 7338:127.0.0.1:7338 -p 2222 ada@10.0.0.1" in str(stage.app.screen.query_one("#card").render())
        copied: list[str] = []
        monkeypatch.setattr(stage.app, "copy", copied.append)
        await stage.press("ctrl+j")
        assert copied == [URL]
        stage.app.screen.query_one("#redirect").focus()
        await stage.press(*"nonsense", "escape", "escape")
        sign_in(stage.app, "github")
        await stage.dialog(SignInDialog)
        stage.app.screen.query_one("#redirect").focus()
        await stage.press("ctrl+j")
        await stage.shows("There is no code in it.", "nonsense")
        await stage.press("home", "shift+end", "delete", *"http://127.0.0.1:1/?code=1", "enter")
        await stage.until(lambda: ("paste", "http://127.0.0.1:1/?code=1") in flow.told, "pasted")
        await stage.press("escape")  # out of the field, and not out of the dialog
        assert isinstance(stage.app.screen, SignInDialog)
        flow.browser("https://xn--exmple-cua.com/?a=1", warnings=("It was announced as another.",))
        await stage.shows("network +xn--exmple-cua.com")
        assert "▲ It was announced as another." in str(stage.app.screen.query_one("#card").render())
        # Which authorization server, and which client.
        flow.to("choosing", choices=("https://a.example", "https://b.example\u202e"))
        await stage.shows("names 2 authorization servers", "b.example⟦U")
        await stage.press("down", "enter")
        flow.to("client", client_reason="No registration there.")
        await stage.shows("No registration there.")
        await stage.press(*"a b", "tab", *"s1", "escape", "escape")  # typed, and there again after Later
        sign_in(stage.app, "github")
        await stage.dialog(SignInDialog)
        await stage.shows("a b", "••")
        await stage.press("tab", "enter")
        await stage.shows("A client id has no spaces")
        # Failure and another attempt, step by step.
        body = exchange(4, "https://auth.example/.well-known/x", 404, response="server: x\n\nno such \x1b]52;c;x\x07")
        flow.step(1, "failed", "no metadata", body, hint="RFC 8414 wants them at that address.")
        flow.fail(StudioError("https://auth.example has no metadata.", hint="It has to answer with JSON."))
        await stage.shows("✗ https://auth.example has no metadata.", "RFC 8414 wants", "It has to answer", "no such ␛")
        await press(stage, "keep")  # what failed may be the place of the tokens
        await stage.shows("Where tokens are kept")
        await stage.press("enter")
        await stage.shows("stored in +memory", "Nothing has been sent yet")
        await stage.app.screen.run_action("step_by_step")
        await stage.until(lambda: len(stage.runs) == 2, "anew")
        stage.run.to("paused", next_request=following())
        await stage.shows("POST https://auth.example/register", "content-type: application/json")
        await press(stage, "send")
        await press(stage, "send_all")
        assert stage.run.told == ["go on", "run through"] and stage.run.step_by_step
        stage.run.to("done", account=account())
        await stage.shows("✓ Signed in to github.", "scopes +read write", "token +valid for 59 min", "then renewed")
        assert stage.app.focused is stage.app.screen.query_one("#back")
        await press(stage, "token")
        await stage.dialog(TokenView)
        await stage.press("escape", "escape")
    assert ("choose", "https://b.example\u202e") in flow.told


async def test_a_token_is_told_renewed_and_ended_and_copied_only_after_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    async with signing(monkeypatch, size=(80, 24)) as stage:
        show_token(stage.app, "github")
        await stage.dialog(TokenView)
        await stage.shows("There is no sign-in to github.")
        assert stage.app.screen.query_one("#box").region.height < 12, "as high as its text"
        await press(stage, "sign_in")
        await stage.dialog(SignInDialog)
        await stage.press("escape")
        stage.accounts.known = account(claims={"sub": "ada\u202e", "exp": 1_800_000_000})
        show_token(stage.app, "github")
        await stage.dialog(TokenView)
        await stage.shows("issuer      https://auth.example", "scopes +read write", "in 59 min", "c1, registered")
        await stage.shows("Renew +Copy +Sign out +Forget… +Close")
        await press(stage, "refresh")
        await stage.told("The token is renewed.")
        await stage.shows("scopes +renewed")
        stage.accounts.problem = StudioError("The refresh token is not accepted.", hint="Sign in anew.")
        await press(stage, "refresh")
        await stage.told("The refresh token is not accepted. Sign in anew.")
        await press(stage, "copy")
        await stage.shows("Whoever has it can do there")
        await stage.press("escape")
        await stage.dialog(TokenView)
        assert "token" not in stage.accounts.told
        copied: list[str] = []
        monkeypatch.setattr(stage.app, "copy", lambda text, name: copied.append(text))
        await press(stage, "copy")
        await stage.shows("Whoever has it can do")
        await press(stage, "yes")
        await stage.until(lambda: copied == ["eyJ-the-token-itself"], "the token")
        assert "eyJ-the-token-itself" not in stage.text
        await press(stage, "sign_out")
        await stage.shows("Sign out of github")
        await press(stage, "yes")
        await stage.told("The access token and the refresh token are revoked.")
        await stage.shows("There is no sign-in")
        stage.accounts.known = account()
        await stage.press("escape")
        show_token(stage.app, "github")
        await stage.dialog(TokenView)
        await stage.shows("https://auth.example")
        await press(stage, "forget")
        await stage.shows("The tokens: no request is sent")
        await stage.press("down", "enter")
        await stage.told("Tokens and client are forgotten.")
        assert stage.accounts.told[-1] == ("forget", True)
        await stage.press("escape")
        # The passphrase of the encrypted file is asked for from another thread.
        asker = PassphraseAsker()
        asking = stage.app.run_worker(lambda: asker.ask(True), thread=True)
        asker.ask_in(stage.app)
        await stage.dialog(Passphrase)
        await stage.press(*"short", "enter")
        await stage.shows("at least 8 characters")
        await stage.press(*"er-and", "enter", *"x", "enter")
        await stage.shows("The two are not the same.")
        await stage.press("home", "shift+end", *"shorter-and", "enter")
        assert await asking.wait() == "shorter-and"
    assert not Paths.default().config_file.exists()


async def test_a_call_that_needs_more_than_was_given_signs_in_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PLACES:
        monkeypatch.delenv(name, raising=False)
    settings = Settings(secrets="memory")

    async with (
        AuthServer() as world,
        on_stage(ServerConfig("notes", url=world.url), settings=settings, size=(80, 24), ready=False) as stage,
    ):

        async def page() -> str:
            run = stage.studio.sign_ins.running("notes")
            await stage.until(lambda: run is not None and run.state == "browser", "a page")
            assert run is not None
            return run.authorization_url

        await stage.until(lambda: stage.studio.manager.status("notes").state == "needs_auth", "a refusal")
        sign_in(stage.app, "notes")
        await stage.dialog(SignInDialog)
        await stage.shows("stored in +memory", "Nothing has been sent yet")
        await press(stage, "begin")
        await stage.until(lambda: stage.studio.sign_ins.running("notes"), "a sign-in")
        await visit(await visit(await page()))
        await stage.shows("✓ Signed in to notes.", "✓ Storage", "mcp:tools")
        await stage.press("escape")
        await stage.until(lambda: stage.studio.manager.status("notes").state == "ready", "connected")
        await stage.studio.manager.listed("notes")
        call = stage.studio.call_tool(Ref("tool", "notes", "read_notes"), {}, approved=True)
        await stage.dialog(SignInDialog)
        await stage.shows("is waiting", "notes:", "Decline")
        await press(stage, "decline")
        assert type(await call.wait()).__name__ != "Succeeded"
