"""Where sign-ins are kept: secrets in the vault, what is no secret in `state/sign-ins.json`.

Without an entry in that file the vault is never touched when a server is connected to: no keyring asks for its
password because of a server that has no sign-in.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from mcp_studio.auth.model import Account, Client, Grant


class Vault(Protocol):
    """What is used of a vault; its calls block, also for a person who has to unlock it."""

    @property
    def place(self) -> str:
        """Where it keeps things, in words."""
        ...

    def get(self, name: str) -> str | None:
        """The value, None where there is none."""
        ...

    def set(self, name: str, value: str) -> None:
        """Keep a value."""
        ...

    def delete(self, name: str) -> bool:
        """Forget it; False where there was none."""
        ...


class GrantStore:
    """Grants by resource and account, clients by issuer and account."""

    def __init__(self, vault: Callable[[], Vault], state: Path, learn: Callable[[str], None]) -> None:
        """`vault` opens it when it is first needed; every secret that is read is told to `learn`."""
        raise NotImplementedError

    async def load(self, resource: str, account: str) -> Grant | None:
        """The grant, None where there is none or what is there cannot be read (then `problem` says why)."""
        raise NotImplementedError

    async def save(self, grant: Grant, server: str) -> None:
        """Keep a grant, in place of the one that was there; under the lock of its resource."""
        raise NotImplementedError

    async def remove(self, resource: str, account: str) -> bool:
        """Forget a grant; False where there was none."""
        raise NotImplementedError

    async def list(self) -> list[Account]:
        """All grants, without their secrets and claims; the vault is not asked."""
        raise NotImplementedError

    async def client(self, issuer: str, account: str) -> Client | None:
        """Who we are at an authorization server, where it was registered or typed."""
        raise NotImplementedError

    async def save_client(self, client: Client, account: str) -> None:
        """Keep who we are."""
        raise NotImplementedError

    async def remove_client(self, issuer: str, account: str) -> bool:
        """Forget who we are; False where that was not known."""
        raise NotImplementedError

    @asynccontextmanager
    async def lock(self, resource: str) -> AsyncGenerator[None, None]:
        """Be the only one, of all processes and tasks, that renews what belongs to a resource.

        Raises:
            StudioError: somebody else holds it for too long.
        """
        raise NotImplementedError
        yield
