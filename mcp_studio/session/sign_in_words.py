"""What is said about servers that want a person to sign in."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from mcp_studio.config.alone import see_to
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import SignInNeeded, StudioError

_SCOPE = re.compile(r'\bscope="([\x20\x21\x23-\x5b\x5d-\x7e]{1,500})"')
"""Of a challenge (RFC 6750 3)."""
_SAME = " wants you to sign in."
"""End of the reason where a server has said nothing more."""
_TOKENS = re.compile(r"\b(bearer|dpop)\b", re.IGNORECASE)
"""The schemes for which signing in gets something; Basic and others want what a person has."""


def command(config: ServerConfig, challenge: str = "") -> str:
    """The command line that signs in to a server, with the scopes that a challenge says are missing."""
    missing = _SCOPE.search(challenge[:4_096]) if "insufficient_scope" in challenge[:4_096] else None
    scope = f" --scope {shlex.quote(missing[1])}" if missing else ""
    if config.source.origin == "argument":
        return f"mcp-studio auth login --url URL{scope}"
    file = f" --config {shlex.quote(config.source.file)}" if config.source.origin == "file" else ""
    return f"mcp-studio auth login {shlex.quote(config.name)}{file}{scope}"


def add_hint(error: StudioError, config: ServerConfig) -> None:
    """Have an error say what helps, such as the command that signs in; one that says more stays as it is."""
    challenge = str(getattr(error, "challenge", ""))
    if challenge and not _TOKENS.search(challenge[:4_096]):
        return
    if error.exit_code == 3 and (challenge or not error.hint) and config.signs_in:
        error.hint = see_to(config) if config.auth.alone else f"Sign in: {command(config, challenge)}"
        if isinstance(error, SignInNeeded):
            error.by_login = not config.auth.alone


def wants(server: str, reason: str, *, how: str = "") -> str:
    """That a server wants a sign-in, and why; a reason that says the same of its address adds nothing. Foreign text."""
    head = f"{server} wants you to sign in{how}"
    return f"{head}: {reason}" if adds(reason) else f"{head}."


def adds(reason: str) -> bool:
    """Whether a reason says more than that a sign-in is wanted."""
    return bool(reason) and not reason.endswith(_SAME)


def asked_for(scopes: Sequence[str]) -> tuple[str, ...]:
    """What a sign-in would ask for, for the question; the scopes are foreign text."""
    return (f"It would ask for: {' '.join(scopes)}",) if scopes else ()
