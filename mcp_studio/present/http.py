"""What HTTP answered where that is why something failed: status, headers and body, for cards."""

from __future__ import annotations

from mcp_studio.errors import StudioError
from mcp_studio.safetext import safe

Part = str | tuple[str, str]
_HEADERS = 40
"""Header lines that are shown."""
_BODY = 4_000


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
