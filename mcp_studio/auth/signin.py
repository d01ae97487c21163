"""One sign-in: its steps in order, what a front end shows of it, and the commands that a person can give."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcp_studio.auth import authorize, clients, discovery, tokens
from mcp_studio.auth.authorize import Expected, authorization_url
from mcp_studio.auth.callback import Redirects
from mcp_studio.auth.discovery import Challenge, resource_of, tidy
from mcp_studio.auth.dpop import Dpop, use
from mcp_studio.auth.fetch import Fetcher
from mcp_studio.auth.metadata import IssuerMetadata, ResourceMetadata, find_issuer, find_resource
from mcp_studio.auth.model import (
    PENDING,
    Account,
    AuthExchange,
    AuthFailed,
    AuthStep,
    Client,
    Grant,
    Pending,
    SignInState,
    StepName,
    quoted,
)
from mcp_studio.auth.tokens import Tokens
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import ConfigError, SignInNeeded, StudioError, Unreachable, UsageError
from mcp_studio.signal import Signal
from mcp_studio.threads import beside
from mcp_studio.transport.base import Tap
from mcp_studio.transport.edge import configured
from mcp_studio.transport.http_connection import ACCEPT
from mcp_studio.urls import judge

if TYPE_CHECKING:
    from mcp_studio.auth.accounts import Accounts

TITLES: dict[StepName, str] = {
    "resource": "Protected resource",
    "issuer": "Authorization server",
    "client": "Client",
    "permission": "Authorization",
    "token": "Access token",
    "stored": "Storage",
}
"""All steps, in order."""
FINAL: tuple[SignInState, ...] = ("done", "failed", "cancelled")
_PROBE = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


class SignIn:
    """A sign-in to one server: discovery, a client, a person's permission, a token, and storing the grant."""

    error: StudioError | None = None
    """Why the sign-in failed or was cancelled."""
    account: Account | None = None
    """The account that the sign-in returned; None until `state` is `done`."""
    authorization_url = ""
    """The page where a person gives permission; empty until it is known. Foreign: show it through `safetext.safe`."""
    redirect_uri = ""
    """The address to which the browser is sent back."""
    until = 0.0
    """The monotonic time at which the wait for a person ends; 0 while there is no wait."""
    next_request: AuthExchange | None = None
    """In state `paused`: the request that `go_on` sends."""
    choices: tuple[str, ...] = ()
    """In state `choosing`: the issuers of the authorization servers; foreign."""
    client_reason = ""
    """In state `client`: why a client id is needed, as a sentence."""
    started_callback = False
    """Whether a listener on this machine waits for the browser; without one only `paste` can continue."""
    opened = False
    """Whether a browser opened the page."""
    refusal = ""
    """Why the page must not be opened, or empty."""
    warnings: tuple[str, ...] = ()
    """What a person should know about the page's address before opening it."""

    def __init__(
        self,
        accounts: Accounts,
        config: ServerConfig,
        tap: Tap,
        *,
        scopes: Sequence[str] = (),
        challenge: str = "",
        step_by_step: bool = False,
        redirect_url: str = "",
        anew: bool = False,
    ) -> None:
        """Called by `Accounts.sign_in`.

        Args:
            scopes: the scopes to request besides.
            challenge: the `WWW-Authenticate` header that caused the sign-in; without one the sign-in requests it.
            step_by_step: stop before each request.
            redirect_url: continue the sign-in that was set aside, with the address that the browser was sent to.
            anew: register another client even if one is known.
        """
        config = tidy(config)
        self.server = config.name
        self.state: SignInState = "running"
        self.steps = tuple(AuthStep(name, title) for name, title in TITLES.items())
        """All steps, in order, from the start; they change in place."""
        self.changed: Signal[SignIn] = Signal()
        self.step_by_step = step_by_step
        """Whether the sign-in stops before each request."""
        self._accounts = accounts
        self._config = config
        self._scopes = tuple(scopes)
        self._challenge = challenge
        self._redirect_url = redirect_url
        self._new_client = anew
        self._store = accounts.store(config)
        self._fetcher = Fetcher(config, accounts.limits, tap, accounts.redactor, gate=self._gate, record=self._record)
        self._url = discovery.web_url(config.url)
        self._resource = resource_of(config)
        self._dpop: Dpop | None = None
        self._open_status = 0
        """The status of the server's answer to a request without credentials, if that was not 401 or 403; else 0."""
        self._unsaved = ""
        """Why the grant could not be stored and is used all the same; empty where it is stored."""
        self._step: AuthStep | None = None
        self._task: asyncio.Task[None] | None = None
        self._answer: asyncio.Future[Any] | None = None
        self._redirects: Redirects | None = None
        self._pending: Pending | None = None
        """What is needed to continue later; set while a person is in the browser."""
        self._deferred = False
        """Whether the sign-in was set aside, to be continued later."""
        self._storing = False
        """Whether storing the grant has begun: from then on the sign-in cannot be cancelled."""
        self._stopped: StudioError | None = None

    @property
    def over(self) -> bool:
        """Whether the sign-in has ended."""
        return self.state in FINAL

    async def run(self) -> None:
        """Sign in, and return when the sign-in is `over`. Cancelling the calling task cancels the sign-in."""
        if self.over or self._task is not None:
            return
        self._task = asyncio.create_task(self._work(), name=f"sign in to {self.server}")
        try:
            await self._task
        except asyncio.CancelledError:
            if self._stopped is None:
                self._end("cancelled", SignInNeeded(f"Signing in to {self.server} was cancelled."))
                raise
            self._end("cancelled", self._stopped)
        finally:  # not even a bug of ours leaves callers waiting
            self._end("failed", StudioError(f"Signing in to {self.server} broke off."))

    async def _work(self) -> None:
        try:
            grant = await (self._resume() if self._redirect_url else self._begin())
            self.account = await self._accounts.signed_in(self._config, grant, self._unsaved)
        except StudioError as problem:
            self._end("failed", problem)
        except OSError as problem:
            self._end("failed", StudioError(f"The sign-in cannot be stored: {problem.strerror or problem}."))
        else:
            self._end("done", None)

    def _end(self, state: SignInState, error: StudioError | None) -> None:
        if self.over:
            return
        for step in self.steps:
            if step.state in ("running", "asking") and self._deferred:
                step.state = "asking"  # a person can continue this step
            elif step.state in ("running", "asking"):
                step.state, step.detail = "failed", error.message if error else step.detail
            elif step.state == "waiting" and error is None:
                step.state = "skipped"
        self.state, self.error, self.until, self.next_request = state, error, 0.0, None
        self.changed.emit(self)

    # Commands of front ends.

    def go_on(self) -> None:
        """In state `paused`: send the request."""
        if self.state == "paused":
            self._reply(None)

    def run_through(self) -> None:
        """Send this and all later requests without stopping."""
        self.step_by_step = False
        self.go_on()

    def choose(self, issuer: str) -> None:
        """In state `choosing`: use this one of `choices`.

        Raises:
            UsageError: `issuer` is none of them.
        """
        if self.state != "choosing" or issuer not in self.choices:
            raise UsageError("That is not one of the authorization servers to choose from.")
        self._reply(issuer)

    def give_client(self, client_id: str, secret: str = "") -> None:
        """In state `client`: use the client that a person registered for us at the authorization server.

        Raises:
            UsageError: the id is empty or invalid.
        """
        if self.state != "client":
            raise UsageError("The sign-in does not ask for a client id.")
        client_id, secret = client_id.strip(), secret.strip()
        if not client_id or len(client_id + secret) > clients.LONGEST:
            raise UsageError("The client id is empty or too long.")
        self._reply((client_id, secret))

    def paste(self, redirect_url: str) -> None:
        """In state `browser`: accept the address that the browser was sent to and could not reach.

        Raises:
            UsageError: why the address is no redirect; the sign-in keeps waiting.
        """
        if self.state != "browser" or self._redirects is None:
            raise UsageError("The sign-in does not wait for a redirect.")
        self._redirects.paste(redirect_url)

    async def open_page(self) -> bool:
        """Open the page in the browser (again); False if there is no browser, or if `refusal` forbids it."""
        if not self.authorization_url or self.refusal or self.over:
            return False
        try:
            self.opened = await self._accounts.browser(self.authorization_url) or self.opened
        except (StudioError, OSError):
            return False
        self.changed.emit(self)
        return self.opened

    async def set_aside(self) -> None:
        """In state `browser`: store what continuing within 15 minutes needs (`redirect_url`), and end.

        Raises:
            SignInNeeded: this store does not outlive the process; the sign-in keeps waiting.
        """
        pending = self._pending
        if pending is None or self.state != "browser":
            raise UsageError("No sign-in waits for its redirect.")
        if not self._store.lasting:
            raise SignInNeeded(
                f"Nobody is here who could sign in to {self.server}, and another run cannot finish it: secrets are "
                "stored in memory only.",
                hint='Sign in on a terminal or in the studio, or set [secrets] store to "keyring" or "file".',
            )
        await self._store.save_pending(pending)
        if self.state != "browser":
            await self._store.take_pending(pending)
            raise UsageError("The browser has come back meanwhile.")
        self._deferred = True
        self._stop(SignInNeeded(f"Signing in to {self.server} waits for the address that the browser ends at."))

    def cancel(self) -> None:
        """End the sign-in without storing anything, unless the grant is already being stored. May be called twice."""
        if not self.over and not self._storing:
            self._stop(SignInNeeded(f"Signing in to {self.server} was cancelled."))

    def _stop(self, why: StudioError) -> None:
        self._stopped = why
        if self._task is None:
            self._end("cancelled", why)
        else:
            self._task.cancel()

    # What front ends show, and questions to a person.

    @contextmanager
    def _running(self, name: StepName) -> Generator[AuthStep]:
        """Run one step: it is done at the end of the block, or failed if the block raises."""
        at = list(TITLES).index(name)
        for earlier in self.steps[:at]:
            if earlier.state == "waiting":
                earlier.state = "skipped"
        step = self._step = self.steps[at]
        step.state = "running"
        self.changed.emit(self)
        try:
            yield step
            step.state = "done"
        except StudioError as problem:
            problem.hint = f"{problem.hint} {step.hint}".strip()  # the step's notes may be the reason
            step.state, step.detail, step.hint = "failed", problem.message, problem.hint
            raise
        finally:
            self.changed.emit(self)

    def _note(self, text: str) -> None:
        """Add a sentence to the running step."""
        if self._step is not None:
            self._step.hint = f"{self._step.hint} {text}".strip()
            self.changed.emit(self)

    def _record(self, exchange: AuthExchange) -> None:
        if self._step is None:
            return
        exchanges = self._step.exchanges
        if exchanges and exchanges[-1].number == exchange.number:
            exchanges.pop()
        exchanges.append(exchange)
        self.changed.emit(self)

    async def _gate(self, request: AuthExchange) -> None:
        if self.step_by_step:
            self.next_request = request
            await self._ask("paused", f"Nobody released the request ({request.purpose})")
            self.next_request = None

    def _reply(self, answer: object) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)

    async def _ask(self, state: SignInState, otherwise: str, answer: asyncio.Future[Any] | None = None) -> Any:
        """Wait for a person, for at most `limits.sign_in` seconds."""
        if answer is None:
            answer = self._answer = asyncio.get_running_loop().create_future()
        step, seconds = self._step, self._accounts.limits.sign_in
        assert step is not None
        self.state, step.state, self.until = state, "asking", time.monotonic() + seconds
        self.changed.emit(self)
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            raise AuthFailed(
                f"{otherwise} within {seconds:g} seconds.",
                hint="Sign in again; [limits] sign_in is how many seconds are waited.",
            ) from None
        finally:
            self.state, step.state, self.until = "running", "running", 0.0
            self.changed.emit(self)

    # The steps. A step that fails says why; what earlier sign-ins stored is untouched.

    async def _begin(self) -> Grant:
        auth = self._config.auth
        with self._running("resource") as step:
            if not auth.alone:
                await self._store.place()  # nobody should sign in for a grant that cannot be stored
            header = self._challenge or await self._ask_server()
            resource, step.detail = await find_resource(self._fetcher, self._url, header)
        with self._running("issuer") as step:
            issuer = await self._find_issuer(resource, step)
        binding = use(auth.dpop, header, resource, issuer)
        if binding != "no":
            self._dpop = await asyncio.to_thread(Dpop.make, required=binding == "must")
            self._accounts.redactor.learn(self._dpop.pem, f"keys for {self._resource}")
        scopes = discovery.select(
            Challenge.find(header).get("scope"),
            resource.scopes if resource else None,
            configured=(*auth.scopes, *self._scopes),
            offered=issuer.scopes,
            renewable=not auth.alone,
        )
        audience = resource.resource if resource else ""
        if not auth.alone:
            return await self._with_person(audience, issuer, scopes)
        with self._running("token") as step:
            client, answer = await tokens.obtain(
                self._fetcher, self._config, issuer, resource=audience, scopes=scopes, dpop=self._dpop
            )
            step.detail = tokens.about(answer, audience)
        return await self._stored(issuer, client, answer, audience)

    async def _resume(self) -> Grant:
        """Continue the sign-in that was set aside."""
        with self._running("issuer") as step:
            pending = await self._store.pending(self._resource, self._config.auth.whose)
            if pending is None:
                raise AuthFailed(
                    "No sign-in of this server waits for its redirect, or it waited for more than 15 minutes.",
                    hint="Start again; each one can be gone on with once.",
                )
            issuer = await find_issuer(self._fetcher, self._url, pending.issuer)
            step.detail = f"{issuer.issuer}, as before."
        with self._running("permission") as step:
            redirects = Redirects(self.server, self._note)
            redirects.uri = pending.redirect_uri
            code = redirects.expect(Expected(pending.state, issuer.issuer, issuer.sends_issuer))
            redirects.paste(self._redirect_url)  # a wrong address leaves the sign-in set aside
            if not await self._store.take_pending(pending):
                raise AuthFailed("This redirect was used before.", hint="Sign in again.")
            grant_code = await code
            step.detail = f"{issuer.issuer} gave it."
        if pending.dpop_key:
            required = pending.dpop_use == "must"
            self._dpop = await asyncio.to_thread(Dpop.load, pending.dpop_key, required=required)
        return await self._redeem(issuer, pending, grant_code)

    async def _ask_server(self) -> str:
        """The `WWW-Authenticate` header that a request without credentials brings.

        Raises:
            StudioError: the server cannot be reached.
        """
        headers = [line for line in configured(self._config) if line[0].lower() != "authorization"]
        headers += [("Content-Type", "application/json"), ("Accept", ACCEPT)]
        try:
            answer = await self._fetcher.send(
                "challenge of the server", "POST", self._url, headers=headers, body=_PROBE, follow=False
            )
        except Unreachable:
            raise
        except StudioError:
            return ""  # the server exists, and its answer says nothing about signing in
        self._open_status = answer.status if answer.status not in (401, 403) else 0
        return answer.header("www-authenticate") if answer.status == 401 else ""

    async def _find_issuer(self, resource: ResourceMetadata | None, step: AuthStep) -> IssuerMetadata:
        """The authorization server, and its metadata."""
        auth = self._config.auth
        issuer = await find_issuer(self._fetcher, self._url, await self._issuer_name(resource))
        if self._open_status and not issuer.place:
            raise AuthFailed(
                f"{urlsplit(self._url).netloc.rpartition('@')[2]} answered a request without credentials with status "
                f"{self._open_status} instead of 401, and says nothing about signing in.",
                hint="Nothing was sent to anybody else. Is its address right? It may want nothing, or a header with a "
                "key.",
            )
        before = self._accounts.trusted.issuer((self._resource, auth.whose, auth.client_id))
        if (auth.client_id or auth.alone) and not auth.issuer and before not in ("", issuer.issuer):
            raise AuthFailed(
                f"The server now names the authorization server {quoted(issuer.issuer)}; the configured client was "
                f"used at {quoted(before)}. Nothing of it was sent to the new one.",
                hint=f'If that is right, set issuer = "{issuer.issuer}" in the [servers.NAME.auth] table.',
            )
        if not auth.alone:
            issuer.for_code(assume_pkce=auth.assume_pkce)
        place = f", known by {issuer.place}" if issuer.place else ", of which nothing is known: its usual endpoints"
        step.detail = " ".join((f"{issuer.issuer}{place}.", *issuer.notes.values()))
        return issuer

    async def _issuer_name(self, resource: ResourceMetadata | None) -> str:
        """The authorization server to use; empty if neither the server nor the configuration names one."""
        choice = self._config.auth.issuer
        if resource is None:
            return choice
        if choice:
            return resource.chosen(choice)
        if len(resource.servers) == 1:
            return resource.servers[0]
        before = self._store.issuer(self._resource, self._config.auth.whose)
        if before in resource.servers:
            return before
        self.choices = resource.servers
        chosen: str = await self._ask("choosing", "Nobody chose an authorization server")
        self.choices = ()
        return chosen

    async def _with_person(self, audience: str, issuer: IssuerMetadata, asked: tuple[str, ...]) -> Grant:
        redirects, auth = Redirects(self.server, self._note), self._config.auth
        try:
            with self._running("client") as step:
                if self._new_client:
                    await self._store.remove("client", issuer.issuer, auth.whose)
                before = await self._store.client(issuer.issuer, auth.whose)
                note = await redirects.start(auth.redirect_host, auth.redirect_port, before)
                client, step.detail = await self._client(issuer, redirects.uri, asked, before)
                step.detail = f"{step.detail} {note}".strip()
                if client.how in ("registered", "typed"):
                    await self._trust(client, issuer)
            with self._running("permission") as step:
                pending = self._prepared(issuer, client, redirects.uri, asked, audience)
                registered = before is not None and client.client_id == before.client_id
                code = await self._permission(pending, issuer, redirects, registered)
                step.detail = f"{issuer.issuer} gave it."
        finally:
            redirects.close()
        return await self._redeem(issuer, pending, code)

    async def _client(
        self, issuer: IssuerMetadata, redirect_uri: str, asked: Sequence[str], known: Client | None
    ) -> tuple[Client, str]:
        """Our client at an authorization server, and a sentence about it.

        Raises:
            AuthFailed: there is no client; the error says why.
            StudioError: as `Fetcher.send`; or the new client cannot be stored.
        """
        auth = self._config.auth
        client = clients.choose(
            issuer,
            auth,
            document=auth.client_metadata_url or self._accounts.document,
            known=known,
            redirect_uri=redirect_uri,
            asked=asked,
        )
        if client is not None:
            return replace(client, redirect_uri=redirect_uri), clients.WAYS[client.how]
        if issuer.registration_endpoint:
            # The new client replaces the old one for other servers of this authorization server too, so it keeps its
            # scopes.
            scopes = discovery.union(known.asked if known else (), asked)
            client = await clients.register(self._fetcher, issuer, redirect_uri, scopes)
            detail = f"Registered there as {client.client_id}."
        else:
            missing = "The authorization server has no registration_endpoint."
            self.client_reason = issuer.notes.get("registration_endpoint", missing)
            self.redirect_uri = redirect_uri
            client_id, secret = await self._ask("client", f"{self.client_reason} Nobody named a client")
            self._accounts.redactor.learn(secret)
            method = clients.method_for(issuer, secret, auth.method)
            client = Client(issuer.issuer, client_id, secret, method, "typed", redirect_uri)
            detail = clients.WAYS["typed"]
        await self._store.save_client(client, auth.whose)
        return client, detail

    def _prepared(
        self, issuer: IssuerMetadata, client: Client, redirect_uri: str, asked: tuple[str, ...], audience: str
    ) -> Pending:
        verifier, state = authorize.chance(), authorize.chance()
        for secret in (verifier, state):
            self._accounts.redactor.learn(secret)
        url = authorization_url(
            issuer.for_code(assume_pkce=self._config.auth.assume_pkce),
            client_id=client.client_id,
            redirect_uri=redirect_uri,
            state=state,
            challenge=authorize.challenge(verifier),
            scopes=asked,
            resource=audience,
            dpop_jkt=self._dpop.thumbprint if self._dpop and issuer.dpop_algs else "",
        )
        return Pending(
            self._resource,
            self._config.auth.whose,
            client,
            state,
            verifier,
            redirect_uri,
            url,
            time.time() + PENDING,
            scopes=asked,
            audience=audience,
            issuer="" if issuer.legacy else issuer.issuer,
            dpop_key=self._dpop.pem if self._dpop else "",
            dpop_use="must" if self._dpop and self._dpop.required else "may",
        )

    async def _permission(self, pending: Pending, issuer: IssuerMetadata, redirects: Redirects, known: bool) -> str:
        """Wait for the redirect, and return its code."""
        page = judge(pending.authorization_url)
        self.authorization_url, self.redirect_uri = pending.authorization_url, redirects.uri
        self.refusal, self.warnings = page.refusal, page.warnings
        if page.refusal:
            raise AuthFailed(f"The page for giving permission is not opened: {page.refusal}", hint="Nobody went there.")
        self.started_callback, self._redirects, self._pending = redirects.listening, redirects, pending
        code = redirects.expect(Expected(pending.state, issuer.issuer, issuer.sends_issuer))
        # Step by step the person opens the page.
        opening = asyncio.create_task(asyncio.sleep(0, False) if self.step_by_step else self.open_page())
        try:
            return await self._ask("browser", "Nobody came back from the browser", code)
        except BaseException as problem:
            if known and not self._deferred:
                # Nobody came back: perhaps the page said that it does not know our client any more.
                await asyncio.shield(self._forget(pending.client, problem))
            raise
        finally:
            opening.cancel()
            self._redirects = self._pending = None

    async def _forget(self, client: Client, problem: BaseException) -> None:
        """Forget a client that its authorization server may not know any more."""
        with suppress(StudioError, OSError):
            removed = await self._store.remove("client", client.issuer, self._config.auth.whose)
            if removed and isinstance(problem, AuthFailed):
                problem.hint += " The client was forgotten: sign in again, and another one is registered."

    async def _redeem(self, issuer: IssuerMetadata, pending: Pending, code: str) -> Grant:
        client = pending.client
        self._accounts.redactor.learn(code)
        form = tokens.token_form(
            "authorization_code",
            pending.audience,
            code=code,
            redirect_uri=pending.redirect_uri,
            code_verifier=pending.verifier,
        )
        with self._running("token") as step:
            try:
                answer = await tokens.redeem(
                    self._fetcher,
                    issuer.token_endpoint,
                    client,
                    form,
                    "token for the code",
                    asked=pending.scopes,
                    dpop=self._dpop,
                )
            except AuthFailed as problem:
                if problem.error in ("invalid_client", "unauthorized_client"):
                    await self._forget(client, problem)
                raise
            step.detail = tokens.about(answer, pending.audience)
        return await self._stored(issuer, client, answer, pending.audience)

    async def _stored(self, issuer: IssuerMetadata, client: Client, answer: Tokens, audience: str) -> Grant:
        grant = Grant(
            self._resource,
            self._config.auth.whose,
            issuer.issuer,
            client,
            answer.access_token,
            audience=audience,
            token_endpoint=issuer.token_endpoint,
            revocation_endpoint=issuer.revocation_endpoint,
            dpop_key=self._dpop.pem if self._dpop and answer.token_type == "DPoP" else "",
        )
        grant = tokens.with_tokens(grant, answer)
        with self._running("stored") as step:
            async with self._store.lock(grant.resource, grant.account):
                await asyncio.sleep(0)  # a cancellation up to here is in time
                self._storing = True
                step.detail = await self._save(grant)
            if client.how == "configured":
                await self._trust(client, issuer)
        return grant

    async def _save(self, grant: Grant) -> str:
        """Store a grant, and say where it is, as a sentence.

        Raises:
            StudioError, OSError: storing failed, and a grant that is not stored is of no use.
        """
        try:
            await self._store.save(grant, self.server)
        except ConfigError as problem:
            if not self._accounts.stays:
                problem.message = f"The token that was given is lost, as it cannot be stored: {problem.message}"
                raise
            self._unsaved = f"The token of {self.server} could not be stored: {problem.message}"
            return f"Not stored, it holds until the studio ends: {problem.message} {problem.hint}".strip()
        return f"In {await self._store.place()}."

    async def _trust(self, client: Client, issuer: IssuerMetadata) -> None:
        """Remember a client's authorization server: no server can direct this client's credentials to another one."""
        key = (self._resource, self._config.auth.whose, self._config.auth.client_id or client.client_id)
        await beside(self._accounts.trusted.put, key, issuer.issuer)
