"""The redirect of one flow: by the listener on this machine, or pasted by a person; whichever comes first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from urllib.parse import urlsplit

from mcp_studio.auth import callback, redirect
from mcp_studio.auth.callback import Callback, Reception, listen
from mcp_studio.auth.failed import AuthFailed
from mcp_studio.auth.model import Client
from mcp_studio.auth.redirect import Expected, NotOurs
from mcp_studio.errors import UsageError

_NOTED = 3
"""Redirects of somebody else that are told about."""


class Redirects:
    """Waits for the redirect; `close` it."""

    def __init__(self, server: str, note: Callable[[str], None]) -> None:
        """`note` is told of redirects that belong to no flow of ours."""
        self._server = server
        self._note = note
        self._noted = 0
        self._callback: Callback | None = None
        self._expected: Expected | None = None
        self._code: asyncio.Future[str] | None = None
        self.uri = ""

    @property
    def listening(self) -> bool:
        """Whether the browser can come back by itself."""
        return self._callback is not None

    async def start(self, host: str, port: int, known: Client | None = None) -> str:
        """Listen where that is possible; what is to be said about it, or an empty string.

        `known` is the client that was registered before: some authorization servers take no other port than its own.
        """
        rather = registered_port(known.redirect_uri, host) if known is not None and known.how == "registered" else 0
        self._callback, told = await listen(host, port, self._receive, rather=rather, astray=self._tell)
        self.uri = self._callback.uri if self._callback else f"http://{host}:{port or callback.PORT}{callback.PATH}"
        return told

    def expect(self, expected: Expected) -> asyncio.Future[str]:
        """From now on a redirect can come; its code, or why there is none."""
        self._expected = expected
        self._code = asyncio.get_running_loop().create_future()
        return self._code

    def paste(self, text: str) -> None:
        """What a person has copied out of the browser.

        Raises:
            UsageError: it is no redirect of this flow.
        """
        query = redirect.query_of(text, self.uri)
        try:
            self._settle(query)
        except NotOurs as problem:
            raise UsageError(
                problem.message,
                hint="It may be of an earlier sign-in, or not be whole: paste what this page ends at, as it stands.",
            ) from None
        except AuthFailed:
            pass  # Whoever waits says it.

    async def close(self) -> None:
        """Stop listening."""
        if self._code is not None and self._code.done() and not self._code.cancelled():
            self._code.exception()  # Nobody may have waited for it.
        if self._callback is not None:
            await self._callback.close()

    def _settle(self, query: str) -> None:
        """Judge a redirect, and tell who waits."""
        if self._expected is None or self._code is None:
            raise NotOurs("A redirect came before anybody was sent to the browser.", hint="Go back to the terminal.")
        try:
            code = redirect.judge(query, self._expected)
        except NotOurs:
            raise
        except AuthFailed as problem:
            if not self._code.done():
                self._code.set_exception(problem)
            raise
        if not self._code.done():
            self._code.set_result(code)

    def _tell(self, words: str) -> None:
        if self._noted < _NOTED:
            self._noted += 1
            self._note(words)

    def _receive(self, query: str) -> Reception:
        try:
            self._settle(query)
        except NotOurs as problem:
            self._tell(problem.message)
            return Reception(False, "Not this one", f"{problem.message} {problem.hint} Nothing was done with it.")
        except AuthFailed as problem:
            text = f"{problem.message} {problem.hint} You can close this page and go back to the terminal."
            return Reception(True, "Signing in did not work", text)
        text = f"Permission for {self._server} has come. You can close this page and go back to the terminal."
        return Reception(True, "Back to the terminal", text)


def registered_port(redirect_uri: str, host: str) -> int:
    """The port of a redirect to this machine under this name; 0 where it is another one."""
    try:
        parts = urlsplit(redirect_uri)
        return (parts.port or 0) if parts.hostname == host else 0
    except ValueError:
        return 0
