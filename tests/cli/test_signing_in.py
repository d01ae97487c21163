"""How a sign-in is followed on the terminal: what is told, what is asked, and what wrong answers lead to."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from mcp_studio.auth.model import Account, AuthExchange, AuthStep, SignInState
from mcp_studio.auth.signin import SignIn
from mcp_studio.cli import questions as sign_in_module
from mcp_studio.cli.questions import SignInController
from mcp_studio.cli.terminal import EndOfInput, Lines
from mcp_studio.errors import SignInNeeded, UsageError
from mcp_studio.present import accounts
from mcp_studio.signal import Signal
from tests.support import run

URL = "https://auth.example/authorize?client_id=a&state=b"
REDIRECT = "http://127.0.0.1:7338/callback"
HOUR = 3_600.0


class Acted(SignIn):
    """A sign-in that goes through the states it is given, each left by the answer that belongs to it."""

    def __init__(self, *states: SignInState, listens: bool = True) -> None:
        self.server, self.changed = "mine", Signal[SignIn]()
        self.states = list(states)
        self.state = "running"
        self.steps = (AuthStep("resource", "what protects the server"), AuthStep("token", "the token"))
        self.error = self.account = self.next_request = None
        self.authorization_url, self.redirect_uri, self.until = URL, REDIRECT, time.monotonic() + 900
        self.choices = ("https://one.example", "https://two.example")
        self.step_by_step, self.started_callback, self.opened = False, listens, False
        self.refusal, self.warnings = "", ()
        self.did: list[str] = []
        self.client_reason = "None is registered."
        self._left = asyncio.Event()

    async def run(self) -> None:
        for state in self.states:
            self.state = state
            url = "https://a.example/x\x1b"
            self.next_request = AuthExchange(1, "the metadata", "GET", url, "accept: a", 0, "", 0.0)
            self._left.clear()
            self.changed.emit(self)
            await self._left.wait()
            if self.state == "cancelled":
                self.changed.emit(self)
                return
        self.steps[0].state, self.steps[0].detail = "done", "https://auth.example"
        self.steps[0].exchanges.append(AuthExchange(1, "x", "GET", "https://a.example", "", 200, "body", 12.0))
        self.state = "done"
        self.changed.emit(self)

    def _do(self, what: str) -> None:
        self.did.append(what)
        self._left.set()

    def go_on(self) -> None:
        self._do("go on")

    def run_through(self) -> None:
        self._do("run through")

    def choose(self, issuer: str) -> None:
        if issuer not in self.choices:
            raise UsageError("That is none.")
        self._do(issuer)

    def give_client(self, client_id: str, secret: str = "") -> None:
        if client_id == "bad":
            raise UsageError("That is no id.")
        self._do(f"{client_id}:{secret}")

    def paste(self, redirect_url: str) -> None:
        if not redirect_url.startswith(REDIRECT):
            raise UsageError("That is not where the browser was sent to.", hint=f"It begins with {REDIRECT}.")
        self._do("pasted")

    async def set_aside(self) -> None:
        self.did.append("set aside")
        self.cancel()

    def cancel(self) -> None:
        if not self.over:
            self.state = "cancelled"
            self._left.set()


class Typed(Lines):
    """Lines that somebody types; then nothing more comes, or the end."""

    def __init__(self, *lines: str, ends: bool = False) -> None:
        super().__init__()
        self._lines, self._ends = list(lines), ends

    async def read(self, *, hidden: bool = False) -> str:
        await asyncio.sleep(0)
        if self._lines:
            return self._lines.pop(0)
        if self._ends:
            raise EndOfInput
        await asyncio.Event().wait()
        raise AssertionError


async def guided(sign_in: Acted, lines: Lines | None, browser: str = "none") -> list[str]:
    notes: list[str] = []
    await SignInController(sign_in, notes.append, lines, browser, finish="mcp-studio auth login mine").run()
    return notes


@pytest.mark.parametrize(
    ("states", "typed", "did"),
    [
        (["paused", "paused"], ["", "r"], ["go on", "run through"]),
        (["browser"], ["nonsense", f"{REDIRECT}?code=a"], ["pasted"]),
    ],
)
def test_what_is_needed_is_asked(
    states: list[SignInState], typed: list[str], did: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    async def main() -> Acted:
        sign_in = Acted(*states)
        notes = await guided(sign_in, Typed(*typed))
        assert notes == ["✓ what protects the server: https://auth.example"]
        return sign_in

    assert run(main()).did == did
    assert "\x1b" not in capsys.readouterr().err


async def guided_once(lines: Lines, *states: SignInState, browser: str = "none") -> Acted:
    sign_in = Acted(*(states or ("browser",)))
    await guided(sign_in, lines, browser)
    return sign_in


def test_enter_opens_the_browser_again_and_where_there_is_none_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    run(guided_once(Typed("", f"{REDIRECT}?code=a"), browser="true"))
    assert "The browser was asked to open it." in (err := capsys.readouterr().err) and "no browser" not in err
    run(guided_once(Typed("", f"{REDIRECT}?code=a")))
    assert "There is no browser here to open it with." in capsys.readouterr().err


@pytest.mark.parametrize("state", ["paused", "browser"])
@pytest.mark.parametrize("lines", [(":cancel",), ()])
def test_whoever_gives_up_has_cancelled(state: SignInState, lines: tuple[str, ...]) -> None:
    with pytest.raises(SignInNeeded):
        run(guided_once(Typed(*lines, ends=not lines), state))


async def test_without_anybody_a_browser_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = asyncio.Event()

    def say(*lines: str) -> None:
        if any(line.startswith("Waiting 15 m") for line in lines):
            waiting.set()

    monkeypatch.setattr(sign_in_module, "say", say)
    sign_in = Acted("browser")
    following = asyncio.ensure_future(guided(sign_in, None, "true"))
    await waiting.wait()
    assert not following.done()
    sign_in.go_on()
    await following


async def test_cancelling_the_one_who_follows_cancels_the_sign_in() -> None:
    sign_in = Acted("browser")
    following = asyncio.ensure_future(guided(sign_in, Typed()))
    for _ in range(10):
        await asyncio.sleep(0)
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following
    assert sign_in.state == "cancelled"


@pytest.mark.parametrize(
    ("environ", "line"),
    [
        ({"SSH_CONNECTION": "192.0.2.1 5 192.0.2.9 2222", "USER": "ada"}, "-p 2222 ada@192.0.2.9"),
        ({"SSH_TTY": "/dev/pts/1"}, "HOST"),
    ],
)
def test_over_ssh_the_way_back_is_told(
    environ: dict[str, str], line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("SSH_CONNECTION", "SSH_TTY", "USER", "LOGNAME"):
        monkeypatch.delenv(name, raising=False)
    run(guided_once(Typed(f"{REDIRECT}?code=a")))
    assert "ssh" not in capsys.readouterr().err
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    run(guided_once(Typed(f"{REDIRECT}?code=a")))
    assert f"  ssh -N -L 7338:127.0.0.1:7338 {line}\n" in capsys.readouterr().err


def test_nothing_foreign_is_live_and_warnings_stand_under_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    sign_in = Acted("browser")
    sign_in.warnings, sign_in.authorization_url = ("The page is on this machine.",), "http://a.example/\x1b[2J\u202ex"
    run(guided(sign_in, Typed(f"{REDIRECT}?code=a")))
    shown = capsys.readouterr().err
    assert "  The page is on this machine.\n" in shown and "\x1b" not in shown and "\u202e" not in shown


def account(**facts: object) -> Account:
    made = Account(
        "mine", "https://a.example/mcp", "", "https://auth.example", ("a", "b"), 1_000.0, 1_000.0 + HOUR, True,
        "the keyring", "id", "registered", "Bearer", True, {"sub": "ada", "exp": 4_600}, {},
    )  # fmt: skip
    return replace(made, **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("facts", "words", "usable"),
    [
        ({}, "valid for 58 min, then renewed", True),
        ({"refreshable": False}, "valid for 58 min", True),
        ({"expires": 1_120.0 + 2 * 86_400}, "valid for 2 days, then renewed", True),
        ({"expires": 1_061.0}, "expired 59 s ago, is renewed when used", True),
        ({"expires": 1_000.0, "refreshable": False}, "expired 2 min ago", False),
        ({"expires": 1_120.0}, "just expired, is renewed when used", True),
        ({"expires": 1_119.5, "refreshable": False}, "just expired", False),
        ({"expires": 0.0}, "no expiry is known, renewed when refused", True),
        ({"expires": 0.0, "refreshable": False}, "no expiry is known", True),
    ],
)
def test_until_when_is_said_in_words(facts: dict[str, object], words: str, usable: bool) -> None:
    found = account(**facts)
    assert (accounts.validity(found, 1_120.0), accounts.usable(found, 1_120.0)) == (words, usable)


def test_all_that_is_known_is_told_with_moments_that_can_be_read() -> None:
    found = dict(accounts.account_rows(account(), 1_120.0))
    assert found["client"] == "id, registered dynamically" and found["revocation"] == "supported"
    assert accounts.as_json(account())["expires"] == "1970-01-01T01:16:40Z"
