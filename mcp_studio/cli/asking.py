"""What servers and calls ask, answered on the terminal a line at a time, or refused where nobody is there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_studio.cli import late
from mcp_studio.cli.terminal import EndOfInput, Left, Lines, can_ask, frame, prompt, say
from mcp_studio.config.model import AnswerRule, Problem
from mcp_studio.config.settings import load_answers
from mcp_studio.errors import ConfigError, InputNeeded, SignInNeeded
from mcp_studio.jsontext import Json, pretty
from mcp_studio.record import record
from mcp_studio.redact import Redactor
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import OURS, Inbox, InputRequest

if TYPE_CHECKING:
    from mcp_studio.studio import Studio

_GRACE = 1.0
"""Seconds for whatever asked to end by itself once it has no answer."""


@record()
class Refused:
    """A question that nobody could answer."""

    request: InputRequest
    sign_in: SignInNeeded | None = None
    """Where it was a sign-in: why that is missing."""

    @property
    def error(self) -> InputNeeded | SignInNeeded:
        """It as the error that the command line ends with."""
        asked = self.request
        if self.sign_in is not None:
            return self.sign_in
        if asked.kind == "approval":
            return InputNeeded(f"{asked.subject} needs approval: {', '.join(asked.reasons)}.", hint="Approve it: --yes")
        what = {"url": "for a page to be opened", "sampling": "for the answer of a model"}.get(asked.kind, "for input")
        said = "; ".join(part for part in (asked.message, asked.note) if part) or "no reason given"
        return InputNeeded(
            f"{asked.server} asks {what}: {said}", hint="Run it on a terminal to answer, or give --answer FILE."
        )

    @property
    def detail(self) -> dict[str, Json]:
        """What the envelope says besides."""
        asked = self.request
        about: dict[str, Json] = {"asked": asked.kind, "question": asked.message}
        if asked.kind == "approval":
            return {**about, "arguments": asked.arguments}
        if asked.kind == "sign_in":
            return about
        if asked.kind == "url":
            return {**about, "url": asked.url}
        return (
            {**about, "params": dict(asked.params)} if asked.kind == "sampling" else {**about, "schema": asked.schema}
        )


class Asker:
    """Answers the inbox. `refused` holds what nobody could answer.

    Args:
        files: files of rules (`--answer`) that hold before all others.

    Raises:
        ConfigError: one of the files is not there, or has something wrong in it.
    """

    def __init__(self, files: list[str] | None = None) -> None:
        self.refused: list[Refused] = []
        self.redactor: Redactor | None = None
        """Told what is typed into fields for secrets."""
        self.rules = tuple(rule for file in files or () for rule in _rules(Path(file)))
        self.lines = Lines()
        self.turn = asyncio.Lock()
        """Whoever holds it may ask."""
        self.studio: Studio | None = None
        """Once it is open."""
        self.note: Callable[[str], None] = say
        """Says one line of narration."""
        self._give_up: Callable[[], object] | None = None
        self._seen: set[int] = set()

    @property
    def present(self) -> bool:
        """Whether there is somebody who can be asked."""
        return can_ask()

    def unless_answered(self, give_up: Callable[[], object]) -> None:
        """Have this called a moment after a question had no answer: what asked it may wait for ever."""
        self._give_up = give_up
        if self.refused:
            asyncio.get_running_loop().call_later(_GRACE, give_up)

    async def fill(self, request: InputRequest) -> Json:
        """Put a form of our own to the person; None where they do not want to fill it in."""
        try:
            await late.fill(request, self.lines, self.redactor)
        except (Left, EndOfInput):
            return None
        answer = await request.reply
        return answer.content if answer.action == "accept" else None

    async def agrees(self, about: str, question: str) -> bool:
        """Put a question of our own to the person, yes or no."""
        say(safe(about))
        prompt(question)
        try:
            return (await self.lines.read()).strip().lower() in ("y", "yes")
        except EndOfInput:
            return False

    @asynccontextmanager
    async def answering(self, inbox: Inbox) -> AsyncGenerator[None]:
        """Answer, one after the other, what comes into the inbox while this is open."""
        news = asyncio.Event()
        disconnect = inbox.changed.connect(lambda _: news.set())
        task = asyncio.create_task(self._serve(inbox, news))
        try:
            yield
        finally:
            disconnect()
            task.cancel()
            await asyncio.wait((task,))

    async def _serve(self, inbox: Inbox, news: asyncio.Event) -> None:
        while True:
            await news.wait()
            news.clear()
            while waiting := [one for one in inbox.pending if one.number not in self._seen]:
                request = waiting[0]
                self._seen.add(request.number)
                async with self.turn:
                    await self._answer(request, inbox)

    async def _answer(self, request: InputRequest, inbox: Inbox) -> None:
        if not can_ask():
            refused = Refused(request)
            if request.kind == "sign_in" and self.studio is not None:
                refused.sign_in = await late.no_sign_in(request, self.studio)
            self.refused.append(refused)
            by = "nobody to ask" if request.kind == "approval" else ""
            request.answer("decline" if request.kind in OURS else "cancel", by=by)
            if self._give_up is not None:
                self.unless_answered(self._give_up)
            return
        asking = asyncio.create_task(self._put(request, inbox))
        try:
            # The server may withdraw its question, or the call end, while somebody is still typing.
            done, _ = await asyncio.wait((asking, request.reply), return_when=asyncio.FIRST_COMPLETED)
        finally:
            asking.cancel()
        if asking not in done:
            await asyncio.wait((asking,))
            if request.kind == "sign_in" and request.reply.done() and request.reply.result().action == "accept":
                return  # whoever signed in has seen it
            say("\n(the page is done)" if request.completed else "\n(the question was withdrawn)")
            return
        try:
            asking.result()
        except EndOfInput:
            request.answer("cancel")
        except Left as left:
            request.answer("decline" if left.args[0] == "decline" else "cancel")

    async def _put(self, request: InputRequest, inbox: Inbox) -> None:
        if request.kind == "approval":
            await self._approve(request)
            return
        if request.kind == "sign_in" and self.studio is not None:
            await late.sign_in(request, self.studio, self.lines, self.note)
            return
        about = f" ({safe(request.subject)} is waiting)" if request.subject else ""
        say(f"{safe(request.server)} asks{about}:")
        if request.note:
            say(f"  {safe(request.note)}")
        if request.kind == "url":
            await late.visit(request, inbox, self.lines)
        elif request.kind == "sampling":
            await late.sample(request, self.lines)
        else:
            await late.fill(request, self.lines, self.redactor)

    async def _approve(self, request: InputRequest) -> None:
        say(f"{safe(request.subject)} asks for approval: {', '.join(safe(reason) for reason in request.reasons)}")
        frame(pretty(request.arguments))
        prompt("Run it? [y/N] ")
        answer = (await self.lines.read()).strip().lower()
        request.answer("accept" if answer in ("y", "yes") else "decline")


def _rules(file: Path) -> tuple[AnswerRule, ...]:
    problems: list[Problem] = []
    if not file.exists():
        raise ConfigError(f"--answer: there is no file {file}.")
    rules = load_answers(file, problems)
    if problems:
        raise ConfigError(f"--answer: {problems[0]}", hint="Nothing was sent.")
    return rules
