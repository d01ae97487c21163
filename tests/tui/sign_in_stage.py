"""A sign-in without a network, for what the screen does with it: every state is set by the test."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcp_studio.auth.model import Account, AuthExchange, AuthStep
from mcp_studio.auth.signin import TITLES, SignIn
from mcp_studio.config.model import ServerConfig, Tls, VaultKind
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.session.sign_in import SignInManager as Begun
from mcp_studio.signal import Signal
from mcp_studio.tui.screens.sign_in import SignInDialog, sign_in
from tests.tui.stage import Stage, on_stage

URL = "https://auth.example/authorize?response_type=code&client_id=c1&state=s1&code_challenge_method=S256"
REDIRECT = "http://127.0.0.1:7338/callback"
NOW = 1_800_000_000.0


def exchange(number: int, url: str = "https://auth.example/token", status: int = 200, **more: str) -> AuthExchange:
    request = more.get("request", "POST /token HTTP/1.1\naccept: application/json\n\ngrant_type=authorization_code")
    response = more.get("response", 'content-type: application/json\n\n{"access_token":"‹redacted›","expires_in":60}')
    return AuthExchange(number, more.get("purpose", "asks for a token"), "POST", url, request, status, response, 12.0)


def account(**more: Any) -> Account:
    claims: dict[str, Json] = {"iss": "https://auth.example", "sub": "ada", "exp": NOW + 3600, "aud": ["a", "b"]}
    values: dict[str, Any] = {
        "server": "github", "resource": "https://api.example.com/mcp", "account": "", "issuer": "https://auth.example",
        "scopes": ("read", "write"), "obtained": time.time() - 5, "expires": time.time() + 3600, "refreshable": True,
        "place": "the Secret Service keyring", "client_id": "c1", "client_how": "registered", "token_type": "Bearer",
        "revocable": True, "claims": claims, "id_claims": {},
    }  # fmt: skip
    return Account(**(values | more))


class FakeSignIn(SignIn):
    """What a front end sees of a sign-in, and what it was told."""

    def __init__(self, server: str = "github", *, step_by_step: bool = False) -> None:
        self.server = server
        self.state = "running"
        self.steps = tuple(AuthStep(name, title) for name, title in TITLES.items())
        self.changed = Signal()
        self.error = None
        self.account = None
        self.authorization_url = self.redirect_uri = self.refusal = ""
        self.until = 0.0
        self.next_request = None
        self.choices = ()
        self.client_reason = ""
        self.step_by_step = step_by_step
        self.started_callback = True
        self.opened = False
        self.warnings = ()
        self.told: list[Any] = []
        self.can_open = True

    def to(self, state: Any, **more: Any) -> None:
        """Come to a state; `more` are attributes."""
        self.state = state
        for name, value in more.items():
            setattr(self, name, value)
        self.changed.emit(self)

    def step(self, at: int, state: Any, detail: str = "", *exchanges: AuthExchange, hint: str = "") -> None:
        one = self.steps[at]
        one.state, one.detail, one.hint = state, detail, hint
        one.exchanges += exchanges
        self.changed.emit(self)

    def browser(self, url: str = URL, **more: Any) -> None:
        self.step(3, "asking", "waits for the browser")
        self.to("browser", authorization_url=url, redirect_uri=REDIRECT, until=time.monotonic() + 899.5, **more)

    def fail(self, error: StudioError) -> None:
        self.to("failed", error=error)

    def go_on(self) -> None:
        self.told.append("go on")

    def run_through(self) -> None:
        self.told.append("run through")

    def choose(self, issuer: str) -> None:
        self.told.append(("choose", issuer))

    def give_client(self, client_id: str, secret: str = "") -> None:
        if " " in client_id:
            raise UsageError("A client id has no spaces in it.")
        self.told.append(("client", client_id, secret))

    def paste(self, redirect_url: str) -> None:
        if "code=" not in redirect_url:
            raise UsageError("There is no code in it.", hint="Copy all of the address line.")
        self.told.append(("paste", redirect_url))

    async def open_page(self) -> bool:
        self.told.append("open")
        self.opened = self.can_open and not self.refusal
        return self.opened

    def cancel(self) -> None:
        self.told.append("cancel")
        self.to("cancelled", error=StudioError("It was stopped."))


class FakeAccounts:
    """Accounts of which the test says everything."""

    def __init__(self) -> None:
        self.keeping: VaultKind = "keyring"
        self.refusal: StudioError | None = None
        self.passphrase: Any = None
        self.known: Account | None = None
        self.told: list[Any] = []
        self.problem: StudioError | None = None

    def keep_in(self, keeping: VaultKind) -> None:
        self.keeping, self.refusal = keeping, None

    async def unlock(self) -> None:
        self.told.append("unlock")

    async def place(self, config: ServerConfig) -> str:
        if self.refusal is not None:
            raise self.refusal
        places = {"memory": "memory, until the studio ends", "file": "the encrypted file /s"}
        return places.get(self.keeping, "the Secret Service keyring")

    async def token(self, config: ServerConfig) -> str:
        self.told.append("token")
        return "eyJ-the-token-itself"

    async def forget(self, server: str, *, client: bool = False) -> None:
        self.told.append(("forget", client))
        self.known = None

    # What the studio does with them

    async def account(self, server: str) -> Account | None:
        return self.known

    async def refresh(self, server: str) -> Account:
        if self.problem is not None:
            raise self.problem
        self.told.append("refresh")
        self.known = account(scopes=("renewed",))
        return self.known

    async def sign_out(self, server: str) -> str:
        self.told.append("sign out")
        self.known = None
        return "The access token and the refresh token are revoked."


def remote(name: str = "github", *, insecure: bool = False) -> ServerConfig:
    return ServerConfig(name, url="https://api.example.com/mcp", enabled=False, tls=Tls(insecure=insecure))


def following() -> AuthExchange:
    request = 'content-type: application/json\n\n{"client_name": "mcp-studio"}'
    return AuthExchange(1, "registers us", "POST", "https://auth.example/register", request, 0, "", 0.0)


class SignInStage(Stage):
    """A stage with a fake behind the sign-in."""

    runs: list[FakeSignIn]
    accounts: FakeAccounts

    @property
    def run(self) -> FakeSignIn:
        return self.runs[-1]

    async def begin(self, *, step_by_step: bool = False) -> FakeSignIn:
        """Open the dialog and begin."""
        count = len(self.runs)
        sign_in(self.app, "github")
        dialog = await self.dialog(SignInDialog)
        await (dialog.run_action("step_by_step") if step_by_step else self.press("enter"))
        await self.until(lambda: len(self.runs) > count, "a sign-in")
        await self.pilot.pause()
        return self.run


@asynccontextmanager
async def signing(
    monkeypatch: pytest.MonkeyPatch, *servers: ServerConfig, size: tuple[int, int] = (120, 36)
) -> AsyncGenerator[SignInStage]:
    accounts, runs = FakeAccounts(), list[FakeSignIn]()

    def begun(signing: Begun, server: str, **more: Any) -> FakeSignIn:
        runs.append(FakeSignIn(server, step_by_step=more.get("step_by_step", False)))
        return runs[-1]

    async def known(signing: Begun, server: str) -> Any:
        return await accounts.account(server)

    monkeypatch.setattr(Begun, "accounts", accounts, raising=False)
    monkeypatch.setattr(Begun, "sign_in", begun, raising=False)
    monkeypatch.setattr(Begun, "running", lambda _, server: runs[-1] if runs and not runs[-1].over else None)
    monkeypatch.setattr(Begun, "account", known, raising=False)
    monkeypatch.setattr(Begun, "refresh", lambda _, server: accounts.refresh(server), raising=False)
    monkeypatch.setattr(Begun, "forget", lambda _, server, **more: accounts.forget(server, **more), raising=False)
    monkeypatch.setattr(Begun, "sign_out", lambda _, server: accounts.sign_out(server), raising=False)
    async with on_stage(*(servers or (remote(),)), size=size) as stage:
        stage.__class__ = SignInStage
        assert isinstance(stage, SignInStage)
        stage.runs, stage.accounts = runs, accounts
        yield stage
