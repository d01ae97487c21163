"""A form, filled in on the terminal field by field."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, cast

from mcp_studio.cli.outcome import blocks_text
from mcp_studio.cli.terminal import Left, Lines, frame, leave, prompt, say
from mcp_studio.jsontext import Json, JsonProblem, items_of, loads, mapping, pretty
from mcp_studio.redact import Redactor
from mcp_studio.safetext import safe
from mcp_studio.schema.check import quick
from mcp_studio.schema.examples import example
from mcp_studio.schema.field import (
    AS_JSON,
    Choice,
    Choices,
    Field,
    Flag,
    Form,
    Object,
    SchemaProblem,
    errors,
    inner,
    is_secret,
    settled,
)
from mcp_studio.schema.form import build
from mcp_studio.schema.place import found as at
from mcp_studio.schema.place import has, pointer, put, remove
from mcp_studio.schema.text import from_text, to_text
from mcp_studio.session.inbox import Inbox, InputRequest
from mcp_studio.session.rules import message_result
from mcp_studio.urls import judge, open_page

_HELP = "Enter takes what is in brackets, or leaves it out. :decline says no to the server, :cancel gives up."
_DEEPEST = 6
"""Objects in objects whose fields are asked for one by one."""


async def fill(request: InputRequest, lines: Lines, redactor: Redactor | None) -> None:
    """Ask for every field, show what will be sent, and answer.

    Raises:
        Left: the person declined or cancelled.
        EndOfInput: there is nobody any more.
    """
    frame(request.message)
    form = build(request.schema, strict=True)
    for problem in form.problems:
        say(safe(problem))
    say(_HELP)
    value: Json = {}
    places, objects = _places(form)
    asked = places
    while True:
        for place in asked:
            value = await _ask_field(form, place, value, request.server, lines, redactor)
        for path in objects:
            value = value if has(value, path) else _put(value, path, {})
        wrong = errors(quick(form, value))
        if not wrong:
            break
        for problem in wrong:
            say(f"{safe(problem.place)}: {safe(problem.message)}")
        asked = [place for place in places if any(_about(problem, place) for problem in wrong)]
        if not asked:
            raise Left("cancel")
    if await _sends(form, value, request.server, lines):
        request.answer("accept", value)
    else:
        request.answer("decline")


class Place(NamedTuple):
    """A field that is asked for, and where its value goes."""

    path: tuple[str, ...]
    field: Field

    @property
    def label(self) -> str:
        """What stands in front of the answer: `who.name`."""
        return safe(".".join(self.path))


def _places(form: Form) -> tuple[list[Place], list[tuple[str, ...]]]:
    """What is asked for, and the paths of the objects around it: what is in a required object is asked for one by one,
    everything else as a whole.
    """
    found: list[Place] = []
    objects: list[tuple[str, ...]] = []

    def go(path: tuple[str, ...], fields: Iterable[Field]) -> None:
        for field in fields:
            here = (*path, field.name)
            inside = field.fields() if isinstance(field, Object) and field.required and len(here) < _DEEPEST else ()
            if inside:
                objects.append(here)
                go(here, inside)
            else:
                found.append(Place(here, field))

    go((), form.fields)
    return found, objects


def _put(value: Json, path: tuple[str, ...], new: Json) -> Json:
    """Something else at a place, behind what is there already."""
    holder = at(value, path[:-1])
    return put(value, path, new, tuple(holder) if isinstance(holder, dict) else ())


def _about(problem: SchemaProblem, place: Place) -> bool:
    here = pointer(*place.path)
    return problem.pointer == here or problem.pointer.startswith(f"{here}/")


async def _sends(form: Form, value: Json, server: str, lines: Lines) -> bool:
    """Specification, client/elicitation: let the person review before it is sent."""
    frame(pretty(_hidden(form.root, value)))
    prompt(f"Send this to {safe(server)}? [Y/n] ")
    answer = (await lines.read()).strip().lower()
    leave(answer)
    return answer in ("", "y", "yes")


def _hidden(field: Field | None, value: Json) -> Json:
    """The value without what looks secret."""
    field = settled(field, value) if field else None
    if isinstance(value, dict):
        return {key: _hidden(inner(field, key) if field else None, item) for key, item in value.items()}
    if isinstance(value, list):
        return [_hidden(inner(field, index) if field else None, item) for index, item in enumerate(value)]
    return "(hidden)" if is_secret(field) else value


async def _ask_field(
    form: Form, place: Place, value: Json, server: str, lines: Lines, redactor: Redactor | None
) -> Json:
    """Ask until the answer has a meaning; nothing typed where nothing is needed leaves the field out."""
    field = place.field
    _describe(place, server)
    default = f" [{safe(to_text(field, field.default), 200)}]" if field.has_default and not is_secret(field) else ""
    while True:
        prompt(f"{place.label}{default}: ")
        text = await lines.read(hidden=is_secret(field))
        leave(text)
        try:
            if not text.strip():
                if field.has_default:
                    return _put(value, place.path, field.default)
                if not field.required:
                    return remove(value, place.path)
                raise ValueError("is needed")
            given = from_text(field, text)
            alone = Form((field,), strict=form.strict)
            if wrong := errors(quick(alone, {field.name: given})):
                raise ValueError(wrong[0]._replace(pointer=wrong[0].pointer.removeprefix(pointer(field.name))).said)
        except ValueError as problem:
            say(f"  {place.label} {safe(problem)}")
            continue
        if redactor and is_secret(field):
            redactor.learn(text)
        return _put(value, place.path, given)


def _describe(place: Place, server: str) -> None:
    field = place.field
    needed = " (required)" if field.required else ""
    title = f"{field.title} " if field.title and field.title != field.name else ""
    say(f"{safe(title)}{safe(field.description)}{needed}".strip() or f"{place.label}{needed}")
    if isinstance(field, (Choice, Choices)):
        many = "any of, with commas: " if isinstance(field, Choices) else "one of: "
        say("  " + many + ", ".join(safe(to_text(field, option.value), 100) for option in field.options))
    elif isinstance(field, Flag):
        say("  yes or no")
    elif isinstance(field, AS_JSON):
        say(f"  as JSON{': ' if field.hint else ''}{safe(field.hint)}{_example(field)}")
    elif field.hint and field.hint not in field.description:
        say(f"  {safe(field.hint)}")
    if is_secret(field):
        say(f"  This looks like a secret. It goes to {safe(server)}.")


def _example(field: Field) -> str:
    """How what is typed may look."""
    made = at(example(Form((field,)), "typical").value, (field.name,))
    return "" if made is None else f", such as {safe(to_text(field, made), 300)}"


async def visit(request: InputRequest, inbox: Inbox, lines: Lines) -> None:
    """Show where it leads, open it on consent, and wait where a call is to be sent again.

    Raises:
        Left: the person declined or cancelled.
        EndOfInput: there is nobody any more.
    """
    page = judge(request.url)
    frame(request.message)
    say(f"It wants a page opened at {safe(page.host or 'no host')}")
    if page.ascii_host != page.host:
        say(f"  which the network knows as {safe(page.ascii_host)}")
    say(f"  {safe(request.url, 8_192)}")
    for warning in page.warnings:
        say(f"  {warning}")
    if page.refusal:
        say(f"  {page.refusal} It is not opened.")
        prompt("Decline, or cancel the call? [D/c] ")
        raise Left("cancel" if (await lines.read()).strip().lower() in ("c", "cancel", ":cancel") else "decline")
    await _consent(request, inbox, lines, page.url)
    if request.retries:
        prompt("Press Enter when the page is done; :cancel gives up. ")
        leave(await lines.read())
        request.answer("accept")


async def _consent(request: InputRequest, inbox: Inbox, lines: Lines, url: str) -> None:
    while True:
        prompt("Open it? [o]pen, [m]yself, [d]ecline, [c]ancel: ")
        answer = (await lines.read()).strip().lower()
        leave(answer)
        if answer in ("d", "decline", "c", "cancel"):
            raise Left("decline" if answer[0] == "d" else "cancel")
        if answer in ("o", "open", "m", "myself"):
            if answer[0] == "o" and not await open_page(url):
                say("  There is no browser to open it with; open the address above yourself.")
            inbox.page_opened(request)
            return


_ASKING_SAMPLING_HELP = (
    "Type what the model would say; a line with a single dot ends it. @FILE sends the result in a JSON file. "
    ":decline refuses, :cancel gives up."
)
_SHOWN = ("modelPreferences", "maxTokens", "temperature", "stopSequences", "includeContext", "toolChoice", "metadata")


async def sample(request: InputRequest, lines: Lines) -> None:
    """Show the messages, take the reply, and answer.

    Raises:
        Left: the person declined or cancelled.
        EndOfInput: there is nobody any more.
    """
    say("It wants a model to answer:")
    show(request.params)
    say(_ASKING_SAMPLING_HELP)
    while True:
        try:
            request.answer("accept", await _reply(lines))
            return
        except ValueError as problem:
            say(f"  {safe(problem)}")


def show(params: dict[str, Json]) -> None:
    """The request, readable, behind a bar."""
    if isinstance(prompt_text := params.get("systemPrompt"), str):
        frame(f"system: {prompt_text}")
    messages = params.get("messages")
    for message in items_of(messages):
        known = mapping(message)
        content = known.get("content")
        blocks = cast("list[Json]", content) if isinstance(content, list) else [content]
        frame(f"{known.get('role', '?')}: {blocks_text(blocks)}")
    tools = params.get("tools")
    for tool in items_of(tools):
        known = mapping(tool)
        frame(f"tool {known.get('name', '?')}: {known.get('description', '')}")
    more = {key: params[key] for key in _SHOWN if key in params}
    if more:
        frame(pretty(cast("Json", more)))


async def _reply(lines: Lines) -> Json:
    typed: list[str] = []
    while True:
        prompt("> " if not typed else "… ")
        line = await lines.read()
        if not typed:
            leave(line)
            if line.startswith("@"):
                return _from_file(line[1:].strip())
        if line == ".":
            break
        typed.append(line)
    if not "".join(typed).strip():
        raise ValueError("An answer needs some text.")
    return message_result("\n".join(typed))


def _from_file(name: str) -> Json:
    file = Path(name).expanduser()
    try:
        value = loads(file.read_bytes(), exact=True)
    except OSError as problem:
        raise ValueError(f"{file} cannot be read: {problem.strerror or problem}.") from None
    except JsonProblem as problem:
        raise ValueError(f"{file} is no valid JSON: {problem}.") from None
    if not isinstance(value, dict) or "content" not in value:
        raise ValueError(f"{file} is no sampling result: it needs `content`.")
    return {**message_result(""), **value}
