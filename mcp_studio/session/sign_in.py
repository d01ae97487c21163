"""Sign-ins as the studio runs them: tasks of its own, one per server, begun by a person or asked for by a call.

While a server is being connected nobody is asked: its state becomes `needs_auth`, and a person begins. On a connection
that is ready a request that is refused puts one question into the inbox, shared by all that wait for it.
"""

from __future__ import annotations

import asyncio
import math
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from mcp_studio.auth.model import see_to
from mcp_studio.config.model import Sandbox, ServerConfig
from mcp_studio.errors import SignInNeeded, StudioError, UsageError
from mcp_studio.limits import Limits
from mcp_studio.record import record
from mcp_studio.sandbox import walls
from mcp_studio.session.connection import Connection
from mcp_studio.session.inbox import Inbox, InputRequest
from mcp_studio.session.state import Spawn
from mcp_studio.transport.base import Credentials, MakeHeaders, Tap, Transport

if TYPE_CHECKING:
    from mcp_studio.auth.access import SignInRequest
    from mcp_studio.auth.accounts import Accounts
    from mcp_studio.auth.model import Account
    from mcp_studio.auth.signin import SignIn
    from mcp_studio.session.manager import ConnectionManager
    from mcp_studio.session.supervisor import Supervisor
    from mcp_studio.trace.server_tap import ServerTap
    from mcp_studio.transport.headers import HeaderFunction, HeadersCommand

_SCOPE = re.compile(r'\bscope="([\x20\x21\x23-\x5b\x5d-\x7e]{1,500})"')
"""Of a challenge (RFC 6750 3)."""
_SAME = " requires you to sign in."
"""End of the reason where a server has said nothing more."""
_TOKENS = re.compile(r"\b(bearer|dpop)\b", re.IGNORECASE)
"""The schemes for which signing in gets something; Basic and others want what a person has."""


def command(config: ServerConfig, challenge: str = "") -> str:
    """The command line that signs in to a server, with the scopes that a challenge says are missing."""
    missing = _SCOPE.search(challenge[:4_096]) if "insufficient_scope" in challenge[:4_096] else None
    scope = f" --scope {shlex.quote(missing[1])}" if missing else ""
    if config.source.origin == "argument":
        return f"mcp-studio auth login --url {shlex.quote((config.written or config).url)}{scope}"
    file = f" --config {shlex.quote(config.source.file)}" if config.source.origin == "file" else ""
    return f"mcp-studio auth login {shlex.quote(config.name)}{file}{scope}"


def why_nobody(config: ServerConfig) -> str:
    """Why no person signs in to a server; empty where one does."""
    if config.signs_in:
        return f"by itself ({config.auth.kind})" if config.auth.alone else ""
    given = "by its headers_command" if config.headers_command else "by credentials that stand in its entry"
    return 'never (kind = "none")' if config.auth.kind == "none" else given


def client_needed(sign_in: SignIn, finish: str) -> SignInNeeded:
    """The error of a sign-in that a client id is missing for; `finish` is the command line that goes on with it."""
    from mcp_studio.auth.model import port_kept

    redirect = sign_in.redirect_uri
    keeps = f" ({kept})" if (kept := port_kept(redirect)) else ""
    where = f", with the redirect {redirect}{keeps}" if redirect else ""
    hint = f"Register one there by hand{where}: {finish} --client-id ID, and --client-secret - for its secret."
    return SignInNeeded(f"A client id is needed: {sign_in.client_reason}", hint=hint)


def nobody_is_here(sign_in: SignIn, finish: str) -> SignInNeeded:
    """The error of a sign-in whose page nobody can see; its detail has the `url` of that."""
    notes = " ".join(
        step.hint for step in sign_in.steps if step.state in ("waiting", "running", "asking") and step.hint
    )
    return SignInNeeded(
        f"Nobody is here who could sign in to {sign_in.server}: there is no terminal, and no browser that "
        f"could open the page. {notes}".rstrip(),
        hint=f"Open the address in a browser; it ends on one that begins with {sign_in.redirect_uri}. Give that "
        f"on standard input within 15 minutes: {finish} --redirect - "
        f"If the page does not know the client: {finish.replace('auth login', 'auth forget', 1)} --client",
        detail={"url": sign_in.authorization_url},
    )


def add_hint(error: StudioError, config: ServerConfig) -> None:
    """Have an error say what helps, such as the command that signs in; one that says more stays as it is."""
    challenge = str(getattr(error, "challenge", ""))
    if challenge and not _TOKENS.search(challenge[:4_096]):
        return
    if error.exit_code == 3 and (challenge or not error.hint) and config.signs_in:
        error.hint = see_to(config.name) if config.auth.alone else f"Sign in: {command(config, challenge)}"
        if isinstance(error, SignInNeeded):
            error.by_login = not config.auth.alone


def wants(server: str, reason: str, *, how: str = "") -> str:
    """That a server needs a sign-in, and why; a reason that says the same of its address adds nothing. Foreign text."""
    head = f"{server} requires you to sign in{how}"
    return f"{head}: {reason}" if adds(reason) else f"{head}."


def adds(reason: str) -> bool:
    """Whether a reason says more than that a sign-in is wanted."""
    return bool(reason) and not reason.endswith(_SAME)


def make_transport(
    config: ServerConfig, limits: Limits, tap: Tap, access: Credentials | None = None, make: MakeHeaders | None = None
) -> Transport:
    """The transport that a configuration asks for, not opened yet; what gives credentials is for one over HTTP."""
    if config.kind == "stdio":
        from mcp_studio.transport.stdio import StdioTransport

        # The first use of a wall tries its tool, which takes a moment.
        return StdioTransport(config, limits, tap, partial(walls.argv, config) if config.sandbox != Sandbox() else None)
    # HTTP costs 70 ms to import, which a studio of child processes does not pay.
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


@record(eq=False)
class _Question:
    """One question in the inbox, and how many wait for its answer."""

    request: InputRequest
    answer: asyncio.Task[bool]
    waiters: int = 0


class SignInManager:
    """All sign-ins of one studio.

    Args:
        make_accounts: makes `accounts` when they are first needed: a studio of programs never signs in.
        can_ask: whether anybody can answer the question.
        spawn: starts a task of the studio.
    """

    def __init__(self, make_accounts: Callable[[], Accounts], inbox: Inbox, *, can_ask: bool, spawn: Spawn) -> None:
        self._make_accounts = make_accounts
        self._accounts: Accounts | None = None
        self._inbox = inbox
        self._can_ask = can_ask
        self._spawn = spawn
        self._manager: ConnectionManager | None = None
        self._running: dict[str, SignIn] = {}
        self._questions: dict[str, _Question] = {}
        self._declined: dict[str, Connection] = {}
        self._commands: dict[str, HeadersCommand] = {}
        self.headers: dict[str, HeaderFunction | None] = {}
        """What an embedding program makes the headers of requests with, by server."""

    @property
    def accounts(self) -> Accounts:
        """What is known of sign-ins, and all that can be done with them."""
        if self._accounts is None:
            self._accounts = self._make_accounts()
        return self._accounts

    def share(self, other: SignInManager) -> None:
        """Use the accounts of another studio."""
        self._make_accounts, self.headers = lambda: other.accounts, other.headers

    @property
    def unsaved(self) -> tuple[str, ...]:
        """What is lost when this process ends, as it could not be stored: sentences."""
        return self._accounts.unsaved if self._accounts else ()

    def attach(self, manager: ConnectionManager) -> None:
        """These are the servers. A sign-in ends when its server goes, or gets another entry."""
        self._manager = manager
        manager.changed.connect(lambda name: None if self._supervisor(name) else self.cancel(name))

    def running(self, server: str) -> SignIn | None:
        """The sign-in that is under way."""
        found = self._running.get(server)
        return found if found is not None and not found.over else None

    def transport(self, config: ServerConfig, limits: Limits, tap: ServerTap) -> Transport:
        """A transport, not opened yet, with the credentials for it."""
        credentials: Credentials | None = None
        if config.signs_in:
            credentials = self.accounts.access(config, tap, lambda request: self._ask(config, tap, request))
        make: MakeHeaders | None = None
        if config.url and self._manager is not None and (functions := self._functions(config)):
            from mcp_studio.transport.headers import make_headers

            make = partial(make_headers, config, functions, self._manager.redactor.learn)
        return make_transport(config, limits, tap, credentials, make)

    def _functions(self, config: ServerConfig) -> list[HeaderFunction]:
        """What makes the headers of a server's requests, the later over the earlier."""
        given = self.headers.get(config.name)
        functions = [given] if given is not None else []
        if not config.headers_command:
            return functions
        from mcp_studio.transport.headers import HeadersCommand

        command = self._commands.get(config.name)
        known = command is not None and replace(command.config, transport=config.transport) == config
        if command is None or not known or command.until == math.inf:
            command = self._commands[config.name] = HeadersCommand(config)
        return [command, *functions]

    # ------------------------------------------------------------------ a call needs it

    async def _ask(self, config: ServerConfig, tap: ServerTap, request: SignInRequest) -> bool:
        """Whether somebody has signed in; nobody is asked before the connection is ready."""
        name, supervisor = config.name, self._supervisor(config.name)
        connection = supervisor.connection if supervisor is not None and supervisor.tap is tap else None
        if not self._can_ask or supervisor is None or connection is None:
            return False
        if not supervisor.calls and self._declined.get(name) is connection:
            return False  # nobody waits for it: streams and lists that are read again do not ask once more
        connection.pause()
        tap.person_asked()
        question = self._questions.get(name) or self._put(config, supervisor, request)
        question.waiters += 1
        try:
            agreed = await asyncio.shield(question.answer)
        finally:
            connection.resume()
            question.waiters -= 1
            if not question.waiters:  # who leaves last takes the question back
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
        if answer.by and running is not None:  # nobody has answered, but somebody is at it
            return await _over(running)
        return answer.action == "accept"

    # ------------------------------------------------------------------ a person begins

    async def account(self, server: str) -> Account | None:
        """What is known of a server's sign-in; None where there is none.

        Raises:
            StudioError: what is kept cannot be read.
        """
        return await self.accounts.account(self.config(server))

    async def refresh(self, server: str) -> Account:
        """Renew the token now.

        Raises:
            StudioError: why it cannot be; `SignInNeeded` where a person has to sign in.
        """
        return await self.accounts.refresh(self.config(server), self.tap(server))

    def sign_in(self, server: str, *, scopes: Sequence[str] = (), step_by_step: bool = False) -> SignIn:
        """Sign in to a server; the one that is under way where there is one.

        It runs as a task of the studio, and once it is done the server is connected, or goes on.

        Raises:
            UsageError: there is no such server, or it is a program.
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
        """Where the exchanges of signing in to a server are recorded."""
        assert self._manager is not None
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
        """Revoke the tokens where that is offered and forget them in any case; what happened, in words.

        A connection that used them ends, and is made anew without.
        """
        text = await self.accounts.sign_out(self.config(server), self.tap(server))
        self.end(server)
        return text

    async def forget(self, server: str, *, client: bool = False) -> None:
        """Forget the tokens without telling anybody; with `client` also who we are at the authorization server."""
        await self.accounts.forget(self.config(server), client=client)
        self.end(server)

    def cancel(self, server: str) -> None:
        """End the sign-in that is under way; nothing of it is stored."""
        if (found := self._running.get(server)) is not None:
            found.cancel()

    def end(self, server: str) -> None:
        """What a server is used with has changed: a sign-in ends, and a connection is made anew."""
        self.cancel(server)
        supervisor = self._supervisor(server)
        if supervisor is not None and supervisor.connection is not None:
            supervisor.restart()

    def close(self) -> None:
        """End what is under way."""
        for server in tuple(self._running):
            self.cancel(server)

    async def settle(self, seconds: float) -> None:
        """Wait for tokens that are being renewed or kept: what is not kept when we end is lost."""
        ending = [asyncio.create_task(_over(sign_in)) for sign_in in self._running.values()]
        if ending:
            await asyncio.wait(ending, timeout=seconds)
        if self._accounts is not None:
            await self._accounts.settle(seconds)

    def _supervisor(self, name: str) -> Supervisor | None:
        if self._manager is None or name not in self._manager.names():
            return None
        return self._manager.supervisor(name)


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
