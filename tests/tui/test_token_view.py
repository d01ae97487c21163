"""The token of a server on screen: what is told of it, what is done with it, and that it stays hidden."""

from __future__ import annotations

import threading

import pytest
from mcp_studio.tui.gate import Gate
from mcp_studio.tui.screens.token_view import Part, TokenView

from mcp_studio.errors import StudioError
from mcp_studio.present.accounts import moment, span
from mcp_studio.tui.screens import token_view
from tests.tui.sign_in_stage import NOW, account, signing
from tests.tui.stage import Stage


def plain(parts: list[Part]) -> str:
    return "".join(part if isinstance(part, str) else part[0] for part in parts)


async def opened(stage: Stage) -> None:
    await stage.press("1", "t")
    await stage.until(lambda: isinstance(stage.app.screen, TokenView), "token")


def test_times_are_told_in_words() -> None:
    spans = [span(seconds) for seconds in (-5, 59, 845, 12_000, 86_400, 1_000_000)]
    assert spans == ["0:00", "0:59", "14:05", "3 h 20 min", "1 day", "11 days"]
    assert moment(NOW + 60, NOW).endswith(", in 1:00") and moment(NOW, NOW + 60).endswith("1:00 ago")
    assert moment(1e300, NOW) == moment(float("inf"), NOW) == "no time that can be read"
    assert moment(float("nan"), NOW) == "no time that can be read"


def test_claims_are_told_as_what_they_are_and_odd_ones_do_no_harm() -> None:
    claims = {"iss": "https://a\u202e", "exp": NOW + 60, "nbf": True, "iat": "then", "aud": ["x", 1], "scope": "a b"}
    told = plain(token_view.claim_parts(account(claims=claims, id_claims={"email": "ada@example.com"}), NOW))
    assert "⟦U+202E⟧" in told and "in 1:00" in told and "scopes      a b" in told and "email       ada" in told
    assert "its signature is not checked by the studio" in told and "valid from" not in told
    assert "no JWT" in plain(token_view.claim_parts(account(claims={}), NOW))
    bare = plain(token_view.account_parts(account(expires=0.0, scopes=(), refreshable=False, revocable=False), NOW))
    assert "does not say" in bare and "none are named" in bare and "sign in anew" in bare and "only forgets" in bare
    assert "it has expired; the next call renews it" in plain(token_view.account_parts(account(expires=NOW - 1), NOW))
    ended = plain(token_view.account_parts(account(expires=NOW - 1, refreshable=False), NOW))
    assert "it has expired\n" in ended and "sign in anew" in ended


async def test_a_token_is_told_renewed_and_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    async with signing(monkeypatch, size=(80, 24)) as stage:
        await opened(stage)
        await stage.shows("There is no sign-in to github.", "a  signs in")
        await stage.press("r")
        await stage.shows("There is none. a signs in.")
        await stage.press("escape")
        stage.accounts.known = account(claims={"sub": "ada", "exp": NOW})
        await opened(stage)
        await stage.shows("issuer      https://auth.example", "scopes      read write", "in 59:5", "c1, registered")
        await stage.press("r")
        await stage.shows("The token is renewed.", "scopes      renewed")
        stage.accounts.problem = StudioError("The refresh token is not accepted.", hint="Sign in anew.")
        await stage.press("r")
        await stage.shows("The refresh token is not accepted. Sign in anew.")
        await stage.press("o")
        await stage.shows("Sign out of github?")
        await stage.press("n")
        assert "sign out" not in stage.accounts.told
        await stage.press("o")
        await stage.shows("Sign out of github?")
        await stage.press("y")
        await stage.shows("The access token and the refresh token are revoked.", "There is no sign-in")
        stage.accounts.known = account()
        await stage.press("escape")
        await opened(stage)
        await stage.shows("https://auth.example")
        await stage.press("F")
        await stage.shows("registers a new one.")
        await stage.press("y")
        await stage.shows("Tokens and client are forgotten.")
        assert stage.accounts.told[-1] == ("forget", True)


async def test_the_token_itself_is_shown_and_copied_only_after_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    async with signing(monkeypatch, size=(80, 24)) as stage:
        stage.accounts.known = account()
        await opened(stage)
        await stage.shows("••••", '"sub"')
        await stage.press("end", "v")
        await stage.shows("Whoever has it can do")
        await stage.press("n")
        await stage.until(lambda: isinstance(stage.app.screen, TokenView), "back")
        assert stage.accounts.told == []
        await stage.press("v", "y")
        await stage.shows("eyJ-the-token-itself")
        await stage.press("f1")
        await stage.press("escape")
        await stage.until(lambda: isinstance(stage.app.screen, TokenView), "back")
        await stage.until(lambda: "eyJ-the" not in stage.screen_text(), "hidden")
        copied: list[str] = []
        monkeypatch.setattr("mcp_studio.tui.clipboard.copy", lambda text, *_: copied.append(text) or "Copied it.")
        stage.app.copy("before")
        await stage.press("y")
        await stage.shows("Copy the access token")
        await stage.press("y")
        await stage.until(lambda: copied[-1] == "eyJ-the-token-itself", "copied")
        assert stage.app.clipboard == "before"
        assert "eyJ-the" not in "".join(stage.toasts)


def test_who_asks_before_there_is_a_screen_waits_for_it() -> None:
    gate, answers = Gate(), list[str]()
    thread = threading.Thread(target=lambda: answers.append(gate.ask(False)), daemon=True)
    thread.start()
    assert answers == []
    gate.open(lambda new: "given")
    thread.join(10)
    gate.open(None)
    assert answers == ["given"] and gate.ask(False) == ""
