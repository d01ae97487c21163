"""The errors of an HTTP exchange: failures of the network and of TLS, and statuses with their meaning in MCP."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING

from mcp_studio.errors import ConnectionLost, HttpAnswer, ProtocolError, SignInNeeded, StudioError, Unreachable

if TYPE_CHECKING:
    from mcp_studio.transport.http_response import Response

EXCERPT = 300
"""The most characters of a body that an error quotes."""
BODY = 4_000
"""The most characters of a body that an error carries."""


class HttpFailure(StudioError):
    """A request got no usable answer over HTTP.

    Attributes:
        code: the HTTP status, or 0 if none came.
        retry_after: seconds after which the server wants to be asked again; 0 if it does not say.
    """

    def __init__(
        self, message: str, *, hint: str = "", http: HttpAnswer | None = None, retry_after: float = 0.0, how: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.http, self.retry_after, self.code = http, retry_after, http.status if http is not None else 0
        self.how = how or (self.how if http is None else "status")


class HttpUnreachable(HttpFailure, Unreachable):
    """The request never reached the server, which did nothing."""


class HttpDown(HttpUnreachable):
    """There is no server at the address; it, or the network on the way, may be available later."""

    how = "refused"


class HttpLost(HttpFailure, ConnectionLost):
    """The exchange ended before the answer was complete; the server may have carried out the request."""


class SessionLost(HttpLost):
    """The server no longer knows the session: everything on this connection has to start again."""


class HttpBroken(HttpFailure, ProtocolError):
    """The server answered with something that the protocol does not allow."""


class HttpSignIn(HttpFailure, SignInNeeded):
    """401, or 403 that names a missing scope; `challenge` is the `WWW-Authenticate` header."""

    def __init__(self, message: str, *, hint: str = "", http: HttpAnswer | None = None, challenge: str = "") -> None:
        super().__init__(message, hint=hint, http=http)
        self.challenge = challenge


def excerpt(body: bytes) -> str:
    """The beginning of a body as one line of text."""
    text = " ".join(body[: EXCERPT * 4].decode("utf-8", "replace").split())
    return text if len(text) <= EXCERPT else text[:EXCERPT] + "…"


# ---------------------------------------------------------------------------------------------------- TLS

_TRUST = (
    "If you trust this server, name the certificate of its authority: tls.ca of its entry, --ca FILE, or "
    "SSL_CERT_FILE for all servers."
)
_NAME = "The certificate is for other names: use the name that it is for, or have the server show another one."
_RENEW = "Whoever runs the server has to renew it; check the clock of this machine too."
_VERIFY = {
    9: ("it is not valid yet", _RENEW),
    10: ("it has expired", _RENEW),
    18: ("it is signed by itself", _TRUST),
    19: ("it comes from an authority that is signed by itself and not trusted here", _TRUST),
    20: ("it comes from an authority that is not known here", _TRUST),
    62: ("it is for another host name", _NAME),
    64: ("it is for another address", _NAME),
}
"""OpenSSL's verification codes (x509_vfy.h) that people meet."""
_SHOW = "tls.cert and tls.key of its entry (--cert, --cert-key) name a client certificate."
_CLIENT_ALERTS = {
    "CERTIFICATE_REQUIRED": ("requires a client certificate, and none was shown", _SHOW),
    "HANDSHAKE_FAILURE": ("refused the TLS handshake without a reason", f"If it needs a client certificate: {_SHOW}"),
    "BAD_CERTIFICATE": ("does not accept the client certificate", _SHOW),
    "UNKNOWN_CA": ("does not know the authority of the client certificate", "It has to be one that it trusts."),
    "CERTIFICATE_EXPIRED": ("refuses the client certificate: it has expired", "Get a new one for tls.cert."),
}
"""The server's alerts about our side (RFC 8446 6.2), without the version that OpenSSL puts before them."""
_OLD = ("knows none of the versions of TLS that are accepted here", "Its TLS may be too old to be safe.")
_NO_TLS = ("does not speak TLS", "Try http:// instead of https://.")
_TLS_REASONS = {
    "PROTOCOL_VERSION": _OLD,
    "UNSUPPORTED_PROTOCOL": _OLD,
    "WRONG_VERSION_NUMBER": _NO_TLS,
    "RECORD_LAYER_FAILURE": _NO_TLS,
    "HTTP_REQUEST": _NO_TLS,
    "PACKET_LENGTH_TOO_LONG": _NO_TLS,
}


def tls_failure(problem: ssl.SSLError, place: str, *, under_way: bool) -> HttpFailure | None:
    """The error of a TLS failure; None if it came after the handshake and is not about certificates."""
    if isinstance(problem, ssl.SSLCertVerificationError):
        detail = problem.verify_message or str(problem)
        why, hint = _VERIFY.get(problem.verify_code, ("", _TRUST))
        words = f"{why} ({detail})" if why else detail
        return HttpUnreachable(f"The TLS certificate of {place} is not accepted: {words}.", hint=hint)
    reason = str(getattr(problem, "reason", None) or "")
    alert = re.sub(r"^(TLSV13_ALERT|TLSV1_ALERT|SSLV3_ALERT|TLSV1|SSLV3)_", "", reason)
    # With TLS 1.3 a server rejects our certificate only after the request was sent; it has not read the request.
    if alert not in _CLIENT_ALERTS and under_way:
        return None
    if sentences := _CLIENT_ALERTS.get(alert) or _TLS_REASONS.get(alert):
        return HttpUnreachable(f"{place} {sentences[0]}.", hint=sentences[1])
    detail = (reason or str(problem)).replace("_", " ").lower() or "no reason given"
    return HttpUnreachable(f"TLS with {place} failed: {detail}.", hint="Does this port speak TLS (https://)?")


# ---------------------------------------------------------------------------------------------------- network

_CUT = ("without sending complete message", "incomplete chunked", "unexpectedly closed")
_CRASHED = "The server, or what stands before it, may have crashed or been restarted: its log says."


def network_failure(problem: BaseException, place: str, *, under_way: bool, proxy: str = "") -> HttpFailure:
    """The error of a network failure.

    Args:
        place: host and port of the peer that failed.
        under_way: whether the request had been sent.
        proxy: the variable that names the proxy, if `place` is the proxy or is reached through it.
    """
    chain = tuple(_chain(problem))
    names = {type(link).__name__ for link in chain}
    if "LocalProtocolError" in names:
        return HttpFailure(f"The request to {place} cannot be put into HTTP: {_reason(chain)}.")
    for link in chain:
        if isinstance(link, ssl.SSLError) and (failure := tls_failure(link, place, under_way=under_way)):
            return failure
    if "ProxyError" in names:
        return _refused_by_proxy(_reason(chain), place, proxy)
    return _lost(chain, names, place) if under_way else _no_connection(chain, place, proxy)


def no_such_host(name: str, proxy: str = "") -> HttpDown:
    """The error of a host name, of the server or its proxy, that does not resolve."""
    whose = f", which {proxy} names," if proxy else ""
    return HttpDown(f"The host name {name}{whose} does not resolve.", hint="Check the spelling and the network.")


def _refused_by_proxy(reason: str, place: str, proxy: str) -> HttpUnreachable:
    """The error of a proxy that refuses to connect to the server; `reason` begins with its status."""
    label = f" ({proxy})" if proxy else ""
    if reason.startswith("407"):
        return HttpUnreachable(
            f"The proxy{label} requires credentials before it leads to {place}: {reason}.",
            hint=f"They go into its address: {proxy or 'HTTPS_PROXY'}=http://USER:PASSWORD@HOST:PORT",
        )
    return HttpUnreachable(
        f"The proxy{label} does not lead to {place}: {reason}.", hint="Put the host into NO_PROXY to go there directly."
    )


def _no_connection(chain: tuple[BaseException, ...], place: str, proxy: str) -> HttpFailure:
    """The error of a connection that could not be made."""
    where = f"the proxy {place} that {proxy} names" if proxy else place
    for link in chain:
        if isinstance(link, socket.gaierror | UnicodeError):
            return no_such_host(place, proxy)
        if isinstance(link, ConnectionRefusedError):
            hint = "Is the server running, and is the port right?" if not proxy else f"Is {proxy} right?"
            return HttpDown(f"Nothing answers at {where}: the connection was refused.", hint=hint)
    hint = "Is the server running, does this port speak HTTP, and is there a way to it (network, VPN)?"
    return HttpDown(f"No connection to {where}: {_reason(chain)}.", hint=hint)


def _lost(chain: tuple[BaseException, ...], names: set[str], place: str) -> HttpFailure:
    """The error of a request that was sent and got no complete answer."""
    text = " ".join(str(link) for link in chain)
    if "WriteTimeout" in names:
        return HttpLost(f"{place} does not read what is sent to it.", how="timeout")
    if "without sending a response" in text:
        return HttpLost(
            f"{place} closed the connection without an answer of HTTP.",
            hint=f"{_CRASHED} Or this port speaks something else than HTTP/1.1, such as HTTP/2 alone.",
        )
    if any(words in text for words in _CUT):
        return HttpLost(f"{place} closed the connection in the middle of its answer.", hint=_CRASHED)
    if "RemoteProtocolError" in names:
        return HttpBroken(
            f"What {place} answered is not HTTP: {_reason(chain[:1])}.",
            hint="Does this port want https:// instead, or speak HTTP/2 alone, or something else than HTTP?",
        )
    return HttpLost(f"The connection to {place} ended before its answer was complete: {_reason(chain)}.", hint=_CRASHED)


def _chain(problem: BaseException) -> Iterator[BaseException]:
    """The error and its causes, innermost last, including the members of groups."""
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


def _reason(chain: tuple[BaseException, ...]) -> str:
    for link in reversed(chain):
        text = link.strerror if isinstance(link, OSError) and link.strerror else str(link)
        if text:
            return text[:EXCERPT].rstrip(".")
    return type(chain[0]).__name__


# ---------------------------------------------------------------------------------------------------- Retry-After

_LONGEST = 400 * 86_400.0


def retry_after(answer: Response) -> float | None:
    """The seconds of `Retry-After`; None where the header is missing or no number."""
    value = answer.header("retry-after").strip()
    return min(float(value[:12]), _LONGEST) if value.isascii() and value.isdecimal() else None


# ---------------------------------------------------------------------------------------------------- statuses

MEANINGS = {
    400: (
        "it could not make sense of the request",
        "The trace shows what was sent; a missing session id or a protocol version that it does not know are usual.",
    ),
    403: (
        "access is refused",
        "Check the headers of this server, or what whoever is signed in may do there. Servers that guard against DNS "
        "rebinding answer so to a host that they do not allow.",
    ),
    404: (
        "there is no MCP endpoint at this address",
        "Check the path of the URL: it often ends in /mcp, and in /sse for HTTP+SSE.",
    ),
    405: (
        "this address does not take the HTTP method",
        'Check the path of the URL. A server of HTTP+SSE (2024-11-05) answers so too: transport = "sse".',
    ),
    407: (
        "the proxy in between requires credentials",
        "They go into its address: HTTP_PROXY=http://USER:PASSWORD@HOST:PORT",
    ),
    413: ("the request is larger than it takes", "Send less, or have the bound raised on the server or its gateway."),
    429: ("it was asked too often", "Wait, and send less at a time."),
    502: (
        "what stands before it could not make sense of its answer",
        "The MCP server behind the gateway may have ended, or speak something else than HTTP.",
    ),
    503: ("it cannot serve now", "It may be starting, overloaded, or under maintenance: try again."),
    504: (
        "what stands before it waited for its answer in vain",
        "Work that takes long should be answered as an event stream, which keeps gateways patient.",
    ),
}
"""By status: what the server means, and what to do."""


def meaning(status: int) -> tuple[str, str]:
    """What the server means by a failure status, and what to do."""
    if status >= 500:
        return MEANINGS.get(status, ("it failed", "The server's own log says why."))
    return MEANINGS.get(status, ("it does not take the request", "The trace shows what was sent."))


def answer_of(answer: Response, body: bytes) -> HttpAnswer:
    """The HTTP answer, to attach to an error."""
    text = body[: BODY * 4].decode("utf-8", "replace")
    beginning = text if len(text) <= BODY and len(body) <= BODY * 4 else text[:BODY] + "…"
    return HttpAnswer(answer.status, answer.reason, tuple(answer.headers), beginning)


def status_text(status: int, reason: str = "") -> str:
    """`HTTP status 404 Not Found`, with the server's own reason if it has one."""
    reason = reason or next((one.phrase for one in HTTPStatus if one == status), "")
    return f"HTTP status {status} {reason[:80]}".rstrip()


def refused(answer: Response, place: str, body: bytes) -> HttpFailure:
    """The error of a failure status that does not require a sign-in."""
    wait = retry_after(answer)
    says, hint = meaning(answer.status)
    if b"HTTP request" in body[:4096] and b"HTTPS" in body[:4096]:
        hint = "Use https:// in the address of this server."
    page = f" and an HTML page{_title_of(body)}" if answer.media_type == "text/html" else ""
    quoted = f" It says: {detail}" if (detail := excerpt(body)) and not page else ""
    if wait is not None:
        hint = f"It asks to wait {wait:g} seconds. {hint}"
    message = (
        f"{place} answered with {status_text(answer.status, answer.reason)}{page}, which says that {says}.{quoted}"
    )
    return HttpFailure(message, hint=hint, http=answer_of(answer, body), retry_after=wait or 0.0)


def session_lost(answer: Response, place: str, body: bytes) -> SessionLost:
    """The error of an unknown session (specification 2025-11-25, basic/transports, Session Management)."""
    detail = "" if answer.media_type == "text/html" else excerpt(body)
    quoted = f" It says: {detail}" if detail else ""
    return SessionLost(
        f"{place} no longer knows the session (HTTP status {answer.status}): it was ended there, or the server was "
        f"started anew.{quoted}",
        hint="A new session begins with the next connection. Where several instances serve it, what stands before them "
        "has to keep a session with one.",
        http=answer_of(answer, body),
        how="session",
    )


def wants_sign_in(answer: Response) -> bool:
    """Whether other credentials may help: 401, or 403 that names a missing scope. Any other 403 is a refusal."""
    insufficient = _param(answer.header("www-authenticate"), "error") == "insufficient_scope"
    return answer.status == 401 or (answer.status == 403 and insufficient)


def sign_in(answer: Response, place: str, body: bytes, *, had_credentials: bool) -> HttpSignIn:
    """The error of a server that requires a sign-in, from `WWW-Authenticate` (RFC 9110 11.6.1, RFC 6750 3)."""
    challenge, status = answer.header("www-authenticate"), answer.status
    scheme = re.split("[ ,]", challenge, maxsplit=1)[0][:40]
    wants = [f"scheme {scheme}"] if scheme else []
    wants += [
        f"{name} {value!r}" for name in ("error", "error_description", "scope") if (value := _param(challenge, name))
    ]
    details = f" ({', '.join(wants)})" if wants else ""
    hint = "Give it a header such as Authorization."
    if had_credentials:
        hint = "Check the headers of this server, or what whoever is signed in may do there."
    if scheme.lower() == "basic":
        hint = "It requires a name and a password: put them into its address, NAME:PASSWORD@ before the host."
    if status == 401:
        verb = "does not accept the credentials it was sent" if had_credentials else "requires you to sign in"
        message = f"{place} {verb}: HTTP status 401{details}."
        if not challenge:
            message += " It does not say how: a WWW-Authenticate header should."
    else:
        message = f"{place} refuses access: HTTP status {status}{details}."
        message += f" It says: {detail}" if (detail := excerpt(body)) else ""
    return HttpSignIn(message, hint=hint, http=answer_of(answer, body), challenge=challenge)


def _param(challenge: str, name: str) -> str:
    # The cut bounds the search: a quote that never closes would restart it at every name.
    match = re.search(rf'(?:^|[\s,]){name}\s*=\s*(?:"([^"]*)"|([^\s,"]+))', challenge[:4096], re.IGNORECASE)
    return (match[1] or match[2] or "")[:EXCERPT] if match else ""


def wrong_type(answer: Response, place: str, body: bytes, *, wanted: str = "JSON") -> HttpBroken:
    """The error of a success whose body has no accepted type."""
    detail, media_type = excerpt(body), answer.media_type
    if media_type == "text/html":
        what, hint = f"an HTML page{_title_of(body)} instead of {wanted}.", "Is this the address of an MCP endpoint?"
    elif not detail:
        what = "an empty body."
        hint = "A request has to be answered in the body of the response, as JSON or as an event stream."
    else:
        kind = f"content of type {media_type}" if media_type else "content of no stated type"
        what = f"{kind} instead of {wanted}: {detail}"
        hint = "A response says what it is: Content-Type: application/json or text/event-stream."
    return HttpBroken(f"{place} answered with {what}", hint=hint, http=answer_of(answer, body))


def _title_of(body: bytes) -> str:
    match = re.search(rb"<title[^<>]{0,100}>([^<]{1,200})", body[:8192], re.IGNORECASE)
    return f" (“{excerpt(match[1])}”)" if match else ""
