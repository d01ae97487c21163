"""What a recording tells of its servers, from their own greetings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, items_of, loads, mapping
from mcp_studio.protocol.versions import META_SERVER, MODERN_VERSIONS
from mcp_studio.redact import Redactor
from mcp_studio.trace.columns import Columns
from mcp_studio.trace.message import GREETINGS, KINDS

_LARGEST = 1 << 20
_HTTP, _RESULT = KINDS.index("http"), KINDS.index("result")
_ADDRESS = re.compile(r"[A-Z]+ (\S+)")


def servers_in(
    columns: Columns, numbers: Sequence[int], body: Callable[[int], bytes], redactor: Redactor
) -> Mapping[str, Json]:
    """For each server that entries with these numbers are of: `transport`, `version` of the protocol, `info` as the
    server gave it, and over HTTP its `url`; as far as the recording has it, redacted.
    """
    wanted = {columns.server[number - columns.first] for number in numbers}
    found: dict[int, dict[str, Json]] = {server: {} for server in wanted}
    greetings = {number for name in GREETINGS if (number := columns.methods.known(name)) is not None}
    for row, kind in enumerate(columns.kind):
        server = columns.server[row]
        if server not in found:
            continue
        if kind & 15 == _HTTP and "url" not in found[server]:
            found[server].update(_address(redactor.bytes(body(columns.first + row)), redactor))
        elif kind & 15 == _RESULT and columns.method[row] in greetings and columns.size[row] < _LARGEST:
            found[server].update(_greeting(redactor.bytes(body(columns.first + row))))
    names = columns.servers.texts
    return {redactor.text(names[server]): {"transport": "stdio", **known} for server, known in found.items()}


def _address(head: bytes, redactor: Redactor) -> dict[str, Json]:
    match = _ADDRESS.match(head.split(b"\n", 1)[0].decode("utf-8", "replace"))
    if match is None or "://" not in match[1]:
        return {}
    kind = "websocket" if match[1].startswith("ws") else "http"
    return {"transport": kind, "url": redactor.url(match[1])}


def _greeting(frame: bytes) -> dict[str, Json]:
    """Specification 2025-11-25, lifecycle, and 2026-07-28, server/discover."""
    try:
        result = mapping(mapping(loads(frame)).get("result"))
    except (JsonProblem, LimitExceeded):
        return {}
    meta = mapping(result.get("_meta"))
    info = mapping(result.get("serverInfo") or meta.get(META_SERVER))
    offered = items_of(result.get("supportedVersions"))
    spoken = next((version for version in reversed(MODERN_VERSIONS) if version in offered), "")
    version = result.get("protocolVersion") or spoken
    known: dict[str, Json] = {"version": version} if isinstance(version, str) and version else {}
    return {**known, "info": info} if info else known
