"""What HTTP answered where that is why something failed, as the command line tells it: without secrets, and bounded."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_studio.errors import HttpAnswer
from mcp_studio.jsontext import Json
from mcp_studio.redact import Redactor

_LINES = 12
"""Lines of the body that are shown as text."""


def http_json(http: HttpAnswer, redactor: Redactor) -> dict[str, Json]:
    """Status, headers in their order, and the beginning of the body."""
    return {
        "status": http.status,
        "reason": redactor.text(http.reason),
        "headers": [[name, value] for name, value in redactor.headers(http.headers)],
        "body": redactor.text(http.body),
    }


def http_lines(http: dict[str, Json]) -> Iterator[str]:
    """The same as text, under the error."""
    yield f"    status: {http['status']} {http['reason']}".rstrip()
    for name, value in http["headers"]:
        yield f"    header: {name}: {value}"
    lines = [line for line in http["body"].splitlines() if line.strip()]
    for line in lines[:_LINES]:
        yield f"    body: {line[:300]}"
    if len(lines) > _LINES:
        yield f"    body: … {len(lines) - _LINES} more lines"
