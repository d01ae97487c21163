"""A message that was too long to keep still gets its caller an answer, when its ends tell whose it was."""

from __future__ import annotations

import re

from mcp_studio import jsontext
from mcp_studio.errors import StudioError
from mcp_studio.transport.lines import Oversize

DROPPED = -32000
"""Error code of the answer made here: from the range that JSON-RPC leaves to implementations."""
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+|"')
# Right before the end of the line: the closing brace is then the message's own. Some servers put the id last.
_LAST_ID = re.compile(rb'"id"\s*:\s*(-?[0-9]+|"(?:[^"\\]|\\.)*")\s*\}\s*\Z')


def size_text(size: int) -> str:
    """A number of bytes for people: `64 MB`, `1.5 KB`, `300 bytes`."""
    for unit, name in ((1 << 20, "MB"), (1 << 10, "KB")):
        if size >= unit:
            return f"{size / unit:.1f}".removesuffix(".0") + f" {name}"
    return f"{size} byte{'' if size == 1 else 's'}"


def answer_for(line: Oversize, limit: int) -> bytes | None:
    """The JSON-RPC error frame that stands in for a dropped response; None if it is not known to be one."""
    members = _members(line.head)
    if b'"method"' in members:
        return None
    raw = members.get(b'"id"', b"")
    if not raw and (found := _LAST_ID.search(line.tail)):
        raw = found[1]
    try:
        request_id = jsontext.loads(raw)
    except (ValueError, StudioError):
        return None
    if isinstance(request_id, bool) or not isinstance(request_id, int | str):
        return None
    text = f"The answer of {size_text(line.size)} is longer than the limit of {size_text(limit)} and was dropped."
    error = {"code": DROPPED, "message": text, "data": {"limit": "message", "size": line.size, "local": True}}
    return jsontext.dumps({"jsonrpc": "2.0", "id": request_id, "error": error})


def _members(head: bytes) -> dict[bytes, bytes]:
    """Names (with their quotes) of the outer object's members that begin here, with the raw values of simple ones."""
    members: dict[bytes, bytes] = {}
    depth = 0
    key = b""
    for found in _TOKEN.finditer(head):
        token = found[0]
        if token == b'"':  # a string that goes on beyond the head
            break
        if token in (b"{", b"["):
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
        elif depth != 1 or token == b":":
            continue
        elif token == b",":
            key = b""
        elif key:
            members[key] = token
        else:
            key = token
            members[key] = b""
    return members
