"""Accounts on a state folder of a test, and a person without a browser."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mcp_studio.auth.accounts import Accounts
from mcp_studio.auth.signin import SignIn
from mcp_studio.config.model import Auth, ServerConfig, Settings
from mcp_studio.limits import Limits
from mcp_studio.paths import Paths
from mcp_studio.redact import Redactor
from mcp_studio.vault.base import MemoryVault, Vault
from tests.auth.kit import FakeTap

LIMITS = Limits(sign_in_request=5.0, sign_in=20.0)


class Desk:
    """One studio's accounts; several desks on one folder and vault are several studios of one person."""

    def __init__(self, state: Path, vault: Vault | None = None, *, limits: Limits = LIMITS) -> None:
        self.tap = FakeTap()
        self.redactor = Redactor()
        self.vault = vault or MemoryVault()
        self.limits = limits
        paths = Paths(state / "config", state / "state", state / "cache")
        self.open: Callable[[], Vault] = lambda: self.vault
        self.accounts = Accounts(Settings(), paths, limits, self.redactor, lambda *_: self.open())
        self.pages: list[str] = []
        self.accounts.browser = self.browse

    async def browse(self, url: str) -> bool:
        """A person who agrees to everything: follows the page to the redirect, which reaches the listener."""
        self.pages.append(url)
        where = await visit(url)
        if where:
            await visit(where)
        return True

    async def done(self, config: ServerConfig, **how: object) -> SignIn:
        """A sign-in that has run."""
        sign_in = self.accounts.sign_in(config, self.tap, **how)  # type: ignore[arg-type]
        await sign_in.run()
        return sign_in

    async def age(self, config: ServerConfig) -> None:
        """The token that is kept expired a second ago."""
        store, (known,) = self.accounts.store(config), await self.accounts.accounts()
        grant = await store.load(known.resource, known.account)
        assert grant is not None
        await store.save(replace(grant, expires=time.time() - 1), config.name)


async def visit(url: str) -> str:
    """Go to a page; where it leads. In a thread: whoever is called back leaves no connection behind."""
    return await asyncio.to_thread(_visit, url)


def _visit(url: str) -> str:
    parts = urlsplit(url)
    line = HTTPConnection(parts.netloc, timeout=60)
    with closing(line), suppress(OSError):
        line.request("GET", f"{parts.path}?{parts.query}")
        return line.getresponse().headers.get("location", "")
    return ""


def server(url: str, **auth: object) -> ServerConfig:
    """A server's entry."""
    return ServerConfig("one", url=url, auth=replace(Auth(), **auth))  # type: ignore[arg-type]


async def until(sign_in: SignIn, check: Callable[[SignIn], object]) -> None:
    """Wait until something is true of a sign-in that runs beside."""
    told = asyncio.Event()
    leave = sign_in.changed.connect(lambda _: told.set())
    try:
        async with asyncio.timeout(60):
            while not check(sign_in):
                if sign_in.over:
                    pytest.fail(f"it is over: {sign_in.state} {sign_in.error}")
                await told.wait()
                told.clear()
    finally:
        leave()
