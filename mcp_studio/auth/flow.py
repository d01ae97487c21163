"""The steps of signing in, one after the other; whoever runs them shows them and asks the person."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from urllib.parse import parse_qsl

from mcp_studio.auth import granting, pkce, scopes, tokens, unattended
from mcp_studio.auth.address import resource_of
from mcp_studio.auth.answers import Tokens
from mcp_studio.auth.authorize import authorization_url
from mcp_studio.auth.challenge import Challenge
from mcp_studio.auth.discover import Asked, Resource, ask_server, find_issuer, find_own, find_resource, unasked
from mcp_studio.auth.dpop import Dpop, Use, use
from mcp_studio.auth.failed import AuthFailed, said
from mcp_studio.auth.fetch import Fetcher
from mcp_studio.auth.kept import PENDING, Pending
from mcp_studio.auth.metadata import IssuerMetadata
from mcp_studio.auth.model import AuthStep, Client, Grant
from mcp_studio.auth.person import Means, Person
from mcp_studio.auth.redeem import redeem, signed
from mcp_studio.auth.redirect import Expected
from mcp_studio.auth.redirects import Redirects
from mcp_studio.auth.registering import forget_unknown, who
from mcp_studio.auth.trusted import Key
from mcp_studio.errors import StudioError
from mcp_studio.vault.beside import beside


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
        if told := granting.elsewhere(issuer):
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
        chosen = scopes.select(
            Challenge.find(resource.challenge).scope,
            resource.metadata.scopes if resource.metadata else None,
            configured=self._config.auth.scopes,
            offered=issuer.scopes,
            renewable=renewable,
        )
        return scopes.union(chosen, self._asked)

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
        proof, state = pkce.make(), pkce.state()
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
            metadata=granting.essence(issuer),
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
            prove = partial(granting.client_proof, self._config.auth, client, issuer.issuer, issuer.signing_algs)
            make = signed(issuer.token_endpoint, client, form, prove)
            try:
                got = await redeem(
                    self._fetcher, make, "token for the code", asked=pending.scopes, dpop=self._dpop, use=self._use
                )
            except AuthFailed as problem:
                await forget_unknown(self._means, client, problem)
                raise
            step.detail = granting.about(got, pending.audience)
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
            step.detail = granting.about(got.tokens, audience)
        return await self._stored(issuer, got.client, got.tokens, audience)

    async def _stored(self, issuer: IssuerMetadata, client: Client, got: Tokens, audience: str) -> Grant:
        grant = granting.granted(self.resource, self.account, issuer, client, got, audience=audience, dpop=self._dpop)
        with self._person.step("stored") as step:
            async with self._store.lock(self.resource, self.account):
                await asyncio.sleep(0)  # whoever cancelled it was in time
                self.keeping = True
                step.detail = await granting.keep(self._means, grant)
            if client.how == "configured":
                await beside(self._means.trusted.put, self._client_key, issuer.issuer)
        return grant
