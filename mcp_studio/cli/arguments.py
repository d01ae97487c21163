"""Arguments from the command line: `key=value` typed by a form, and `--args`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import cast

from mcp_studio.cli.terminal import EndOfInput, can_ask, typed
from mcp_studio.errors import LimitExceeded, UsageError
from mcp_studio.jsontext import Json, JsonProblem, loads
from mcp_studio.schema.field import Form, SchemaProblem, errors
from mcp_studio.schema.form import template_fields
from mcp_studio.schema.place import path_of
from mcp_studio.schema.text import key_of, set_pair
from mcp_studio.schema.uritemplate import TemplateError, expand


def given_bytes(option: str, text: str) -> bytes:
    """What an option's value stands for: itself, the content of `@FILE`, or standard input.

    Raises:
        UsageError: the file cannot be read.
    """
    if text == "-":
        return standard_input()
    if not text.startswith("@"):
        return text.encode("utf-8", "surrogateescape")
    try:
        return Path(text[1:]).expanduser().read_bytes()
    except OSError as problem:
        raise UsageError(f"{option}: {text[1:]} cannot be read: {problem.strerror or problem}.") from None


@cache
def standard_input() -> bytes:
    """All of standard input, which can be read once; an option's value is asked for as often as there are servers."""
    return sys.stdin.buffer.read()


def private(question: str) -> str:
    """What is typed without being shown, or all of standard input; empty where the person ends the input.

    Raises:
        UsageError: it is no text.
    """
    try:
        return typed(question) if can_ask() else sys.stdin.buffer.read().decode()
    except EndOfInput:
        return ""
    except UnicodeDecodeError:
        raise UsageError("Standard input is not UTF-8 text.") from None


def given_json(option: str, text: str) -> Json:
    """The JSON value that an option was given.

    Raises:
        UsageError: it cannot be read, or is no JSON.
    """
    data = given_bytes(option, text)
    try:
        return loads(data, exact=True)
    except (JsonProblem, LimitExceeded) as problem:
        raise UsageError(f"{option} is not valid JSON: {str(problem).rstrip('.')}.") from None


def given_object(option: str, text: str) -> dict[str, Json]:
    """The same, where only an object will do.

    Raises:
        UsageError: as `given_json`, or it is no object.
    """
    value = given_json(option, text)
    if not isinstance(value, dict):
        raise UsageError(f"{option} must be a JSON object.")
    return cast("dict[str, Json]", value)


def with_pairs(form: Form, value: dict[str, Json], pairs: Sequence[str]) -> dict[str, Json]:
    """The value with what `key=value` pairs say.

    Raises:
        UsageError: some of them mean nothing.
    """
    wrong: list[str] = []
    for pair in pairs:
        try:
            value = cast("dict[str, Json]", set_pair(form, value, pair))
        except ValueError as problem:
            wrong.append(str(problem))
    if wrong:
        raise UsageError(f"The arguments cannot be read: {'; '.join(wrong)}.".replace("?.", "?"))
    return value


def refuse_wrong(problems: Iterable[SchemaProblem], value: Json, what: str, hint: str = "") -> None:
    """Refuse arguments that do not match, before anything is sent.

    Raises:
        UsageError: names every argument that is wrong, and why.
    """
    wrong: dict[str, str] = {}
    for problem in errors(problems):
        wrong.setdefault(key_of(path_of(problem.pointer, value)), problem.message)
    if wrong:
        listed = "; ".join(f"{key}= {why}" if key else f"all of them {why}" for key, why in wrong.items())
        raise UsageError(f"The arguments of {what} are not right: {listed}.", hint=hint)


def texts(value: dict[str, Json]) -> dict[str, str]:
    """Arguments of a prompt: the protocol knows only strings there."""
    return {name: item if isinstance(item, str) else str(item) for name, item in value.items()}


def template_form(uri: str) -> Form | None:
    """The form of a template's variables; None where this is an address: none has braces in it (RFC 3986 2).

    Raises:
        UsageError: it has braces, and is no template.
    """
    if not set("{}") & set(uri):
        return None
    form = template_fields(uri)
    if form.problems:
        raise UsageError(form.problems[0], hint="RFC 6570 says how they are written: {x}, {+x}, {/x*}, {?x,y}.")
    return form


def expanded(template: str, form: Form, values: Mapping[str, Json]) -> str:
    """The URI of a template with these values.

    Raises:
        UsageError: a value is missing or cannot be used, or the template is none.
    """
    if missing := [field.name for field in form.fields if field.required and values.get(field.name) in (None, [], {})]:
        hint = f"Give each a value: {' '.join(f'{name}=…' for name in missing)}"
        raise UsageError(f"The template {template} needs {', '.join(missing)}.", hint=hint)
    try:
        return expand(template, values)
    except TemplateError as problem:
        raise UsageError(f"The URI template cannot be used: {problem}.") from None
