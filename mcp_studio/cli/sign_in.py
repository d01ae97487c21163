"""Signing in on the terminal: a server's wish is put to the person, who sees every step and the page."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp_studio.cli.terminal import EndOfInput, Left, Lines, agrees, say
from mcp_studio.errors import SignInNeeded, StudioError, UsageError
from mcp_studio.present.accounts import rough_span
from mcp_studio.present.browser import is_there, open_page, ssh_line
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import InputRequest
from mcp_studio.session.sign_in import client_needed, command, nobody_is_here, wants

if TYPE_CHECKING:
    from mcp_studio.auth.signin import SignIn
    from mcp_studio.studio import Studio

_MARKS = {"done": "✓", "failed": "✗", "skipped": "–"}
"""State of a step that has come to its end -> its mark."""
_LONGEST = 16_384
"""Characters of the page's address."""
_CANCELLING = 2.0
"""Seconds for a sign-in to come to its end once it is cancelled."""


async def no_browser(_: str) -> bool:
    """For `Accounts.browser`: the controller opens the page, and knows then whether that went well."""
    return False


class SignInController:
    """Shows how a sign-in goes, and asks for what it needs from a person.

    Args:
        note: says one line of narration.
        lines: what is typed; None where nobody can be asked.
        browser: the command that opens pages; empty for the browser of the desktop.
        finish: the command line that goes on with it later.
    """

    def __init__(
        self, sign_in: SignIn, note: Callable[[str], None], lines: Lines | None, browser: str, *, finish: str
    ) -> None:
        self._sign_in = sign_in
        self._note = note
        self._lines = lines
        self._browser = browser
        self._finish = finish
        self._failure: StudioError | None = None
        """Why we gave up, where that says more than the sign-in itself."""
        self._shown: set[str] = set()
        """Steps that have come to their end."""

    async def run(self) -> None:
        """Sign in.

        Raises:
            StudioError: why nobody is signed in.
        """
        work = asyncio.create_task(self._sign_in.run())
        try:
            await self.follow()
        finally:
            self._sign_in.cancel()
            await asyncio.wait((work,), timeout=_CANCELLING)

    async def follow(self) -> None:
        """Follow a sign-in that runs until it is over.

        Raises:
            StudioError: why nobody is signed in.
        """
        sign_in, news = self._sign_in, asyncio.Event()
        asked, asking = None, asyncio.create_task(asyncio.sleep(0))

        def changed(_: SignIn) -> None:
            self._show_steps()  # at once: a thread may be about to ask for a passphrase
            news.set()

        changed(sign_in)
        disconnect = sign_in.changed.connect(changed)
        try:
            while not sign_in.over:
                await news.wait()
                news.clear()
                if asked != sign_in.state:
                    asked = sign_in.state
                    await self._stop(asking)
                    asking = asyncio.create_task(self._ask())
        finally:
            disconnect()
            await self._stop(asking)
        if sign_in.state != "done":
            raise self._failure or sign_in.error or SignInNeeded(f"Nobody has signed in to {sign_in.server}.")

    async def _stop(self, asking: asyncio.Task[None]) -> None:
        """End what is being asked: it is no longer wanted."""
        if not asking.done():
            asking.cancel()
            await asyncio.wait((asking,))
            if self._lines is not None:
                say("")

    def _show_steps(self) -> None:
        for step in self._sign_in.steps:
            if step.state not in _MARKS or step.name in self._shown:
                continue
            self._shown.add(step.name)
            # The error says why a step failed.
            if step.detail and step.state != "failed":
                self._note(f"{_MARKS[step.state]} {step.title}: {step.detail}")
            elif step.state != "skipped":
                self._note(f"{_MARKS[step.state]} {step.title}")

    async def _ask(self) -> None:
        """Ask a person for what is needed now; where that comes to nothing, the sign-in is over."""
        sign_in = self._sign_in
        try:
            match sign_in.state:
                case "choosing":
                    named = f"{sign_in.server} names several authorization servers: {', '.join(sign_in.choices)}."
                    raise SignInNeeded(named, hint=f"Name one: {self._finish} --issuer URL")
                case "client":
                    raise client_needed(sign_in, self._finish)
                case "browser":
                    await self._ask_in_browser()
                case _:
                    pass
        except (Left, EndOfInput):
            say("")
            sign_in.cancel()
        except StudioError as error:
            self._failure = error
            sign_in.cancel()

    async def _ask_in_browser(self) -> None:
        """Show the page, open it, and take the address that the browser ends on."""
        sign_in, url = self._sign_in, self._sign_in.authorization_url
        say(f"Sign in at {safe(urlsplit(url).hostname)}:\n\n{safe(url, _LONGEST)}\n")
        for warning in sign_in.warnings:
            say(f"  {safe(warning)}")
        opened = await self._open()
        returns = sign_in.started_callback
        if self._lines is None and not (opened and returns):
            await self._set_aside()
            return
        say("The browser was asked to open it." if opened else "Open it in a browser.")
        if returns:
            left = rough_span(max(sign_in.until - time.monotonic(), 0.0) + 0.5)
            say(f"Waiting {left} until it comes back to {safe(sign_in.redirect_uri)}; ctrl+c gives up.")
            if line := ssh_line(sign_in.redirect_uri, os.environ):
                say(f"With a browser on the machine that you come from, run there first:\n  {line}")
        if self._lines is not None:
            say(f"{'If the browser cannot show where it ends' if returns else 'At the end'}, paste that address here.")
            await self._take_redirect(self._lines)

    async def _take_redirect(self, lines: Lines) -> None:
        while True:
            address = (await lines.answer("> ")).strip()
            try:
                if address:
                    self._sign_in.paste(address)
                    return
                if not await self._open():
                    say("  There is no browser here to open it with.")
            except UsageError as error:
                say(f"  {safe(f'{error.message} {error.hint}'.rstrip())}")

    async def _open(self) -> bool:
        return is_there(browser=self._browser) and await open_page(self._sign_in.authorization_url, self._browser)

    async def _set_aside(self) -> None:
        """Nobody is here: `url` of the error is the page where somebody can sign in, and `--redirect` finishes it."""
        self._failure = nobody_is_here(self._sign_in, self._finish)
        await self._sign_in.set_aside()


async def put(request: InputRequest, studio: Studio, lines: Lines, note: Callable[[str], None]) -> None:
    """Ask whether to sign in, do it where the person agrees, and answer the request.

    Raises:
        EndOfInput: there is nobody any more.
    """
    waiting = f" ({request.subject} is waiting)" if request.subject else ""
    say(safe(wants(request.server, request.message, how=waiting)))
    for reason in request.reasons:
        say(f"  {safe(reason, 600)}")
    if not await agrees(lines, "Sign in now?"):
        request.answer("decline")
        return
    assert request.sign_in is not None, "it is about a sign-in"
    studio.signing.accounts.browser = no_browser
    sign_in, finish = request.sign_in(), command(studio.manager.config(request.server))
    try:
        await SignInController(sign_in, note, lines, studio.config.settings.browser, finish=finish).follow()
        request.answer("accept")
    except StudioError as error:
        say(f"  {safe(f'{error.message} {error.hint}'.rstrip())}")
        request.answer("decline")
    finally:
        sign_in.cancel()
