"""What can go wrong with one HTTP exchange, as errors; each keeps what HTTP answered."""

from __future__ import annotations

import errno
import re
import socket
import ssl
from collections.abc import Iterator

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


_TRUST = (
    "If you trust this server, name the certificate of its authority: tls.ca of its entry, --ca FILE, or "
    "SSL_CERT_FILE for all servers."
)
_NAME = "The certificate is for other names: use the name that it is for, or have the server show another one."
_RENEW = "Whoever runs the server has to renew it; check the clock of this machine too."
_CHAIN = "The server should send the certificates in between too; or name them in tls.ca."
_VERIFY = {
    9: ("it is not valid yet", _RENEW),
    10: ("it has expired", _RENEW),
    18: ("it is signed by itself", _TRUST),
    19: ("it comes from an authority that is signed by itself and not trusted here", _TRUST),
    20: ("it comes from an authority that is not known here", _TRUST),
    21: ("its authority is not among what the server sent", _CHAIN),
    23: ("it was revoked", "Whoever runs the server has to replace it."),
    62: ("it is for another host name", _NAME),
    64: ("it is for another address", _NAME),
}
"""OpenSSL's codes of verification (x509_vfy.h) that people meet."""

_SHOW = "tls.cert and tls.key of its entry (--cert, --cert-key) name a client certificate."
_OURS = {
    "CERTIFICATE_REQUIRED": ("wants a client certificate, and none was shown", _SHOW),
    "HANDSHAKE_FAILURE": ("refused the TLS handshake without a reason", f"If it wants a client certificate: {_SHOW}"),
    "BAD_CERTIFICATE": ("does not accept the client certificate", _SHOW),
    "UNKNOWN_CA": ("does not know the authority of the client certificate", "It has to be one that it trusts."),
    "CERTIFICATE_EXPIRED": ("refuses the client certificate: it has expired", "Get a new one for tls.cert."),
    "CERTIFICATE_REVOKED": ("refuses the client certificate: it was revoked", "Get a new one for tls.cert."),
    "CERTIFICATE_UNKNOWN": ("does not accept the client certificate", _SHOW),
    "UNSUPPORTED_CERTIFICATE": ("cannot use the client certificate", "It may be for another purpose, or of a kind."),
    "ACCESS_DENIED": ("accepts the client certificate, but refuses whoever it is for", ""),
    "DECRYPT_ERROR": ("could not check the client certificate", "Does the key in tls.key belong to it?"),
}
"""Alerts about ourselves (RFC 8446 6.2), without the version that OpenSSL puts before them."""
_OLD = "It speaks only versions of TLS that are no longer safe, or only newer ones than are known here."
_THEIRS = {
    "PROTOCOL_VERSION": ("knows none of the versions of TLS that are offered", _OLD),
    "UNSUPPORTED_PROTOCOL": ("wants a version of TLS that is not accepted here", _OLD),
    "NO_PROTOCOLS_AVAILABLE": ("wants a version of TLS that is not accepted here", _OLD),
    "UNRECOGNIZED_NAME": ("does not know the host name that it is asked for", "Check the name in the URL."),
    "NO_APPLICATION_PROTOCOL": ("does not speak HTTP/1.1 on this port", ""),
    "INSUFFICIENT_SECURITY": ("wants stronger encryption than is offered", ""),
    "INTERNAL_ERROR": ("failed inside while it was making the TLS connection", "Its log may say why."),
    "UNEXPECTED_EOF_WHILE_READING": (
        "hung up in the TLS handshake",
        f"Does this port speak TLS (https://)? Or does it want a client certificate: {_SHOW}",
    ),
    "UNSAFE_LEGACY_RENEGOTIATION_DISABLED": ("wants an unsafe form of renegotiation", "It has to be updated."),
}
_PLAIN = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG")


def tls_failure(problem: ssl.SSLError, place: str, *, under_way: bool) -> HttpFailure | None:
    """Put an error of TLS into words; None if it came after the handshake and says nothing of certificates."""
    if isinstance(problem, ssl.SSLCertVerificationError):
        return _not_accepted(problem, place)
    reason = str(getattr(problem, "reason", None) or "")
    alert = _alert(reason)
    # Of TLS 1.3 a server tells its mind of our certificate only when the request is on its way: nothing of it was read.
    if alert in _OURS:
        said, hint = _OURS[alert]
        return HttpUnreachable(f"{place} {said}.", hint=hint)
    if under_way:
        return None
    if reason in _PLAIN:
        return HttpUnreachable(f"{place} does not speak TLS.", hint="Try http:// instead of https://.")
    if alert in _THEIRS:
        said, hint = _THEIRS[alert]
        return HttpUnreachable(f"{place} {said}.", hint=hint)
    said = (reason or str(problem)).replace("_", " ").lower() or "no reason given"
    return HttpUnreachable(f"TLS with {place} failed: {said}.", hint="Does this port speak TLS (https://)?")


def _alert(reason: str) -> str:
    """`TLSV13_ALERT_CERTIFICATE_REQUIRED` → `CERTIFICATE_REQUIRED`."""
    for begin in ("TLSV13_ALERT_", "TLSV1_ALERT_", "SSLV3_ALERT_", "TLSV1_", "SSLV3_"):
        if reason.startswith(begin):
            return reason.removeprefix(begin)
    return reason


def _not_accepted(problem: ssl.SSLCertVerificationError, place: str) -> HttpUnreachable:
    said = problem.verify_message or str(problem)
    why, hint = _VERIFY.get(problem.verify_code, ("", _TRUST))
    words = f"{why} ({said})" if why else said
    return HttpUnreachable(f"The TLS certificate of {place} is not accepted: {words}.", hint=hint)


_CUT = ("without sending complete message", "incomplete chunked", "unexpectedly closed")
_BYTES = re.compile(r"""bytearray\(b(['"].*['"])\)""")
_CRASHED = "The server, or what stands before it, may have crashed or been restarted: its log says."
_NO_WAY = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN)


def network_failure(problem: BaseException, place: str, *, under_way: bool, proxy: str = "") -> HttpFailure:
    """Put a network error into words.

    Args:
        place: host and port of whom it happened with.
        under_way: whether the request had been sent.
        proxy: the variable that names the proxy, where `place` is one or the way leads through it.
    """
    chain = tuple(_chain(problem))
    names = {type(link).__name__ for link in chain}
    if "LocalProtocolError" in names:
        return HttpFailure(f"The request to {place} cannot be put into HTTP: {_reason(chain)}.")
    for link in chain:
        if isinstance(link, ssl.SSLError) and (failure := tls_failure(link, place, under_way=under_way)):
            return failure
    if "ProxyError" in names:
        return refused_by_proxy(_reason(chain), place, proxy)
    return _lost(chain, names, place) if under_way else _unmade(chain, place, proxy)


def no_such_host(name: str, problem: Exception | None = None, proxy: str = "") -> HttpDown:
    """The name of the server, or of the proxy to it, means nothing."""
    whose = f", which {proxy} names," if proxy else ""
    if isinstance(problem, socket.gaierror) and problem.errno == socket.EAI_AGAIN:
        return HttpDown(
            f"The host name {name}{whose} cannot be looked up now: no name server answers.", hint="Check the network."
        )
    return HttpDown(f"The host name {name}{whose} does not resolve.", hint="Check the spelling and the network.")


def refused_by_proxy(said: str, place: str, proxy: str) -> HttpUnreachable:
    """The proxy does not make a connection to the server; `said` begins with its status."""
    named = f" ({proxy})" if proxy else ""
    if said.startswith("407"):
        return HttpUnreachable(
            f"The proxy{named} wants credentials before it leads to {place}: {said}.",
            hint=f"They go into its address: {proxy or 'HTTPS_PROXY'}=http://USER:PASSWORD@HOST:PORT",
        )
    return HttpUnreachable(
        f"The proxy{named} does not lead to {place}: {said}.", hint="Put the host into NO_PROXY to go there directly."
    )


def _unmade(chain: tuple[BaseException, ...], place: str, proxy: str) -> HttpFailure:
    """No connection came about."""
    where = f"the proxy {place} that {proxy} names" if proxy else place
    for link in chain:
        if isinstance(link, socket.gaierror | UnicodeError):
            return no_such_host(place, link, proxy)
        if isinstance(link, ConnectionRefusedError):
            hint = "Is the server running, and is the port right?" if not proxy else f"Is {proxy} right?"
            return HttpDown(f"Nothing answers at {where}: the connection was refused.", hint=hint)
        if isinstance(link, ConnectionResetError | BrokenPipeError):
            return HttpDown(
                f"{where} reset the connection while it was being made.",
                hint="Something in between may forbid it, or this port expects something else than HTTP.",
            )
        if isinstance(link, OSError) and link.errno in _NO_WAY:
            return HttpDown(f"There is no way to {where}: {_reason(chain)}.", hint="Check the network, or VPN.")
    return HttpDown(f"No connection to {where}: {_reason(chain)}.", hint="Is the server running?")


def _lost(chain: tuple[BaseException, ...], names: set[str], place: str) -> HttpFailure:
    """The request had been sent; what came back is not an answer."""
    text = " ".join(str(link) for link in chain)
    if "WriteTimeout" in names:
        return HttpLost(f"{place} does not read what is sent to it.")
    if "without sending a response" in text:
        return HttpLost(
            f"{place} closed the connection without an answer of HTTP.",
            hint=f"{_CRASHED} Or this port speaks something else than HTTP/1.1, such as HTTP/2 alone.",
        )
    if any(words in text for words in _CUT):
        return HttpLost(f"{place} closed the connection in the middle of its answer.", hint=_CRASHED)
    if "RemoteProtocolError" in names:
        return _broken(text, _reason(chain[:1]), place)
    if any(isinstance(link, ConnectionResetError | BrokenPipeError) for link in chain):
        return HttpLost(f"{place} reset the connection before its answer was complete.", hint=_CRASHED)
    return HttpLost(f"The connection to {place} ended before its answer was complete: {_reason(chain)}.")


def _broken(text: str, reason: str, place: str) -> HttpFailure:
    """An answer that is none; the libraries below name their own parts rather than what came."""
    hint = ""
    if "\\x15\\x03" in text:
        hint = "Does this port want https:// instead?"
    elif "illegal request line" in text:
        reason = "it does not begin with a status line"
        hint = "Does this port want https:// instead, or speak HTTP/2 alone, or something else than HTTP?"
    elif "bytearray(b'HTTP/2" in text or "bytearray(b'PRI * HTTP/2" in text:
        hint = "HTTP/2 begins with a handshake; without one HTTP/1.1 is spoken here."
    elif "_SWITCH_" in text:
        reason = "it switches to another protocol, which nobody asked for"
    elif "status_code" in text:
        reason = "its status is no number from 100 to 999"
    elif "buffer too long" in text:
        reason = "its headers, trailers or chunk lines are too long"
    reason = _BYTES.sub(r"\1", reason)
    return HttpBroken(f"What {place} answered is not HTTP: {reason}.", hint=hint)


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


def _reason(chain: tuple[BaseException, ...]) -> str:
    for link in reversed(chain):
        text = link.strerror if isinstance(link, OSError) and link.strerror else str(link)
        if text:
            return text[:EXCERPT].rstrip(".")
    return type(chain[0]).__name__
