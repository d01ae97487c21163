"""The dialog of signing in: what it shows in each state, and what its keys tell the sign-in."""

from __future__ import annotations

import pytest
from mcp_studio.tui.screens.exchanges import Exchanges
from mcp_studio.tui.screens.sign_in import SignInDialog
from mcp_studio.tui.screens.token_view import TokenView
from textual.widgets import Input

from mcp_studio.errors import ConfigError, StudioError
from mcp_studio.paths import Paths
from mcp_studio.session.state import Status
from tests.tui.sign_in_stage import URL, account, exchange, following, remote, signing


async def test_each_step_is_shown_with_its_state_and_its_exchanges(monkeypatch: pytest.MonkeyPatch) -> None:
    async with signing(monkeypatch, size=(80, 24)) as stage:
        await stage.press("1", "a")
        await stage.shows("Sign in to github", "Nothing has been sent yet", "kept in   the Secret Service keyring")
        assert stage.runs == []
        await stage.press("enter")
        await stage.shows("○ What protects the server", "○ Where it is kept")
        assert stage.run.step_by_step is False
        stage.run.step(0, "done", "one authorization server: https://auth.example", exchange(1), exchange(2))
        stage.run.step(1, "running", "", exchange(3, purpose="reads\x1b[31m metadata"))
        await stage.shows("✓ What protects the server", "https://auth.example", "2 ▸", "◐ Who gives tokens for it")
        await stage.press("k", "k", "enter")
        await stage.until(lambda: isinstance(stage.app.screen, Exchanges), "exchanges")
        await stage.shows("What protects the server: 2 exchanges", "grant_type=authorization_code", '"expires_in": 60')
        await stage.press("escape", "j", "enter")
        await stage.shows("Who gives tokens for it: 1 exchange", "reads␛[31m metadata")
        await stage.press("escape", "escape")
        await stage.told("Signing in to github goes on; a on it shows it")
        await stage.press("a")
        await stage.shows("✓ What protects the server")
        assert len(stage.runs) == 1
        await stage.press("escape")
        stage.run.to("done", account=account())
        await stage.told("Signed in to github.")


async def test_the_browsers_page_is_opened_copied_or_answered_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER", "true")
    monkeypatch.delenv("SSH_CONNECTION", raising=False)

    async with signing(monkeypatch, size=(80, 24)) as stage:
        flow = await stage.begin()
        await stage.press("o")
        await stage.shows("There is no page yet")
        flow.browser()
        await stage.shows("14:59 left", "host      auth.example", "⚑ A person's permission", "o Open")
        await stage.press("o")
        await stage.until(lambda: "open" in flow.told, "opened")
        await stage.shows("Your browser has the page")
        copied: list[str] = []
        monkeypatch.setattr(stage.app, "copy", copied.append)
        await stage.press("y")
        assert copied == [URL]
        await stage.press("p", *"nonsense", "enter")
        await stage.shows("There is no code in it.", "nonsense", "enter Use it   esc Leave the field")
        assert "y Copy" not in stage.screen_text()
        await stage.press("home", "shift+end", "delete", *"http://127.0.0.1:1/?code=1", "enter")
        await stage.until(lambda: ("paste", "http://127.0.0.1:1/?code=1") in flow.told, "pasted")
        assert isinstance(stage.app.screen, SignInDialog)
        await stage.press("escape")
        await stage.until(lambda: not isinstance(stage.app.focused, Input), "the steps")
        await stage.shows("y Copy   p Paste")
        await stage.press("escape", "a")
        await stage.shows("Your browser has the page", "y Copy   p Paste")
        assert "callback?code=…" not in stage.screen_text(), "nobody has asked for the line"
        flow.browser("https://xn--exmple-cua.com/?a=1", refusal="", warnings=("It was announced as another.",))
        await stage.shows("network   xn--exmple-cua.com", "! It was announced as another.")
        await stage.press("x")
        assert flow.told[-1] == "cancel"
        await stage.shows("It was stopped.", "Nothing is kept of it", "c Again")


async def test_at_a_server_that_is_signed_in_the_start_says_with_whom_and_how_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with signing(monkeypatch, size=(80, 24)) as stage:
        monkeypatch.setattr("mcp_studio.tui.screens.signing.Signing.status", lambda *_: Status("github", "ready"))
        stage.accounts.known = account()
        await stage.press("1", "a")
        await stage.shows("signed in with https://auth.example", "valid     for 59:", "t  shows the token's details")
        await stage.shows("enter  begins anew", "enter Sign in anew", "t Token")
        assert "Nothing has been sent yet" not in stage.screen_text()
        await stage.press("t")
        await stage.until(lambda: isinstance(stage.app.screen, TokenView), "the token")
        await stage.press("escape", "enter")
        await stage.until(lambda: stage.runs, "a sign-in")


async def test_over_ssh_the_way_back_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.9 51000 10.0.0.1 2222")
    monkeypatch.setenv("USER", "ada")

    async with signing(monkeypatch, size=(80, 24)) as stage:
        await stage.press("1", "a")
        await stage.shows("an address to open in a browser elsewhere")
        await stage.press("enter")
        await stage.until(lambda: stage.runs, "a sign-in")
        stage.run.browser()
        await stage.shows("No browser can be opened here")
        await stage.press("tab", "G")
        await stage.shows("ssh -N -L 7338:127.0.0.1:7338 -p 2222 ada@10.0.0.1", "Or p takes the address")
        stage.run.to("browser", started_callback=False)
        await stage.until(lambda: "ssh -N" not in stage.screen_text(), "no tunnel")


async def test_step_by_step_shows_each_request_before_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    async with signing(monkeypatch) as stage:
        flow = await stage.begin("s")
        assert flow.step_by_step
        await stage.press("n")
        await stage.shows("No request is held")
        flow.to("paused", next_request=following())
        await stage.shows("POST https://auth.example/register", "content-type: application/json", "client_name")
        await stage.press("n", "r")
        assert flow.told == ["go on", "run through"]
        # While no request is held it ends the stopping all the same.
        flow.browser()
        await stage.press("r")
        await stage.shows("does not stop before requests any more")
        assert flow.told[2:] == ["run through"]
        flow.step_by_step = False
        await stage.press("r")
        await stage.shows("only step by step")
        assert len(flow.told) == 3


async def test_a_failure_says_what_should_have_been_sent_and_can_be_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with signing(monkeypatch, size=(80, 24)) as stage:
        first = await stage.begin()
        body = exchange(4, "https://auth.example/.well-known/x", 404, response="server: x\n\nno such \x1b]52;c;x\x07")
        first.step(1, "failed", "no metadata", body, hint="RFC 8414 wants them at that address.")
        first.fail(StudioError("https://auth.example has no metadata.", hint="It has to answer with JSON."))
        await stage.shows("✗ https://auth.example has no metadata.", "RFC 8414 wants", "It has to answer", "404")
        await stage.press("enter")
        await stage.until(lambda: isinstance(stage.app.screen, Exchanges), "exchanges")
        await stage.shows("no such ␛]52;c;x␇")
        await stage.press("escape", "c")
        await stage.until(lambda: len(stage.runs) == 2, "anew")
        stage.run.to("done", account=account())
        await stage.shows("✓ Signed in to github.", "scopes    read write", "59", "then it is renewed")


async def test_without_a_usable_keyring_another_place_is_chosen_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with signing(monkeypatch, remote(insecure=True), size=(80, 32)) as stage:
        used: list[str] = []
        monkeypatch.setattr("mcp_studio.vault.keyring.use", lambda keeping, _: used.append(keeping))
        stage.accounts.refusal = ConfigError("There is no keyring here.", hint="Install gnome-keyring.")
        await stage.shows("! insecure: accepts", "! 1 insecure")
        await stage.press("1", "a")
        await stage.shows("There is no keyring here.", "Install gnome-keyring.", "accepts any certificate")
        await stage.press("enter")
        assert stage.runs == []
        await stage.press("k")
        await stage.shows("Where tokens are kept", "Memory, this time")
        await stage.press("enter")  # not the keyring again
        await stage.shows("kept in   memory", "Tokens are kept in memory only")
        assert stage.accounts.keeping == "memory"
        await stage.press("k", "j", "enter")
        await stage.shows("kept in   the encrypted file", "encrypted file, not in the keyring")
        assert 'store = "file"' in Paths.default().config_file.read_text()
        assert used == ["file"]
        await stage.press("k", "k", "enter")
        await stage.shows("kept in   memory")
        await stage.press("enter")
        await stage.until(lambda: stage.runs, "a sign-in")
        stage.run.to("done", account=account(kept="memory, until the studio ends"))
        await stage.shows("! Tokens are kept in memory only")
        stage.accounts.known = account()
        await stage.press("t", "f", "y")
        await stage.shows("The tokens are forgotten.")
        await stage.press("escape")
        await stage.shows("Nothing has been sent yet.")
        assert "Signed in to" not in stage.screen_text()
        await stage.press("escape", "f12")
        await stage.shows("memory, until the studio ends", "(tokens of", "github is insecure")
    assert "unlock" in stage.accounts.told
