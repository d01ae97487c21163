"""A form, filled in on the terminal field by field."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mcp_studio.cli.lines import Lines
from mcp_studio.cli.telling import Left, frame, leave, prompt, say
from mcp_studio.jsontext import Json, pretty
from mcp_studio.redact import Redactor
from mcp_studio.safetext import safe
from mcp_studio.schema.check import quick
from mcp_studio.schema.examples import example
from mcp_studio.schema.field import AS_JSON, Choice, Choices, Field, Flag, Form, Object, is_secret
from mcp_studio.schema.form import build
from mcp_studio.schema.place import found as at
from mcp_studio.schema.place import has, pointer, put, remove
from mcp_studio.schema.problem import SchemaProblem, errors
from mcp_studio.schema.text import from_text, to_text
from mcp_studio.schema.walk import inner, settled
from mcp_studio.session.inbox import InputRequest

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
