"""The sign-ins of all servers, for front ends and sessions: one object per studio."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from mcp_studio.auth import model, tokens
from mcp_studio.auth.access import Access, Ask, Holder, expiring
from mcp_studio.auth.discovery import resource_of, resource_or_none, tidy
from mcp_studio.auth.fetch import Fetcher
from mcp_studio.auth.model import Account, AuthFailed, Grant
from mcp_studio.auth.signin import SignIn
from mcp_studio.auth.store import TRUSTED_FILE, GrantStore, Trusted
from mcp_studio.config.model import Auth, Keeping, ServerConfig, Settings
from mcp_studio.errors import SignInNeeded, StudioError
from mcp_studio.limits import Limits
from mcp_studio.paths import Paths
from mcp_studio.redact import Redactor
from mcp_studio.threads import beside
from mcp_studio.transport.base import Credentials, Tap
from mcp_studio.vault.base import MemoryVault, Vault
from mcp_studio.vault.keyring import open_vault

Browser = Callable[[str], Awaitable[bool]]
"""Opens a page in a browser; False where there is none. It receives only addresses that `urls.judge` allows."""


async def nowhere(_url: str) -> bool:
    """The `Browser` of a front end that opens no pages."""
    return False


class Accounts:
    """The sign-ins of one person: creates, uses, renews, shows and ends them."""

    def __init__(
        self,
        settings: Settings,
        paths: Paths,
        limits: Limits,
        redactor: Redactor,
        open_vault: Callable[[Keeping, Path], Vault] = open_vault,
        browser: Browser | None = None,
    ) -> None:
        self.document = settings.client_metadata_url
        """The URL of our client id metadata document, or empty."""
        self.sign_in = partial(SignIn, self)
        """Creates a sign-in without starting it; see `SignIn`."""
        self.limits = limits
        self.redactor = redactor
        self.browser = browser or nowhere
        self._state = paths.state
        self._open_vault = open_vault
        self.keeping: Keeping = settings.secrets
        """Where the tokens are stored."""
        self._store = self._store_in(settings.secrets)
        self.trusted = Trusted(self._state / TRUSTED_FILE)
        self.stays = True
        """Whether a grant that cannot be stored is used until this process ends. If not, the sign-in fails."""
        self._holders: dict[tuple[str, str, Auth | None], Holder] = {}

    def _store_in(self, keeping: Keeping) -> GrantStore:
        memory = keeping == "memory"
        return GrantStore(
            lambda: self._open_vault(keeping, self._state), self._state, self.redactor.learn, memory=memory
        )

    def keep_in(self, keeping: Keeping) -> None:
        """Store sign-ins in another place until this process ends; those stored elsewhere stay there."""
        if keeping != self.keeping:
            before, self.keeping, self._store = self._store, keeping, self._store_in(keeping)
            for holder in self._holders.values():
                if holder.store is before:
                    holder.store = self._store

    async def place(self, config: ServerConfig) -> str:
        """Name the place where a server's sign-in is stored; nothing is unlocked.

        Raises:
            VaultRefused: no place can store it; the error says why, and how to get one.
        """
        return await self.store(config).place()

    async def unlock(self) -> None:
        """Unlock the vault now where a sign-in without storage would be of no use, and not only after the sign-in.

        Raises:
            VaultRefused: no place can store it, or nobody entered the passphrase.
        """
        if self.keeping == "file" or (self.keeping == "keyring" and not self.stays):
            await self._store.unlock()

    def access(self, config: ServerConfig, tap: Tap, ask: Ask | None) -> Credentials | None:
        """The credentials for a connection; None for a server without sign-in. Nothing is read or sent yet."""
        if not config.signs_in or not resource_or_none(config):
            return None
        return Access(self, tidy(config), self._holder(config), tap, ask)

    async def signed_in(self, config: ServerConfig, grant: Grant, unsaved: str) -> Account:
        """Use the grant that a sign-in returned; `unsaved` says why it could not be stored."""
        holder = self._holder(config)
        holder.grant, holder.unsaved = grant, unsaved
        return await self._account(config, grant)

    async def account(self, config: ServerConfig) -> Account | None:
        """What may be shown of a server's sign-in; None where nobody is signed in.

        Raises:
            StudioError: the grant is stored, and cannot be read.
        """
        grant = await self._holder(config).current()
        return None if grant is None else await self._account(config, grant)

    async def accounts(self) -> list[Account]:
        """All sign-ins, also of servers that are not configured. They lack the claims, so that no secret is read."""
        stores = {self._store, *(holder.store for holder in self._holders.values())}
        return [account for store in stores for account in await store.list()]

    async def token(self, config: ServerConfig, tap: Tap | None = None) -> str:
        """The access token itself, renewed if it has expired; only for a person who requests it.

        Raises:
            StudioError: there is no token, or it cannot be renewed.
        """
        grant = await self._existing(config)
        if tap is not None and expiring(grant):
            holder = self._holder(config)
            grant = await holder.renew(config, self.fetcher(config, tap), grant.access_token) or grant
        return grant.access_token

    async def refresh(self, config: ServerConfig, tap: Tap) -> Account:
        """Renew the token now.

        Raises:
            StudioError: why the token cannot be renewed; `SignInNeeded` where a person has to sign in.
        """
        grant = await (self._holder(config).current() if config.auth.alone else self._existing(config))
        if grant is None or (config.auth.alone and not grant.refresh_token):
            run = self.sign_in(config, tap, scopes=grant.scopes if grant else ())
            await run.run()
            if run.error is not None:
                raise run.error
            return await self._account(config, await self._existing(config))
        holder = self._holder(config)
        new = await holder.renew(config, self.fetcher(config, tap), grant.access_token, force=True)
        if new is None:
            why = "has no refresh token" if not grant.refresh_token else "is not renewed by its authorization server"
            raise AuthFailed(
                f"The sign-in at {config.name} {why}.", hint=f"Sign in again: mcp-studio auth login {config.name}"
            )
        return await self._account(config, new)

    async def sign_out(self, config: ServerConfig, tap: Tap) -> str:
        """Revoke the tokens if the authorization server offers it (RFC 7009), forget them, and say what happened.

        Raises:
            StudioError: nobody is signed in, or the vault cannot delete the tokens.
        """
        holder = self._holder(config)
        try:
            grant = await holder.current()
        except StudioError as problem:
            await self.forget(config)
            return f"The tokens could not be read, and so not be revoked: {problem.message} They were forgotten."
        if grant is None:
            await self.forget(config)
            raise SignInNeeded(f"Nobody is signed in to {config.name}.")
        async with holder.store.lock(holder.resource, holder.account):
            outcome = await tokens.revoke(self.fetcher(config, tap), holder.grant or grant)
        await self.forget(config)
        return f"{outcome} They were forgotten here."

    async def forget(self, config: ServerConfig, *, client: bool = False) -> tuple[bool, bool]:
        """Forget the tokens without revoking them; with `client` also our registration at the authorization server.

        Returns whether there were tokens, and whether there was a registered client.

        Raises:
            StudioError: the vault cannot delete them.
        """
        holder, store = self._holder(config), self.store(config)
        issuer = holder.grant.issuer if holder.grant else store.issuer(holder.resource, holder.account)
        async with store.lock(holder.resource, holder.account):
            holder.grant, holder.unsaved = None, ""
            removed = await store.remove("grant", holder.resource, holder.account)
            if not client:
                return removed, False
            issuers = {issuer, config.auth.issuer, *self.trusted.issuers(holder.resource, holder.account)}
            removals = [await store.remove("client", one, holder.account) for one in issuers if one]
            await beside(self.trusted.forget, holder.resource, holder.account)
            return removed, any(removals)

    @property
    def unsaved(self) -> tuple[str, ...]:
        """Sentences about the grants that could not be stored and are lost when this process ends."""
        return tuple(holder.unsaved for holder in self._holders.values() if holder.unsaved)

    async def settle(self, seconds: float) -> None:
        """Wait at the end of a studio for tokens that are being renewed."""
        await asyncio.gather(*(holder.settle(seconds) for holder in self._holders.values()))

    def store(self, config: ServerConfig) -> GrantStore:
        """The store that holds the sign-in of a server."""
        return self._holder(config).store

    def _holder(self, config: ServerConfig) -> Holder:
        # Tokens that need no person are never stored: the server gets new ones, also on machines without a keyring.
        # Entries with different [auth] tables do not share a holder: each has its own tokens and failures.
        alone = config.auth if config.auth.alone else None
        key = (resource_of(config), config.auth.whose, alone)
        if key not in self._holders:
            own = GrantStore(MemoryVault, self._state, self.redactor.learn, memory=True) if alone else self._store
            self._holders[key] = Holder(own, *key[:2])
        return self._holders[key]

    def fetcher(self, config: ServerConfig, tap: Tap) -> Fetcher:
        """A fetcher for the requests of a server's sign-in."""
        return Fetcher(tidy(config), self.limits, tap, self.redactor)

    async def _existing(self, config: ServerConfig) -> Grant:
        grant = await self._holder(config).current()
        if grant is None:
            why = self.store(config).problem
            raise SignInNeeded(
                why or f"Nobody is signed in to {config.name}.", hint=f"Sign in: mcp-studio auth login {config.name}"
            )
        return grant

    async def _account(self, config: ServerConfig, grant: Grant) -> Account:
        unsaved = self._holder(config).unsaved
        account = Account.of(grant, config.name, MemoryVault.place if unsaved else await self.store(config).place())
        return replace(account, claims=model.payload(grant.access_token), id_claims=model.payload(grant.id_token))
