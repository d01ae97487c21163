"""Sign-ins as the studio runs them: tasks of its own, one per server, begun by a person or asked for by a call.

While a server is being connected nobody is asked: its state becomes `needs_auth`, and a person begins. On a connection
that is ready a request that is refused puts one question into the inbox, shared by all that wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from mcp_studio.config.model import ServerConfig, Settings
from mcp_studio.errors import UsageError
from mcp_studio.limits import Limits
from mcp_studio.paths import Paths
from mcp_studio.redact import Redactor
from mcp_studio.session import late
from mcp_studio.session.inbox import Inbox, InputRequest
from mcp_studio.session.signer import Clock, Signer, asked_for
from mcp_studio.session.state import Spawn
from mcp_studio.transport.base import Credentials, Transport
from mcp_studio.transport.make import make

if TYPE_CHECKING:
    from mcp_studio.auth.access import SignInRequest
    from mcp_studio.auth.accounts import Accounts
    from mcp_studio.auth.model import Account
    from mcp_studio.auth.signin import SignIn
    from mcp_studio.session.connection import Connection
    from mcp_studio.session.manager import ConnectionManager
    from mcp_studio.session.supervisor import Supervisor
    from mcp_studio.trace.server_tap import ServerTap


_PERSONAL = ("", "code")
"""Kinds that need a person."""


class _Asked:
    """One question, and those who wait for its answer."""

    def __init__(self, question: InputRequest) -> None:
        self.question = question
        self.answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.waiters = 0
        self.task: asyncio.Task[None] | None = None


class Signing:
    """All sign-ins of one studio.

    Args:
        can_ask: whether anybody can answer the question.
        spawn: starts a task of the studio.
    """

    def __init__(
        self, settings: Settings, paths: Paths, redactor: Redactor, inbox: Inbox, *, can_ask: bool, spawn: Spawn
    ) -> None:
        self._settings = settings
        self._paths = paths
        self._index = paths.state / "sign-ins.json"
        self._redactor = redactor
        self._inbox = inbox
        self._can_ask = can_ask
        self._spawn = spawn
        self._manager: ConnectionManager | None = None
        self._accounts: Accounts | None = None
        self._other: Signing | None = None
        self._running: dict[str, tuple[SignIn, ServerConfig]] = {}
        self._asked: dict[str, _Asked] = {}
        self._declined: WeakValueDictionary[str, Connection] = WeakValueDictionary()

    def share(self, other: Signing) -> None:
        """Use the sign-ins of another studio: what is kept in its memory alone is good here too."""
        self._other = other

    def attach(self, manager: ConnectionManager) -> None:
        """These are the servers. A sign-in ends with its server, and when that is another one from now on."""
        self._manager = manager
        manager.changed.connect(self._check)
        manager.removed.connect(self._removed)

    @property
    def accounts(self) -> Accounts:
        """What is known of sign-ins, and all that can be done with them."""
        if self._other is not None:
            return self._other.accounts
        if self._accounts is None:
            self._accounts = late.accounts(self._settings, self._paths, self._redactor)
        return self._accounts

    @property
    def unused(self) -> bool:
        """Whether nobody has had to do with sign-ins since the studio began."""
        return self._other.unused if self._other is not None else self._accounts is None

    def running(self, server: str) -> SignIn | None:
        """The sign-in that is under way."""
        found = self._running.get(server)
        return found[0] if found is not None and not found[0].over else None

    # ------------------------------------------------------------------ on the wire

    def transport(
        self, config: ServerConfig, limits: Limits, tap: ServerTap, clock: Clock | None, spoken: str = ""
    ) -> Transport:
        """A transport, not opened yet, with the credentials for it; `spoken`: see `make`."""
        if not config.signs_in:
            return make(config, limits, tap, spoken=spoken)

        async def load() -> Credentials | None:
            await asyncio.to_thread(late.import_accounts)
            return self.accounts.access(config, tap, lambda request: self._ask(config, tap, request))

        def pointless() -> bool:
            """Nobody has ever signed in here, and the entry has no grant that needs nobody."""
            return self.unused and config.auth.kind in _PERSONAL and not self._index.exists()

        return make(config, limits, tap, Signer(load, pointless, clock), spoken)

    async def _ask(self, config: ServerConfig, tap: ServerTap, request: SignInRequest) -> bool:
        """Whether somebody has signed in; nobody is asked before the connection is ready."""
        supervisor = self._supervisor(config.name)
        connection = supervisor.connection if supervisor is not None and supervisor.tap is tap else None
        if not self._can_ask or supervisor is None or connection is None:
            return False
        if not supervisor.calls and self._declined.get(config.name) is connection:
            return False  # nobody waits for it: streams and lists that are read again do not ask once more
        connection.waiting.pause()
        tap.person_asked()
        try:
            asked = self._asked.get(config.name) or self._put(config, supervisor, request)
            if agreed := await self._join(config.name, asked):
                self._declined.pop(config.name, None)
            else:
                self._declined[config.name] = connection
            return agreed
        finally:
            connection.waiting.resume()

    def _put(self, config: ServerConfig, supervisor: Supervisor, request: SignInRequest) -> _Asked:
        def begin(step_by_step: bool = False) -> SignIn:
            return self._begin(config, lambda: request.sign_in(step_by_step=step_by_step))

        asked = _Asked(
            InputRequest(
                "sign_in", config.name, request.reason, subject=supervisor.calls[-1] if supervisor.calls else "",
                reasons=asked_for(request.scopes), sign_in=begin,
            )
        )  # fmt: skip
        self._asked[config.name] = asked
        supervisor.tap.note(f"you are asked to sign in: {request.reason}")
        asked.task = self._spawn(self._answer(config.name, asked))
        return asked

    async def _answer(self, name: str, asked: _Asked) -> None:
        agreed = False
        try:
            answer = await self._inbox.ask(asked.question)
            agreed = answer.action == "accept"
            under_way = self.running(name)
            if answer.by and under_way is not None:  # nobody has answered, but somebody is at it
                agreed = await _over(under_way)
        finally:
            self._forget(name, asked)
            if not asked.answer.done():
                asked.answer.set_result(agreed)

    async def _join(self, name: str, asked: _Asked) -> bool:
        """Wait for an answer with others; who leaves last takes the question back."""
        asked.waiters += 1
        try:
            return await asyncio.shield(asked.answer)
        finally:
            asked.waiters -= 1
            if not asked.waiters and asked.task is not None:
                self._forget(name, asked)  # who comes now is not answered by what ends
                asked.task.cancel()

    def _forget(self, name: str, asked: _Asked) -> None:
        if self._asked.get(name) is asked:
            del self._asked[name]

    # ------------------------------------------------------------------ a person begins

    def sign_in(self, server: str, *, scopes: Sequence[str] = (), step_by_step: bool = False) -> SignIn:
        """Sign in to a server; the one that is under way where there is one.

        Raises:
            UsageError: there is no such server, or it is a program.
        """
        config = self.config(server)
        if (asked := self._asked.get(server)) is not None and asked.question.sign_in is not None and not scopes:
            return asked.question.sign_in(step_by_step)
        supervisor = self._supervisor(server)
        challenge = str(getattr(supervisor.status.error, "challenge", "")) if supervisor is not None else ""

        def made() -> SignIn:
            return self.accounts.sign_in(
                config, self.tap(server), scopes=scopes, challenge=challenge, step_by_step=step_by_step
            )

        return self._begin(config, made)

    def config(self, server: str) -> ServerConfig:
        """The entry of a server that can be signed in to.

        Raises:
            UsageError: there is no such server, or it is a program.
        """
        assert self._manager is not None
        config = self._manager.config(server)
        if config.kind == "stdio":
            raise UsageError(
                f"{server} is a program: nobody signs in to it.", hint="It gets its credentials by `env` of its entry."
            )
        return config

    def tap(self, server: str) -> ServerTap:
        """Where the exchanges of signing in to a server are told."""
        assert self._manager is not None
        return self._manager.supervisor(server).tap

    def _begin(self, config: ServerConfig, made: Callable[[], SignIn]) -> SignIn:
        if (known := self.running(config.name)) is not None:
            return known
        sign_in = made()
        self._running[config.name] = sign_in, config
        self._spawn(self._run(sign_in, config.name))
        return sign_in

    async def _run(self, sign_in: SignIn, name: str) -> None:
        try:
            await sign_in.run()
        finally:
            if name in self._running and self._running[name][0] is sign_in:
                del self._running[name]
        supervisor = self._supervisor(name)
        if supervisor is not None:
            supervisor.tap.note(f"sign-in {sign_in.state}{f': {sign_in.error.message}' if sign_in.error else ''}")
        if sign_in.state == "done":
            self._done(name, supervisor)

    def _done(self, name: str, supervisor: Supervisor | None) -> None:
        """Who waits goes on; a server that is not connected is."""
        if (asked := self._asked.get(name)) is not None:
            asked.question.answer("accept")
        if supervisor is not None and supervisor.connection is None and supervisor.status.state != "connecting":
            supervisor.start()

    # ------------------------------------------------------------------ ends

    def close(self) -> None:
        """End what is under way; nothing of it is stored."""
        for sign_in, _ in tuple(self._running.values()):
            sign_in.cancel()

    async def settle(self, seconds: float) -> None:
        """Wait for tokens that are being renewed or kept: what is not kept when we end is lost."""
        ending = [asyncio.create_task(_over(sign_in)) for sign_in, _ in self._running.values()]
        if ending:
            await asyncio.wait(ending, timeout=seconds)
        if self._accounts is not None:
            await self._accounts.settle(seconds)

    def _removed(self, name: str) -> None:
        if (found := self._running.get(name)) is not None:
            found[0].cancel()

    def _check(self, name: str) -> None:
        """A server of the same name at another address, or with another client, is another one."""
        found, supervisor = self._running.get(name), self._supervisor(name)
        if found is not None and supervisor is not None and _identity(found[1]) != _identity(supervisor.config):
            found[0].cancel()

    def _supervisor(self, name: str) -> Supervisor | None:
        if self._manager is None or name not in self._manager.names():
            return None
        return self._manager.supervisor(name)


def _identity(config: ServerConfig) -> tuple[object, ...]:
    return config.url, config.auth, config.tls


async def _over(sign_in: SignIn) -> bool:
    """Wait until a sign-in has come to its end; whether it did what it should."""
    over = asyncio.Event()
    disconnect = sign_in.changed.connect(lambda changed: over.set() if changed.over else None)
    try:
        if not sign_in.over:
            await over.wait()
    finally:
        disconnect()
    return sign_in.state == "done"


class SignIns:
    """The half of `Studio` that signs in and out; every method takes the name of a server at a URL.

    Raises:
        UsageError: there is no such server, or it is a program.
    """

    signing: Signing
    manager: ConnectionManager

    @property
    def accounts(self) -> Accounts:
        """What is known of sign-ins, of servers that are configured and of others."""
        return self.signing.accounts

    def sign_in(self, server: str, *, scopes: Sequence[str] = (), step_by_step: bool = False) -> SignIn:
        """Sign in; it runs as a task of the studio, and once it is done the server is connected, or goes on.

        There is one at a time: where one is under way, it is given.
        """
        return self.signing.sign_in(server, scopes=scopes, step_by_step=step_by_step)

    async def account(self, server: str) -> Account | None:
        """What is known of a server's sign-in; None where there is none.

        Raises:
            StudioError: what is kept cannot be read.
        """
        return await self.accounts.account(self.signing.config(server))

    async def refresh_token(self, server: str) -> Account:
        """Renew the token now.

        Raises:
            StudioError: why it cannot be; `SignInNeeded` where a person has to sign in.
        """
        return await self.accounts.refresh(self.signing.config(server), self.signing.tap(server))

    async def sign_out(self, server: str) -> str:
        """Revoke the tokens where that is offered and forget them in any case; what happened, in words.

        A connection that used them ends, and is made anew without.
        """
        told = await self.accounts.sign_out(self.signing.config(server), self.signing.tap(server))
        self._anew(server)
        return told

    async def forget_sign_in(self, server: str, *, client: bool = False) -> None:
        """Forget the tokens without telling anybody; with `client` also who we are at the authorization server."""
        await self.accounts.forget(self.signing.config(server), client=client)
        self._anew(server)

    def _anew(self, server: str) -> None:
        if (sign_in := self.signing.running(server)) is not None:
            sign_in.cancel()
        if server in self.manager.names() and self.manager.supervisor(server).connection is not None:
            self.manager.restart(server)
