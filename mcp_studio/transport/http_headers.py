"""Request headers of Streamable HTTP, for both eras."""

from __future__ import annotations

import base64
import re

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import ConfigError
from mcp_studio.protocol.outgoing import Outgoing

ACCEPT = "application/json, text/event-stream"
NAMED = frozenset({"tools/call", "prompts/get", "resources/read"})
"""Methods whose requests carry `Mcp-Name` (specification 2026-07-28, basic/transports/streamable-http)."""

_PLAIN = re.compile(r"[\x20-\x7e]*")
_SENTINEL = re.compile(r"=\?base64\?.*\?=")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]*")
_FRAMING = frozenset({"connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade"})
_LONGEST_ID = 4096
_SESSION = re.compile(r"[\x21-\x7e]+")


def encode_value(value: str) -> str:
    """A header value that says `value` exactly.

    Printable ASCII without blanks at its ends goes as it is, everything else as `=?base64?…?=`, also what looks like
    that form already (specification 2026-07-28, basic/transports/streamable-http, "Encoding of header values").
    """
    if _PLAIN.fullmatch(value) and value == value.strip(" ") and not _SENTINEL.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'surrogatepass')).decode('ascii')}?="


def modern_headers(out: Outgoing) -> list[tuple[str, str]]:
    """What a message of the stateless era says in headers besides its content type."""
    headers = [("MCP-Protocol-Version", out.version), ("Mcp-Method", encode_value(out.method))]
    if out.method in NAMED or (out.target and out.method.startswith("tasks/")):
        headers.append(("Mcp-Name", encode_value(out.target)))
    return headers + list(out.headers)


def legacy_headers(session: str, version: str) -> list[tuple[str, str]]:
    """Session and version, as every message of an older era after `initialize` says them; empty ones are left out."""
    headers = (("Mcp-Session-Id", session), ("MCP-Protocol-Version", version))
    return [(name, value) for name, value in headers if value]


def valid_session(value: str) -> bool:
    """Whether a session id consists of visible ASCII (specification 2025-06-18, basic/transports)."""
    return _SESSION.fullmatch(value) is not None


def resumable(event_id: str) -> bool:
    """Whether an event id can be sent back in `Last-Event-ID`."""
    return len(event_id) <= _LONGEST_ID and event_id == event_id.strip() and _VALUE.fullmatch(event_id) is not None


def configured(config: ServerConfig) -> list[tuple[str, str]]:
    """The headers that the configuration asks for, without those that frame a message: HTTP sets them itself.

    Raises:
        ConfigError: a name or value that HTTP cannot carry; the value is not quoted.
    """
    for name, value in config.headers.items():
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            part = "value" if _TOKEN.fullmatch(name) else "name"
            raise ConfigError(
                f"Server {config.name}: the {part} of header {name!r} has characters that HTTP does not allow.",
                file=config.source.file,
                key=f"servers.{config.name}.headers.{name}",
            )
    return [(name, value.strip(" \t")) for name, value in config.headers.items() if name.lower() not in _FRAMING]


def merged(*groups: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """One list of headers in which later groups replace equal names of earlier ones."""
    found: dict[str, tuple[str, str]] = {}
    for group in groups:
        for name, value in group:
            found[name.lower()] = (name, value)
    return list(found.values())
