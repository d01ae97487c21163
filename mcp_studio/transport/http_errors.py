"""What can go wrong with one HTTP exchange, in words; each failure keeps the status it came with."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator

from mcp_studio.errors import ConnectionLost, ProtocolError, SignInNeeded, StudioError, Unreachable

EXCERPT = 300
"""Characters of a body that are quoted in an error."""


class HttpFailure(StudioError):
    """A request got no usable answer from HTTP.

    Attributes:
        status: the HTTP status, or 0 when none came.
        body: the beginning of the body, as text; foreign.
    """

    def __init__(self, message: str, *, hint: str = "", status: int = 0, body: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.body = body


class HttpUnreachable(HttpFailure, Unreachable):
    """The request never reached the server: nothing of it was carried out."""


class HttpLost(HttpFailure, ConnectionLost):
    """The exchange ended before the answer was complete; the server may have carried the request out."""


class SessionLost(HttpLost):
    """The server no longer knows the session: everything on this connection has to start anew."""


class HttpBroken(HttpFailure, ProtocolError):
    """The server answered with something that the protocol does not allow."""


class HttpSignIn(HttpFailure, SignInNeeded):
    """401 or 403; `challenge` is the `WWW-Authenticate` header."""

    def __init__(self, message: str, *, hint: str = "", status: int = 0, body: str = "", challenge: str = "") -> None:
        super().__init__(message, hint=hint, status=status, body=body)
        self.challenge = challenge


def network_failure(problem: BaseException, place: str, *, under_way: bool) -> HttpFailure:
    """Put a network error into words; `place` is host and port, `under_way` whether the request had been sent."""
    chain = tuple(_chain(problem))
    names = {type(link).__name__ for link in chain}
    if "LocalProtocolError" in names:
        return HttpFailure(f"The request to {place} cannot be put into HTTP: {_reason(chain)}.")
    if under_way:
        return _lost(chain, names, place)
    for link in chain:
        if isinstance(link, ssl.SSLCertVerificationError):
            return HttpUnreachable(
                f"The TLS certificate of {place} is not accepted: {link.verify_message}.",
                hint="If you trust this server, put its certificate into a file and name that file in SSL_CERT_FILE.",
            )
        if isinstance(link, ssl.SSLError):
            return _tls(link, place)
        if isinstance(link, socket.gaierror | UnicodeError):
            return no_such_host(place)
        if isinstance(link, ConnectionRefusedError):
            return HttpUnreachable(
                f"Nothing answers at {place}: the connection was refused.",
                hint="Is the server running, and is the port right?",
            )
    if "ProxyError" in names:
        return HttpUnreachable(f"The proxy does not lead to {place}: {_reason(chain)}.")
    return HttpUnreachable(f"No connection to {place}: {_reason(chain)}.", hint="Is the server running?")


def no_such_host(name: str) -> HttpUnreachable:
    """The name of the server, or of the proxy to it, means nothing."""
    return HttpUnreachable(f"The host name {name} does not resolve.", hint="Check the spelling and the network.")


def _chain(problem: BaseException) -> Iterator[BaseException]:
    """The error and all that caused it, innermost last; groups are opened."""
    seen: set[int] = set()
    queue = [problem]
    while queue:
        link = queue.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        if isinstance(link, BaseExceptionGroup):
            queue.extend(link.exceptions)
        queue.extend(cause for cause in (link.__cause__, link.__context__) if cause is not None)


def _tls(problem: ssl.SSLError, place: str) -> HttpFailure:
    reason = str(getattr(problem, "reason", None) or problem)
    if reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
        return HttpUnreachable(f"{place} does not speak TLS.", hint="Try http:// instead of https://.")
    said = reason.replace("_", " ").lower() or "no reason given"
    return HttpUnreachable(f"TLS with {place} failed: {said}.", hint="Does this port speak TLS (https://)?")


def _lost(chain: tuple[BaseException, ...], names: set[str], place: str) -> HttpFailure:
    text = " ".join(str(link) for link in chain)
    if "WriteTimeout" in names:
        return HttpLost(f"{place} does not read what is sent to it.")
    if "without sending a response" in text:
        return HttpLost(f"{place} closed the connection without an answer.")
    if any(
        words in text for words in ("without sending complete message", "incomplete chunked", "unexpectedly closed")
    ):
        return HttpLost(f"{place} closed the connection in the middle of its answer.")
    if "RemoteProtocolError" in names:
        hint = "Does this port want https:// instead?" if "\\x15\\x03" in text else ""
        return HttpBroken(f"What {place} answered is not HTTP: {_reason(chain[:1])}.", hint=hint)
    if any(isinstance(link, ConnectionResetError | BrokenPipeError) for link in chain):
        return HttpLost(f"{place} reset the connection before its answer was complete.")
    return HttpLost(f"The connection to {place} ended before its answer was complete: {_reason(chain)}.")


def _reason(chain: tuple[BaseException, ...]) -> str:
    for link in reversed(chain):
        text = link.strerror if isinstance(link, OSError) and link.strerror else str(link)
        if text:
            return text[:EXCERPT].rstrip(".")
    return type(chain[0]).__name__


def sign_in(status: int, challenge: str, place: str, body: bytes, *, had_credentials: bool) -> HttpSignIn:
    """401 or 403: what the server asked for, taken from `WWW-Authenticate` (RFC 9110 11.6.1, RFC 6750 3)."""
    scheme = re.split("[ ,]", challenge, maxsplit=1)[0][:40]
    wants = [f"scheme {scheme}"] if scheme else []
    for name in ("error", "error_description", "scope"):
        if found := _param(challenge, name):
            wants.append(f"{name} {found!r}")
    asked = f" ({', '.join(wants)})" if wants else ""
    said = excerpt(body)
    if status == 401:
        verb = "does not accept the credentials it was sent" if had_credentials else "wants you to sign in"
        message = f"{place} {verb}: HTTP status 401{asked}."
    else:
        message = f"{place} refuses access: HTTP status 403{asked}." + (f" It says: {said}" if said else "")
    hint = "Check the headers of this server." if had_credentials else "Give it a header such as Authorization."
    return HttpSignIn(message, hint=hint, status=status, body=said, challenge=challenge)


def _param(challenge: str, name: str) -> str:
    # Cut: a search for a quote that never closes would start anew at every name.
    found = re.search(rf'(?:^|[\s,]){name}\s*=\s*(?:"([^"]*)"|([^\s,"]+))', challenge[:4096], re.IGNORECASE)
    return (found[1] or found[2] or "")[:EXCERPT] if found else ""


def refused(status: int, reason: str, media_type: str, place: str, body: bytes, retry_after: str = "") -> HttpFailure:
    """Any other status that is no success."""
    said = excerpt(body)
    named = f"HTTP status {status}" + (f" {reason}" if reason else "")
    page = f" and an HTML page{_titled(body)}" if media_type == "text/html" else ""
    quoted = f" It says: {said}" if said and not page else ""
    hint = f"It asks to wait {retry_after} seconds." if re.fullmatch("[0-9]{1,6}", retry_after) else ""
    return HttpFailure(f"{place} answered with {named}{page}.{quoted}", hint=hint, status=status, body=said)


def wrong_type(media_type: str, status: int, place: str, body: bytes) -> HttpBroken:
    """A success whose body is neither JSON nor an event stream."""
    said = excerpt(body)
    if media_type == "text/html":
        message = f"{place} answered with an HTML page{_titled(body)} instead of JSON."
        return HttpBroken(message, hint="Is this the address of an MCP endpoint?", status=status, body=said)
    if not said:
        return HttpBroken(f"{place} answered with an empty body.", status=status)
    kind = f"content of type {media_type}" if media_type else "content of no stated type"
    return HttpBroken(f"{place} answered with {kind} instead of JSON: {said}", status=status, body=said)


def _titled(body: bytes) -> str:
    found = re.search(rb"<title[^<>]{0,100}>([^<]{1,200})", body[:8192], re.IGNORECASE)
    return f" (“{excerpt(found[1])}”)" if found else ""


def excerpt(body: bytes) -> str:
    """The beginning of a body as one line of text."""
    text = " ".join(body[: EXCERPT * 4].decode("utf-8", "replace").split())
    return text if len(text) <= EXCERPT else text[:EXCERPT] + "…"
