"""The credentials that one server's requests carry: loaded from the store, renewed in time, requested from a person."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from mcp_studio.auth import discovery, tokens
from mcp_studio.auth.discovery import Challenge, same_origin
from mcp_studio.auth.dpop import Dpop, nonce_wanted
from mcp_studio.auth.fetch import Fetcher
from mcp_studio.auth.hints import see_to
from mcp_studio.auth.model import AuthFailed, Grant, quoted
from mcp_studio.auth.signin import SignIn
from mcp_studio.auth.store import GrantStore
from mcp_studio.auth.tokens import meant_for
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import HttpAnswer, StudioError
from mcp_studio.transport.base import HeaderList, Headers, RefusedRequest, Tap
from mcp_studio.transport.http_errors import HttpSignIn

if TYPE_CHECKING:
    from mcp_studio.auth.accounts import Accounts

T = TypeVar("T")
SKEW = 30.0
"""The server gets a new token this many seconds before the old one expires; sooner before the end of a short life."""
DEAD = ("invalid_grant", "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_target")
"""OAuth errors after which the authorization server will never accept the refresh token again."""


def expiring(grant: Grant) -> bool:
    """Whether a token has expired or will expire within the skew."""
    if not grant.expires:
        return False
    life = grant.expires - grant.obtained
    return time.time() >= grant.expires - min(SKEW, max(0.0, life) / 4)


class Holder:
    """The grant of one server and account. Every change of the grant goes through its holder."""

    def __init__(self, store: GrantStore, resource: str, account: str) -> None:
        self.store = store
        self.resource = resource
        self.account = account
        self.grant: Grant | None = None
        self.note: Callable[[str], None] = lambda text: None
        self.unsaved = ""
        """Why the grant exists in this process alone, as a sentence: storing it failed; empty where it is stored."""
        self._dpop: tuple[str, Dpop] | None = None
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    @property
    def has_grant(self) -> bool:
        """Whether a grant exists, judged by memory and the list of sign-ins, without opening the vault."""
        return self.grant is not None or self.store.has_grant(self.resource, self.account)

    async def current(self) -> Grant | None:
        """Return the grant; the vault is read on first use, and again after another process has stored a grant.

        Raises:
            VaultRefused: a grant is stored and cannot be read.
        """
        if self.grant is None and self.store.has_grant(self.resource, self.account):
            await self.together("load", self._load)
        return self.grant

    async def _load(self) -> None:
        self.grant = await self.store.load(self.resource, self.account)
        if self.grant is None and self.store.problem:
            self.note(self.store.problem)

    async def dpop(self, grant: Grant) -> Dpop | None:
        """The key that a token is bound to, with the nonces that servers have requested; None for a bearer token."""
        if not grant.dpop_key:
            return None
        if self._dpop is None or self._dpop[0] != grant.dpop_key:
            self._dpop = (grant.dpop_key, await asyncio.to_thread(Dpop.load, grant.dpop_key))
        return self._dpop[1]

    def seen(self, url: str, headers: Headers) -> None:
        """Remember the DPoP nonce that a response's headers carry."""
        if self._dpop is not None:
            self._dpop[1].seen(url, headers)

    async def renew(self, config: ServerConfig, fetcher: Fetcher, sent: str, *, force: bool = False) -> Grant | None:
        """Replace the token `sent` by refreshing it; None where only a person can get another one.

        Tasks that renew the same token at the same time share the outcome, a failure too: so the process waits only
        once for an authorization server that does not answer. `force` refreshes even a token that has not expired.

        Raises:
            AuthFailed, StudioError: the authorization server cannot renew the token right now.
        """
        return await self.together(f"renew {sent} {force}", lambda: self._renew(config, fetcher, sent, force=force))

    async def together(self, what: str, begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a task once for all callers that name the same `what`; it runs to its end even if every caller leaves."""
        task = self._tasks.get(what)
        if task is None:
            task = self._tasks[what] = asyncio.create_task(begin())
            task.add_done_callback(partial(self._done, what))
        return await asyncio.shield(task)

    def _done(self, what: str, task: asyncio.Task[Any]) -> None:
        del self._tasks[what]
        if not task.cancelled():
            task.exception()  # every caller may have left; without this asyncio would log the exception

    async def settle(self, seconds: float) -> None:
        """Wait for running renewals: a sign-in is lost if its refresh token is spent and the new one is not stored."""
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=seconds)

    async def _renew(self, config: ServerConfig, fetcher: Fetcher, sent: str, *, force: bool) -> Grant | None:
        async with self.store.lock(self.resource, self.account):
            if self.grant is not None and self.grant.access_token != sent:
                return self.grant
            found = await self._newest()
            if found is None or (found.access_token != sent and not expiring(found) and not force):
                return found
            return await self._refreshed(config, fetcher, found)

    async def _newest(self) -> Grant | None:
        """The grant in the vault; ours where the vault cannot be read, or where ours is a newer one."""
        try:
            found = await self.store.load(self.resource, self.account)
        except StudioError as problem:
            self.note(problem.message)
            return self.grant
        if found is None and not self.unsaved and not self.store.has_grant(self.resource, self.account):
            self.grant = None  # another process has signed out
        elif found is not None and not (self.unsaved and self.grant and found.obtained < self.grant.obtained):
            self.grant = found
        return self.grant

    async def _refreshed(self, config: ServerConfig, fetcher: Fetcher, found: Grant) -> Grant | None:
        if not found.refresh_token:
            return None
        new: Grant | None = None
        dpop, url = await self.dpop(found), found.token_endpoint
        form = tokens.token_form("refresh_token", found.audience, refresh_token=found.refresh_token)
        try:
            got = await tokens.redeem(fetcher, url, found.client, form, "renewed token", asked=found.scopes, dpop=dpop)
            new = tokens.with_tokens(found, got)
        except AuthFailed as problem:
            if problem.error not in DEAD:
                raise
            self.note(f"The refresh token cannot be used any more. {problem.message}")
            if problem.error == "invalid_client" and found.client.how in ("registered", "typed"):
                await self.store.remove("client", found.issuer, self.account)
        self.grant = new or replace(found, refresh_token="")
        try:
            await self.store.save(self.grant, config.name)
            self.unsaved = ""
        except (StudioError, OSError) as problem:
            reason = problem.message if isinstance(problem, StudioError) else str(problem)
            self.unsaved = f"The renewed token of {config.name} is used, and could not be stored: {reason}"
            self.note(self.unsaved)
        return new


_NONCES = 2
"""How often one request is sent again with another nonce."""


class SignInRequest(NamedTuple):
    """A request that cannot go on until a person has signed in."""

    reason: str
    """Why the server refused the request, as a sentence; it quotes foreign text."""
    scopes: tuple[str, ...]
    """The scopes that the sign-in would request: those of the grant, and the missing ones."""
    sign_in: Callable[..., SignIn]
    """Creates the sign-in without starting it; accepts `step_by_step=True`."""


Ask = Callable[[SignInRequest], Awaitable[bool]]
"""Returns True after a person has signed in (the request is sent again), False if nobody did."""


class Access:
    """Implements `transport.base.Credentials` for one connection."""

    def __init__(self, accounts: Accounts, config: ServerConfig, holder: Holder, tap: Tap, ask: Ask | None) -> None:
        """Called by `Accounts`."""
        self._accounts = accounts
        self._config = config
        self._holder = holder
        self._tap = tap
        self._ask = ask
        self._place = urlsplit(config.url).netloc.rpartition("@")[2]
        self._renewed_token = ""
        """The last token that a refresh returned."""
        self._sign_in_token = ""
        """The last token that a sign-in returned."""
        self._requested_scopes: set[str] = set()
        holder.note = tap.note

    @property
    def present(self) -> bool:
        """Whether there is a token to send."""
        return self._holder.has_grant

    async def lines(self, method: str, url: str) -> HeaderList:
        """See `Credentials.lines`; requests to another origin than the server's own get no credentials."""
        if not same_origin(url, self._config.url):
            return []
        grant = await self._holder.current()
        if grant is None:
            return []
        if expiring(grant) and grant.refresh_token:
            try:
                grant = await self._renew(grant.access_token) or grant
            except StudioError as problem:  # the old token is sent, and the server says what it requires
                self._tap.note(f"The token expires, and could not be renewed: {problem.message}")
        dpop = await self._holder.dpop(grant)
        if dpop is None:
            return [("Authorization", f"Bearer {grant.access_token}")]
        proof = dpop.proof(method, url, grant.access_token)
        return [("Authorization", f"DPoP {grant.access_token}"), ("DPoP", proof)]

    async def _renew(self, sent: str) -> Grant | None:
        return await self._holder.renew(self._config, self._accounts.fetcher(self._config, self._tap), sent)

    def seen(self, url: str, headers: Headers) -> None:
        """See `Credentials.seen`."""
        if same_origin(url, self._config.url):
            self._holder.seen(url, headers)

    async def refused(self, refused: RefusedRequest) -> bool:
        """See `Credentials.refused`."""
        if not same_origin(refused.url, self._config.url):
            return False
        token, header = _token(refused), _challenge(refused)
        if token and nonce_wanted(refused.status, "", header) and refused.tries <= _NONCES:
            return bool(refused.header("dpop-nonce"))
        schemes = {one.scheme for one in Challenge.parse(header)}
        # A 401 without a challenge counts too: servers of 2025-03-26 request a sign-in that way.
        unauthorized = refused.status == 401 and (not schemes or schemes & {"bearer", "dpop", ""})
        if not unauthorized and not (
            refused.status == 403 and Challenge.find(header).get("error") == "insufficient_scope"
        ):
            return False
        grant = await self._holder.current()
        if grant is not None and grant.access_token != token:
            return True
        return await (self._unauthorized if unauthorized else self._forbidden)(refused, grant)

    async def _unauthorized(self, refused: RefusedRequest, grant: Grant | None) -> bool:
        token, again = _token(refused), refused.tries > 1
        if again and token == self._sign_in_token:  # signing in once more would never end
            raise self._needed(refused, self._rejected(refused, grant))
        if token and not (again and token == self._renewed_token):
            # The vault is read too: another process may have stored a newer token, which is renewed if it is refused as
            # well.
            began = time.time()
            found = await self._renew(token)
            if found is not None and found.access_token != token:
                if found.obtained >= began:
                    self._renewed_token = found.access_token
                return True
        if not token:
            return await self._anew(refused, (), f"{self._place} requires you to sign in.")
        scopes = grant.scopes if grant else ()
        named_scopes = discovery.union(scopes, Challenge.find(_challenge(refused)).get("scope")) if scopes else ()
        return await self._anew(refused, named_scopes, self._rejected(refused, grant))

    def _rejected(self, refused: RefusedRequest, grant: Grant | None) -> str:
        """Say in the server's words that it does not accept a token."""
        parts, other = Challenge.find(_challenge(refused)), meant_for(_token(refused), grant.audience) if grant else ""
        reason = parts.get("error_description")
        words = [parts.get("error")[:80], quoted(reason) if reason else "", f"it is meant for {other}" if other else ""]
        return f"{self._place} does not accept the token: {', '.join(filter(None, words))}".removesuffix(": ") + "."

    async def _forbidden(self, refused: RefusedRequest, grant: Grant | None) -> bool:
        """Sign in again for the scopes that a valid token has and those that it lacks (RFC 6750 3.1)."""
        old = grant.scopes if grant else ()
        scopes = discovery.parse(Challenge.find(_challenge(refused)).get("scope"))
        if not scopes:
            return False
        missing = discovery.missing(old, scopes)
        reason = f"{self._place} requires further scopes for this: {discovery.brief(missing or scopes)}."
        repeated = refused.tries > 1 and self._requested_scopes.issuperset(missing)
        if not missing or repeated or refused.tries > self._accounts.limits.step_ups:
            raise self._needed(refused, f"{reason} A new token with them did not help.")
        self._requested_scopes.update(missing)
        return await self._anew(refused, discovery.union(old, scopes), reason)

    async def _anew(self, refused: RefusedRequest, scopes: tuple[str, ...], reason: str) -> bool:
        """Sign in for another token: without a person where the configuration allows that."""
        token, header = _token(refused), _challenge(refused)

        def begin(step_by_step: bool = False) -> SignIn:
            return self._accounts.sign_in(
                self._config, self._tap, scopes=scopes, challenge=header, step_by_step=step_by_step
            )

        async def alone() -> None:
            if self._holder.grant is None or self._holder.grant.access_token == token:
                run = begin()
                await run.run()
                if run.error is not None:
                    raise run.error

        if self._config.auth.alone:
            await self._holder.together(f"{token} for {' '.join(scopes)}", alone)
        else:
            request = SignInRequest(reason, scopes, begin)
            if self._ask is None or not await self._ask(request):
                raise self._needed(refused, reason)
        grant = await self._holder.current()
        if grant is None or grant.access_token == token:
            raise self._needed(refused, reason)
        self._sign_in_token = grant.access_token
        return True

    def _needed(self, refused: RefusedRequest, message: str) -> HttpSignIn:
        alone = self._config.auth.alone
        error = HttpSignIn(
            message,
            hint=see_to(self._config.name) if alone else f"Sign in: mcp-studio auth login {self._config.name}",
            http=HttpAnswer(refused.status, "", tuple(refused.headers), refused.body),
            challenge=_challenge(refused),
        )
        error.by_login = not alone
        return error


def _token(refused: RefusedRequest) -> str:
    headers = refused.sent
    return next((value.partition(" ")[2] for name, value in headers if name.lower() == "authorization"), "")


def _challenge(refused: RefusedRequest) -> str:
    return refused.header("www-authenticate")
