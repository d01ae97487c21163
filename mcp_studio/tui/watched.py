"""Words and signs for what is watched, and for what a server was asked to tell. Pure functions."""

from __future__ import annotations

import time
from collections.abc import Iterable

from mcp_studio.catalog.listing import Ref
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.session.subscriptions import Stream, Subscription
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Piece

_LOOKS = {"active": "ok", "wanted": "warn", "refused": "bad", "lost": "bad"}
_STATES = {
    "active": "watched", "wanted": "to be watched", "refused": "not watched: refused", "lost": "not watched any more",
}  # fmt: skip


def marks(watched: Iterable[Subscription]) -> dict[Ref, list[Piece]]:
    """For each watched entry of the catalog: the sign in front of it, and how much came since it was read."""
    found: dict[Ref, list[Piece]] = {}
    unread: dict[Ref, int] = {}
    for one in watched:
        ref = Ref("template", one.server, one.template) if one.template else Ref("resource", one.server, one.uri)
        unread[ref] = unread.get(ref, 0) + one.unread
        count: list[Piece] = [(f" +{unread[ref]:,}", "accent")] if unread[ref] else []
        found[ref] = [(f"{glyphs().watched} ", _LOOKS[one.state]), *count]
    return found


def state_words(one: Subscription) -> str:
    """The state of a subscription, with the reason where there is one."""
    return _STATES[one.state] + (f" ({safe(one.detail, 200)})" if one.detail else "")


def newest(one: Subscription, again: str) -> str:
    """What is to be said beside what was read of a watched resource; empty where nothing is.

    Args:
        again: how it is read, such as `r reads it again`.
    """
    if one.unread:
        times = "" if one.unread == 1 else f", {one.unread:,} times"
        return f"updated {ago(one.updated)}{times} · {again}"
    if one.missed and one.state == "active":
        return f"it may have changed while nobody listened · {again}"
    return "" if one.state == "active" else state_words(one)


def ago(when: float, now: float | None = None) -> str:
    """How long ago, seconds since the epoch given: `3 s ago`."""
    return f"{units.seconds(max(0.0, (time.time() if now is None else now) - when))} ago"


def line(one: Subscription) -> str:
    """A subscription in one line, for the details of its server."""
    count = units.plural(one.updates, "update")
    last = f", the last {ago(one.updated)}" if one.updates else ""
    return f"{safe(one.uri, 300)}  {state_words(one)}, {count}{last}"


def stream_line(stream: Stream) -> str:
    """A listen stream in one line: what was asked, and how much of it is honoured."""
    asked = ", ".join(_filter_words(name, value) for name, value in stream.asked.items())
    if stream.honoured is None:
        state = {"opening": "no answer yet", "waiting": "is opened again"}.get(stream.state, stream.state)
    else:
        missing = [name for name in stream.asked if not _whole(stream.asked[name], stream.honoured.get(name))]
        state = "honoured" if not missing else f"not honoured whole: {', '.join(safe(name, 60) for name in missing)}"
        state = state if stream.state == "open" else f"{stream.state}, was {state}"
    why = f" ({safe(stream.detail, 200)})" if stream.detail else ""
    return f"{stream.purpose}: {asked} - {state}{why}"


def _filter_words(name: str, value: object) -> str:
    return f"{name} {len(value)}" if isinstance(value, list) else name  # type: ignore[arg-type]


def _whole(asked: object, honoured: object) -> bool:
    if isinstance(asked, list) and isinstance(honoured, list):
        return all(item in honoured for item in asked)  # type: ignore[misc]
    return asked == honoured
