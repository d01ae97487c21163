"""A form, filled in on the terminal field by field."""

from __future__ import annotations

from mcp_studio.cli.lines import Lines
from mcp_studio.cli.telling import Left, frame, leave, prompt, say
from mcp_studio.jsontext import Json, pretty
from mcp_studio.redact import Redactor
from mcp_studio.safetext import safe
from mcp_studio.schema.check import quick
from mcp_studio.schema.field import AS_JSON, Choice, Choices, Field, Flag, Form, Text
from mcp_studio.schema.form import build
from mcp_studio.schema.place import pointer
from mcp_studio.schema.text import from_text, to_text
from mcp_studio.session.inbox import InputRequest

_HELP = "Enter takes what is in brackets, or leaves it out. :decline says no to the server, :cancel gives up."


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
    value: dict[str, Json] = {}
    fields = list(form.fields)
    while True:
        for field in fields:
            await _ask_field(form, field, value, request.server, lines, redactor)
        wrong = [problem for problem in quick(form, value) if problem.severity == "error"]
        if not wrong:
            break
        for problem in wrong:
            say(f"{safe(problem.place)}: {safe(problem.message)}")
        fields = [field for field in form.fields if any(problem.pointer == pointer(field.name) for problem in wrong)]
        if not fields:
            raise Left("cancel")
    if await _sends(form, value, request.server, lines):
        request.answer("accept", value)
    else:
        request.answer("decline")


async def _sends(form: Form, value: dict[str, Json], server: str, lines: Lines) -> bool:
    """Specification, client/elicitation: let the person review before it is sent."""
    shown = {name: "(hidden)" if _secret(form.field(name)) else item for name, item in value.items()}
    frame(pretty(shown))
    prompt(f"Send this to {safe(server)}? [Y/n] ")
    answer = (await lines.read()).strip().lower()
    leave(answer)
    return answer in ("", "y", "yes")


async def _ask_field(
    form: Form, field: Field, value: dict[str, Json], server: str, lines: Lines, redactor: Redactor | None
) -> None:
    """Ask until the answer has a meaning; nothing typed where nothing is needed leaves the field out."""
    _describe(field, server)
    default = f" [{safe(to_text(field, field.default), 200)}]" if field.has_default and not _secret(field) else ""
    while True:
        prompt(f"{safe(field.name)}{default}: ")
        text = await lines.read(hidden=_secret(field))
        leave(text)
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
            say(f"  {safe(field.name)} {safe(problem)}")
            continue
        if redactor and _secret(field):
            redactor.learn(text)
        value[field.name] = given
        return


def _describe(field: Field, server: str) -> None:
    needed = " (required)" if field.required else ""
    title = f"{field.title} " if field.title and field.title != field.name else ""
    say(f"{safe(title)}{safe(field.description)}{needed}".strip() or f"{safe(field.name)}{needed}")
    if isinstance(field, (Choice, Choices)):
        many = "any of, with commas: " if isinstance(field, Choices) else "one of: "
        say("  " + many + ", ".join(safe(to_text(field, option.value), 100) for option in field.options))
    elif isinstance(field, Flag):
        say("  yes or no")
    elif isinstance(field, AS_JSON):
        say(f"  as JSON{': ' if field.hint else ''}{safe(field.hint)}")
    elif field.hint and field.hint not in field.description:
        say(f"  {safe(field.hint)}")
    if _secret(field):
        say(f"  This looks like a secret. It goes to {safe(server)}.")


def _secret(field: Field | None) -> bool:
    return isinstance(field, Text) and field.secret
