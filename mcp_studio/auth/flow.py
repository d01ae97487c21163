"""The steps of signing in, one after the other; `SignIn` runs them, shows them and asks the person."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from mcp_studio.auth import authorize, discovery, tokens
from mcp_studio.auth.authorize import Expected, authorization_url
from mcp_studio.auth.callback import Redirects
from mcp_studio.auth.clients import client_for, forgetting_unknown
from mcp_studio.auth.discovery import Challenge, check_url, resource_of
from mcp_studio.auth.dpop import Dpop, use
from mcp_studio.auth.fetch import Fetcher
from mcp_studio.auth.metadata import IssuerMetadata, ResourceMetadata, document
from mcp_studio.auth.model import PENDING, AuthFailed, AuthStep, Client, Grant, Pending, quoted
from mcp_studio.auth.tokens import Tokens, redeem, with_tokens
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import StudioError, Unreachable
from mcp_studio.jsontext import Json
from mcp_studio.transport.edge import configured
from mcp_studio.transport.http_connection import ACCEPT
from mcp_studio.vault.base import VaultRefused, beside

if TYPE_CHECKING:
    from mcp_studio.auth.accounts import Accounts
    from mcp_studio.auth.signin import SignIn

_PROBE = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


async def find_resource(fetcher: Fetcher, url: str, header: str) -> tuple[ResourceMetadata | None, str]:
    """The protected resource metadata (RFC 9728), by the challenge or at the well-known places, and a sentence.

    There is none at a server of before it (2025-03-26).

    Raises:
        AuthFailed: there is some that cannot be used, or the server failed.
        StudioError: as `Fetcher.send`.
    """
    named, notes = Challenge.find(header).get("resource_metadata"), list[str]()
    if named:
        try:
            check_url(named, url, "resource_metadata in the header WWW-Authenticate")
            if not discovery.same_origin(named, url):
                raise AuthFailed(f"The server says that its metadata is at {quoted(named)}, on another origin.")
        except AuthFailed as problem:
            notes.append(f"{problem.message} {problem.hint} It was not asked.")
    for place in discovery.resource_urls("" if notes else named, url):
        raw, why = await _document(fetcher, place, "metadata of the server")
        if raw is not None:
            metadata = ResourceMetadata(raw, server=url, place=place)
            detail = f"{metadata.resource} takes tokens of {', '.join(metadata.servers[:5])}."
            return metadata, " ".join((detail, *notes, *metadata.notes.values()))
        notes.append(why)
    if named:
        raise AuthFailed(
            f"The server names its metadata, and there is none. {' '.join(notes)}",
            hint="Protected resource metadata (RFC 9728) has to be at the address that WWW-Authenticate names, on the "
            "server's own origin.",
        )
    old = "It says nothing about authorization servers, as servers before 2025-06-18; it is taken for its own."
    return None, " ".join((old, *notes))


async def find_issuer(fetcher: Fetcher, url: str, named: str) -> IssuerMetadata:
    """The metadata of an authorization server, at the first of its places (RFC 8414, OpenID).

    Where none is `named` the server is its own, and may have no metadata (specification 2025-03-26, 2.3).

    Raises:
        AuthFailed: there is none, or none that can be used.
        StudioError: as `Fetcher.send`.
    """
    issuer = named or discovery.origin(url)
    notes: list[str] = []
    for place in discovery.issuer_urls(issuer):
        raw, why = await _document(fetcher, place, "metadata of the authorization server")
        if raw is not None:
            return IssuerMetadata(raw, issuer=issuer, server=url, place=place, legacy=not named)
        notes.append(why)
    if not named:
        return IssuerMetadata.assumed(url)
    raise AuthFailed(
        f"The authorization server {quoted(issuer)} has no metadata. {' '.join(notes)}",
        hint="It has to publish RFC 8414 or OpenID Connect metadata at one of these places.",
    )


async def _document(fetcher: Fetcher, place: str, purpose: str) -> tuple[dict[str, Json] | None, str]:
    answer = await fetcher.send(purpose, "GET", place)
    return document(answer.status, answer.body, place)


class Flow:
    """One sign-in; `run` it once, or `resume` it."""

    def __init__(self, accounts: Accounts, config: ServerConfig, fetcher: Fetcher, person: SignIn) -> None:
        self.accounts = accounts
        self.config = config
        self.store = accounts.store(config)
        self.fetcher = fetcher
        self.person = person
        self._url = config.url
        if self._url.startswith(("ws://", "wss://")):
            self._url = f"http{self._url[2:]}"  # the address of the handshake
        self.resource = resource_of(config)
        self.account = config.auth.whose
        self.pending: Pending | None = None
        """What is needed to go on later, while a person is in the browser."""
        self.aside = False
        """Whether it was set aside, to go on later."""
        self.storing = False
        """Whether what came is being stored, or is: there is no way back from there."""
        self.unsaved = ""
        """Why what came could not be stored, and is used all the same."""
        self._open = 0
        """The status of an answer that wants no credentials."""
        self._dpop: Dpop | None = None

    async def run(self) -> Grant:
        """Sign in.

        Raises:
            StudioError: the step that runs says why; what was stored before is untouched.
        """
        alone = self.config.auth.alone
        with self.person.step("resource") as step:
            if not alone:
                await self.store.place()  # nobody is sent to a browser for what cannot be stored then
            header = self.person.challenge or await self._ask_server()
            resource, step.detail = await find_resource(self.fetcher, self._url, header)
        with self.person.step("issuer") as step:
            issuer = await self._issuer(resource, step)
        binding = use(self.config.auth.dpop, header, resource, issuer)
        if binding != "no":
            self._dpop = await asyncio.to_thread(Dpop.make, required=binding == "must")
            self.accounts.redactor.learn(self._dpop.pem, f"keys for {self.resource}")
        chosen = discovery.select(
            Challenge.find(header).get("scope"),
            resource.scopes if resource else None,
            configured=self.config.auth.scopes,
            offered=issuer.scopes,
            renewable=not alone,
        )
        asked = discovery.union(chosen, self.person.scopes)
        audience = resource.resource if resource else ""
        return await (self._alone if alone else self._with_person)(audience, issuer, asked)

    async def resume(self, redirect_url: str) -> Grant:
        """Go on with what was set aside."""
        with self.person.step("issuer") as step:
            waiting = await self.store.pending(self.resource, self.account)
            if not waiting:
                raise AuthFailed(
                    "No sign-in of this server waits for its redirect, or it waited for more than 15 minutes.",
                    hint="Begin anew; each one can be gone on with once.",
                )
            query = dict(parse_qsl("".join(redirect_url.split()).rpartition("?")[2]))
            pending = next((one for one in waiting if one.state == query.get("state")), waiting[0])
            issuer = await find_issuer(self.fetcher, self._url, pending.issuer)
            step.detail = f"{issuer.issuer}, as before."
        with self.person.step("permission") as step:
            redirects = Redirects(self.config.name, self.person.note)
            redirects.uri = pending.redirect_uri
            code = redirects.expect(Expected(pending.state, issuer.issuer, issuer.sends_issuer))
            redirects.paste(redirect_url)  # another address leaves it waiting
            if not await self.store.take_pending(pending):
                raise AuthFailed("This redirect was used before.", hint="Sign in again.")
            step.detail = f"{issuer.issuer} gave it."
            async with forgetting_unknown(self, pending.client):
                found = await code
        if pending.dpop_key:
            required = pending.dpop_use == "must"
            self._dpop = await asyncio.to_thread(Dpop.load, pending.dpop_key, required=required)
        return await self._redeem(issuer, pending, found)

    async def _ask_server(self) -> str:
        """The `WWW-Authenticate` header of the answer to a request without credentials.

        Raises:
            StudioError: there is no server.
        """
        headers = [line for line in configured(self.config) if line[0].lower() != "authorization"]
        headers += [("Content-Type", "application/json"), ("Accept", ACCEPT)]
        try:
            answer = await self.fetcher.send(
                "challenge of the server", "POST", self._url, headers=headers, body=_PROBE, follow=False
            )
        except Unreachable:
            raise
        except StudioError:
            return ""  # it is there, and what it says is not about signing in
        self._open = answer.status if answer.status not in (401, 403) else 0
        return answer.header("www-authenticate") if answer.status == 401 else ""

    async def _issuer(self, resource: ResourceMetadata | None, step: AuthStep) -> IssuerMetadata:
        """The authorization server, and its metadata."""
        auth = self.config.auth
        issuer = await find_issuer(self.fetcher, self._url, await self._chosen(resource))
        if self._open and not issuer.place:
            raise AuthFailed(
                f"{urlsplit(self._url).netloc.rpartition('@')[2]} answered a request without credentials with status "
                f"{self._open} instead of 401, and says nothing about signing in.",
                hint="Nothing was sent to anybody else. Is its address right? It may want nothing, or a header with a "
                "key.",
            )
        before = self.accounts.trusted.issuer((self.resource, self.account, auth.client_id))
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

    async def _chosen(self, resource: ResourceMetadata | None) -> str:
        """The authorization server to use; empty where nothing names one."""
        wanted = self.config.auth.issuer
        if resource is None:
            return wanted
        if wanted:
            return resource.chosen(wanted)
        if len(resource.servers) == 1:
            return resource.servers[0]
        before = self.store.issuer(self.resource, self.account)
        return before if before in resource.servers else await self.person.choose_issuer(resource.servers)

    async def _alone(self, audience: str, issuer: IssuerMetadata, asked: tuple[str, ...]) -> Grant:
        with self.person.step("token") as step:
            client, got = await tokens.obtain(
                self.fetcher, self.config, issuer, resource=audience, scopes=asked, dpop=self._dpop
            )
            step.detail = tokens.about(got, audience)
        return await self._stored(issuer, client, got, audience)

    async def _with_person(self, audience: str, issuer: IssuerMetadata, asked: tuple[str, ...]) -> Grant:
        redirects, auth = Redirects(self.config.name, self.person.note), self.config.auth
        try:
            with self.person.step("client") as step:
                before = await self.store.client(issuer.issuer, self.account)
                note = await redirects.start(auth.redirect_host, auth.redirect_port, before)
                client, known, detail = await client_for(self, issuer, redirects.uri, asked)
                step.detail = f"{detail} {note}".strip()
                if client.how in ("registered", "typed"):
                    await self._trust(client, issuer)
            with self.person.step("permission") as step:
                pending = self._prepared(issuer, client, redirects.uri, asked, audience)
                code = await self._permission(pending, issuer, redirects, known)
                step.detail = f"{issuer.issuer} gave it."
        finally:
            await redirects.close()
        return await self._redeem(issuer, pending, code)

    def _prepared(
        self, issuer: IssuerMetadata, client: Client, redirect_uri: str, asked: tuple[str, ...], audience: str
    ) -> Pending:
        verifier, state = authorize.chance(), authorize.chance()
        for secret in (verifier, state):
            self.accounts.redactor.learn(secret)
        url = authorization_url(
            issuer.for_code(assume_pkce=self.config.auth.assume_pkce),
            client_id=client.client_id,
            redirect_uri=redirect_uri,
            state=state,
            challenge=authorize.challenge(verifier),
            scopes=asked,
            resource=audience,
            dpop_jkt=self._dpop.thumbprint if self._dpop and issuer.dpop_algs else "",
        )
        return Pending(
            self.resource,
            self.account,
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
        self.pending = pending
        expected = Expected(pending.state, issuer.issuer, issuer.sends_issuer)
        try:
            async with forgetting_unknown(self, pending.client):
                return await self.person.permit(pending.authorization_url, expected, redirects)
        except BaseException:
            if known and not self.aside:
                # Nobody came back: the page may have said that it does not know us any more.
                with suppress(StudioError, OSError):
                    await asyncio.shield(self.store.remove_client(issuer.issuer, self.account))
            raise
        finally:
            self.pending = None

    async def _redeem(self, issuer: IssuerMetadata, pending: Pending, code: str) -> Grant:
        client, url = pending.client, issuer.token_endpoint
        self.accounts.redactor.learn(code)
        form = tokens.token_form(
            "authorization_code",
            pending.audience,
            code=code,
            redirect_uri=pending.redirect_uri,
            code_verifier=pending.verifier,
        )
        with self.person.step("token") as step:
            async with forgetting_unknown(self, client):
                got = await redeem(
                    self.fetcher, url, client, form, "token for the code", asked=pending.scopes, dpop=self._dpop
                )
            step.detail = tokens.about(got, pending.audience)
        return await self._stored(issuer, client, got, pending.audience)

    async def _stored(self, issuer: IssuerMetadata, client: Client, got: Tokens, audience: str) -> Grant:
        grant = Grant(
            self.resource,
            self.account,
            issuer.issuer,
            client,
            got.access_token,
            audience=audience,
            token_endpoint=issuer.token_endpoint,
            revocation_endpoint=issuer.revocation_endpoint,
            dpop_key=self._dpop.pem if self._dpop and got.token_type == "DPoP" else "",
        )
        grant = with_tokens(grant, got)
        with self.person.step("stored") as step:
            async with self.store.lock(self.resource, self.account):
                await asyncio.sleep(0)  # whoever cancelled it was in time
                self.storing = True
                step.detail = await self._save(grant)
            if client.how == "configured":
                await self._trust(client, issuer)
        return grant

    async def _save(self, grant: Grant) -> str:
        """Store a grant; where it is now, as a sentence.

        Raises:
            StudioError, OSError: it is not stored, and of no use without.
        """
        try:
            await self.store.save(grant, self.config.name)
        except VaultRefused as problem:
            if not self.accounts.stays:
                problem.message = f"The token that was given is lost, as it cannot be kept: {problem.message}"
                raise
            self.unsaved = f"The token of {self.config.name} could not be kept: {problem.message}"
            return f"Not kept, it holds until the studio ends: {problem.message} {problem.hint}".strip()
        return f"In {await self.store.place()}."

    async def _trust(self, client: Client, issuer: IssuerMetadata) -> None:
        """Remember where a client belongs: no other authorization server gets it just because a server says so."""
        key = (self.resource, self.account, self.config.auth.client_id or client.client_id)
        await beside(self.accounts.trusted.put, key, issuer.issuer)
