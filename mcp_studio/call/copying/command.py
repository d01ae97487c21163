"""A call as a command line of ours."""

from __future__ import annotations

import re
from typing import cast

from mcp_studio.call.copying.address import Address, assigned, in_entry, in_shell
from mcp_studio.call.copying.sh import quote, readable
from mcp_studio.call.copying.subject import Subject
from mcp_studio.config.model import ServerConfig
from mcp_studio.jsontext import Json, dumps
from mcp_studio.safetext import escape_live
from mcp_studio.schema.field import Form, Text
from mcp_studio.schema.form import build
from mcp_studio.schema.pairs import set_pair
from mcp_studio.schema.text import to_text

_KEY = re.compile(r"[A-Za-z_][\w.-]*")
_LONGEST = 60
"""Characters of a value that is written as a pair."""
_PAIRS = 12
PROGRAM = "mcp-studio"


def line(subject: Subject, value: Json, address: Address | None = None) -> str:
    """`mcp-studio call …`, `get …` or `read …`, quoted for a shell.

    Args:
        address: how to reach the server, where its name alone is not to be relied on.
    """
    before, options, after = _target(subject, address)
    words = [PROGRAM, *_named(subject, address is not None), *options]
    if subject.ref.kind in ("tool", "prompt"):
        words += arguments(subject, value)
    if subject.task:
        words.append("--task")
    return before + " ".join([*words, *after])


def arguments(subject: Subject, value: Json) -> list[str]:
    """The arguments as words of a shell: pairs where they say the same and are no longer, else `--args`."""
    if not value:
        return []
    whole = ["--args", quote(escape_live(dumps(value).decode()))]
    pairs = _pairs(subject, cast("dict[str, Json]", value)) if isinstance(value, dict) else None
    return pairs if pairs and len(" ".join(pairs)) <= len(" ".join(whole)) else whole


def _pairs(subject: Subject, value: dict[str, Json]) -> list[str] | None:
    """Each argument as `key=value` or `key:=JSON`; None where one of them cannot be."""
    if len(value) > _PAIRS:
        return None
    form = _form(subject, value)
    found: list[str] = []
    for key, item in value.items():
        field = form.field(key)
        texts = [f"{key}={item if isinstance(item, str) else to_text(field, item)}"] if field else []
        if not (isinstance(item, str) and field is None):
            texts.append(f"{key}:={escape_live(dumps(item).decode())}")
        fitting = (text for text in texts if _KEY.fullmatch(key) and _says(form, text, key, item))
        pair = next(fitting, None)
        if pair is None or len(pair) - len(key) > _LONGEST or not readable(pair):
            return None
        found.append(quote(pair))
    return found


def _says(form: Form, text: str, key: str, value: Json) -> bool:
    """Whether the pair is read as exactly this argument."""
    try:
        return dumps(set_pair(form, {}, text)) == dumps({key: value})
    except ValueError:
        return False


def _form(subject: Subject, value: dict[str, Json]) -> Form:
    if subject.ref.kind == "prompt":
        return Form(tuple(map(Text, value)))
    return build(subject.tool["inputSchema"]) if "inputSchema" in subject.tool else Form(whole=True)


def _named(subject: Subject, alone: bool) -> list[str]:
    """The verb, and what it is about; with a server of its own the name stands alone."""
    ref = subject.ref
    if ref.kind in ("resource", "template"):
        uri = subject.uri or ref.name
        return ["read", quote(uri)] if alone else ["read", quote(ref.server), quote(uri)]
    verb, option = ("call", "--tool") if ref.kind == "tool" else ("get", "--prompt")
    plain = not ref.name.startswith("-") and ref.name
    if alone:
        return [verb, quote(ref.name)] if plain and "." not in ref.name else [verb, f"{option}={quote(ref.name)}"]
    if plain and "." not in ref.server and not ref.server.startswith("-"):
        return [verb, quote(f"{ref.server}.{ref.name}")]
    return [verb, f"--server={quote(ref.server)}", f"{option}={quote(ref.name)}"]


def _target(subject: Subject, address: Address | None) -> tuple[str, list[str], list[str]]:
    """What stands before the command, its options, and what ends it."""
    server = subject.server
    if server is None:
        return "", [], []
    if address is None:
        file = server.source.file if server.source.origin == "file" else ""
        return "", [f"--config {quote(file)}"] if file else [], []
    options = [f"--era {server.era}"] if server.era != "auto" else []
    options += [f"--protocol-version {quote(server.protocol_version)}"] if server.protocol_version else []
    for name, said in (("--capabilities", server.capabilities), ("--client-info", server.client_info)):
        options += [f"{name} {quote(escape_live(dumps(said).decode()))}"] if said is not None else []
    if address.kind != "stdio":
        options += [f"--url {in_shell(address.url)}"]
        options += [f"--transport {server.transport}"] if server.transport in ("sse", "websocket", "http") else []
        options += _certificates(server)
        headers = (f"{name}: {in_entry(words)}" for name, words in address.headers.items())
        return "", [*options, *(f"--header {quote(text)}" for text in headers)], []
    command = [in_shell(words) for words in address.command]
    if address.env:
        command = [*assigned(address.env), *command]
    return f"cd {quote(server.cwd)} && " if server.cwd else "", options, ["--", *command]


def _certificates(server: ServerConfig) -> list[str]:
    """Which are accepted and shown; the password of a key has no option, and stays where it is."""
    files = (("--ca", server.tls.ca), ("--cert", server.tls.cert), ("--cert-key", server.tls.key))
    return [
        *(f"{name} {quote(file)}" for name, file in files if file),
        *(["--insecure"] if server.tls.insecure else []),
    ]
