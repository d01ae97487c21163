"""A server that wants a sign-in, put to the person on the terminal; where nobody is there, the page is handed out."""

from __future__ import annotations

import asyncio
import os
import shlex
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcp_studio.auth.callback import port_kept
from mcp_studio.auth.model import AuthExchange, AuthStep, SignInState, span
from mcp_studio.auth.signin import SignIn
from mcp_studio.cli.output import SignInAt
from mcp_studio.cli.terminal import EndOfInput, Left, Lines, agrees, can_ask, frame, leave, prompt, say
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import SignInNeeded, StudioError, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.present.browser import NONE, is_there, open_page, ssh_line
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import InputRequest
from mcp_studio.session.sign_in import command, wants

if TYPE_CHECKING:
    from mcp_studio.cli.output import Output
    from mcp_studio.session.state import Status
    from mcp_studio.studio import Studio

_SHOWN = 20
"""Authorization servers that are shown to choose from."""


async def step(sign_in: SignIn, lines: Lines) -> None:
    """Show the next request, and have it sent."""
    if (request := sign_in.next_request) is None:
        return
    say(f"Next: {safe(request.purpose)}")
    head = "\n".join((f"{request.method} {request.url}", *(f"{name}: {value}" for name, value in request.headers)))
    frame(head + (f"\n\n{request.body}" if request.body else ""))
    prompt("Enter sends it, r all that follow too, :cancel gives up: ")
    answer = (await lines.read()).strip().lower()
    leave(answer)
    if answer in ("r", "run"):
        sign_in.run_through()
    else:
        sign_in.go_on()


async def choose(sign_in: SignIn, lines: Lines) -> None:
    """Have one of several authorization servers chosen."""
    choices = sign_in.choices
    say(f"{safe(sign_in.server)} names several authorization servers:")
    for number, issuer in enumerate(choices[:_SHOWN], 1):
        say(f"  {number}  {safe(issuer, 300)}")
    if len(choices) > _SHOWN:
        say(f"  and {len(choices) - _SHOWN:,} more, which --issuer URL can name")
    while True:
        prompt(f"Which one? [1-{min(len(choices), _SHOWN)}, :cancel] ")
        answer = (await lines.read()).strip()
        leave(answer)
        if answer.isascii() and answer.isdigit() and 0 < int(answer[:9]) <= min(len(choices), _SHOWN):
            sign_in.choose(choices[int(answer) - 1])
            return


async def client(sign_in: SignIn, lines: Lines) -> None:
    """Have the id of a client typed, and its secret."""
    say(f"A client id is needed: {safe(sign_in.client_reason)}")
    say(f"{_register(sign_in)}, and give its id here.")
    while True:
        prompt("Client id (:cancel gives up): ")
        found = (await lines.read()).strip()
        leave(found)
        if not found:
            continue
        prompt("Its secret (Enter where it has none): ")
        secret = (await lines.read(hidden=True)).strip()
        try:
            sign_in.give_client(found, secret)
            return
        except UsageError as error:
            say(f"  {safe(error.message)}")


async def page(sign_in: SignIn, lines: Lines) -> None:
    """Take the address that the browser ends on; Enter opens the page once more."""
    while True:
        prompt("> ")
        typed = (await lines.read(long=True)).strip()
        leave(typed)
        if not typed:
            if not await sign_in.open_page():
                say(f"  {safe(sign_in.refusal) or 'There is no browser here to open it with.'}")
            continue
        try:
            sign_in.paste(typed)
            return
        except UsageError as error:
            say(f"  {safe(error.message)}" + (f" {safe(error.hint)}" if error.hint else ""))


def nobody_to_ask(sign_in: SignIn) -> SignInNeeded:
    """Why it cannot go on without a person, in the states in which nothing can be set aside for later."""
    if sign_in.state == "choosing":
        rest = len(sign_in.choices) - _SHOWN
        named = ", ".join(sign_in.choices[:_SHOWN]) + (f" and {rest:,} more" if rest > 0 else "")
        return SignInNeeded(
            f"{sign_in.server} names several authorization servers: {named}.", hint="Name one: --issuer URL"
        )
    hint = f"{_register(sign_in)}, and give its id: --client-id ID, and --client-secret - where it has one."
    return SignInNeeded(f"A client id is needed: {sign_in.client_reason}", hint=hint)


def _register(sign_in: SignIn) -> str:
    redirect = safe(sign_in.redirect_uri)
    keeps = port_kept(sign_in.redirect_uri)
    with_it = f", with the redirect {redirect}" + (f" ({keeps})" if keeps else "")
    return "Register one there by hand" + (with_it if redirect else "")


MARKS = {"done": "✓", "failed": "✗", "skipped": "–"}
"""State of a step that has come to its end -> its mark."""
_LONGEST = 16_384


def login_command(config: ServerConfig) -> str:
    """The command line that signs in to a server, or goes on with that."""
    if config.source.origin == "argument":
        return f"mcp-studio auth login --url {shlex.quote((config.written or config).url)}"
    return command(config)


def step_line(step: AuthStep) -> str:
    """A step that has come to its end; why one failed is told by the error."""
    detail = f": {safe(step.detail, 600)}" if step.detail and step.state != "failed" else ""
    return f"{MARKS[step.state]} {safe(step.title)}{detail}"


def exchange_line(exchange: AuthExchange) -> str:
    """One exchange that has come to its end."""
    how = f"{exchange.status}, {exchange.ms:.0f} ms" if exchange.status else safe(exchange.response, 300)
    return f"    {exchange.method} {safe(exchange.url, 300)}  {how}"


def page_lines(sign_in: SignIn) -> list[str]:
    """The page that a person has to open, alone on its line, and what to know of it."""
    host = urlsplit(sign_in.authorization_url).hostname or "?"
    found = [f"Sign in at {safe(host)}:", "", safe(sign_in.authorization_url, _LONGEST), ""]
    return [*found, *(f"  {safe(warning)}" for warning in sign_in.warnings)]


def waiting_lines(sign_in: SignIn, environ: Mapping[str, str], *, asks: bool) -> list[str]:
    """How it goes on from there; `asks`: what the browser ends on can be pasted."""
    found = ["The browser was asked to open it." if sign_in.opened else "Open it in a browser."]
    left = span(max(sign_in.until - time.monotonic(), 0.0) + 0.5)
    if sign_in.started_callback:
        found.append(f"Waiting {left} until it comes back to {safe(sign_in.redirect_uri)}; ctrl+c gives up.")
        if line := ssh_line(sign_in.redirect_uri, environ):
            found += ["With a browser on the machine that you come from, run there first:", f"  {line}"]
    if asks:
        elsewhere = (
            "If the browser ends on an address that it cannot show" if sign_in.started_callback else "At the end"
        )
        found.append(f"{elsewhere}, paste that address here.")
    return found


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


_ASKING: tuple[SignInState, ...] = ("browser", "paused", "choosing", "client")
"""States in which something is asked."""
_SIGNING_IN_PATIENCE = 2.0
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
                await asyncio.wait((task,), timeout=_SIGNING_IN_PATIENCE)

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
            await step(sign_in, lines) if lines else sign_in.run_through()
        elif sign_in.state in ("choosing", "client"):
            if lines is None:
                raise nobody_to_ask(sign_in)
            await (choose if sign_in.state == "choosing" else client)(sign_in, lines)

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
            await page(sign_in, self._lines)

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


_PATIENCE = 15.0
"""Seconds for getting at the page that is handed out."""
_NOW = "Sign in now?"


async def nobody(request: InputRequest, studio: Studio) -> SignInNeeded:
    """A call waits for a sign-in and nobody can be asked: why it ends, with the page where there is one."""
    config = studio.manager.config(request.server)
    error = SignInNeeded(wants(request.server, request.message), hint=f"Sign in: {login_command(config)}")
    if request.sign_in is None:
        return error
    return await hand_out(studio, config, request.sign_in, error) or error


async def put(request: InputRequest, studio: Studio, lines: Lines, note: Callable[[str], None]) -> None:
    """A call waits for a sign-in: ask, and sign in.

    Raises:
        EndOfInput: there is nobody any more.
    """
    waiting = f" ({safe(request.subject)} is waiting)" if request.subject else ""
    say(wants(safe(request.server), safe(request.message), how=waiting))
    for reason in request.reasons:
        say(f"  {safe(reason, 600)}")
    if request.sign_in is None or not await agrees(lines, _NOW):
        request.answer("decline")
        return
    config = studio.manager.config(request.server)
    try:
        await _follow(studio, config, request.sign_in, lines, note, studio.config.settings.browser)
        request.answer("accept")
    except StudioError as error:
        say(f"  {safe(error.message)}")
        if error.hint:
            say(f"  {safe(error.hint)}")
        request.answer("decline")


async def first(studio: Studio, name: str, status: Status, out: Output) -> Status:
    """A server cannot be connected to before somebody signs in: offer that, or hand out the page.

    Returns:
        What became of the server.
    """
    config = studio.manager.config(name)
    asker, begin = out.asker, partial(studio.sign_in, name)
    async with asker.turn:
        if not can_ask():
            if out.server == name and status.error and (found := await hand_out(studio, config, begin, status.error)):
                raise found
            return status
        about = status.error.message if status.error else ""
        say(wants(safe(name), safe(about)))
        try:
            if not await agrees(asker.lines, _NOW):
                return status
            await _follow(studio, config, begin, asker.lines, out.note, studio.config.settings.browser)
        except EndOfInput:
            return status
    studio.manager.start(name)
    return await studio.manager.settle(name)


async def hand_out(
    studio: Studio, config: ServerConfig, begin: Callable[[], SignIn], error: StudioError
) -> SignInAt | None:
    """Get as far as the page where somebody can sign in, and leave the rest for later.

    Returns:
        `error` with the page; None where there is none, or where nothing can be left for later.
    """
    try:
        async with asyncio.timeout(_PATIENCE):
            await _follow(studio, config, begin, None, lambda _: None, NONE)
    except SignInAt as page:
        say(f"Somebody can sign in to {safe(config.name)} there, with a browser on any machine:")
        say(safe(page.url, 16_384))
        return SignInAt(error.message, page.url, hint=page.hint)
    except (StudioError, TimeoutError):
        return None  # what keeps it from going on is told by `auth login`
    return None


async def _follow(
    studio: Studio,
    config: ServerConfig,
    begin: Callable[[], SignIn],
    lines: Lines | None,
    note: Callable[[str], None],
    browser: str,
) -> None:
    studio.accounts.browser = opener = Opener(browser)
    sign_in = begin()
    try:
        await Guide(sign_in, note, lines, opener, finish=login_command(config)).follow()
    finally:
        sign_in.cancel()
