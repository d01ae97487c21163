"""The state of a connection in words, and what helps."""

from __future__ import annotations

import time
from typing import Literal

from mcp_studio.errors import SignInNeeded, StudioError
from mcp_studio.safetext import safe
from mcp_studio.session.sign_in import adds
from mcp_studio.session.state import Status

INSECURE = "insecure: accepts any certificate"
"""What is said of a server whose certificate may be anybody's, wherever it is shown."""


Tone = Literal["ok", "busy", "bad", "off"]
"""How a state is coloured; the words and glyphs say the same without colour."""


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


def state_short(status: Status) -> str:
    """The state in one or two words, for a narrow row: `retry 4 s`, `off`."""
    match status.state:
        case "retrying":
            left = status.retry_at - time.monotonic()
            return f"retry {left:.0f} s" if left > 0.5 else "retrying"
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
            return f"{name} is not connected, and is tried again (attempt {status.attempt}). {why}".strip()
        case "needs_auth":
            return f"{name} needs a sign-in. {why if adds(why) else ''}".strip()
        case "failed":
            return f"{name} failed. {why}".strip()


def hint(error: StudioError) -> str:
    """What helps, as it is done in the studio: signing in is a button of the server there, and no command line."""
    if isinstance(error, SignInNeeded) and error.by_login:
        if "insufficient_scope" in str(getattr(error, "challenge", ""))[:4_096]:
            return "Run it again, and sign in when you are asked."
        return "Sign in: open the server in pane 1."
    return safe(error.hint, 200)
