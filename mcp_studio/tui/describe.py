"""Words for people: sizes, times, states, outcomes. Pure functions."""

from __future__ import annotations

import time
from typing import Literal

from mcp_studio.call.call import (
    CallOutcome,
    Cancelled,
    Denied,
    InBackground,
    Lost,
    Rejected,
    Succeeded,
    TimedOut,
    ToolFailed,
)
from mcp_studio.errors import ConnectionLost, SignInNeeded, StudioError
from mcp_studio.safetext import safe
from mcp_studio.session.sign_in import adds
from mcp_studio.session.state import Status

INSECURE = "insecure: accepts any certificate"
"""What is said of a server whose certificate may be anybody's, wherever it is shown."""
Tone = Literal["ok", "busy", "bad", "off"]
"""How a state is coloured; the words and glyphs say the same without colour."""


def size(count: float) -> str:
    """Bytes in at most five characters and a unit: `212B`, `1.2KB`, `19.9MB`."""
    if count < 1000:
        return f"{count:.0f}B"
    for unit in ("KB", "MB", "GB"):
        count /= 1024
        if count < 1000:
            return f"{count:.1f}{unit}" if count < 100 else f"{count:.0f}{unit}"
    return f"{count / 1024:.1f}TB"


def duration(ms: float) -> str:
    """Milliseconds as people say them: `18 ms`, `1.2 s`, `2 min 5 s`."""
    if ms < 1000:
        return f"{ms:.0f} ms"
    if ms < 60_000:
        return f"{ms / 1000:.1f} s"
    return f"{ms // 60_000:.0f} min {ms % 60_000 / 1000:.0f} s"


def seconds(count: float) -> str:
    """Seconds in few characters: `12 s`, `3 min`, `5 h`."""
    if count < 100:
        return f"{count:.0f} s"
    return f"{count / 60:.0f} min" if count < 6000 else f"{count / 3600:.0f} h"


def kept(outcome: CallOutcome) -> str:
    """How old a result is that was kept, or for how long one is fresh; empty where nothing is to be said."""
    if not isinstance(outcome, Succeeded):
        return ""
    if outcome.cached is not None:
        age, hint = outcome.cached
        return f"from the cache, {seconds(age)} old, ttl {seconds(hint.ttl)}, {hint.scope}"
    if outcome.hint is not None and outcome.hint.ttl:
        return f"fresh for {seconds(outcome.hint.ttl)}, {outcome.hint.scope}"
    return ""


def plural(count: int, word: str) -> str:
    """`1 tool`, `2 tools`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def tone(status: Status) -> Tone:
    """How the state of a connection is coloured."""
    match status.state:
        case "ready":
            return "ok"
        case "failed" | "needs_auth":
            return "bad"
        case "disabled":
            return "off"
        case _:
            return "busy"


def state_short(status: Status, count: int, unit: str = "t", now: float | None = None) -> str:
    """The state in one or two words, for a narrow row: `9t`, `retry 4s`, `off`."""
    match status.state:
        case "ready":
            return f"{count}{unit}"
        case "retrying":
            left = status.retry_at - (time.monotonic() if now is None else now)
            return f"retry {left:.0f}s" if left > 0.5 else "retrying"
        case "needs_auth":
            return "sign in"
        case "disabled":
            return "off"
        case "idle":
            return "waiting"
        case state:
            return state


def state_words(status: Status) -> str:
    """The state in a sentence, with the reason where there is one."""
    name = safe(status.server)
    why = safe(status.error.message) if status.error else ""
    match status.state:
        case "ready":
            return f"{name} is connected."
        case "connecting":
            return f"{name} is connecting."
        case "idle":
            return f"{name} waits for its turn to start."
        case "disabled":
            return f"{name} is off."
        case "stopping":
            return f"{name} is stopping."
        case "retrying":
            return f"{name} is not connected and is tried again (attempt {status.attempt}). {why}".strip()
        case "needs_auth":
            return f"{name} wants a sign-in. {why if adds(why) else ''}".strip()
        case "failed":
            return f"{name} failed. {why}".strip()


def hint(error: StudioError, key: str) -> str:
    """What helps, as it is done in the studio: signing in is `key` on the server there, and no command line."""
    if isinstance(error, SignInNeeded) and error.by_login:
        if "insufficient_scope" in str(getattr(error, "challenge", ""))[:4_096]:
            return "Run it again, and sign in when you are asked."
        return f"Sign in: {key} on the server in the servers (1)."
    return safe(error.hint, 600)


def outcome_line(outcome: CallOutcome, *, told: bool = False, key: str = "a") -> tuple[Tone, str]:
    """How an operation ended, in one line; each kind reads differently.

    Args:
        told: why it was lost stands below it.
        key: what signs in to a server.
    """
    took = f"{duration(outcome.ms)}" if outcome.ms else ""
    match outcome:
        case Succeeded(cached=None):
            return "ok", f"ok · {took} · {size(outcome.size)}"
        case Succeeded():
            return "ok", f"ok · {size(outcome.size)}"
        case ToolFailed():
            return "bad", f"tool error: it ran and says that it failed · {took} · {size(outcome.size)}"
        case Rejected(code=code, message=message):
            said = f"{code} {message}" if message else outcome.said
            return "bad", f"refused by the server: {safe(said, 300)} · {took}"
        case Denied(rule=rule):
            return "off", f"not sent: {safe(rule, 300)}"
        case Cancelled():
            return "off", f"stopped after {took}" if took else "stopped"
        case InBackground():
            return "off", "it goes on as a task: tab Tasks of pane 2"
        case TimedOut(limit=limit):
            return "bad", f"no answer in time: {safe(limit, 300)}"
        case Lost(error=error, sent=True):
            what = "connection lost" if isinstance(error, ConnectionLost) else "no usable answer"
            why = "." if told else f": {safe(error.message, 300)}"
            return "bad", f"{what}{why} Whether the server did the work is unknown."
        case Lost(error=error):
            what = "not done" if error.http is not None else "not sent"
            return "bad", f"{what}: {safe(error.message, 300)} {safe(hint(error, key), 200)}".rstrip()
        case _:
            return "off", type(outcome).__name__


def outcome_note(outcome: CallOutcome) -> str:
    """The same for the border: a few words."""
    match outcome:
        case Succeeded(cached=cached):
            word = "cached" if cached else "ok"
        case ToolFailed():
            word = "tool error"
        case Rejected(code=code):
            word = f"error {code}"
        case Denied():
            return "not sent"
        case Cancelled():
            return "stopped"
        case InBackground():
            return "in the background"
        case TimedOut():
            word = "timed out"
        case Lost():
            if not outcome.sent:
                return "not sent" if outcome.error.http is None else f"HTTP {outcome.error.http.status}"
            word = "lost"
        case _:
            word = ""
    took = duration(outcome.ms) if outcome.ms else ""
    return " ".join(filter(None, (word, took, size(outcome.size) if outcome.size else "")))
