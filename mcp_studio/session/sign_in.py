"""Sign-ins of the studio: tasks, one per server, started by a person or demanded by a call.

Nobody is asked while a server connects: its state becomes `needs_auth`, and a person starts the sign-in. On a ready
connection, a refused request puts one question into the inbox, which all waiting requests share.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from mcp_studio.config.model import Sandbox, ServerConfig, Settings
from mcp_studio.errors import UsageError
from mcp_studio.limits import Limits
from mcp_studio.record import record
from mcp_studio.sandbox import walls
from mcp_studio.session.connection import Connection
from mcp_studio.session.inbox import Inbox, InputRequest
from mcp_studio.session.state import Spawn, until
from mcp_studio.transport.base import Credentials, MakeHeaders, Tap, Transport

if TYPE_CHECKING:
    from mcp_studio.auth.access import SignInRequest
    from mcp_studio.auth.accounts import Accounts, Browser
    from mcp_studio.auth.model import Account
    from mcp_studio.auth.signin import SignIn
    from mcp_studio.paths import Paths
    from mcp_studio.redact import Redactor
    from mcp_studio.session.manager import ConnectionManager
    from mcp_studio.session.supervisor import Supervisor
    from mcp_studio.trace.server_tap import ServerTap
    from mcp_studio.transport.headers import HeaderFunction, HeadersCommand


def make_transport(
    config: ServerConfig, limits: Limits, tap: Tap, access: Credentials | None = None, make: MakeHeaders | None = None
) -> Transport:
    """The unopened transport of a configuration; `access` and `make` give credentials and headers over HTTP."""
    if config.kind == "stdio":
        from mcp_studio.transport.stdio import StdioTransport

        # The first use of a sandbox tests its tool, which takes a moment.
        return StdioTransport(config, limits, tap, partial(walls.argv, config) if config.sandbox != Sandbox() else None)
    # HTTP costs 70 ms to import, which a studio with local servers alone does not pay.
    from mcp_studio.transport.edge import Edge

    edge = Edge(config, limits, tap, access)
    edge.make = make
    if config.kind == "sse":
        from mcp_studio.transport.http_sse import SseTransport

        return SseTransport(config, limits, tap, edge)
    if config.kind == "websocket":
        from mcp_studio.transport.websocket import WebSocketTransport

        return WebSocketTransport(config, limits, tap, edge)
    from mcp_studio.transport.http import HttpTransport

    return HttpTransport(config, limits, tap, edge)


def make_accounts(settings: Settings, paths: Paths, redactor: Redactor, browser: Browser | None) -> Accounts:
    """The accounts of all servers; `browser` opens the page of a sign-in for the person."""
    from mcp_studio.auth.accounts import Accounts

    return Accounts(settings, paths, settings.limits, redactor, browser=browser)


@record(eq=False)
class _Question:
    """A question in the inbox, and the number of requests that wait for its answer."""

    request: InputRequest
    answer: asyncio.Task[bool]
    waiters: int = 0


class SignInManager:
    """All sign-ins of one studio.

    Args:
        make_accounts: makes `accounts` at the first need, because a studio with local servers never signs in.
        can_ask: whether a person can answer the question.
        spawn: starts a task of the studio.
    """

    def __init__(self, make_accounts: Callable[[], Accounts], inbox: Inbox, *, can_ask: bool, spawn: Spawn) -> None:
        self._make_accounts = make_accounts
        self._accounts: Accounts | None = None
        self._inbox = inbox
        self._can_ask = can_ask
        self._spawn = spawn
        self._running: dict[str, SignIn] = {}
        self._questions: dict[str, _Question] = {}
        self._declined: dict[str, Connection] = {}
        self._commands: dict[str, HeadersCommand] = {}
        self.headers: dict[str, HeaderFunction | None] = {}
        """Functions of an embedding program that make the headers of requests, by server."""

    @property
    def accounts(self) -> Accounts:
        """The accounts of all servers, and operations on them."""
        if self._accounts is None:
            self._accounts = self._make_accounts()
        return self._accounts

    def share(self, other: SignInManager) -> None:
        """Use the accounts of another studio."""
        self._make_accounts, self.headers = lambda: other.accounts, other.headers

    @property
    def unsaved(self) -> tuple[str, ...]:
        """Sentences on data that will be lost with this process, because it could not be stored."""
        return self._accounts.unsaved if self._accounts else ()

    def attach(self, manager: ConnectionManager) -> None:
        """Set the servers. A sign-in ends when its server is removed or gets another entry."""
        self._manager = manager
        manager.changed.connect(lambda name: None if self._supervisor(name) else self.cancel(name))

    def running(self, server: str) -> SignIn | None:
        """The running sign-in of a server, or None."""
        found = self._running.get(server)
        return found if found is not None and not found.over else None

    def transport(self, config: ServerConfig, limits: Limits, tap: ServerTap) -> Transport:
        """An unopened transport with its credentials."""
        credentials: Credentials | None = None
        if config.signs_in:
            credentials = self.accounts.access(config, tap, lambda request: self._ask(config, tap, request))
        make: MakeHeaders | None = None
        if config.url and (functions := self._functions(config)):
            from mcp_studio.transport.headers import make_headers

            make = partial(make_headers, config, functions, self._manager.redactor.learn)
        return make_transport(config, limits, tap, credentials, make)

    def _functions(self, config: ServerConfig) -> list[HeaderFunction]:
        """The functions that make the headers of a server's requests; later ones override earlier ones."""
        given = self.headers.get(config.name)
        functions = [given] if given is not None else []
        if not config.headers_command:
            return functions
        from mcp_studio.transport.headers import HeadersCommand

        command = self._commands.get(config.name)
        known = command is not None and replace(command.config, transport=config.transport) == config
        if command is None or not known or command.until == math.inf:
            command = self._commands[config.name] = HeadersCommand(config, self._manager.limits, self._spawn)
        return [command, *functions]

    # ------------------------------------------------------------------ sign-ins that a call demands

    async def _ask(self, config: ServerConfig, tap: ServerTap, request: SignInRequest) -> bool:
        """Whether a person has signed in now; nobody is asked before the connection is ready."""
        name, supervisor = config.name, self._supervisor(config.name)
        connection = supervisor.connection if supervisor is not None and supervisor.tap is tap else None
        if not self._can_ask or supervisor is None or connection is None:
            return False
        if not supervisor.calls and self._declined.get(name) is connection:
            return False  # nobody waits for it: streams and lists that are read again do not ask twice
        connection.pause()
        tap.person_asked()
        question = self._questions.get(name) or self._put(config, supervisor, request)
        question.waiters += 1
        try:
            agreed = await asyncio.shield(question.answer)
        finally:
            connection.resume()
            question.waiters -= 1
            if not question.waiters:  # the last waiter withdraws the question
                question.answer.cancel()
                del self._questions[name]
        if agreed:
            self._declined.pop(name, None)
        else:
            self._declined[name] = connection
        return agreed

    def _put(self, config: ServerConfig, supervisor: Supervisor, request: SignInRequest) -> _Question:
        def begin(step_by_step: bool = False) -> SignIn:
            return self._begin(config, lambda: request.sign_in(step_by_step=step_by_step))

        asked = InputRequest(
            "sign_in", config.name, request.reason, subject=supervisor.calls[-1] if supervisor.calls else "",
            reasons=(f"It would ask for: {' '.join(request.scopes)}",) if request.scopes else (), sign_in=begin,
        )  # fmt: skip
        supervisor.tap.note(f"you are asked to sign in: {request.reason}")
        answer = asyncio.get_running_loop().create_task(self._answer(config.name, asked))
        self._questions[config.name] = _Question(asked, answer)
        return self._questions[config.name]

    async def _answer(self, name: str, request: InputRequest) -> bool:
        answer = await self._inbox.ask(request)
        running = self.running(name)
        if answer.by and running is not None:  # nobody answered, but a sign-in is running
            return await _over(running)
        return answer.action == "accept"

    # ------------------------------------------------------------------ sign-ins that a person starts

    async def account(self, server: str) -> Account | None:
        """The account of a server; None where there is none.

        Raises:
            StudioError: stored data cannot be read.
        """
        return await self.accounts.account(self.config(server))

    async def refresh(self, server: str) -> Account:
        """Renew the token now.

        Raises:
            StudioError: the token cannot be renewed; `SignInNeeded` where a person has to sign in.
        """
        return await self.accounts.refresh(self.config(server), self.tap(server))

    def sign_in(self, server: str, *, scopes: Sequence[str] = (), step_by_step: bool = False) -> SignIn:
        """Start the sign-in to a server, or return the running one.

        It runs as a task of the studio; once it is done the server is connected, or continues.

        Raises:
            UsageError: there is no such server, or it is a local program.
        """
        config = self.config(server)
        question = self._questions.get(server)
        if question is not None and question.request.sign_in is not None and not scopes:
            return question.request.sign_in(step_by_step)
        supervisor = self._supervisor(server)
        challenge = str(getattr(supervisor.status.error, "challenge", "")) if supervisor is not None else ""
        return self._begin(
            config,
            lambda: self.accounts.sign_in(
                config, self.tap(server), scopes=scopes, challenge=challenge, step_by_step=step_by_step
            ),
        )

    def config(self, server: str) -> ServerConfig:
        """The entry of a server with sign-in.

        Raises:
            UsageError: there is no such server, or it is a local program.
        """
        config = self._manager.config(server)
        if config.kind == "stdio":
            raise UsageError(
                f"{server} is a program: nobody signs in to it.", hint="It gets its credentials by `env` of its entry."
            )
        return config

    def tap(self, server: str) -> ServerTap:
        """The tap that records the exchanges of a sign-in."""
        return self._manager.supervisor(server).tap

    def _begin(self, config: ServerConfig, make_sign_in: Callable[[], SignIn]) -> SignIn:
        if (running := self.running(config.name)) is not None:
            return running
        sign_in = make_sign_in()
        self._running[config.name] = sign_in
        self._spawn(self._run(sign_in, config.name))
        return sign_in

    async def _run(self, sign_in: SignIn, name: str) -> None:
        try:
            await sign_in.run()
        finally:
            if self._running.get(name) is sign_in:
                del self._running[name]
        supervisor = self._supervisor(name)
        if supervisor is not None:
            supervisor.tap.note(f"sign-in {sign_in.state}{f': {sign_in.error.message}' if sign_in.error else ''}")
        if sign_in.state != "done":
            return
        if (question := self._questions.get(name)) is not None:
            question.request.answer("accept")
        if supervisor is not None and supervisor.connection is None and supervisor.status.state != "connecting":
            supervisor.start()

    # ------------------------------------------------------------------ ends

    async def sign_out(self, server: str) -> str:
        """Revoke the tokens if the server offers it, and forget them; returns a sentence on what happened.

        A connection that used the tokens ends and is opened again without them.
        """
        text = await self.accounts.sign_out(self.config(server), self.tap(server))
        self.end(server)
        return text

    async def forget(self, server: str, *, client: bool = False) -> None:
        """Forget the tokens without revoking them; with `client` also our registration at the authorization server."""
        await self.accounts.forget(self.config(server), client=client)
        self.end(server)

    def cancel(self, server: str) -> None:
        """Cancel the running sign-in; nothing is stored."""
        if (found := self._running.get(server)) is not None:
            found.cancel()

    def end(self, server: str) -> None:
        """Cancel a sign-in and reconnect the server, because its credentials have changed."""
        self.cancel(server)
        supervisor = self._supervisor(server)
        if supervisor is not None and supervisor.connection is not None:
            supervisor.restart()

    def close(self) -> None:
        """Cancel all running sign-ins."""
        for server in tuple(self._running):
            self.cancel(server)

    async def settle(self, seconds: float) -> None:
        """Wait until tokens have been renewed and stored, because unstored ones would be lost."""
        ending = [asyncio.create_task(_over(sign_in)) for sign_in in self._running.values()]
        if ending:
            await asyncio.wait(ending, timeout=seconds)
        if self._accounts is not None:
            await self._accounts.settle(seconds)

    def _supervisor(self, name: str) -> Supervisor | None:
        return self._manager.supervisor(name) if name in self._manager.names() else None


async def _over(sign_in: SignIn) -> bool:
    """Wait until a sign-in has ended; returns whether it succeeded."""
    await until(lambda: sign_in.over, sign_in.changed)
    return sign_in.state == "done"
