"""A server's entry as a form: the JSON Schema of the value that the dialog edits. Pure.

The names are those of the table in the file, but what belongs to one way of reaching a server is together under
`connect`, and what is rarely said is folded away under `protocol` and `timeouts`.
"""

from __future__ import annotations

from functools import cache
from typing import cast, get_args

from mcp_studio.config import servers
from mcp_studio.config.importers import REMOTE
from mcp_studio.config.model import Era
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
_AUTH = _object(
    {
        "kind": _one_of(
            *servers.AUTH_KINDS, description="Left out, a person signs in with a browser where the server asks."
        ),
        "client_id": _text(description="Of a client that was registered beforehand."),
        "client_secret": _text(),
        "scopes": _list(_text(), description="To ask for besides what the server names."),
        "issuer": _text(examples=["https://auth.example.com"]),
        "account": _text(description="A word of yours that tells several accounts at one address apart."),
        "method": _one_of(*servers.METHODS),
        "redirect_port": {"type": "integer", "minimum": 0, "maximum": 65_535},
        "redirect_host": _one_of(*servers.HOSTS),
        "client_metadata_url": _text(),
        "key": _text(description="The private key, or the file it is in."),
        "algorithm": _one_of(*servers.ALGORITHMS),
        "assertion": _text(description="The workload's JWT, or the file it is in."),
        "idp_token_endpoint": _text(),
        "idp_client_id": _text(),
        "idp_client_secret": _text(),
        "idp_id_token": _text(description="The identity token, or the file it is in."),
        "dpop": {**_FLAG, "description": "Tokens are bound to a key of ours."},
        "assume_pkce": {**_FLAG, "description": "Go on where it is not said that PKCE is known."},
    }
)
_TLS = _object(
    {
        "ca": _text(description="A file or folder with authorities to trust besides."),
        "cert": _text(description="The client certificate, as a file."),
        "key": _text(description="Its private key, where it is in another file."),
        "password": _text(),
        "insecure": {**_FLAG, "description": "Any certificate is accepted: whoever is on the way reads everything."},
    }
)
_URL = _object(
    {
        "url": _text(examples=["https://example.com/mcp"]),
        "headers": _PAIRS,
        "transport": _one_of(*REMOTE),
        "auth": _AUTH,
        "tls": _TLS,
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
