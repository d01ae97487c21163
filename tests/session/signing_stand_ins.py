"""A protected MCP server, and stand-ins for everything that signs in: what a studio does around them is tested."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mcp_studio.auth.access import Ask, SignInRequest
from mcp_studio.auth.signin import FINAL
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import SignInNeeded, StudioError
from mcp_studio.signal import Signal
from mcp_studio.transport.base import HeaderList, RefusedRequest, Tap
from tests.servers.auth_mcp import answer
from tests.servers.http_raw import RawServer, Reply, Request

CHALLENGE = 'Bearer resource_metadata="https://x.example/prm", scope="notes"'


class Protected(RawServer):
    """Lets in only requests with the token of this moment; without one everything is open."""

    def __init__(self, token: str = "") -> None:
        super().__init__(self._serve_one)
        self.token = token

    async def __aenter__(self) -> Protected:
        await super().__aenter__()
        return self

    async def _serve_one(self, request: Request, reply: Reply) -> None:
        if self.token and request.headers.get("authorization") != f"Bearer {self.token}":
            return await reply.body("401 Unauthorized", b"{}", f"WWW-Authenticate: {CHALLENGE}")
        if request.method != "POST":
            return await reply.body("405 Method Not Allowed", b"")
        message = await answer(request.json, "")
        await (reply.accepted() if message is None else reply.body("200 OK", json.dumps(message).encode()))


class StandInSignIn:
    """A `SignIn` that waits until a test says how it ends."""

    def __init__(self, accounts: StandIn, config: ServerConfig, how: dict[str, Any]) -> None:
        self.server = config.name
        self.how = how
        self.state = "browser"
        self.changed: Signal[Any] = Signal()
        self.error: StudioError | None = None
        self._accounts = accounts
        self._end = asyncio.Event()
        self.runs = 0

    @property
    def over(self) -> bool:
        return self.state in FINAL

    async def run(self) -> None:
        self.runs += 1
        await self._end.wait()

    def finish(self, state: str = "done") -> None:
        """It comes to its end."""
        self.state = state
        if state == "done":
            self._accounts.signed_in = True
        self._end.set()
        self.changed.emit(self)

    def cancel(self) -> None:
        if not self.over:
            self.finish("cancelled")


class StandInAccess:
    """Sends the token once somebody has signed in; asks where it is refused."""

    def __init__(self, accounts: StandIn, config: ServerConfig, ask: Ask | None) -> None:
        self._accounts, self._config, self._ask = accounts, config, ask

    @property
    def present(self) -> bool:
        return self._accounts.signed_in

    async def lines(self, method: str, url: str) -> HeaderList:
        if self._accounts.renewing is not None:
            await self._accounts.renewing.wait()
        return [("Authorization", f"Bearer {self._accounts.token}")] if self.present else []

    def seen(self, url: str, headers: object) -> None: ...

    async def refused(self, refused: RefusedRequest) -> bool:
        def sign_in(step_by_step: bool = False) -> StandInSignIn:
            return self._accounts.made(self._config, {"step_by_step": step_by_step})

        self._accounts.refusals += 1  # it is asked in the same moment
        request = SignInRequest("It wants to know who you are.", ("notes",), sign_in)  # type: ignore[arg-type]
        if self._ask is not None and await self._ask(request):
            return True
        error = SignInNeeded("It wants to know who you are.")
        error.challenge = CHALLENGE  # type: ignore[attr-defined]
        raise error


class StandIn:
    """In place of `auth.accounts.Accounts`."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.signed_in = False
        self.renewing: asyncio.Event | None = None
        """Getting the token takes until this is set."""
        self.sign_ins: list[StandInSignIn] = []
        self.told: list[str] = []
        self.refusals = 0

    def access(self, config: ServerConfig, tap: Tap, ask: Ask | None) -> StandInAccess:
        return StandInAccess(self, config, ask)

    def made(self, config: ServerConfig, how: dict[str, Any]) -> StandInSignIn:
        self.sign_ins.append(StandInSignIn(self, config, how))
        return self.sign_ins[-1]

    def sign_in(
        self, config: ServerConfig, tap: Tap, *, scopes: Sequence[str], challenge: str, step_by_step: bool
    ) -> StandInSignIn:
        return self.made(config, {"scopes": tuple(scopes), "challenge": challenge, "step_by_step": step_by_step})

    async def sign_out(self, config: ServerConfig, tap: Tap) -> str:
        self.signed_in = False
        return "The token was revoked."

    async def settle(self, seconds: float) -> None: ...

    async def forget(self, config: ServerConfig, *, client: bool = False) -> None:
        self.signed_in = False
        self.told.append(f"forget {config.name} {client}")


def put_in_place(monkeypatch: pytest.MonkeyPatch, token: str = "let-me-in") -> StandIn:
    """Every studio has this stand-in from now on."""
    accounts = StandIn(token)
    make: Callable[..., Any] = lambda *_, **__: accounts  # noqa: E731
    monkeypatch.setattr("mcp_studio.auth.accounts.Accounts", make)
    return accounts
