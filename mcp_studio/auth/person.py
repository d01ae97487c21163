"""What a flow works with, and who looks on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from mcp_studio.auth.authorize import Expected
from mcp_studio.auth.callback import Redirects
from mcp_studio.auth.model import AuthStep, StepName
from mcp_studio.auth.store import GrantStore, Trusted
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import UsageError
from mcp_studio.redact import Redactor


class Person(Protocol):
    """Whoever looks on."""

    def step(self, name: StepName) -> AbstractContextManager[AuthStep]:
        """A step begins; it ends with the block, and fails with the `StudioError` that leaves it."""
        ...

    def note(self, text: str) -> None:
        """Something to be told in the step that runs."""
        ...

    async def choose_issuer(self, issuers: Sequence[str]) -> str:
        """One of several authorization servers."""
        ...

    async def client(self, why: str, redirect_uri: str) -> tuple[str, str]:
        """A client id and secret that were registered by hand, with that redirect."""
        ...

    async def permit(self, url: str, expected: Expected, redirects: Redirects) -> str:
        """The code that the redirect brings."""
        ...


def typed(client_id: str, secret: str) -> tuple[str, str]:
    """A client id and secret as a person has typed or pasted them.

    Raises:
        UsageError: the id is empty, or one of them cannot be one.
    """
    client_id, secret = client_id.strip(), secret.strip()
    for what, value in (("client id", client_id), ("client secret", secret)):
        if not (value.isascii() and value.isprintable() and len(value) <= LONGEST):
            raise UsageError(f"That is no {what}.", hint="It consists of printable ASCII characters.")
    if not client_id:
        raise UsageError("The client id is empty.")
    return client_id, secret


class Means(NamedTuple):
    """What a flow works with."""

    config: ServerConfig
    store: GrantStore
    redactor: Redactor
    document: str
    """Our client id metadata document, or empty."""
    trusted: Trusted
    """Where configured clients belong."""
    stays: bool = False
    """Whether whoever signs in uses it in this process: what cannot be kept is good until it ends."""
    anew: bool = False
    """Whether another client is to be registered, whatever is known of one."""


LONGEST = 4_096
"""Characters of a client id or secret."""
