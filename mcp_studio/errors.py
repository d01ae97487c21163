"""Every failure that a person can cause or meet, as one small tree.

StudioError                 message, hint, exit code
├── UsageError              wrong words on the command line, unknown names          exit 2
├── ConfigError             a configuration file, key or value                      exit 2
├── SignInNeeded            the server wants credentials that we do not have        exit 3
├── Unreachable             no connection could be made                             exit 4
│   └── ConnectionLost      there was one, and it ended under a request             exit 4
├── InputNeeded             a person has to answer or approve, and nobody is there  exit 6
├── LimitExceeded           a bound of `limits` was reached; names the bound        exit 1
└── ProtocolError           the server broke the protocol                           exit 1
"""

from __future__ import annotations

from typing import Any, NamedTuple


class HttpAnswer(NamedTuple):
    """The HTTP response that is the reason of a failure; every part of it is foreign text."""

    status: int
    reason: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    """The beginning of the response's body, as text."""

    @property
    def refused(self) -> bool:
        """Whether the status says that the server turned the request away without doing anything."""
        return 300 <= self.status < 500 or self.status == 503


class StudioError(Exception):
    """A failure told in plain words: what happened and where, and what to do about it.

    Attributes:
        message: one sentence; may quote foreign text, so front ends sanitize it before they show it.
        hint: what the person can try, or an empty string.
        http: the HTTP response that caused the failure, or None.
        retry_after: seconds to wait before the next attempt, as the server asked; 0 when it did not say.
        detail: further facts for scripts.
    """

    exit_code = 1
    http: HttpAnswer | None = None
    retry_after = 0.0

    def __init__(self, message: str, *, hint: str = "", detail: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.detail = detail or {}


def renamed(error: StudioError, kind: type[StudioError], hint: str = "") -> StudioError:
    """Turn a failure into another kind of error with the same message and HTTP response; `hint` replaces its hint."""
    copy = kind(error.message, hint=hint or error.hint)
    copy.http, copy.retry_after = error.http, error.retry_after
    return copy


class UsageError(StudioError):
    """The person named an unknown verb, server, tool or value."""

    exit_code = 2


class ConfigError(StudioError):
    """A configuration file that cannot be used; `file` and `key` say where."""

    exit_code = 2

    def __init__(self, message: str, *, file: str = "", key: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.file = file
        self.key = key


class SignInNeeded(StudioError):
    """The server answered 401, or 403 with the scope that is missing: it wants credentials that we do not have."""

    exit_code = 3
    by_login = False
    """Whether the hint is a command line that signs in; front ends with another way to sign in replace the hint."""


class Unreachable(StudioError):
    """No connection could be made: no such program, refused, wrong address, no answer in time."""

    exit_code = 4


class ConnectionLost(Unreachable):
    """The connection ended while something was waiting for it."""


class InputNeeded(StudioError):
    """A person has to answer or approve, and nobody is there to do so."""

    exit_code = 6


class LimitExceeded(StudioError):
    """A bound of `limits.Limits` was reached; `limit` is the name of its field."""

    def __init__(self, message: str, *, limit: str, hint: str = "") -> None:
        super().__init__(message, hint=hint or f"The limit can be raised: [limits] {limit} in config.toml.")
        self.limit = limit


class ProtocolError(StudioError):
    """The server sent something that the protocol does not allow."""
