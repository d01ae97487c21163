"""Signing in on the terminal: a server's wish is put to the person, who sees every step and the page."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp_studio.cli.terminal import EndOfInput, Left, Lines, agrees, frame, say
from mcp_studio.errors import SignInNeeded, StudioError, UsageError
from mcp_studio.present.accounts import rough_span
from mcp_studio.present.browser import is_there, open_page, ssh_line
from mcp_studio.record import record
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


@record(eq=False)
class SignInController:
    """Shows how a sign-in goes, and asks for what it needs from a person.

    It opens the page itself, and knows then whether that went well: the studio of the command line has no browser.
    """

    sign_in: SignIn
    note: Callable[[str], None]
    """Says one line of narration."""
    lines: Lines | None
    """What is typed; None where nobody can be asked."""
    browser: str
    """The command that opens pages; empty for the browser of the desktop."""
    finish: str
    """The command line that goes on with it later."""
    _failure: StudioError | None = None
    """Why we gave up, where that says more than the sign-in itself."""
    _shown: set[str] = field(default_factory=set[str])
    """Steps that have come to their end."""

    async def run(self) -> None:
        """Sign in.

        Raises:
            StudioError: why nobody is signed in.
        """
        work = asyncio.create_task(self.sign_in.run())
        try:
            await self.follow()
        finally:
            self.sign_in.cancel()
            await asyncio.wait((work,), timeout=_CANCELLING)

    async def follow(self) -> None:
        """Follow a sign-in that runs until it is over.

        Raises:
            StudioError: why nobody is signed in.
        """
        sign_in, news = self.sign_in, asyncio.Event()
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
                # The same request may be about to be sent twice.
                if asked != (now := (sign_in.state, id(sign_in.next_request))):
                    asked = now
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
            if self.lines is not None:
                say("")

    def _show_steps(self) -> None:
        for step in self.sign_in.steps:
            if step.state not in _MARKS or step.name in self._shown:
                continue
            self._shown.add(step.name)
            # The error says why a step failed.
            detail = f": {step.detail}" if step.detail and step.state != "failed" else ""
            if detail or step.state != "skipped":
                self.note(f"{_MARKS[step.state]} {step.title}{detail}")

    async def _ask(self) -> None:
        """Ask a person for what is needed now; where that comes to nothing, the sign-in is over."""
        sign_in = self.sign_in
        try:
            if sign_in.state == "paused":
                await self._ask_to_send()
            if sign_in.state == "choosing":
                named = f"{sign_in.server} names several authorization servers: {', '.join(sign_in.choices)}."
                raise SignInNeeded(named, hint=f"Name one: {self.finish} --issuer URL")
            if sign_in.state == "client":
                raise client_needed(sign_in, self.finish)
            if sign_in.state == "browser":
                await self._ask_in_browser()
        except (Left, EndOfInput):
            say("")
            sign_in.cancel()
        except StudioError as error:
            self._failure = error
            sign_in.cancel()

    async def _ask_to_send(self) -> None:
        """Show the newest answer and the next request, which waits."""
        sign_in, request = self.sign_in, self.sign_in.next_request
        if request is None or self.lines is None:
            return sign_in.run_through()
        if before := [exchange for step in sign_in.steps for exchange in step.exchanges if exchange.status]:
            frame(before[-1].response)
        say(f"Next: {safe(request.purpose)}")
        frame(f"{request.method} {request.url}\n{request.request}".rstrip())
        answer = await self.lines.answer("Enter sends it, r all that follow too, :cancel gives up: ")
        (sign_in.run_through if answer.strip().lower() in ("r", "run") else sign_in.go_on)()

    async def _ask_in_browser(self) -> None:
        """Show the page, open it, and take the address that the browser ends on."""
        sign_in, url = self.sign_in, self.sign_in.authorization_url
        say(f"Sign in at {safe(urlsplit(url).hostname)}:\n\n{safe(url, _LONGEST)}\n")
        say(*(f"  {safe(warning)}" for warning in sign_in.warnings))
        opened = not sign_in.step_by_step and await self._open()
        returns = sign_in.started_callback
        if self.lines is None and not (opened and returns):  # nobody is here: `--redirect` finishes it
            self._failure = nobody_is_here(sign_in, self.finish)
            return await sign_in.set_aside()
        say("The browser was asked to open it." if opened else "Open it in a browser.")
        if returns:
            left = rough_span(max(sign_in.until - time.monotonic(), 0.0) + 0.5)
            say(f"Waiting {left} until it comes back to {safe(sign_in.redirect_uri)}; ctrl+c gives up.")
            if line := ssh_line(sign_in.redirect_uri, os.environ):
                say(f"With a browser on the machine that you come from, run there first:\n  {line}")
        if self.lines is not None:
            say(f"{'If the browser cannot show where it ends' if returns else 'At the end'}, paste that address here.")
            await self._take_redirect(self.lines)

    async def _take_redirect(self, lines: Lines) -> None:
        while True:
            address = (await lines.answer("> ")).strip()
            try:
                if address:
                    self.sign_in.paste(address)
                    return
                if not await self._open():
                    say("  There is no browser here to open it with.")
            except UsageError as error:
                say(f"  {safe(f'{error.message} {error.hint}'.rstrip())}")

    async def _open(self) -> bool:
        return is_there(browser=self.browser) and await open_page(self.sign_in.authorization_url, self.browser)


async def put(request: InputRequest, studio: Studio, lines: Lines, note: Callable[[str], None]) -> None:
    """Ask whether to sign in, do it where the person agrees, and answer the request.

    Raises:
        EndOfInput: there is nobody any more.
    """
    waiting = f" ({request.subject} is waiting)" if request.subject else ""
    say(safe(wants(request.server, request.message, how=waiting)))
    say(*(f"  {safe(reason, 600)}" for reason in request.reasons))
    if not await agrees(lines, "Sign in now?"):
        request.answer("decline")
        return
    assert request.sign_in is not None, "it is about a sign-in"
    sign_in, finish = request.sign_in(), command(studio.manager.config(request.server))
    try:
        await SignInController(sign_in, note, lines, studio.config.settings.browser, finish=finish).follow()
        request.answer("accept")
    except StudioError as error:
        say(f"  {safe(f'{error.message} {error.hint}'.rstrip())}")
        request.answer("decline")
    finally:
        sign_in.cancel()
