"""Why signing in cannot go on, and how what a server sent is quoted in such a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mcp_studio.errors import SignInNeeded
from mcp_studio.redact import Redactor

QUOTED = 160
"""Characters of a foreign value that are quoted in a sentence."""


class AuthFailed(SignInNeeded):
    """Signing in cannot go on: `message` says what came, `hint` what should have been sent or what to do.

    Attributes:
        error: the code of an OAuth error answer (RFC 6749 5.2), such as `invalid_grant`; empty where there was none.
        status: the HTTP status of the answer that it is about; 0 where it is about none.
    """

    def __init__(self, message: str, *, hint: str = "", error: str = "", status: int = 0) -> None:
        # A sentence that is quoted at the end has its full stop already.
        super().__init__(message[:-1] if message.endswith(('.".', '!".', '?".')) else message, hint=hint)
        self.error = error
        self.status = status


def said(value: object) -> str:
    """A foreign value as it is quoted in a sentence: text in quotes, cut; anything else by its kind."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value}"' if len(value) <= QUOTED else f'"{value[:QUOTED]}…" ({len(value):,} characters)'
        case int() | float():
            text = _number(value)
            return f"the number {text}" if len(text) <= QUOTED else "a number of absurd length"
        case list():
            return _counted("a list", value, "entry", "entries")
        case dict():
            return _counted("an object", value, "field", "fields")
        case _:
            return f"a {type(value).__name__}"


def _number(value: float) -> str:
    # CPython refuses to write more than 4,300 digits (int_max_str_digits).
    return "9" * (QUOTED + 1) if isinstance(value, int) and value.bit_length() > 10_000 else repr(value)


def _counted(kind: str, value: Any, one: str, many: str) -> str:
    return f"{kind} with {len(value):,} {one if len(value) == 1 else many}" if value else f"{kind} with nothing in it"


def without(text: str, secrets: Iterable[str]) -> str:
    """Foreign text without these secrets, and without what looks like a token: servers echo what they were sent."""
    redactor = Redactor()
    for secret in secrets:
        redactor.learn(secret)
    return redactor.text(text)
