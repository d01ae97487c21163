"""Following a sign-in on the terminal: what happens is told a line at a time, and what a person has to do is asked."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from typing import Any

from mcp_studio.auth.model import SignInState
from mcp_studio.auth.signin import SignIn
from mcp_studio.browser import is_there, open_page
from mcp_studio.cli import sign_in_asks as asks
from mcp_studio.cli.lines import EndOfInput, Lines
from mcp_studio.cli.output import SignInAt
from mcp_studio.cli.sign_in_words import MARKS, exchange_line, page_lines, step_line, waiting_lines
from mcp_studio.cli.telling import Left, frame, say
from mcp_studio.errors import SignInNeeded, StudioError

_ASKING: tuple[SignInState, ...] = ("browser", "paused", "choosing", "client")
"""States in which something is asked."""
_PATIENCE = 2.0
"""Seconds for a sign-in to come to its end once it is cancelled."""


class Opener:
    """Opens the page of a sign-in, which asks for that by itself.

    Args:
        named: the command to open it with; empty for that of the desktop.
    """

    def __init__(self, named: str = "") -> None:
        self.there = is_there(browser=named)
        """Whether there is a browser to open pages with."""
        self.tried = asyncio.Event()
        """The page was handed to it, or could not be."""
        self._named = named

    async def __call__(self, url: str) -> bool:
        """Open a page; False where there is no browser."""
        try:
            return self.there and await open_page(url, self._named)
        finally:
            self.tried.set()


class Guide:
    """Follows one sign-in to its end.

    Args:
        note: says one line of narration.
        lines: what is typed; None where nobody can be asked.
        opener: opens the page for it.
        finish: the command line that goes on with it later.
    """

    def __init__(
        self, sign_in: SignIn, note: Callable[[str], None], lines: Lines | None, opener: Opener, *, finish: str
    ) -> None:
        self._sign_in = sign_in
        self._note = note
        self._lines = lines
        self._opener = opener
        self._finish = finish
        self._asking: asyncio.Task[None] | None = None
        self._failure: StudioError | None = None
        """Why we gave up, where that says more than the sign-in itself."""
        self._prompted = False
        """A prompt stands on the terminal that nobody has answered yet."""
        self._told: dict[str, tuple[str, int]] = {}

    async def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work`, which is the sign-in itself, and follow it; it is cancelled where this is.

        Raises:
            StudioError: why nobody is signed in.
        """
        task = asyncio.ensure_future(work)
        try:
            await self.follow()
            await task
        finally:
            self._sign_in.cancel()
            if not task.done():
                await asyncio.wait((task,), timeout=_PATIENCE)

    async def follow(self) -> None:
        """Tell and ask until it is over.

        Raises:
            StudioError: why nobody is signed in.
        """
        sign_in, news = self._sign_in, asyncio.Event()
        state, request = "", None

        def changed(_: SignIn) -> None:
            self._tell()  # at once: a thread may be about to ask for a passphrase
            news.set()

        changed(sign_in)
        disconnect = sign_in.changed.connect(changed)
        try:
            while not sign_in.over:
                await news.wait()
                news.clear()
                # The same request may be about to be sent twice.
                if sign_in.state != state or sign_in.next_request is not request:
                    state, request = sign_in.state, sign_in.next_request
                    await self._stop()
                    self._asking = asyncio.create_task(self._ask())
        finally:
            disconnect()
            await self._stop()
        if sign_in.state != "done":
            raise self._failure or sign_in.error or SignInNeeded(f"Nobody has signed in to {sign_in.server}.")

    # ------------------------------------------------------------------ told

    def _tell(self) -> None:
        for step in self._sign_in.steps:
            state, seen = self._told.get(step.name, ("", 0))
            for exchange in step.exchanges[seen:]:
                if not (exchange.status or exchange.response):
                    break
                seen += 1
                self._note(exchange_line(exchange))
                if self._sign_in.step_by_step and exchange.status:
                    frame(exchange.response)
            if step.state in MARKS and state != step.state and (step.detail or step.state != "skipped"):
                self._note(step_line(step))
            self._told[step.name] = (step.state, seen)

    # ------------------------------------------------------------------ asked

    async def _ask(self) -> None:
        """Ask a person for what is needed in the state that it is in; where that comes to nothing, it is over."""
        sign_in = self._sign_in
        try:
            await self._put()
            self._prompted = False
        except Left:
            sign_in.cancel()
        except EndOfInput:
            say("")
            # Whoever closed the input may still come back by the browser.
            if not (sign_in.state == "browser" and sign_in.opened and sign_in.started_callback):
                sign_in.cancel()
        except StudioError as error:
            self._failure = error
            sign_in.cancel()

    async def _put(self) -> None:
        sign_in, lines = self._sign_in, self._lines
        self._prompted = lines is not None and sign_in.state in _ASKING
        if sign_in.state == "browser":
            await self._page()
        elif sign_in.state == "paused":
            await asks.step(sign_in, lines) if lines else sign_in.run_through()
        elif sign_in.state in ("choosing", "client"):
            if lines is None:
                raise asks.nobody(sign_in)
            await (asks.choose if sign_in.state == "choosing" else asks.client)(sign_in, lines)

    async def _page(self) -> None:
        sign_in = self._sign_in
        if self._lines is None and not self._opener.there:
            await self._set_aside()
            return
        for line in page_lines(sign_in):
            say(line)
        if self._opener.there:
            await self._opener.tried.wait()
        if self._lines is None and not (sign_in.opened and sign_in.started_callback):
            await self._set_aside()
            return
        for line in waiting_lines(sign_in, os.environ, asks=self._lines is not None):
            say(line)
        if self._lines is not None:
            await asks.page(sign_in, self._lines)

    async def _set_aside(self) -> None:
        why = "and the browser did not open the page" if self._opener.there else "and no browser"
        noted = " ".join(step.hint for step in self._sign_in.steps if step.state not in MARKS and step.hint)
        self._failure = SignInAt(
            f"Nobody is here who could sign in to {self._sign_in.server}: no terminal, {why}. {noted}".rstrip(),
            self._sign_in.authorization_url,
            hint="Open the address in a browser; it ends on one that begins with "
            f"{self._sign_in.redirect_uri}. Give that on standard input within 15 minutes: {self._finish} --redirect - "
            f"If the page does not know the client: {self._finish} --register",
        )
        await self._sign_in.set_aside()

    async def _stop(self) -> None:
        """End what is being asked: it is no longer wanted."""
        asking, self._asking = self._asking, None
        if asking is not None and not asking.done():
            asking.cancel()
            await asyncio.wait((asking,))
            if self._prompted:
                self._prompted = False
                say("")
