"""What can go wrong with one HTTP exchange, as errors; each keeps what HTTP answered."""

from __future__ import annotations

from mcp_studio.errors import ConnectionLost, HttpAnswer, ProtocolError, SignInNeeded, StudioError, Unreachable

EXCERPT = 300
"""Characters of a body that are quoted in an error."""
KEPT = 4_000
"""Characters of a body that are kept with an error."""


class HttpFailure(StudioError):
    """A request got no usable answer from HTTP.

    Attributes:
        status: the HTTP status, or 0 when none came.
        retry_after: seconds after which the server wants to be asked again; 0 when it does not say.
    """

    def __init__(
        self, message: str, *, hint: str = "", status: int = 0, http: HttpAnswer | None = None, retry_after: float = 0.0
    ) -> None:
        super().__init__(message, hint=hint)
        self.http = http if http is not None or not status else HttpAnswer(status)
        self.retry_after = retry_after

    @property
    def status(self) -> int:
        """The HTTP status, or 0 when none came."""
        return self.http.status if self.http is not None else 0

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """Of the response; foreign."""
        return self.http.headers if self.http is not None else ()

    @property
    def body(self) -> str:
        """The beginning of the body, as text; foreign."""
        return self.http.body if self.http is not None else ""


class HttpUnreachable(HttpFailure, Unreachable):
    """The request never reached the server: nothing of it was carried out."""


class HttpDown(HttpUnreachable):
    """Nobody answers at the address: the server, or the network on the way to it, may be there a moment later."""


class HttpLost(HttpFailure, ConnectionLost):
    """The exchange ended before the answer was complete; the server may have carried the request out."""


class SessionLost(HttpLost):
    """The server no longer knows the session: everything on this connection has to start anew."""


class HttpBroken(HttpFailure, ProtocolError):
    """The server answered with something that the protocol does not allow."""


class HttpSignIn(HttpFailure, SignInNeeded):
    """401, or 403 that asks for a scope; `challenge` is the `WWW-Authenticate` header."""

    def __init__(self, message: str, *, hint: str = "", http: HttpAnswer | None = None, challenge: str = "") -> None:
        super().__init__(message, hint=hint, http=http)
        self.challenge = challenge


def details(error: StudioError) -> list[tuple[str, str]]:
    """What HTTP answered, as titles with texts for an error card; empty where it was nothing of HTTP."""
    http = error.http
    if http is None:
        return []
    lines = "\n".join(f"{name}: {value}" for name, value in http.headers)
    parts = [("status", f"{http.status} {http.reason}".rstrip()), ("headers", lines), ("body", http.body)]
    return [(title, text) for title, text in parts if text]


def excerpt(body: bytes) -> str:
    """The beginning of a body as one line of text."""
    text = " ".join(body[: EXCERPT * 4].decode("utf-8", "replace").split())
    return text if len(text) <= EXCERPT else text[:EXCERPT] + "…"


def kept(body: bytes) -> str:
    """The beginning of a body as text, as much as is kept with an error."""
    text = body[: KEPT * 4].decode("utf-8", "replace")
    return text if len(text) <= KEPT and len(body) <= KEPT * 4 else text[:KEPT] + "…"
