"""What an HTTP status means in MCP: what the server says with it, what it should have sent, and what to do."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import NamedTuple, Protocol

from mcp_studio.errors import HttpAnswer
from mcp_studio.transport.base import Headers
from mcp_studio.transport.http_errors import EXCERPT, HttpBroken, HttpFailure, HttpSignIn, SessionLost, excerpt, kept

_PASSING = frozenset({429, 503})
"""Statuses that say that nothing was done, and that it may be otherwise soon."""
_LONGEST = 400 * 86_400.0


class RetryHint(Protocol):
    """The head of a response."""

    @property
    def status(self) -> int: ...

    def header(self, name: str) -> str: ...


def asked(answer: RetryHint) -> float | None:
    """Seconds from now that a refusal asks to wait; None where it asks for nothing that can be understood.

    It comes as a number of seconds, or as a date, which is compared with the server's own clock where it tells that.
    """
    value = answer.header("retry-after").strip()
    if not value:
        return None
    if value.isascii() and value.isdecimal():
        return min(float(value[:12]), _LONGEST)
    until = _date(value)
    if until is None:
        return None
    now = _date(answer.header("date"))
    return min(max(until - (time.time() if now is None else now), 0.0), _LONGEST)


def pause_of(answer: RetryHint, patience: float | None) -> float | None:
    """Seconds after which the same request may be sent once more; None where that is too long, or would not help."""
    wait = asked(answer) if answer.status in _PASSING and patience is not None else None
    return wait if wait is not None and patience is not None and wait <= patience else None


def in_words(seconds: float) -> str:
    """`7 seconds`; from a few minutes on with the time of day."""
    rounded = round(seconds)
    if rounded < 300:
        return f"{rounded} second{'' if rounded == 1 else 's'}"
    when = datetime.fromtimestamp(time.time() + seconds, UTC)
    return f"{rounded / 60:,.0f} minutes, until {when:%Y-%m-%d %H:%M} UTC"


def _date(value: str) -> float | None:
    try:
        found = parsedate_to_datetime(value) if value else None
        # Without a zone it is universal time (RFC 9110 5.6.7); Python would take it for ours.
        return found and (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


class Said(Protocol):
    """The head of a response."""

    @property
    def status(self) -> int: ...

    @property
    def reason(self) -> str: ...

    @property
    def headers(self) -> Headers: ...

    @property
    def media_type(self) -> str: ...

    def header(self, name: str) -> str: ...


class Meaning(NamedTuple):
    """One status."""

    says: str
    """What the server says with it; goes on after `which says that`."""
    should: str
    """What it should have done, as a sentence; empty where it did right."""
    hint: str
    """What to do."""


MEANINGS = {
    400: Meaning(
        "it could not make sense of the request",
        "A JSON-RPC error in the body should say why.",
        "The trace shows what was sent; a missing session id or a protocol version that it does not know are usual.",
    ),
    403: Meaning(
        "access is refused",
        "",
        "Check the headers of this server, or what whoever is signed in may do there. Servers that guard against DNS "
        "rebinding answer so to a host that they do not allow.",
    ),
    404: Meaning(
        "there is no MCP endpoint at this address",
        "",
        "Check the path of the URL: it often ends in /mcp, and in /sse for HTTP+SSE.",
    ),
    405: Meaning(
        "this address does not take the HTTP method",
        "An MCP endpoint has to take POST; GET alone may be answered so.",
        'Check the path of the URL. A server of HTTP+SSE (2024-11-05) answers so too: transport = "sse".',
    ),
    406: Meaning(
        "it cannot answer in any form that was asked for",
        "JSON and event streams are asked for, and MCP has no other.",
        "A header Accept of this server's entry, or something in between, may have replaced ours.",
    ),
    407: Meaning(
        "the proxy in between wants credentials",
        "",
        "They go into its address: HTTP_PROXY=http://USER:PASSWORD@HOST:PORT",
    ),
    408: Meaning("it gave up waiting for the request", "", "Something in between may be slow, or hold requests back."),
    409: Meaning(
        "the request is at odds with something that is under way",
        "",
        "Many servers allow one listening stream in a session: another client, or an earlier connection, may hold it.",
    ),
    410: Meaning("what was at this address is gone for good", "", "Ask whoever runs the server for its new address."),
    411: Meaning("it wants to know the length of the body", "", "It was sent: something in between removes it."),
    413: Meaning(
        "the request is larger than it takes", "", "Send less, or have the bound raised on the server or its gateway."
    ),
    414: Meaning("the URL is longer than it takes", "", "Check the URL of this server's entry."),
    415: Meaning(
        "it does not take a body of this type",
        "MCP sends application/json and nothing else.",
        "A header Content-Type of this server's entry may have replaced ours; or this is no MCP endpoint.",
    ),
    421: Meaning(
        "it does not serve the host name that it was asked for",
        "",
        "Servers that guard against DNS rebinding answer so: the host in the URL has to be among those it allows.",
    ),
    422: Meaning(
        "it understood the JSON, but not as a message of MCP",
        "A JSON-RPC error in the body should say why.",
        "Web frameworks answer so to a body that they do not expect: is this an MCP endpoint?",
    ),
    426: Meaning("it wants another protocol", "", "Is this the address of a WebSocket (ws:// or wss://)?"),
    429: Meaning("it was asked too often", "", "Wait, and send less at a time."),
    431: Meaning("the headers are larger than it takes", "", "Check the headers of this server's entry, tokens too."),
    500: Meaning(
        "it failed inside",
        "What fails in a tool should be answered as a result with isError, or as a JSON-RPC error.",
        "The server's own log says why.",
    ),
    501: Meaning("it does not do this", "", "Is this an MCP endpoint?"),
    502: Meaning(
        "what stands before it could not make sense of its answer",
        "",
        "The MCP server behind the gateway may have ended, or speak something else than HTTP.",
    ),
    503: Meaning("it cannot serve now", "", "It may be starting, overloaded, or under maintenance: try again."),
    504: Meaning(
        "what stands before it waited for its answer in vain",
        "",
        "Work that takes long should be answered as an event stream, which keeps gateways patient.",
    ),
}
"""The statuses that say something in particular."""
_TLS = {
    b"plain HTTP request was sent to HTTPS port": "Use https:// in the address of this server.",
    b"HTTP request to an HTTPS server": "Use https:// in the address of this server.",
    b"No required SSL certificate": "It wants a client certificate: tls.cert and tls.key of its entry.",
    b"SSL certificate error": "It does not accept the client certificate: check tls.cert and tls.key of its entry.",
}
"""What web servers answer to, beneath MCP, by words of theirs (nginx, Go)."""
_REDIRECT = Meaning("it is elsewhere, without saying where", "", "Check the URL.")
_THEIRS = Meaning("it failed", "", "The server's own log says why.")
_OURS = Meaning("it does not take the request", "", "The trace shows what was sent.")


def meaning(status: int) -> Meaning:
    """What any status that is no success means."""
    other = _REDIRECT if 300 <= status < 400 else _THEIRS if status >= 500 else _OURS
    return MEANINGS.get(status, other)


def told(answer: Said, body: bytes) -> HttpAnswer:
    """What HTTP answered, to be kept with an error."""
    return HttpAnswer(answer.status, answer.reason, tuple(answer.headers), kept(body))


def named(status: int, reason: str = "") -> str:
    """`HTTP status 404 Not Found`, in the server's own words where it has some."""
    if not reason:
        try:
            reason = HTTPStatus(status).phrase
        except ValueError:
            reason = ""
    return f"HTTP status {status} {reason[:80]}".rstrip()


def refused(answer: Said, place: str, body: bytes) -> HttpFailure:
    """A status that is no success, and does not ask for a sign-in."""
    status, wait = answer.status, asked(answer)
    about, said = meaning(status), excerpt(body)
    about = next((about._replace(should="", hint=hint) for words, hint in _TLS.items() if words in body[:4096]), about)
    page = f" and an HTML page{_titled(body)}" if answer.media_type == "text/html" else ""
    quoted = f" It says: {said}" if said and not page else ""
    should = f" {about.should}" if about.should and (page or not said) else ""
    hint = f"It asks to wait {in_words(wait)}. {about.hint}" if wait is not None else about.hint
    message = (
        f"{place} answered with {named(status, answer.reason)}{page}, which says that {about.says}.{quoted}{should}"
    )
    return HttpFailure(message, hint=hint, http=told(answer, body), retry_after=wait or 0.0)


def session_lost(answer: Said, place: str, body: bytes) -> SessionLost:
    """The session is unknown (specification 2025-11-25, basic/transports, Session Management): begin another."""
    return SessionLost(
        f"{place} no longer knows the session (HTTP status {answer.status}): it was ended there, or the server was "
        "started anew.",
        hint="A new session begins with the next connection.",
        http=told(answer, body),
    )


def endpoint_lost(answer: Said, place: str, body: bytes) -> SessionLost:
    """The endpoint that an event of HTTP+SSE named is unknown: the session in its address is (2024-11-05)."""
    said = excerpt(body)
    quoted = f" It says: {said}" if said and answer.media_type != "text/html" else ""
    return SessionLost(
        f"{place} does not know the endpoint for messages that it named itself (HTTP status {answer.status}).{quoted}",
        hint="Its stream and its messages may reach different instances: what stands before them has to keep a "
        "session with one.",
        http=told(answer, body),
    )


def wants_sign_in(answer: Said) -> bool:
    """Whether other credentials may help: 401, and 403 that names a scope to get. Any other 403 is a refusal."""
    insufficient = _param(answer.header("www-authenticate"), "error") == "insufficient_scope"
    return answer.status == 401 or (answer.status == 403 and insufficient)


def sign_in(answer: Said, place: str, body: bytes, *, had_credentials: bool) -> HttpSignIn:
    """What the server asked for where it wants a sign-in, from `WWW-Authenticate` (RFC 9110 11.6.1, RFC 6750 3)."""
    challenge, status = answer.header("www-authenticate"), answer.status
    scheme = re.split("[ ,]", challenge, maxsplit=1)[0][:40]
    wants = [f"scheme {scheme}"] if scheme else []
    for name in ("error", "error_description", "scope"):
        if found := _param(challenge, name):
            wants.append(f"{name} {found!r}")
    asked_for = f" ({', '.join(wants)})" if wants else ""
    hint = "Give it a header such as Authorization."
    if had_credentials:
        hint = "Check the headers of this server, or what whoever is signed in may do there."
    if scheme.lower() == "basic":
        hint = "It wants a name and a password, and no sign-in by OAuth: they go into its address, before the host and "
        hint += "with an @, or into a header Authorization."
        if had_credentials:
            hint = "Check the name and the password, in the address or the header Authorization."
    if status == 401:
        verb = "does not accept the credentials it was sent" if had_credentials else "wants you to sign in"
        message = f"{place} {verb}: HTTP status 401{asked_for}."
        if not challenge:
            message += " It does not say how: a WWW-Authenticate header should."
    else:
        message = f"{place} refuses access: HTTP status {status}{asked_for}."
        message += f" It says: {said}" if (said := excerpt(body)) else ""
    return HttpSignIn(message, hint=hint, http=told(answer, body), challenge=challenge)


def _param(challenge: str, name: str) -> str:
    # Cut: a search for a quote that never closes would start anew at every name.
    found = re.search(rf'(?:^|[\s,]){name}\s*=\s*(?:"([^"]*)"|([^\s,"]+))', challenge[:4096], re.IGNORECASE)
    return (found[1] or found[2] or "")[:EXCERPT] if found else ""


def wrong_type(answer: Said, place: str, body: bytes, *, wanted: str = "JSON") -> HttpBroken:
    """A success whose body is of no type that was asked for."""
    said, media_type, http = excerpt(body), answer.media_type, told(answer, body)
    if media_type == "text/html":
        message = f"{place} answered with an HTML page{_titled(body)} instead of {wanted}."
        return HttpBroken(message, hint="Is this the address of an MCP endpoint?", http=http)
    if not said:
        hint = "A request has to be answered in the body of the response, as JSON or as an event stream."
        return HttpBroken(f"{place} answered with an empty body.", hint=hint, http=http)
    kind = f"content of type {media_type}" if media_type else "content of no stated type"
    hint = "A response says what it is: Content-Type: application/json or text/event-stream."
    return HttpBroken(f"{place} answered with {kind} instead of {wanted}: {said}", hint=hint, http=http)


def _titled(body: bytes) -> str:
    found = re.search(rb"<title[^<>]{0,100}>([^<]{1,200})", body[:8192], re.IGNORECASE)
    return f" (“{excerpt(found[1])}”)" if found else ""
