"""The text of a saved call, read and written.

version = 1
server = "shop"
tool = "add_order"              # or prompt, template, resource
description = "What we test with"

[arguments]                     # or arguments = '''JSON''', where TOML cannot say the value
customer = "${customer}"
token = "${keyring:shop}"       # or ${env:NAME}
note = "a literal $${"

[variables.customer]            # a JSON Schema of it; required, unless it has a default
type = "string"
default = "Ada"
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, cast

from mcp_studio.call.saved import REFERENCE, VARIABLE, SavedCall, Variable, Where, texts
from mcp_studio.call.saved_toml import (
    Unsayable,
    json_text,
    key_text,
    long_text,
    not_json,
    read_toml,
    same,
    value_text,
)
from mcp_studio.catalog.ref import KINDS, EntryKind, Ref
from mcp_studio.config.model import Problem
from mcp_studio.config.nearest import nearest
from mcp_studio.config.table import Table, kind_of
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, JsonProblem, loads
from mcp_studio.safetext import hidden_in

VERSION = 1
_LONGEST = 200
_TYPES = ("string", "integer", "number", "boolean", "array", "object")
_KEYWORDS = (
    "title description default enum examples format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf "
    "minLength maxLength pattern items minItems maxItems uniqueItems"
).split()


def read_saved(text: str, name: str, file: Path, where: Where, problems: list[Problem]) -> SavedCall | None:
    """A saved call; None where anything is wrong with it, which is then among the problems."""
    before = len(problems)
    try:
        document = read_toml(text)
    except tomllib.TOMLDecodeError as problem:
        problems.append(Problem(str(file), "", f"is no valid TOML: {problem}."))
        return None
    table = Table(document, str(file), "", problems)
    version = table.take_integer("version", VERSION, 1)
    if version > VERSION:
        table.problem("version", f"is {version}: it was written by a newer mcp-studio, and is not read.")
        return None
    ref = _ref(table)
    description = table.take_text("description")
    arguments = _arguments(table)
    variables = _variables(table.take("variables"), table)
    table.refuse_rest()
    _check_references(arguments, variables, table)
    if len(problems) > before or ref is None:
        return None
    return SavedCall(name, ref, arguments, description, variables, where, file)


def saved_text(saved: SavedCall) -> str:
    """The text of a new file."""
    lines = [f"version = {VERSION}", f"server = {_plain(saved.ref.server)}"]
    lines += [f"{saved.ref.kind} = {_plain(saved.ref.name)}"]
    if saved.description:
        lines += [f"description = {_plain(saved.description)}"]
    try:
        table = arguments_table(saved.arguments)
    except Unsayable:
        lines += [f"arguments = {json_text(saved.arguments)}"]
        table = ""
    parts = ["\n".join(lines) + "\n", table, *map(variable_table, saved.variables)]
    return "\n".join(part for part in parts if part)


def arguments_table(arguments: Json) -> str:
    """`[arguments]`; empty where there are none.

    Raises:
        Unsayable: they have to be written as JSON.
    """
    if arguments is None:
        return ""
    if not isinstance(arguments, dict):
        raise Unsayable("no object")
    rows = [f"{key_text(key)} = {long_text(item)}" for key, item in cast("dict[str, Json]", arguments).items()]
    return "\n".join(["[arguments]", *rows]) + "\n"


def variable_table(variable: Variable) -> str:
    """`[variables.NAME]`; what TOML cannot say of its schema is left out."""
    rows = [f"[variables.{variable.name}]"]
    for key, item in variable.schema.items():
        try:
            rows.append(f"{key_text(key)} = {value_text(item)}")
        except Unsayable:
            continue
    if variable.secret:
        rows.append("secret = true")
    if not variable.required and not variable.has_default:
        rows.append("required = false")
    return "\n".join(rows) + "\n"


def means(text: str, saved: SavedCall) -> bool:
    """Whether a text says exactly this."""
    found = read_saved(text, saved.name, saved.file, saved.where, [])
    return (
        found is not None
        and (found.ref, found.description) == (saved.ref, saved.description)
        and same(found.arguments, saved.arguments)
        and same([_shown(one) for one in found.variables], [_shown(one) for one in saved.variables])
    )


def _shown(variable: Variable) -> Json:
    return [variable.name, variable.schema, variable.required and not variable.has_default, variable.secret]


def _plain(text: str) -> str:
    """A line of ours; half a character in a name of a server cannot be written, and is marked."""
    try:
        return value_text(text)
    except Unsayable:
        return value_text(text.encode("utf-8", "replace").decode())


def _ref(table: Table) -> Ref | None:
    server = table.take_text("server")
    found: list[tuple[EntryKind, str]] = [(kind, name) for kind in KINDS if (name := table.take_text(kind))]
    if not server:
        table.problem("server", "is missing: the name of the server.")
    if len(found) != 1:
        words = "tool, prompt, template or resource"
        table.problem("", f"needs one of {words}." if not found else f"can have only one of {words}.")
        return None
    return Ref(found[0][0], server, found[0][1])


def _arguments(table: Table) -> Json:
    given = table.take("arguments")
    if isinstance(given, str):
        try:
            return loads(given, exact=True)
        except (JsonProblem, StudioError) as problem:
            table.problem("arguments", f"is a string, but no JSON: {problem}.")
            return None
    if given is not None and not isinstance(given, dict):
        table.problem("arguments", f"must be a table, or JSON in a string, not {kind_of(given)}.")
        return None
    if wrong := not_json(given, "arguments"):
        table.problem(wrong, "is no JSON value.", "Dates and times have to be written as strings.")
    return cast("Json", given)


def _variables(given: Any, outer: Table) -> tuple[Variable, ...]:
    if given is None:
        return ()
    tables = Table(given, outer.file, "variables", outer.problems)
    return tuple(_variable(name, tables.take(name), tables) for name in tables.keys())


def _variable(name: str, values: Any, outer: Table) -> Variable:
    table = Table(values, outer.file, f"variables.{name}", outer.problems)
    if not VARIABLE.match(name):
        table.problem("", "is no name of a variable: it begins with a letter, and has letters, digits, _ and - only.")
    kind = table.take_text("type", "", _TYPES)
    table.take_text("title")
    table.take_text("description")
    secret = table.take_flag("secret")
    schema: dict[str, Json] = {}
    for key in table.keys():
        if key in ("type", *_KEYWORDS):
            schema[key] = item = table.take(key)
            if wrong := not_json(item, key):
                table.problem(wrong, "is no JSON value.", "Dates and times have to be written as strings.")
    if not isinstance(schema.get("enum", []), list):
        table.problem("enum", "must be a list of the values that there are.")
    if secret and "default" in schema:
        table.problem("default", "of a secret would be one that everybody can read.", f"Use ${{keyring:{name}}}.")
    if kind:
        schema["type"] = kind
    required = table.take_flag("required", "default" not in schema)
    table.refuse_rest(_KEYWORDS)
    return Variable(name, schema, required, secret)


def _check_references(arguments: Json, variables: tuple[Variable, ...], table: Table) -> None:
    """A `${…}` that means nothing is a mistake: sent as it is, it would be a text that nobody meant."""
    names = [variable.name for variable in variables]
    for place, text in texts(arguments):
        for found in REFERENCE.finditer(text):
            where = "arguments" + place.replace("/", ".")
            if found[1] or (found[3] in names and not found[2]):
                continue
            if found[2] and not found[3]:
                table.problem(where, f"`{found[0]}` has no name.")
            elif found[2] and (len(found[3]) > _LONGEST or hidden_in(found[3]) or "\n" in found[3]):
                # People agree to names that they read on a line.
                table.problem(where, "refers to a secret by a name that cannot be shown whole on a line.")
            elif not found[2]:
                hint = nearest(found[3], names) or "A literal ${ is written as $${."
                table.problem(where, f"`{found[0]}` is no variable: there is no [variables.{found[3]}].", hint)
