"""The card on the end of a connection, as pieces of text. Pure functions."""

from __future__ import annotations

import time
from collections.abc import Sequence

from mcp_studio.present import connections, crashes, units
from mcp_studio.safetext import safe
from mcp_studio.session.state import Status
from mcp_studio.trace.message import WireMessage
from mcp_studio.trace.postmortem import Mortem, head_of
from mcp_studio.tui.tracing import clock
from mcp_studio.tui.views.glyphs import glyphs

Part = str | tuple[str, str]
_HEAD = "b $accent"
_LINE = 500
_HEAD_MOST = 70
"""Characters of a message that are shown."""


def card(one: Mortem, status: Status | None, *, lines: int = 20, ago: bool = True) -> list[Part]:
    """All of it.

    Args:
        status: how the server is now; None in a past session.
        lines: of standard error, at most.
        ago: say how long ago it was, where that is drawn anew as time goes by.
    """
    return [
        *_first(one),
        *_state(one, status, ago and status is not None),
        *_flights(one),
        *_printed("Last on standard error", one.stderr[-lines:], len(one.stderr) > lines),
        *_stray(one),
        *_frames(one.frames),
    ]


def _first(one: Mortem) -> list[Part]:
    sign = glyphs().off if one.ending.how == "closed" else glyphs().bad
    parts: list[Part] = [(f"{sign} {safe(one.server, 80)} {crashes.headline(one.ending)}", "b $state-failed"), "\n"]
    if text := crashes.meaning(one.ending):
        parts += [text, "\n"]
    if one.message and one.ending.how not in ("exit", "signal", "guard", "closed"):
        parts += [(safe(one.message, 600), "$quiet"), "\n"]
    return parts


def _state(one: Mortem, status: Status | None, ago: bool) -> list[Part]:
    parts: list[Part] = []
    if one.uptime is not None:
        ready = "" if one.ready else ", not ready yet"
        parts.append(f"  ran      {units.duration(one.uptime * 1000)}{ready}, since {clock(one.began)}\n")
    since = f", {units.duration(max(0.0, time.time() - one.time) * 1000)} ago" if ago else ""
    parts.append(f"  ended    {clock(one.time)}{since}\n")
    if status is not None:
        parts.append(("  now      ", ""))
        parts.append(
            (f"{now(status)}\n", {"ok": "$text-success", "bad": "$text-error"}.get(connections.tone(status), ""))
        )
    return parts


def now(status: Status) -> str:
    """How the server is now, in few words."""
    match status.state:
        case "ready":
            return "it is connected" + (" again" if status.pid else "")
        case "retrying":
            left = max(0.0, status.retry_at - time.monotonic())
            return f"it is tried again in {left:.0f} s (attempt {status.attempt})"
        case "failed":
            hint = safe(status.error.hint, 200) if status.error else ""
            return f"it is not started again by itself. {hint}".rstrip()
        case "needs_auth":
            return "it wants a sign-in"
        case "disabled":
            return "it is off"
        case state:
            return f"it is {'connecting' if state == 'connecting' else 'waiting to be started'}"


def _flights(mortem: Mortem) -> list[Part]:
    if not mortem.flights:
        return [("\nNothing was in flight\n", _HEAD)]
    parts: list[Part] = [("\nIn flight\n", _HEAD)]
    for one in mortem.flights:
        sign = glyphs().sent if one.direction == "out" else glyphs().received
        what = f"{safe(one.method, 80)} {safe(one.target, 200)}".rstrip()
        number = f", request {safe(one.id, 40)}" if one.id is not None else ""
        parts += [f"  {sign} {what}", (f"  for {units.duration(mortem.waited(one))}{number}\n", "$quiet")]
    return parts


def _printed(title: str, lines: Sequence[str], more: bool) -> list[Part]:
    if not lines:
        return [(f"\n{title}: nothing\n", _HEAD)]
    count = f", the last {len(lines)} lines" if more else ""
    return [(f"\n{title}{count}\n", _HEAD), *(f"  {safe(line, _LINE)}\n" for line in lines)]


def _stray(one: Mortem) -> list[Part]:
    if not one.stray_count:
        return []
    title = f"On standard output, besides the protocol: {units.plural(one.stray_count, 'line')}"
    return [(f"\n{title}\n", _HEAD), *((f"  {safe(line, _LINE)}\n", "$text-warning") for line in one.stray)]


def _frames(frames: Sequence[WireMessage]) -> list[Part]:
    if not frames:
        return []
    parts: list[Part] = [("\nLast messages\n", _HEAD)]
    for one in frames:
        sign = {"out": glyphs().sent, "in": glyphs().received}.get(one.direction, " ")
        what = " ".join(filter(None, (safe(one.method, 60), safe(one.target, 60)))) or one.kind
        kind = "" if one.kind in ("request", "notification") else f" {one.kind}"
        parts += [f"  {clock(one.time)} {sign} {what}{kind}", (f"  {units.size(one.size)}\n", "$quiet")]
        if one.kind != "http" and (text := head_of(one)):
            head = safe(text, _LINE)
            parts.append(
                (f"      {head if len(head) <= _HEAD_MOST else head[:_HEAD_MOST] + glyphs().more}\n", "$quiet")
            )
    return parts
