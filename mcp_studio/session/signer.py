"""The credentials of one connection: who has them is asked when there is something to use, or a request is refused.

Whatever signing in needs is imported then, in a thread: a studio whose servers are programs, or remote ones that nobody
has to sign in to, never has it.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Protocol

from mcp_studio.config.expand import see_to
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import SignInNeeded, StudioError
from mcp_studio.transport.base import Credentials, HeaderList, Headers, Refused


class Clock(Protocol):
    """What measures the time of connecting; fetching a token has bounds of its own and is not counted."""

    def pause(self) -> None:
        """It stands still from now on; pauses nest."""
        ...

    def resume(self) -> None:
        """It goes on."""
        ...


class Signer:
    """Implements `transport.credentials.Credentials`.

    Args:
        load: gives the credentials, or None where there is nothing to sign in to; called once.
        pointless: whether it is known without them that there is nothing to send yet.
    """

    def __init__(
        self,
        load: Callable[[], Awaitable[Credentials | None]],
        pointless: Callable[[], bool],
        clock: Clock | None,
    ) -> None:
        self._load = load
        self._pointless = pointless
        self._clock = clock
        self._loading = asyncio.Lock()
        self._known = False
        self._found: Credentials | None = None

    @property
    def present(self) -> bool:
        """Whether there is anything to send."""
        return self._found is not None and self._found.present

    async def lines(self, method: str, url: str) -> HeaderList:
        """See `Credentials.lines`."""
        if not self._known and self._pointless():
            return []
        with self._paused():
            found = await self._credentials()
            return [] if found is None else await found.lines(method, url)

    def seen(self, url: str, headers: Headers) -> None:
        """See `Credentials.seen`."""
        if self._found is not None:
            self._found.seen(url, headers)

    async def refused(self, refused: Refused) -> bool:
        """See `Credentials.refused`."""
        with self._paused():
            found = await self._credentials()
            return found is not None and await found.refused(refused)

    async def _credentials(self) -> Credentials | None:
        if not self._known:
            async with self._loading:
                if not self._known:
                    self._found = await self._load()
                    self._known = True
        return self._found

    @contextmanager
    def _paused(self) -> Generator[None]:
        if self._clock is None:
            yield
            return
        self._clock.pause()
        try:
            yield
        finally:
            self._clock.resume()


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
