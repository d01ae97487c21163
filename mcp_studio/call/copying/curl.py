"""A call as curl makes it, in both eras of Streamable HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcp_studio.call.copying.address import Address, Words, in_shell
from mcp_studio.call.copying.sh import quote
from mcp_studio.call.copying.subject import Subject
from mcp_studio.jsontext import Json, dumps
from mcp_studio.protocol.compose import request
from mcp_studio.safetext import escape_live
from mcp_studio.transport.http_headers import ACCEPT, modern_headers

_NEXT = " \\\n  "
_GLOB = set("[]{}")
_SESSION = '"Mcp-Session-Id: $session"'


def why_not(address: Address) -> str:
    """Why curl cannot make calls of such a server; empty where it can."""
    match address.kind:
        case "stdio":
            return "curl speaks HTTP; this server is a program that is spoken to over its standard input."
        case "websocket":
            return "curl would have to speak MCP over a WebSocket; it sends HTTP requests."
        case "sse":
            return (
                "In HTTP+SSE the answer comes on another stream than the request, which one curl command cannot read."
            )
        case _:
            return ""


def modern(subject: Subject, address: Address, value: Json) -> str:
    """One request that stands alone (specification 2026-07-28, basic/transports/streamable-http)."""
    out = subject.out(value)
    headers = [*_base(address), *(_header(name, text) for name, text in modern_headers(out))]
    return _curl(address, headers, out.frame, "-sS", "-N", *_certificates(subject))


def legacy(subject: Subject, address: Address, value: Json) -> str:
    """A session: the handshake, the call, and the end (specification 2025-11-25, basic/transports)."""
    hello = request(
        "initialize",
        {"protocolVersion": subject.supposed, "capabilities": subject.can, "clientInfo": subject.who},
        identity=0,
    )
    base, tls = list(_base(address)), _certificates(subject)
    known = [*base, _SESSION, _header("MCP-Protocol-Version", subject.supposed)]
    begun = _curl(address, base, dumps(hello), "-sS", "-D", "-", "-o", "/dev/null", *tls)
    told = _curl(address, known, dumps(request("notifications/initialized")), "-sS", *tls)
    call = _curl(address, known, subject.out(value, 1).frame, "-sS", "-N", *tls)
    ended = _curl(address, known[-2:], None, "-sS", "-o", "/dev/null", "-X", "DELETE", *tls)
    read = "tr -d '\\r' | awk 'tolower($1) == \"mcp-session-id:\" {print $2}'"
    return f"session=$({begun} | {read})\n{told}\n{call}\n{ended}"


def _base(address: Address) -> Iterable[str]:
    """Headers as words of the shell: those of every request, then those of the server's entry."""
    own = {name.lower() for name in address.headers}
    for name, text in (("Accept", ACCEPT), ("Content-Type", "application/json")):
        if name.lower() not in own:
            yield _header(name, text)
    for name, words in address.headers.items():
        yield in_shell((f"{name}: ", *words)) if words else quote(f"{name};")


def _certificates(subject: Subject) -> list[str]:
    """Which are accepted and shown; curl asks for the password of a key."""
    if subject.server is None:
        return []
    tls = subject.server.tls
    files = (("--cacert", tls.ca), ("--cert", tls.cert), ("--key", tls.key))
    named = [word for option, file in files if file for word in (option, quote(file))]
    return [*named, *(["--insecure"] if tls.insecure else [])]


def _header(name: str, text: str) -> str:
    # An empty header has a semicolon in curl.
    return quote(f"{name}: {text}" if text else f"{name};")


def _curl(address: Address, headers: Sequence[str], body: bytes | None, *options: str) -> str:
    globs = ["-g"] if _globs(address.url) else []
    parts = [" ".join(["curl", *options, *globs, in_shell(address.url)]), *(f"-H {one}" for one in headers)]
    if body is not None:
        parts.append(f"--data-raw {quote(escape_live(body.decode('utf-8')))}")
    return _NEXT.join(parts)


def _globs(url: Words) -> bool:
    return any(isinstance(part, str) and _GLOB & set(part) for part in url)
