"""The grant of one server and account in this process: read once, renewed by one at a time, used by all.

Other processes use the same grant: before renewing it is read again under a lock between processes, and what is newer
there is taken instead of asking for something new with a refresh token that may be used up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from mcp_studio.auth.dpop import Dpop
from mcp_studio.auth.failed import AuthFailed
from mcp_studio.auth.fetch import Fetcher
from mcp_studio.auth.model import Grant
from mcp_studio.auth.renewing import DEAD, expiring, refresh
from mcp_studio.auth.store import GrantStore
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import StudioError
from mcp_studio.transport.tap import Headers

T = TypeVar("T")
Note = Callable[[str], None]


class Holder:
    """Whatever changes a grant goes through here."""

    def __init__(self, store: GrantStore, resource: str, account: str) -> None:
        self.store = store
        self.resource = resource
        self.account = account
        self.grant: Grant | None = None
        self.turn = asyncio.Lock()
        """For whoever gets a new token, one at a time; nobody holds it during a request to the server."""
        self.note: Note = lambda text: None
        self._dpop: tuple[str, Dpop] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._wanted: dict[str, asyncio.Task[Any]] = {}
        """What is under way, by what it is."""
        self._missing = ""
        self.unkept = ""
        """Why the grant is here alone, in a sentence: it could not be kept; empty where it was."""

    @property
    def known(self) -> bool:
        """Whether there is a grant, as far as that can be told without the vault."""
        return self.grant is not None or self.store.known(self.resource, self.account)

    async def current(self) -> Grant | None:
        """The grant, from the vault when it is first asked for, or when another process has made one since.

        Raises:
            VaultRefused: it is there and cannot be read.
        """
        stamp = "" if self.grant is not None else self.store.stamp(self.resource, self.account)
        if stamp and stamp != self._missing:
            async with self.turn:
                if self.grant is None:
                    self.grant = await self.store.load(self.resource, self.account)
                    # A vault that does not have what it should have is not asked for every request.
                    self._missing = stamp if self.grant is None else ""
                    if self.grant is None and self.store.problem:
                        self.note(self.store.problem)
        return self.grant

    def put(self, grant: Grant | None, unkept: str = "") -> None:
        """What signing in brought, or that there is nothing any more."""
        self.grant, self.unkept = grant, unkept

    def renewable(self, grant: Grant) -> bool:
        """Whether there may be another token without a person: by refreshing, or as another process has one. Cheap."""
        return bool(grant.refresh_token) or not self.stamped(grant)

    def stamped(self, grant: Grant) -> bool:
        """Whether what was kept last is this one. Cheap."""
        return self.store.stamp(self.resource, self.account).startswith(f"{grant.obtained} {grant.expires} ")

    async def proofs(self, grant: Grant) -> Dpop | None:
        """The key that a token is bound to, with the nonces that servers want; None for a token without one."""
        if not grant.dpop_key:
            return None
        if self._dpop is None or self._dpop[0] != grant.dpop_key:
            self._dpop = (grant.dpop_key, await asyncio.to_thread(Dpop.load, grant.dpop_key))
        return self._dpop[1]

    def seen(self, url: str, headers: Headers) -> None:
        """The headers of a response: nonces."""
        if self._dpop is not None:
            self._dpop[1].seen(url, headers)

    async def renew(
        self, config: ServerConfig, fetchers: Callable[[], Fetcher], sent: str, *, force: bool = False
    ) -> Grant | None:
        """Another token than `sent`, got by refreshing; None where that takes a person.

        All who want one for the same token at the same time share what becomes of it, a failure too: an authorization
        server that does not answer is waited for once. With `force` it is refreshed in any case.

        Raises:
            AuthFailed, StudioError: the authorization server cannot be asked right now.
        """
        return await self.together(
            f"renew {sent}", lambda: self._renew(config, fetchers, sent, force=force), anew=force
        )

    async def together(self, what: str, begin: Callable[[], Coroutine[Any, Any, T]], *, anew: bool = False) -> T:
        """Do something once for all who want it at the same time; to its end, also when whoever wanted it leaves.

        Args:
            what: what it is: who wants the same shares what becomes of it, a failure too.
            anew: do it once more, beside what may be under way.
        """
        task = self._wanted.get(what)
        if task is None or anew:
            task = self._wanted[what] = asyncio.create_task(begin())
            self._tasks.add(task)
            task.add_done_callback(partial(self._done, what))
        return await asyncio.shield(task)

    async def settle(self, seconds: float) -> None:
        """Wait for what is under way: a refresh token that is used up while the new one is not kept ends a sign-in."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    def _done(self, what: str, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if self._wanted.get(what) is task:
            del self._wanted[what]
        if not task.cancelled():
            task.exception()  # Nobody may be there any more to be told.

    async def _renew(
        self, config: ServerConfig, fetchers: Callable[[], Fetcher], sent: str, *, force: bool
    ) -> Grant | None:
        async with self.turn:
            if self.grant is not None and self.grant.access_token != sent:
                return self.grant
            async with self.store.lock(self.resource, self.account):
                found = await self._newest()
                if found is None or (found.access_token != sent and not expiring(found) and not force):
                    return found
                async with fetchers() as fetcher:
                    return await self._refreshed(config, fetcher, found)

    async def _newest(self) -> Grant | None:
        """What the vault has; what we have where it cannot be read, or could not be kept."""
        try:
            kept = await self.store.load(self.resource, self.account)
        except StudioError as problem:
            self.note(problem.message)
            return self.grant
        if kept is None and not self.unkept and not self.store.known(self.resource, self.account):
            self.grant = None  # Somebody has signed out, in another process.
        elif kept is not None and not (self.unkept and self.grant and kept.obtained < self.grant.obtained):
            self.grant = kept
        return self.grant

    async def _refreshed(self, config: ServerConfig, fetcher: Fetcher, found: Grant) -> Grant | None:
        if not found.refresh_token:
            return None
        try:
            new = await refresh(fetcher, config.auth, found)
        except AuthFailed as problem:
            if problem.error not in DEAD:
                raise
            self.note(f"The refresh token is of no use any more. {problem.message}")
            if problem.error == "invalid_client" and found.client.how in ("registered", "typed"):
                await self.store.remove_client(found.issuer, self.account)
            await self._keep(replace(found, refresh_token=""), config)
            return None
        await self._keep(new, config)
        return new

    async def _keep(self, grant: Grant, config: ServerConfig) -> None:
        self.grant = grant
        try:
            await self.store.save(grant, config.name)
            self.unkept = ""
        except (StudioError, OSError) as problem:
            said = problem.message if isinstance(problem, StudioError) else str(problem)
            self.unkept = f"The renewed token of {config.name} is used, and could not be kept: {said}"
            self.note(self.unkept)
