"""What servers and calls ask, answered on the terminal a line at a time, or refused where nobody is there."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mcp_studio.cli.lines import EndOfInput, Lines, can_ask
from mcp_studio.errors import InputNeeded
from mcp_studio.jsontext import Json, pretty
from mcp_studio.redact import Redactor
from mcp_studio.safetext import safe
from mcp_studio.schema.check import quick
from mcp_studio.schema.field import Choice, Choices, Field, Flag, Form, JsonField, Text
from mcp_studio.schema.form import build
from mcp_studio.schema.text import from_text, to_text
from mcp_studio.session.inbox import Inbox, InputRequest

_HELP = "Enter takes what is in brackets, or leaves it out. :decline says no to the server, :cancel gives up."
_WORDS = {":decline", ":cancel"}


class _Left(Exception):
    """The person said `:decline` or `:cancel`; the argument is the action."""


@dataclass(slots=True)
class Refused:
    """A question that nobody could answer."""

    request: InputRequest

    @property
    def error(self) -> InputNeeded:
        """It as the error that the command line ends with."""
        asked = self.request
        if asked.kind == "approval":
            return InputNeeded(f"{asked.subject} needs approval: {', '.join(asked.reasons)}.", hint="Approve it: --yes")
        return InputNeeded(
            f"{asked.server} asks for input: {asked.message or 'no reason given'}",
            hint="Run it on a terminal to answer.",
        )

    @property
    def detail(self) -> Json:
        """What the envelope says besides."""
        asked = self.request
        schema = {"schema": asked.schema} if asked.kind == "elicitation" else {"arguments": asked.arguments}
        return {"asked": asked.kind, "question": asked.message, **schema}


class Asker:
    """Answers the inbox. `refused` holds what nobody could answer."""

    def __init__(self) -> None:
        self.refused: list[Refused] = []
        self.redactor: Redactor | None = None
        """Told what is typed into fields for secrets."""
        self._lines = Lines()
        self._seen: set[int] = set()

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
                await self._answer(request)

    async def _answer(self, request: InputRequest) -> None:
        if not can_ask():
            self.refused.append(Refused(request))
            request.answer("decline" if request.kind == "approval" else "cancel")
            return
        asking = asyncio.create_task(self._approve(request) if request.kind == "approval" else self._fill(request))
        try:
            # The server may withdraw its question, or the call end, while somebody is still typing.
            done, _ = await asyncio.wait((asking, request.reply), return_when=asyncio.FIRST_COMPLETED)
        finally:
            asking.cancel()
        if asking not in done:
            await asyncio.wait((asking,))
            _say("(the question was withdrawn)")
            return
        try:
            asking.result()
        except EndOfInput:
            request.answer("cancel")
        except _Left as left:
            request.answer("decline" if left.args[0] == ":decline" else "cancel")

    async def _approve(self, request: InputRequest) -> None:
        _say(f"{safe(request.subject)} asks for approval: {', '.join(request.reasons)}")
        _frame(pretty(request.arguments))
        _prompt("Run it? [y/N] ")
        answer = (await self._lines.read()).strip().lower()
        request.answer("accept" if answer in ("y", "yes") else "decline")

    async def _fill(self, request: InputRequest) -> None:
        about = f" ({safe(request.subject)} is waiting)" if request.subject else ""
        _say(f"{safe(request.server)} asks{about}:")
        _frame(request.message)
        form = build(request.schema, strict=True)
        for problem in form.problems:
            _say(problem)
        _say(_HELP)
        value: dict[str, Json] = {}
        fields = list(form.fields)
        while True:
            for field in fields:
                await self._ask_field(form, field, value, request.server)
            wrong = [problem for problem in quick(form, value) if problem.severity == "error"]
            if not wrong:
                break
            for problem in wrong:
                _say(f"{safe(problem.pointer)}: {safe(problem.message)}")
            fields = [field for field in form.fields if any(problem.pointer == field.pointer for problem in wrong)]
            if not fields:
                raise _Left(":cancel")
        if await self._sends(form, value, request.server):
            request.answer("accept", value)
        else:
            request.answer("decline")

    async def _sends(self, form: Form, value: dict[str, Json], server: str) -> bool:
        """Specification, client/elicitation: let the person review before it is sent."""
        shown = {name: "(hidden)" if _secret(form.field(name)) else item for name, item in value.items()}
        _frame(pretty(shown))
        _prompt(f"Send this to {safe(server)}? [Y/n] ")
        answer = (await self._lines.read()).strip().lower()
        if answer in _WORDS:
            raise _Left(answer)
        return answer in ("", "y", "yes")

    async def _ask_field(self, form: Form, field: Field, value: dict[str, Json], server: str) -> None:
        """Ask until the answer has a meaning; nothing typed where nothing is needed leaves the field out."""
        _describe(field, server)
        default = f" [{safe(to_text(field, field.default), 200)}]" if field.has_default and not _secret(field) else ""
        while True:
            _prompt(f"{safe(field.name)}{default}: ")
            text = await self._lines.read(hidden=_secret(field))
            if text.strip() in _WORDS:
                raise _Left(text.strip())
            try:
                if not text.strip():
                    if field.has_default:
                        value[field.name] = field.default
                        return
                    if not field.required:
                        return
                    raise ValueError("is needed")
                given = from_text(field, text)
                alone = Form((field,), strict=form.strict)
                if wrong := [one.message for one in quick(alone, {field.name: given}) if one.severity == "error"]:
                    raise ValueError(wrong[0])
            except ValueError as problem:
                _say(f"  {safe(field.name)} {safe(problem)}")
                continue
            if self.redactor and _secret(field):
                self.redactor.learn(text)
            value[field.name] = given
            return


def _describe(field: Field, server: str) -> None:
    needed = " (required)" if field.required else ""
    title = f"{field.title} " if field.title and field.title != field.name else ""
    _say(f"{safe(title)}{safe(field.description)}{needed}".strip() or f"{safe(field.name)}{needed}")
    if isinstance(field, (Choice, Choices)):
        many = "any of, with commas: " if isinstance(field, Choices) else "one of: "
        _say("  " + many + ", ".join(safe(to_text(field, option.value), 100) for option in field.options))
    elif isinstance(field, Flag):
        _say("  yes or no")
    elif isinstance(field, JsonField):
        _say(f"  as JSON{': ' if field.hint else ''}{safe(field.hint)}")
    elif field.hint and field.hint not in field.description:
        _say(f"  {safe(field.hint)}")
    if _secret(field):
        _say(f"  This looks like a secret. It goes to {safe(server)}.")


def _secret(field: Field | None) -> bool:
    return isinstance(field, Text) and field.secret


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _prompt(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _frame(text: str) -> None:
    """Foreign text behind a bar on every line: a server cannot draw what looks like ours."""
    for line in safe(text, 20_000, lines=True).split("\n"):
        _say(f"  │ {line}")
