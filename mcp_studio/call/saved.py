"""A call with a name: what is called, with which arguments, and what is asked for first."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, cast

from mcp_studio.catalog.ref import Ref
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json
from mcp_studio.paths import portable
from mcp_studio.record import record
from mcp_studio.schema.place import Path as Place
from mcp_studio.schema.place import pointer

Where = Literal["project", "personal"]
"""Whose folder a saved call is in."""
REFERENCE = re.compile(r"\$(\$\{)|\$\{(?:(env|keyring):)?([^{}]*)\}")
"""`$${` (group 1), `${env:NAME}`, `${keyring:NAME}` (groups 2 and 3) and `${NAME}` (group 3)."""
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,79}\Z")
"""Names of variables."""
_NAME = re.compile(r"[\w][\w .+@-]{0,79}\Z")


@record(frozen=True)
class Variable:
    """Something that is asked for before a saved call is run."""

    name: str
    schema: dict[str, Json]
    """A JSON Schema of its value."""
    required: bool = True
    secret: bool = False
    """Its value is shown to nobody and written nowhere."""

    @property
    def has_default(self) -> bool:
        """Whether it has a value where none is given."""
        return "default" in self.schema


@record(frozen=True)
class SavedCall:
    """One file of a folder of saved calls."""

    name: str
    ref: Ref
    arguments: Json = None
    """As they are written: `${…}` not replaced."""
    description: str = ""
    variables: tuple[Variable, ...] = ()
    where: Where = "personal"
    file: Path = Path()
    seen: str = ""
    """What agreeing to its file is remembered under, as the file was when it was read."""

    @property
    def verb(self) -> str:
        """What running it means: `call`, `get` or `read`."""
        return {"tool": "call", "prompt": "get"}.get(self.ref.kind, "read")

    @property
    def references(self) -> tuple[str, ...]:
        """The secrets of this computer that it uses, such as `${keyring:github}`, each once."""
        found = (match for _, text in texts(self.arguments) for match in REFERENCE.finditer(text) if match[2])
        return tuple(dict.fromkeys(match[0] for match in found))

    def variable(self, name: str) -> Variable | None:
        """The variable of this name."""
        return next((variable for variable in self.variables if variable.name == name), None)


def usable(name: str) -> bool:
    """Whether a name can be that of a file on every system, in its folder."""
    return bool(_NAME.match(name)) and portable(name) and portable(f"{name}.toml")


def check_name(name: str) -> str:
    """The name, where it can be that of a file on every system.

    Raises:
        UsageError: it cannot.
    """
    if not usable(name):
        raise UsageError(
            f"`{name[:80]}` cannot be the name of a saved call.",
            hint="Letters, digits, spaces and . _ - + @ make one (80 at most); names of devices of Windows do not.",
        )
    return name


def schema_of(variables: tuple[Variable, ...]) -> dict[str, Json]:
    """The schema of an object with a member for each variable."""
    return {
        "type": "object",
        "properties": {
            one.name: {**one.schema, **({"writeOnly": True} if one.secret else {})} for one in variables
        },
        "required": [one.name for one in variables if one.required and not one.has_default],
        "additionalProperties": False,
    }  # fmt: skip


def texts(value: Json) -> list[tuple[str, str]]:
    """All strings in a value, each with the pointer of its place."""
    found: list[tuple[str, str]] = []
    todo: list[tuple[Place, Json]] = [((), value)]
    while todo:
        path, item = todo.pop()
        if isinstance(item, str):
            found.append((pointer(*path), item))
        elif isinstance(item, dict):
            todo += [((*path, key), inner) for key, inner in reversed(cast("dict[str, Json]", item).items())]
        elif isinstance(item, list):
            rows = list(enumerate(cast("list[Json]", item)))
            todo += [((*path, index), inner) for index, inner in reversed(rows)]
    return found


def literal(value: Json) -> Json:
    """The value as it stands in a file: what looks like a reference in it is none."""
    if isinstance(value, str):
        return value.replace("${", "$${")
    if isinstance(value, dict):
        return {key: literal(item) for key, item in cast("dict[str, Json]", value).items()}
    return [literal(item) for item in cast("list[Json]", value)] if isinstance(value, list) else value
