"""All errors that a person can cause or meet, as one small tree.

StudioError                 message, hint, exit code
├── UsageError              wrong words on the command line, unknown names          exit 2
├── ConfigError             a configuration file, key or value                      exit 2
│   ├── LockHeld            another process is busy with a file                     exit 2
│   └── VaultRefused        a secret that cannot be stored or read                  exit 2
│       └── VaultDamaged    the stored content is not what was written              exit 2
├── SignInNeeded            the server requires credentials that we do not have     exit 3
├── Unreachable             no connection could be made                             exit 4
│   └── ConnectionLost      the connection ended during a request                   exit 4
├── InputNeeded             a person has to answer or approve, and nobody can       exit 6
├── LimitExceeded           a bound of `limits` was exceeded; names the bound       exit 1
└── ProtocolError           the server broke the protocol                           exit 1
"""

from collections.abc import Iterable
from typing import Any, NamedTuple


class HttpAnswer(NamedTuple):
    """The HTTP answer that an error comes from; all of it is foreign."""

    status: int
    reason: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    """The beginning of the body, as text."""

    @property
    def refused(self) -> bool:
        """Whether the status says that the server rejected the request without acting on it."""
        return 300 <= self.status < 500 or self.status == 503


class StudioError(Exception):
    """An error in plain words: what happened and where, and what to do about it.

    Attributes:
        message: one sentence; it may quote foreign text, so that whoever shows it sanitizes it.
        hint: what to try, or an empty string.
        http: the HTTP answer that the error comes from.
        how: how the connection ended, one of `trace.postmortem.How`; words that quote a server never decide this.
        code: the exit code, the number of the signal, or the HTTP status of that end.
        retry_after: seconds after which the server wants to be asked again; 0 if it does not say.
        detail: further facts, for scripts.
    """

    exit_code = 1
    http: HttpAnswer | None = None
    retry_after = 0.0
    how = "other"
    code = 0

    def __init__(self, message: str, *, hint: str = "", detail: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint
        self.detail = detail or {}


def renamed(error: StudioError, kind: type[StudioError], hint: str = "") -> StudioError:
    """The same error as another kind, with the same message, and with `hint` if there is one."""
    copy = kind(error.message, hint=hint or error.hint)
    copy.http, copy.retry_after = error.http, error.retry_after
    return copy


def nearest(word: str, known: Iterable[str], most: int = 1) -> str:
    """`Did you mean …?` with the most similar known words, whatever their case; empty where none is similar."""
    from difflib import get_close_matches

    folded = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), folded, most)
    near += [name for name in folded if word and word.lower() in name and name not in near][: most - len(near)]
    return f"Did you mean {' or '.join(f'`{folded[name]}`' for name in near)}?" if near else ""


class UsageError(StudioError):
    """Wrong words: an unknown verb, server, tool or value."""

    exit_code = 2


class ConfigError(StudioError):
    """A configuration file that cannot be used; `file` and `key` say where."""

    exit_code = 2

    def __init__(self, message: str, *, file: str = "", key: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.file, self.key = file, key


class LockHeld(ConfigError):
    """Another process has been busy with a file for too long."""


class VaultRefused(ConfigError):
    """The vault cannot store or read secrets; the error says why, and what to do about it."""


class VaultDamaged(VaultRefused):
    """What the vault has stored is not what was written."""


class SignInNeeded(StudioError):
    """The server answered 401, or 403 and names the missing scope: it requires credentials that we do not have."""

    exit_code = 3
    by_login = False
    """Whether the hint is a command line that signs in; a front end with another way replaces it."""


class Unreachable(StudioError):
    """No connection could be made: no such program, refused, wrong address, no answer in time."""

    exit_code = 4


class ConnectionLost(Unreachable):
    """The connection ended while a request waited for its answer."""

    how = "dropped"


class InputNeeded(StudioError):
    """A person has to answer or approve, and nobody is there who can."""

    exit_code = 6


class LimitExceeded(StudioError):
    """A bound of `limits.Limits` was exceeded; `limit` is the name of its field."""

    def __init__(self, message: str, *, limit: str, hint: str = "") -> None:
        super().__init__(message, hint=hint or f"The limit can be raised: [limits] {limit} in config.toml.")
        self.limit = limit


class ProtocolError(StudioError):
    """The server sent something that the protocol does not allow."""
