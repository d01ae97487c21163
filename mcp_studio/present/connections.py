"""The state of a connection in words, hints, and the HTTP answer that a connection failed with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from mcp_studio.auth.hints import adds
from mcp_studio.catalog.listing import EntryKind
from mcp_studio.config.model import Kind
from mcp_studio.errors import HttpAnswer, SignInNeeded, StudioError
from mcp_studio.jsontext import Json
from mcp_studio.redact import Redactor
from mcp_studio.safetext import safe
from mcp_studio.session.state import Status

if TYPE_CHECKING:
    from mcp_studio.studio import Studio

INSECURE = "insecure: accepts any certificate"
"""What is said about a server that accepts any certificate, wherever it is shown."""
KIND_NAMES: Mapping[Kind, str] = {
    "stdio": "standard input and output", "http": "Streamable HTTP", "sse": "HTTP+SSE", "websocket": "WebSocket",
}  # fmt: skip
"""The names of the transports, for people."""


Tone = Literal["ok", "busy", "bad", "off"]
"""The colour of a state; words and glyphs say the same without colour."""
Part = str | tuple[str, str]
_HTTP_HEADERS = 40
"""The most header lines that are shown."""
_REASONS = 8
"""The most servers for which an empty list gives a reason."""
_BODY = 4_000
_LINES = 12
"""The most lines of the body below an error in text."""


_TONES: Mapping[str, Tone] = {"ready": "ok", "failed": "bad", "needs_auth": "bad", "disabled": "off"}
_PLAIN = {
    "ready": "is connected", "connecting": "is connecting", "idle": "waits for its turn to start",
    "disabled": "is off", "stopping": "is stopping",
}  # fmt: skip
"""The states that need no reason."""


def tone(status: Status) -> Tone:
    """The colour of a connection's state."""
    return _TONES.get(status.state, "busy")


def state_words(status: Status) -> str:
    """The state of a connection in a sentence, with the reason if there is one."""
    name = safe(status.server)
    why = safe(status.error.message) if status.error else ""
    if status.state in _PLAIN:
        return f"{name} {_PLAIN[status.state]}."
    if status.state == "retrying":
        return f"{name} is not connected; the studio tries again (attempt {status.attempt}). {why}".strip()
    if status.state == "needs_auth":
        return f"{name} needs a sign-in. {why if adds(why) else ''}".strip()
    return why if why.startswith(name) else f"{name} failed. {why}".strip()


def hint(error: StudioError) -> str:
    """The hint for the studio: there the person signs in by a button of the server, and not by a command line."""
    if isinstance(error, SignInNeeded) and error.by_login:
        if "insufficient_scope" in str(getattr(error, "challenge", ""))[:4_096]:
            return "Run it again, and sign in when you are asked."
        return "Sign in: open the server in pane 1."
    return safe(error.hint, 200)


def http_parts(error: StudioError, *, why: str | None = None) -> list[Part]:
    """The card of an error; empty if the error does not come from an HTTP answer.

    Args:
        why: the hint that is shown with the error's message above the answer; None for neither.
    """
    http = error.http
    if http is None:
        return []
    parts: list[Part] = []
    if why is not None:
        parts += [(safe(error.message, 2_000), "$text-error"), "\n"]
        parts += [why, "\n"] if why else []
    parts += [("\nWhat HTTP answered\n", "b $accent"), f"  {http.status} {safe(http.reason, 80)}".rstrip() + "\n"]
    for name, value in http.headers[:_HTTP_HEADERS]:
        parts += [(f"  {safe(name, 80)}", "$quiet"), f"  {safe(value, 300)}\n"]
    if len(http.headers) > _HTTP_HEADERS:
        parts.append((f"  and {len(http.headers) - _HTTP_HEADERS} more headers\n", "$quiet"))
    if http.body.strip():
        parts += [("\nIts body\n", "b $accent"), safe(http.body, _BODY, lines=True).rstrip("\n") + "\n"]
    return parts


def http_json(http: HttpAnswer, redactor: Redactor) -> dict[str, Json]:
    """The status, the headers in order, and the beginning of the body."""
    headers: Json = [[name, value] for name, value in redactor.headers(http.headers)]
    reason, body = redactor.text(http.reason), redactor.text(http.body)
    return {"status": http.status, "reason": reason, "headers": headers, "body": body}


def http_lines(http: dict[str, Json]) -> Iterator[str]:
    """The HTTP answer as lines of text, below the error."""
    yield f"    status: {http['status']} {http['reason']}".rstrip()
    for name, value in http["headers"]:
        yield f"    header: {name}: {value}"
    body = [line for line in http["body"].splitlines() if line.strip()]
    for line in body[:_LINES]:
        yield f"    body: {line[:300]}"
    if len(body) > _LINES:
        yield f"    body: … {len(body) - _LINES} more lines"


def empty_text(studio: Studio, kind: EntryKind, add: str, server: str = "") -> str:
    """Why a list of one kind, of one server or of all, is empty; `add` is the key that adds a server."""
    names = (server,) if server else studio.manager.names()
    if not names:
        return f"No servers yet. {add} adds one."
    lines: list[str] = []
    for name in names:
        status, listing = studio.manager.status(name), studio.catalog.listing(name, kind)
        if listing.error:
            lines.append(f"{safe(name)}: {safe(listing.error, 300)}")
        elif status.state != "ready":
            lines.append(safe(state_words(status), 160))
    return "\n".join(lines[:_REASONS]) or f"The server{' offers' if len(names) == 1 else 's offer'} no {kind}s."
