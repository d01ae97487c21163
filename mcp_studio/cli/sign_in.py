"""Signing in on the terminal: a server's wish is put to the person; where nobody is there, the page is handed out."""

from __future__ import annotations

import asyncio
import os
import shlex
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp_studio.auth.model import AuthStep, port_kept
from mcp_studio.cli.output import SignInAt
from mcp_studio.cli.terminal import EndOfInput, Left, Lines, agrees, can_ask, frame, say
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import SignInNeeded, StudioError, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.present.accounts import rough_span
from mcp_studio.present.browser import NONE, is_there, open_page, ssh_line
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import InputRequest
from mcp_studio.session.sign_in import command, wants

if TYPE_CHECKING:
    from mcp_studio.auth.signin import SignIn
    from mcp_studio.cli.output import Output
    from mcp_studio.session.state import Status
    from mcp_studio.studio import Studio

_MARKS = {"done": "✓", "failed": "✗", "skipped": "–"}
"""State of a step that has come to its end -> its mark."""
_LONGEST = 16_384
"""Characters of the page's address."""
_PATIENCE = 15.0
"""Seconds for getting at the page that is handed out."""
_CANCELLING = 2.0
"""Seconds for a sign-in to come to its end once it is cancelled."""


def login_command(config: ServerConfig) -> str:
    """The command line that signs in to a server, or goes on with that."""
    if config.source.origin == "argument":
        return f"mcp-studio auth login --url {shlex.quote((config.written or config).url)}"
    return command(config)


def steps_json(steps: Sequence[AuthStep]) -> list[Json]:
    """The steps with their exchanges, for scripts."""
    return [
        {
            "step": step.name, "title": step.title, "state": step.state, "detail": step.detail or None,
            "hint": step.hint or None,
            "exchanges": [
                {"number": one.number, "purpose": one.purpose, "method": one.method, "url": one.url,
                 "status": one.status or None, "ms": round(one.ms, 1)}
                for one in step.exchanges
            ],
        }
        for step in steps
    ]  # fmt: skip


async def no_browser(_: str) -> bool:
    """For `Accounts.browser`: a guide opens the page, and knows then whether that went well."""
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
        self._asking: asyncio.Task[None] | None = None
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
        state, request = "", None

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
                if sign_in.state != state or sign_in.next_request is not request:
                    state, request = sign_in.state, sign_in.next_request
                    await self._stop()
                    self._asking = asyncio.create_task(self._ask())
        finally:
            disconnect()
            await self._stop()
        if sign_in.state != "done":
            raise self._failure or sign_in.error or SignInNeeded(f"Nobody has signed in to {sign_in.server}.")

    def _show_steps(self) -> None:
        for step in self._sign_in.steps:
            if step.state not in _MARKS or step.name in self._shown:
                continue
            self._shown.add(step.name)
            # The error says why a step failed.
            detail = step.detail if step.state != "failed" else ""
            if detail:
                self._note(f"{_MARKS[step.state]} {step.title}: {detail}")
            elif step.state != "skipped":
                self._note(f"{_MARKS[step.state]} {step.title}")

    async def _ask(self) -> None:
        """Ask a person for what is needed now; where that comes to nothing, the sign-in is over."""
        sign_in = self._sign_in
        try:
            match sign_in.state:
                case "paused":
                    await self._ask_to_send()
                case "choosing":
                    named = f"{sign_in.server} names several authorization servers: {', '.join(sign_in.choices)}."
                    raise SignInNeeded(named, hint=f"Name one: {self._finish} --issuer URL")
                case "client":
                    raise self._client_needed()
                case "browser":
                    await self._ask_in_browser()
                case _:
                    return
        except (Left, EndOfInput):
            say("")
            sign_in.cancel()
        except StudioError as error:
            self._failure = error
            sign_in.cancel()

    async def _stop(self) -> None:
        """End what is being asked: it is no longer wanted."""
        asking, self._asking = self._asking, None
        if asking is not None and not asking.done():
            asking.cancel()
            await asyncio.wait((asking,))
            if self._lines is not None:
                say("")

    async def _ask_to_send(self) -> None:
        sign_in, request = self._sign_in, self._sign_in.next_request
        if request is None or self._lines is None:
            sign_in.run_through()
            return
        if before := [exchange for step in sign_in.steps for exchange in step.exchanges if exchange.status]:
            frame(before[-1].response)
        say(f"Next: {safe(request.purpose)}")
        frame(f"{request.method} {request.url}\n{request.request}".rstrip())
        answer = await self._lines.answer("Enter sends it, r all that follow too, :cancel gives up: ")
        if answer.strip().lower() in ("r", "run"):
            sign_in.run_through()
        else:
            sign_in.go_on()

    def _client_needed(self) -> SignInNeeded:
        redirect = self._sign_in.redirect_uri
        keeps = f" ({kept})" if (kept := port_kept(redirect)) else ""
        where = f", with the redirect {redirect}{keeps}" if redirect else ""
        register = (
            f"Register one there by hand{where}: {self._finish} --client-id ID, and --client-secret - for its secret."
        )
        return SignInNeeded(f"A client id is needed: {self._sign_in.client_reason}", hint=register)

    async def _ask_in_browser(self) -> None:
        """Show the page, open it, and take the address that the browser ends on."""
        sign_in, url = self._sign_in, self._sign_in.authorization_url
        say(f"Sign in at {safe(urlsplit(url).hostname)}:\n\n{safe(url, _LONGEST)}\n")
        for warning in sign_in.warnings:
            say(f"  {safe(warning)}")
        opened = not sign_in.step_by_step and await self._open()
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
        notes = " ".join(step.hint for step in self._sign_in.steps if step.state not in _MARKS and step.hint)
        self._failure = SignInAt(
            f"Nobody is here who could sign in to {self._sign_in.server}: there is no terminal, and no browser that "
            f"could open the page. {notes}".rstrip(),
            self._sign_in.authorization_url,
            hint="Open the address in a browser; it ends on one that begins with "
            f"{self._sign_in.redirect_uri}. Give that on standard input within 15 minutes: {self._finish} --redirect - "
            f"If the page does not know the client: {self._finish} --register",
        )
        await self._sign_in.set_aside()


async def nobody(request: InputRequest, studio: Studio) -> SignInNeeded:
    """Nobody can be asked to sign in: get as far as the page where somebody can, and leave the rest for later.

    Returns:
        Why it ends; a `SignInAt` where there is a page, and what was begun could be left.
    """
    message = wants(request.server, request.message)
    try:
        async with asyncio.timeout(_PATIENCE):
            await _follow(request, studio, None, lambda _: None, NONE)
    except SignInAt as page:
        say(f"Somebody can sign in to {safe(request.server)} there, with a browser on any machine:")
        say(safe(page.url, _LONGEST))
        return SignInAt(message, page.url, hint=page.hint)
    except (StudioError, TimeoutError):
        pass  # `auth login` says what keeps it from going on
    return SignInNeeded(message, hint=f"Sign in: {login_command(studio.manager.config(request.server))}")


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
    try:
        await _follow(request, studio, lines, note, studio.config.settings.browser)
        request.answer("accept")
    except StudioError as error:
        say(f"  {safe(f'{error.message} {error.hint}'.rstrip())}")
        request.answer("decline")


async def first(studio: Studio, name: str, status: Status, out: Output) -> Status:
    """A server cannot be connected to before somebody signs in: offer that, or hand out the page.

    Returns:
        What became of the server.
    """
    why = status.error.message if status.error else ""
    request = InputRequest("sign_in", name, why, sign_in=partial(studio.signing.sign_in, name))
    async with out.asker.turn:
        if can_ask():
            with suppress(EndOfInput):
                await put(request, studio, out.asker.lines, out.note)
        elif out.server == name and isinstance(page := await nobody(request, studio), SignInAt):
            raise page
    if not (request.reply.done() and request.reply.result().action == "accept"):
        return status
    studio.manager.start(name)
    return await studio.manager.settle(name)


async def _follow(
    request: InputRequest, studio: Studio, lines: Lines | None, note: Callable[[str], None], browser: str
) -> None:
    assert request.sign_in is not None, "it is about a sign-in"
    studio.signing.accounts.browser = no_browser
    sign_in = request.sign_in()
    try:
        finish = login_command(studio.manager.config(request.server))
        await SignInController(sign_in, note, lines, browser, finish=finish).follow()
    finally:
        sign_in.cancel()
