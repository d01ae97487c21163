"""The credentials of one server on its requests: from the store, renewed in time, asked for where a person can help."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from mcp_studio.auth.signin import SignIn
from mcp_studio.transport.credentials import HeaderList, Refused
from mcp_studio.transport.tap import Headers


class SignInRequest(NamedTuple):
    """A request that cannot go on until a person has signed in."""

    server: str
    reason: str
    """What the server said to it, in a sentence; quotes foreign text."""
    scopes: tuple[str, ...]
    """All that would be asked for: what there is already and what is missing."""
    challenge: str
    """The `WWW-Authenticate` header."""
    sign_in: Callable[..., SignIn]
    """Makes the sign-in, not started; takes `step_by_step=True`."""


Ask = Callable[[SignInRequest], Awaitable[bool]]
"""True: somebody has signed in, send the request again. False: declined, or nobody was there."""


class Access:
    """Implements `transport.credentials.Credentials` for one connection."""

    @property
    def present(self) -> bool:
        """Whether there is a token to send."""
        raise NotImplementedError

    async def lines(self, method: str, url: str) -> HeaderList:
        """See `Credentials.lines`."""
        raise NotImplementedError

    def seen(self, url: str, headers: Headers) -> None:
        """See `Credentials.seen`."""
        raise NotImplementedError

    async def refused(self, refused: Refused) -> bool:
        """See `Credentials.refused`."""
        raise NotImplementedError
