"""The steps of signing in, one after the other; whoever runs them shows them and asks the person."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from mcp_studio.auth import authorize, discovery, tokens, unattended
from mcp_studio.auth.authorize import Expected, authorization_url
from mcp_studio.auth.callback import Redirects
from mcp_studio.auth.discovery import Challenge, resource_of
from mcp_studio.auth.dpop import Dpop, Use, use
from mcp_studio.auth.fetch import Fetcher
from mcp_studio.auth.metadata import Document, IssuerMetadata, ResourceMetadata, document
from mcp_studio.auth.model import PENDING, AuthFailed, AuthStep, Client, Grant, Pending, said
from mcp_studio.auth.person import Means, Person
from mcp_studio.auth.registration import forget_unknown, who
from mcp_studio.auth.store import Key
from mcp_studio.auth.tokens import Tokens, redeem, signed
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import StudioError, Unreachable
from mcp_studio.transport.edge import configured
from mcp_studio.transport.http_wire import ACCEPT
from mcp_studio.vault.base import beside

_PROBE = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
_SHOWN = 300


class Resource(NamedTuple):
    """What protects a server."""

    metadata: ResourceMetadata | None
    """None for a server of before protected resource metadata (2025-03-26)."""
    detail: str
    """In a sentence."""
    challenge: str
    """The `WWW-Authenticate` header."""

    @property
    def audience(self) -> str:
        """What is sent as `resource`; empty for none (RFC 8707)."""
        return self.metadata.resource if self.metadata else ""


class Asked(NamedTuple):
    """What a server answered to a request without credentials."""

    status: int
    """0 where that could not be read."""
    challenge: str = ""
    """The `WWW-Authenticate` header of a 401."""


async def ask_server(fetcher: Fetcher, config: ServerConfig) -> Asked:
    """What a server wants, where nothing is known of it yet.

    Raises:
        StudioError: there is no server.
    """
    url = _http(config.url)
    headers = [line for line in configured(config) if line[0].lower() != "authorization"]
    headers += [("Content-Type", "application/json"), ("Accept", ACCEPT)]
    try:
        answer = await fetcher.send("challenge of the server", "POST", url, headers=headers, body=_PROBE, follow=False)
    except Unreachable:
        raise
    except StudioError:
        return Asked(0)  # It is there, and what it says is not about signing in.
    return Asked(answer.status, answer.header("www-authenticate") if answer.status == 401 else "")


async def find_resource(fetcher: Fetcher, config: ServerConfig, header: str) -> Resource:
    """The protected resource metadata (RFC 9728), by the challenge or at the well-known places.

    Raises:
        AuthFailed: there is some that cannot be used, or the server failed.
        StudioError: as `Fetcher.send`.
    """
    challenge, url = Challenge.find(header), _http(config.url)
    named = bool(challenge.resource_metadata)
    notes = [discovery.resource_place_problem(challenge, url)]
    if challenge.resource_metadata and not notes[0] and not discovery.same_origin(challenge.resource_metadata, url):
        notes = [
            f"The server says that its metadata is at {challenge.resource_metadata[:_SHOWN]}, on another origin: "
            "that was not asked."
        ]
        challenge = Challenge(challenge.scheme, {**challenge.params, "resource_metadata": ""})
    for place in discovery.resource_urls(challenge, url):
        found = await _document(fetcher, place, "metadata of the server")
        if found.raw is not None:
            metadata = ResourceMetadata.read(found.raw, server=url, place=place)
            notes += list(metadata.notes.values())
            servers = ", ".join(metadata.servers[:5])
            said_so = f"{metadata.resource} takes tokens of {servers}."
            return Resource(metadata, " ".join(filter(None, (said_so, *notes))), header)
        notes.append(found.why)
    told = " ".join(filter(None, notes))
    if named:
        raise AuthFailed(
            f"The server names its metadata, and there is none. {told}",
            hint="Protected resource metadata (RFC 9728) has to be at the address that WWW-Authenticate names, on the "
            "server's own origin.",
        )
    old = "It says nothing about authorization servers, as servers before 2025-06-18; it is taken for its own."
    return Resource(None, f"{old} {told}".strip(), header)


async def find_issuer(fetcher: Fetcher, config: ServerConfig, issuer: str) -> IssuerMetadata:
    """The metadata of an authorization server that was named, at the first of its places (RFC 8414, OpenID).

    Raises:
        AuthFailed: there is none, or none that can be used.
        StudioError: as `Fetcher.send`.
    """
    url, why = _http(config.url), list[str]()
    for place in discovery.issuer_urls(issuer):
        found = await _document(fetcher, place, "metadata of the authorization server")
        if found.raw is not None:
            return IssuerMetadata.read(found.raw, issuer=issuer, server=url, place=place)
        why.append(found.why)
    raise AuthFailed(
        f"The authorization server {said(issuer)} has no metadata. {' '.join(why)}",
        hint="It has to publish RFC 8414 or OpenID Connect metadata at one of these places.",
    )


async def find_own(fetcher: Fetcher, config: ServerConfig) -> IssuerMetadata:
    """The endpoints of a server that is its own authorization server (specification 2025-03-26, 2.3).

    Raises:
        AuthFailed: its metadata cannot be used.
        StudioError: as `Fetcher.send`.
    """
    url = _http(config.url)
    for place in discovery.legacy_urls(url):
        found = await _document(fetcher, place, "metadata of the authorization server")
        if found.raw is not None:
            return IssuerMetadata.read(
                found.raw, issuer=discovery.legacy_issuer(url), server=url, place=place, legacy=True
            )
    return IssuerMetadata.assumed(url)


def unasked(config: ServerConfig, status: int) -> AuthFailed:
    """A server that wants no credentials, and says nothing about where there are any."""
    return AuthFailed(
        f"{urlsplit(config.url).netloc.rpartition('@')[2]} answered a request without credentials with status {status} "
        "instead of 401, and says nothing about signing in.",
        hint="Nothing was sent to anybody else. Is its address right? It may want nothing, or a header with a key.",
    )


async def _document(fetcher: Fetcher, place: str, purpose: str) -> Document:
    answer = await fetcher.send(purpose, "GET", place)
    found = document(answer.status, answer.body, place)
    if found.broken:
        raise AuthFailed(found.why, hint="Try again later: whether there is metadata is not known.")
    return found


def _http(url: str) -> str:
    """The address of a WebSocket server's handshake."""
    return "http" + url[2:] if url.startswith(("ws://", "wss://")) else url


class Flow:
    """One sign-in; `run` it once, or `resume` it."""

    def __init__(
        self, means: Means, fetcher: Fetcher, person: Person, *, asked: Sequence[str] = (), challenge: str = ""
    ) -> None:
        """`asked` are scopes that are wanted in any case; `challenge` is the `WWW-Authenticate` that led here."""
        self._means = means
        self._config = means.config
        self._store = means.store
        self._fetcher = fetcher
        self._person = person
        self._asked = tuple(asked)
        self._challenge = challenge
        self.resource = resource_of(means.config)
        self.account = means.config.auth.whose
        self.pending: Pending | None = None
        """What is needed to go on later, while a person is in the browser."""
        self.aside = False
        """Whether it was set aside, to go on later."""
        self.keeping = False
        """Whether what came is being kept, or is: there is no way back from there."""
        self._open = 0
        """The status of an answer that wants no credentials."""
        self._dpop: Dpop | None = None
        self._use: Use = "no"

    async def run(self) -> Grant:
        """Sign in.

        Raises:
            StudioError: the step that runs says why; what was kept before is untouched.
        """
        alone = self._config.auth.alone
        with self._person.step("resource") as step:
            if not alone:
                await self._store.place()  # Nobody is sent to a browser for what cannot be kept then.
            resource = await self._protects(step)
        with self._person.step("issuer") as step:
            issuer = await self._gives(resource, step)
        await self._bind(resource, issuer)
        return await (self._alone(resource, issuer) if alone else self._with_person(resource, issuer))

    async def resume(self, redirect_url: str) -> Grant:
        """Go on with what was set aside."""
        with self._person.step("permission") as step:
            pending = await self._waiting(redirect_url)
            issuer = IssuerMetadata.read(
                pending.metadata,
                issuer=pending.client.issuer,
                server=self._config.url,
                place=pending.place,
                legacy=True,
            )
            redirects = Redirects(self._config.name, self._person.note)
            redirects.uri = pending.redirect_uri
            code = redirects.expect(Expected(pending.state, issuer.issuer, issuer.sends_issuer))
            redirects.paste(redirect_url)  # Another address leaves it waiting.
            if not await self._store.take_pending(pending):
                raise AuthFailed("This redirect was used before.", hint="Sign in again.")
            step.detail = f"{issuer.issuer} gave it."
            try:
                found = await code
            except AuthFailed as problem:
                await forget_unknown(self._means, pending.client, problem)
                raise
        if pending.dpop_key:
            self._dpop = await asyncio.to_thread(Dpop.load, pending.dpop_key)
            self._use = "must" if pending.dpop_use == "must" else "may"
        return await self._redeemed(issuer, pending, found)

    async def _waiting(self, redirect_url: str) -> Pending:
        """The sign-in that a redirect belongs to; the newest where it belongs to none."""
        waiting = await self._store.pending(self.resource, self.account)
        if not waiting:
            raise AuthFailed(
                "No sign-in of this server waits for its redirect, or it waited for more than 15 minutes.",
                hint="Begin anew; each one can be gone on with once.",
            )
        query = dict(parse_qsl("".join(redirect_url.split()).rpartition("?")[2]))
        return next((one for one in waiting if one.state == query.get("state")), waiting[0])

    async def _protects(self, step: AuthStep) -> Resource:
        asked = Asked(401, self._challenge) if self._challenge else await ask_server(self._fetcher, self._config)
        self._open = asked.status if asked.status not in (0, 401, 403) else 0
        found = await find_resource(self._fetcher, self._config, asked.challenge)
        step.detail = found.detail
        return found

    async def _gives(self, resource: Resource, step: AuthStep) -> IssuerMetadata:
        """Which authorization server, and its metadata."""
        wanted = self._config.auth.issuer
        if resource.metadata is None and not wanted:
            issuer = await find_own(self._fetcher, self._config)
            if self._open and not issuer.place:
                raise unasked(self._config, self._open)
        else:
            issuer = await find_issuer(self._fetcher, self._config, await self._chosen(resource))
        self._same_client(issuer)
        if not self._config.auth.alone:
            issuer.for_code(assume_pkce=self._config.auth.assume_pkce)
        place = f", known by {issuer.place}" if issuer.place else ", of which nothing is known: its usual endpoints"
        step.detail = " ".join((f"{issuer.issuer}{place}.", *issuer.notes.values()))
        if told := unattended.elsewhere(issuer):
            self._person.note(told)
        return issuer

    async def _chosen(self, resource: Resource) -> str:
        wanted = self._config.auth.issuer
        if resource.metadata is None:
            return wanted
        servers = tuple(dict.fromkeys(resource.metadata.servers))
        if wanted:
            return resource.metadata.chosen(wanted)
        if len(servers) == 1:
            return servers[0]
        before = self._store.issuer(self.resource, self.account)
        return before if before in servers else await self._person.choose_issuer(servers)

    def _same_client(self, issuer: IssuerMetadata) -> None:
        """What was configured for one authorization server is not shown to another just because a server says so."""
        auth, before = self._config.auth, self._means.trusted.issuer(self._client_key)
        configured = auth.client_id or auth.alone
        if configured and not auth.issuer and before not in ("", issuer.issuer):
            raise AuthFailed(
                f"The server now names the authorization server {said(issuer.issuer)}; the configured client was used "
                f"at {said(before)}. Nothing of it was sent to the new one.",
                hint=f'If that is right, set issuer = "{issuer.issuer}" in the [servers.NAME.auth] table.',
            )

    @property
    def _client_key(self) -> Key:
        return self.resource, self.account, self._config.auth.client_id

    async def _bind(self, resource: Resource, issuer: IssuerMetadata) -> None:
        self._use = use(self._config.auth.dpop, resource.challenge, resource.metadata, issuer)
        if self._use != "no":
            self._dpop = await asyncio.to_thread(Dpop.make)
            self._means.redactor.learn(self._dpop.pem, f"keys for {self.resource}")

    def _wanted(self, resource: Resource, issuer: IssuerMetadata, *, renewable: bool) -> tuple[str, ...]:
        chosen = discovery.select(
            Challenge.find(resource.challenge).scope,
            resource.metadata.scopes if resource.metadata else None,
            configured=self._config.auth.scopes,
            offered=issuer.scopes,
            renewable=renewable,
        )
        return discovery.union(chosen, self._asked)

    # With a person.

    async def _with_person(self, resource: Resource, issuer: IssuerMetadata) -> Grant:
        redirects = Redirects(self._config.name, self._person.note)
        asked = self._wanted(resource, issuer, renewable=True)
        try:
            with self._person.step("client") as step:
                before = await self._store.client(issuer.issuer, self.account)
                auth = self._config.auth
                told = await redirects.start(auth.redirect_host, auth.redirect_port, before)
                client, known, detail = await who(
                    self._means, self._fetcher, self._person, issuer, redirects.uri, asked
                )
                step.detail = f"{detail} {told}".strip()
                if client.how in ("registered", "typed"):
                    await beside(self._means.trusted.put, (*self._client_key[:2], client.client_id), issuer.issuer)
            with self._person.step("permission") as step:
                pending = self._prepared(issuer, client, redirects.uri, asked, resource.audience)
                code = await self._permission(pending, issuer, redirects, known)
                step.detail = f"{issuer.issuer} gave it."
        finally:
            await redirects.close()
        return await self._redeemed(issuer, pending, code)

    def _prepared(
        self, issuer: IssuerMetadata, client: Client, redirect_uri: str, asked: tuple[str, ...], audience: str
    ) -> Pending:
        proof, state = authorize.make(), authorize.state()
        for secret in (proof.verifier, state):
            self._means.redactor.learn(secret)
        url = authorization_url(
            issuer.for_code(assume_pkce=self._config.auth.assume_pkce),
            client_id=client.client_id,
            redirect_uri=redirect_uri,
            state=state,
            challenge=proof.challenge,
            scopes=asked,
            resource=audience,
            dpop_jkt=self._dpop.thumbprint if self._dpop and issuer.dpop_algs else "",
        )
        return Pending(
            self.resource,
            self.account,
            client,
            state,
            proof.verifier,
            redirect_uri,
            url,
            time.time() + PENDING,
            scopes=asked,
            audience=audience,
            metadata=unattended.essence(issuer),
            place=issuer.place,
            dpop_key=self._dpop.pem if self._dpop else "",
            dpop_use=self._use,
        )

    async def _permission(self, pending: Pending, issuer: IssuerMetadata, redirects: Redirects, known: bool) -> str:
        self.pending = pending
        expected = Expected(pending.state, issuer.issuer, issuer.sends_issuer)
        try:
            return await self._person.permit(pending.authorization_url, expected, redirects)
        except BaseException as problem:
            await forget_unknown(self._means, pending.client, problem)
            if known and not self.aside:
                # Nobody came back: the page may have said that it does not know us any more.
                with suppress(StudioError, OSError):
                    await asyncio.shield(self._store.remove_client(issuer.issuer, self.account))
            raise
        finally:
            self.pending = None

    async def _redeemed(self, issuer: IssuerMetadata, pending: Pending, code: str) -> Grant:
        client = pending.client
        with self._person.step("token") as step:
            self._means.redactor.learn(code)
            form = tokens.code_form(code, pending.verifier, pending.redirect_uri, pending.audience)
            prove = partial(unattended.client_proof, self._config.auth, client, issuer.issuer, issuer.signing_algs)
            make = signed(issuer.token_endpoint, client, form, prove)
            try:
                got = await redeem(
                    self._fetcher, make, "token for the code", asked=pending.scopes, dpop=self._dpop, use=self._use
                )
            except AuthFailed as problem:
                await forget_unknown(self._means, client, problem)
                raise
            step.detail = unattended.about(got, pending.audience)
        return await self._stored(issuer, client, got, pending.audience)

    # Without one.

    async def _alone(self, resource: Resource, issuer: IssuerMetadata) -> Grant:
        asked = self._wanted(resource, issuer, renewable=False)
        audience = resource.audience  # A server of before protected resource metadata knows no `resource`.
        with self._person.step("token") as step:
            got = await unattended.obtain(
                self._fetcher,
                self._config,
                issuer,
                resource=audience,
                scopes=asked,
                dpop=self._dpop,
                use=self._use,
            )
            step.detail = unattended.about(got.tokens, audience)
        return await self._stored(issuer, got.client, got.tokens, audience)

    async def _stored(self, issuer: IssuerMetadata, client: Client, got: Tokens, audience: str) -> Grant:
        grant = unattended.granted(self.resource, self.account, issuer, client, got, audience=audience, dpop=self._dpop)
        with self._person.step("stored") as step:
            async with self._store.lock(self.resource, self.account):
                await asyncio.sleep(0)  # whoever cancelled it was in time
                self.keeping = True
                step.detail = await unattended.keep(self._means, grant)
            if client.how == "configured":
                await beside(self._means.trusted.put, self._client_key, issuer.issuer)
        return grant
