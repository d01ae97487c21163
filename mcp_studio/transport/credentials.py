"""What the HTTP edge needs of whoever holds the credentials of a server: headers for a request, and a second chance."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from mcp_studio.transport.tap import Headers

HeaderList = list[tuple[str, str]]


class Refused(NamedTuple):
    """A request that a server did not accept, status 401 or 403 (or 400 with a DPoP nonce)."""

    status: int
    method: str
    url: str
    sent: Headers
    """What `Credentials.lines` had given for it."""
    headers: Headers
    """Of the response."""
    body: str
    """The beginning of the response's body; foreign."""
    tries: int
    """How many times this request was refused, this one included."""

    def header(self, name: str) -> str:
        """All values of a response header (named in lower case), joined as HTTP allows."""
        return ", ".join(value for found, value in self.headers if found.lower() == name)


class Credentials(Protocol):
    """The credentials for one server; used by any task, several requests at a time."""

    @property
    def present(self) -> bool:
        """Whether there is anything to send."""
        ...

    async def lines(self, method: str, url: str) -> HeaderList:
        """Headers for one request to the server's own origin; they replace configured ones of the same name.

        A token that is about to expire is refreshed first. Nobody is asked anything here.

        Raises:
            StudioError: what is there cannot be used and cannot be renewed without a person.
        """
        ...

    def seen(self, url: str, headers: Headers) -> None:
        """The headers of every response (DPoP nonces, RFC 9449 8.2); synchronous and cheap."""
        ...

    async def refused(self, refused: Refused) -> bool:
        """Whether to send the request once more, with what `lines` gives then; may refresh, or ask a person.

        Raises:
            StudioError: why there is nothing better to send, in words; a `SignInNeeded` where a person could help.
        """
        ...
