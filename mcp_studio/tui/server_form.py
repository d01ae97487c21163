"""A server's entry as a form: the JSON Schema of the value that the dialog edits. Pure.

The names are those of the table in the file, but what belongs to one way of reaching a server is together under
`connect`, and what is rarely said is folded away under `protocol` and `timeouts`.
"""

from __future__ import annotations

from functools import cache
from typing import cast, get_args

from mcp_studio.config.model import Era
from mcp_studio.config.target import REMOTE
from mcp_studio.jsontext import Json
from mcp_studio.protocol.versions import LOG_LEVELS, VERSIONS
from mcp_studio.schema.field import Form
from mcp_studio.schema.form import build

Schema = dict[str, Json]
ERAS: tuple[Era, ...] = get_args(Era)
TIMES = ("connect", "idle", "total")


def _text(**more: Json) -> Schema:
    return {"type": "string", **more}


def _object(properties: Schema, *required: str, **more: Json) -> Schema:
    closed: Schema = {"type": "object", "properties": properties, "additionalProperties": False, **more}
    return closed | ({"required": list(required)} if required else {})


def _open(**properties: Json) -> Schema:
    """What the specification may give further properties."""
    return {"type": "object", "properties": properties}


def _one_of(*values: str, **more: Json) -> Schema:
    return {"enum": list(values), **more}


def _list(items: Schema, **more: Json) -> Schema:
    return {"type": "array", "items": items, **more}


_PAIRS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
_FLAG: Schema = {"type": "boolean"}
_ANY: Schema = {"type": "object"}

_COMMAND = _object(
    {
        "command": _text(examples=["npx", "uvx", "docker"]),
        "args": _list(_text()),
        "env": _PAIRS,
        "cwd": _text(),
        "inherit_env": _list(_text(), description="Names of variables of ours that it gets besides."),
    },
    "command",
    title="command",
)
_URL = _object(
    {
        "url": _text(examples=["https://example.com/mcp"]),
        "headers": _PAIRS,
        "transport": _one_of(*REMOTE),
    },
    "url",
    title="URL",
)
_CAPABILITIES = _open(
    roots=_open(listChanged=_FLAG),
    sampling=_open(context=_ANY, tools=_ANY),
    elicitation=_open(form=_ANY, url=_ANY),
    experimental=_ANY,
)
_PROTOCOL = _object(
    {
        "version": _one_of(*VERSIONS),
        "log_level": _one_of(*LOG_LEVELS),
        "capabilities": {**_CAPABILITIES, "description": "What is declared instead of what can be answered here."},
        "client_info": {
            **_open(name=_text(), version=_text(), title=_text()),
            "description": "Who we say that we are.",
        },
    }
)
_SECONDS: Schema = {"type": "number", "exclusiveMinimum": 0}
_ROOTS = _list(_object({"uri": _text(examples=["~/project", "file:///srv/data"]), "name": _text()}, "uri"))

SCHEMA: Schema = _object(
    {
        "name": _text(),
        "connect": {"oneOf": [_COMMAND, _URL]},
        "era": _one_of(*ERAS, default="auto"),
        "enabled": {**_FLAG, "description": "It starts with the studio."},
        "trust": {**_FLAG, "description": "What it says of its tools is believed."},
        "group": _text(),
        "priority": {"type": "integer", "default": 0},
        "protocol": _PROTOCOL,
        "timeouts": _object(dict.fromkeys(TIMES, _SECONDS)),
        "roots": _ROOTS,
    },
    "name",
    "connect",
)
"""Of the whole entry."""
ROOTS: Schema = _object({"roots": {**_ROOTS, "maxItems": 50}}, "roots")
"""Of the roots alone."""


@cache
def server_form() -> Form:
    """The form of a whole entry."""
    return build(cast("Json", SCHEMA), strict=True)


@cache
def roots_form() -> Form:
    """The form of the roots alone."""
    return build(cast("Json", ROOTS), strict=True)
