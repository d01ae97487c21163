"""Puts the requests of servers and calls to the person at the terminal, one at a time, or refuses them if nobody is
there. Also signs in, showing each step and the page.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp_studio.auth.hints import client_needed, command, nobody_is_here, wants
from mcp_studio.cli.terminal import EndOfInput, Left, Lines, Output, agrees, can_ask, frame, say
from mcp_studio.config.model import Problem
from mcp_studio.config.settings import load_answers
from mcp_studio.errors import ConfigError, InputNeeded, SignInNeeded, StudioError, UsageError
from mcp_studio.jsontext import Json, items_of, mapping, pretty
from mcp_studio.present import blocks, browser, questions, units
from mcp_studio.record import record
from mcp_studio.redact import Redactor
from mcp_studio.safetext import safe
from mcp_studio.schema.check import quick
from mcp_studio.schema.field import AS_JSON, Choice, Choices, Field, Flag, Form, errors, is_secret
from mcp_studio.schema.form import build
from mcp_studio.schema.place import pointer
from mcp_studio.schema.text import from_text, to_text
from mcp_studio.session.inbox import OURS, Inbox, InputRequest
from mcp_studio.session.rules import message_result
from mcp_studio.session.state import Status, until
from mcp_studio.urls import judge

if TYPE_CHECKING:
    from mcp_studio.auth.signin import SignIn
    from mcp_studio.studio import Studio

_GRACE = 1.0
"""Seconds that a call has to end by itself after its request went unanswered."""


class Asker:
    """Answers the inbox. `refused` collects requests that nobody could answer; `rules` come from `--answer` files.

    Raises:
        ConfigError: one of the files is missing or has a mistake in it.
    """

    def __init__(self, out: Output) -> None:
        self.refused: list[StudioError] = []
        problems: list[Problem] = []
        files = map(Path, out.options.values("--answer"))
        self.rules = tuple(rule for file in files for rule in load_answers(file, problems, required=True))
        if problems:
            raise ConfigError(f"--answer: {problems[0]}", hint="Nothing was sent.")
        self.lines, self._out = Lines(), out
        self._turn = asyncio.Lock()
        """Whoever holds it may ask the person."""
        self._give_up: Callable[[], object] | None = None
        self._seen: set[int] = set()

    def unless_answered(self, give_up: Callable[[], object]) -> None:
        """Call `give_up` shortly after a request went unanswered: whatever waits for it might wait for ever."""
        self._give_up = give_up
        if self.refused:
            asyncio.get_running_loop().call_later(_GRACE, give_up)

    async def sign_in(self, status: Status) -> Status:
        """Offer to sign in to a server that refuses us without it. Returns the new status."""
        studio, name = self._out.studio, status.server
        why, begin = status.error.message if status.error else "", partial(studio.sign_ins.sign_in, name)
        request = InputRequest("sign_in", name, why, sign_in=begin)
        async with self._turn:
            with suppress(EndOfInput):
                await self._put(request)
        if not (request.reply.done() and request.reply.result().action == "accept"):
            return status
        studio.manager.start(name)
        return await studio.manager.settle(name)

    @asynccontextmanager
    async def answering(self, inbox: Inbox) -> AsyncGenerator[None]:
        """Answer the requests in the inbox one after the other, as long as this is open."""
        task = asyncio.create_task(self._serve(inbox))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait((task,))

    async def _serve(self, inbox: Inbox) -> None:
        while True:
            request = await until(
                lambda: next((one for one in inbox.pending if one.number not in self._seen), None), inbox.changed
            )
            self._seen.add(request.number)
            async with self._turn:
                await (self._answer if can_ask() else self._refuse)(request)

    async def _refuse(self, request: InputRequest) -> None:
        if request.kind != "sign_in":  # for a sign-in the call's outcome says what to do
            self.refused.append(_refused(request))
        by = "nobody to ask" if request.kind == "approval" else ""
        request.answer("decline" if request.kind in OURS else "cancel", by=by)
        if self._give_up is not None:
            self.unless_answered(self._give_up)

    async def _answer(self, request: InputRequest) -> None:
        asking = asyncio.create_task(self._put(request))
        try:
            # The server may withdraw its request, or the call may end, while somebody is typing.
            done, _ = await asyncio.wait((asking, request.reply), return_when=asyncio.FIRST_COMPLETED)
        finally:
            asking.cancel()
        if asking not in done:
            await asyncio.wait((asking,))
            if request.kind != "sign_in":
                say("\n(the page is done)" if request.completed else "\n(the request was withdrawn)")
            return
        try:
            asking.result()
        except EndOfInput:
            request.answer("cancel")
        except Left as left:
            request.answer(left.args[0])

    async def _put(self, request: InputRequest) -> None:
        if request.kind not in OURS:
            waiting = f" ({safe(request.subject)} is waiting)" if request.subject else ""
            say(f"{safe(questions.request_words(request))}{waiting}:")
            if request.note:
                say(f"  {safe(request.note)}")
        match request.kind:
            case "approval":
                say(f"{safe(questions.request_words(request))}: {', '.join(map(safe, request.reasons))}")
                if request.arguments is not None:  # without arguments it is a workflow step that waits
                    frame(pretty(request.arguments))
                request.answer("accept" if await agrees(self.lines, "Run it?") else "decline")
            case "sign_in":
                await _offer_sign_in(request, self._out.studio, self.lines, self._out.note)
            case "url":
                await _visit(request, self._out.studio.inbox, self.lines)
            case "sampling":
                await _sample(request, self.lines)
            case _:
                await fill(request, self.lines, self._out.redactor)


def _refused(request: InputRequest) -> InputNeeded:
    """Build the error to exit with because nobody could answer a request."""
    detail: dict[str, Json] = {"asked": request.kind, "question": request.message}
    if request.kind == "approval":
        why = f"{request.subject} needs approval: {', '.join(request.reasons)}."
        return InputNeeded(why, hint="Approve it: --yes", detail={**detail, "arguments": request.arguments})
    more: dict[str, dict[str, Json]] = {"url": {"url": request.url}, "sampling": {"params": dict(request.params)}}
    detail |= more.get(request.kind, {"schema": request.schema})
    said = "; ".join(part for part in (request.message, request.note) if part) or "no reason given"
    hint = "Run it on a terminal to answer, or give --answer FILE."
    return InputNeeded(f"{questions.request_words(request)}: {said}", hint=hint, detail=detail)


_HELP = "Enter takes what is in brackets, or leaves it out. :decline says no to the server, :cancel gives up."


async def fill(request: InputRequest, lines: Lines, redactor: Redactor) -> None:
    """Ask for each field, show what will be sent, and answer the request.

    Raises:
        Left: the person declined or cancelled.
        EndOfInput: the input has ended.
    """
    frame(request.message)
    form = build(request.schema, strict=True)
    say(*map(safe, form.problems), _HELP)
    while True:
        value: dict[str, Json] = {}
        for field in form.fields:
            value |= await _ask(field, request.server, lines, redactor)
        if not (wrong := errors(quick(form, value))):
            break
        say(*(f"{safe(problem.place)}: {safe(problem.message)}" for problem in wrong))
        if not form.fields:
            raise Left("cancel")
    # Specification, client/elicitation: let the person review the answer before it is sent.
    secret = {field.name for field in form.fields if is_secret(field)}
    frame(pretty({name: "(hidden)" if name in secret else item for name, item in value.items()}))
    answer = await lines.answer(f"Send this to {safe(request.server)}? [Y/n] ")
    if answer.strip().lower() in ("", "y", "yes"):
        request.answer("accept", value)
    else:
        request.answer("decline")


async def _ask(field: Field, server: str, lines: Lines, redactor: Redactor) -> dict[str, Json]:
    """Ask until the answer fits the field; empty if the person leaves the field out."""
    label, secret = safe(field.name), is_secret(field)
    _describe(field, label)
    if secret:
        say(f"  This looks like a secret. It goes to {safe(server)}.")
    default = f" [{safe(to_text(field, field.default), 200)}]" if field.has_default and not secret else ""
    while True:
        text = await lines.answer(f"{label}{default}: ", hidden=secret)
        if not text.strip() and field.has_default:
            return {field.name: field.default}
        if not text.strip() and not field.required:
            return {}
        try:
            value = _value(field, text)
        except ValueError as problem:
            say(f"  {label} {safe(problem)}")
            continue
        if secret:
            redactor.learn(text)
        return {field.name: value}


def _value(field: Field, text: str) -> Json:
    """Convert typed text to a field's value.

    Raises:
        ValueError: the text does not fit the field.
    """
    if not text.strip():
        raise ValueError("is required")
    value = from_text(field, text)
    if wrong := errors(quick(Form((field,), strict=True), {field.name: value})):
        raise ValueError(wrong[0]._replace(pointer=wrong[0].pointer.removeprefix(pointer(field.name))).sentence)
    return value


def _describe(field: Field, label: str) -> None:
    """Print what a field is for and what can be typed."""
    required = " (required)" if field.required else ""
    title = f"{field.title} " if field.title and field.title != field.name else ""
    say(f"{safe(title)}{safe(field.description)}{required}".strip() or f"{label}{required}")
    if isinstance(field, (Choice, Choices)):
        many = "any of, with commas: " if isinstance(field, Choices) else "one of: "
        say("  " + many + ", ".join(safe(to_text(field, option.value), 100) for option in field.options))
    elif isinstance(field, Flag):
        say("  yes or no")
    elif isinstance(field, AS_JSON):
        say(f"  as JSON{': ' if field.hint else ''}{safe(field.hint)}")
    elif field.hint and field.hint not in field.description:
        say(f"  {safe(field.hint)}")


async def _visit(request: InputRequest, inbox: Inbox, lines: Lines) -> None:
    """Show where a page leads and open it if the person agrees.

    If the call is to be sent again, wait until the page is done.
    """
    page = judge(request.url)
    frame(request.message)
    say(f"The page is at {safe(page.host or 'no host')}")
    if page.ascii_host != page.host:
        say(f"  which the network knows as {safe(page.ascii_host)}")
    say(f"  {safe(request.url, 8_192)}", *(f"  {warning}" for warning in page.warnings))
    if page.refusal:
        say(f"  {page.refusal} It is not opened.")
        raise Left("decline")
    say("Without a yes you open it yourself. :decline says no to the server, :cancel gives up.")
    answer = await lines.answer("Open it? [y/N] ")
    if answer.strip().lower() in ("y", "yes") and not await browser.open_page(page.url):
        say("  There is no browser to open it with; open the address above yourself.")
    inbox.page_opened(request)
    if request.retries:
        await lines.answer("Press Enter when the page is done; :cancel gives up. ")
        request.answer("accept")


async def _sample(request: InputRequest, lines: Lines) -> None:
    """Show the messages and read the reply."""
    params = dict(request.params)
    if isinstance(system := params.pop("systemPrompt", None), str):
        frame(f"system: {system}")
    for message in items_of(params.pop("messages", None)):
        text = "".join(blocks.joined(map(blocks.plain, blocks.message_blocks(message))))
        frame(f"{mapping(message).get('role', '?')}: {text}")
    if params:
        frame(pretty(params))
    say("Type the reply; a line with a single dot ends it. :decline refuses, :cancel gives up.")
    reply: list[str] = []
    while (line := await lines.answer("… " if reply else "> ")) != ".":
        reply.append(line)
    request.answer("accept", message_result("\n".join(reply)))


# Signing in

_MARKS = {"done": "✓", "failed": "✗", "skipped": "–"}
"""State of a finished step -> its mark."""
_LONGEST = 16_384
"""Most characters of the page's address that are shown."""
_CANCELLING = 2.0
"""Seconds that a cancelled sign-in has to end."""


@record(eq=False)
class SignInController:
    """Shows the progress of a sign-in and asks the person what it needs.
    It opens the page itself, so that it knows whether that worked: the command line's studio has no browser.
    """

    sign_in: SignIn
    note: Callable[[str], None]
    """Prints one line to stderr."""
    lines: Lines | None
    """Reads what is typed; None if nobody can be asked."""
    browser: str
    """The command that opens pages; empty for the desktop's browser."""
    finish: str
    """The command line that finishes the sign-in later."""
    _failure: StudioError | None = None
    """Our own reason for giving up, if it says more than the sign-in's error."""
    _shown: frozenset[str] = frozenset()
    """Names of finished steps that were printed."""

    async def run(self) -> None:
        """Sign in.

        Raises:
            StudioError: the sign-in failed; the message says why.
        """
        work = asyncio.create_task(self.sign_in.run())
        try:
            await self.follow()
        finally:
            self.sign_in.cancel()
            await asyncio.wait((work,), timeout=_CANCELLING)

    async def follow(self) -> None:
        """Follow a running sign-in until it is over.

        Raises:
            StudioError: the sign-in failed; the message says why.
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
                # The same request can come up twice.
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
        """Stop a question that is no longer needed."""
        if not asking.done():
            asking.cancel()
            await asyncio.wait((asking,))
            if self.lines is not None:
                say("")

    def _show_steps(self) -> None:
        for step in self.sign_in.steps:
            if step.state not in _MARKS or step.name in self._shown:
                continue
            self._shown |= {step.name}
            # The error itself says why a step failed.
            detail = f": {step.detail}" if step.detail and step.state != "failed" else ""
            if detail or step.state != "skipped":
                self.note(f"{_MARKS[step.state]} {step.title}{detail}")

    async def _ask(self) -> None:
        """Ask the person what the sign-in needs now. If that fails, cancel the sign-in."""
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
        """Show the newest answer and the next request, and ask whether to send it."""
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
        """Show the page, open it, and read the address at which the browser ends up."""
        sign_in, url = self.sign_in, self.sign_in.authorization_url
        say(f"Sign in at {safe(urlsplit(url).hostname)}:\n\n{safe(url, _LONGEST)}\n")
        say(*(f"  {safe(warning)}" for warning in sign_in.warnings))
        opened = not sign_in.step_by_step and await self._open()
        returns = sign_in.started_callback
        if self.lines is None and not (opened and returns):  # nobody is here: `--redirect` can finish it later
            self._failure = nobody_is_here(sign_in, self.finish)
            return await sign_in.set_aside()
        say("The browser was asked to open it." if opened else "Open it in a browser.")
        if returns:
            left = units.seconds(max(sign_in.until - time.monotonic(), 0.0))
            say(f"Waiting {left} until it comes back to {safe(sign_in.redirect_uri)}; ctrl+c gives up.")
            if line := browser.ssh_line(sign_in.redirect_uri, os.environ):
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
        url = self.sign_in.authorization_url
        return browser.is_there(browser=self.browser) and await browser.open_page(url, self.browser)


async def _offer_sign_in(request: InputRequest, studio: Studio, lines: Lines, note: Callable[[str], None]) -> None:
    """Ask whether to sign in, do so if the person agrees, and answer the request.

    Raises:
        EndOfInput: the input has ended.
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
