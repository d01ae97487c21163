"""What HTTP answered where that is why something failed: status, headers and body, for cards."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_studio.errors import HttpAnswer, StudioError
from mcp_studio.jsontext import Json
from mcp_studio.redact import Redactor
from mcp_studio.safetext import safe

Part = str | tuple[str, str]
_HEADERS = 40
"""Header lines that are shown."""
_BODY = 4_000
_LINES = 12
"""Lines of the body under an error that is told in text."""


def parts(error: StudioError, *, why: str | None = None) -> list[Part]:
    """The card of an error, empty where nothing of HTTP was in it.

    Args:
        why: what helps; the error's own words and that stand above. None for neither.
    """
    http = error.http
    if http is None:
        return []
    shown: list[Part] = []
    if why is not None:
        shown += [(safe(error.message, 2_000), "$text-error"), "\n"]
        shown += [why, "\n"] if why else []
    shown += [("\nWhat HTTP answered\n", "b $accent"), f"  {http.status} {safe(http.reason, 80)}".rstrip() + "\n"]
    for name, value in http.headers[:_HEADERS]:
        shown += [(f"  {safe(name, 80)}", "$quiet"), f"  {safe(value, 300)}\n"]
    if len(http.headers) > _HEADERS:
        shown.append((f"  and {len(http.headers) - _HEADERS} more headers\n", "$quiet"))
    if http.body.strip():
        shown += [("\nIts body\n", "b $accent"), safe(http.body, _BODY, lines=True).rstrip("\n") + "\n"]
    return shown


def as_json(http: HttpAnswer, redactor: Redactor) -> dict[str, Json]:
    """Status, headers in their order, and the beginning of the body."""
    return {
        "status": http.status,
        "reason": redactor.text(http.reason),
        "headers": [[name, value] for name, value in redactor.headers(http.headers)],
        "body": redactor.text(http.body),
    }


def lines(http: dict[str, Json]) -> Iterator[str]:
    """The same as text, under the error."""
    yield f"    status: {http['status']} {http['reason']}".rstrip()
    for name, value in http["headers"]:
        yield f"    header: {name}: {value}"
    body = [line for line in http["body"].splitlines() if line.strip()]
    for line in body[:_LINES]:
        yield f"    body: {line[:300]}"
    if len(body) > _LINES:
        yield f"    body: … {len(body) - _LINES} more lines"
