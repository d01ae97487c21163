"""The formats in which a call can be copied."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pprint import pformat
from typing import NamedTuple

from mcp_studio.call.copying.shell import quote, readable
from mcp_studio.call.copying.subject import Address, Subject, Variable, Words, address_of, assigned, in_entry, in_shell
from mcp_studio.call.secrets import secret_places, without_secrets
from mcp_studio.config.model import ServerConfig
from mcp_studio.jsontext import Json, depth, dumps, items_of, loads, mapping, printable
from mcp_studio.redact import MARK
from mcp_studio.safetext import escape_live, safe
from mcp_studio.schema.field import Form, Text
from mcp_studio.schema.form import build
from mcp_studio.schema.text import set_pair
from mcp_studio.transport.http_connection import ACCEPT, modern_headers

_KEY = re.compile(r"[A-Za-z_][\w.-]*")
_LONGEST_PAIR = 60
"""Characters of the longest value that is written as a pair."""
_WIDTH = 100
_DEEPEST = 60
"""Python refuses some 200 nested brackets, and fewer inside a program."""
_EXPECTED = 20_000
"""Bytes of the largest result that a test compares."""


FORMATS = {
    "command": "mcp-studio command line", "standalone": "mcp-studio command line with the server in it",
    "python": "Python program with the MCP SDK", "pytest": "pytest test with the MCP SDK", "curl": "curl",
    "json-rpc": "JSON-RPC request", "json": "Arguments as JSON",
}  # fmt: skip
"""The formats by their names on the command line, with descriptions."""


class Copy(NamedTuple):
    """A call in one format."""

    id: str
    text: str = ""
    remarks: tuple[str, ...] = ()
    """Sentences on what a person should know about the text."""
    why_not: str = ""
    """A sentence on why there is no such text; empty where there is one."""


class _No(Exception):
    """The call has no such format; the message says why."""


_Made = tuple[str, Sequence[str]]
"""A text, and remarks about it."""


def copy_as(subject: Subject, form: str, *, secrets: bool = False) -> Copy:
    """Copy a call in a format; never raises because of the content of the call or server.

    Args:
        secrets: writes the values of secret arguments too. Secrets of the server's own entry are never written, but are
        references to environment variables.

    Raises:
        KeyError: there is no such format.
    """
    make = _MAKERS[form]
    subject, hidden, found = _shown(subject, secrets)
    try:
        text, remarks = make(subject)
    except _No as reason:
        return Copy(form, why_not=str(reason))
    if hidden:
        remarks = [*remarks, f"{MARK} stands for what is secret: {_places(hidden)}."]
    elif found:
        remarks = [*remarks, f"It has secrets in it: {_places(found)}."]
    if form in ("python", "pytest"):
        text = _commented(text, remarks)
    return Copy(form, text, tuple(remarks))


def _shown(subject: Subject, secrets: bool) -> tuple[Subject, tuple[str, ...], tuple[str, ...]]:
    """The call as it may be written, its hidden places, and the places of secrets that are written."""
    known = tuple(filter(None, subject.server.secrets)) if subject.server else ()
    schema = subject.tool.get("inputSchema")
    places = secret_places(build(schema), subject.value) if schema is not None else frozenset[str]()
    value, hidden = without_secrets(subject.value, subject.hidden | places, known)
    if without_secrets(_compared(subject)[1], (), known)[1]:
        subject = replace(subject, outcome={}, notes=(*subject.notes, "What came of it has secrets in it."))
    if secrets:
        return subject, (), hidden
    uri = subject.uri
    for secret in known:
        uri = uri.replace(secret, MARK)
    if MARK in uri:
        hidden = (*hidden, "/uri")
    return replace(subject, value=value, uri=uri), hidden, ()


def _places(places: tuple[str, ...]) -> str:
    named = ", ".join(place.lstrip("/")[:60] or "the value" for place in places[:5])
    return f"{named} and {len(places) - 5} more" if len(places) > 5 else named


# ---------------------------------------------------------------------- command lines of ours


def line(subject: Subject, address: Address | None = None) -> str:
    """`mcp-studio call …`, `get …` or `read …`, quoted for a shell.

    Args:
        address: the server's address, where its name alone is not enough.
    """
    _only_objects(subject)
    before, options, after = _target(subject, address)
    words = ["mcp-studio", *_named(subject, address is not None), *options]
    if subject.ref.kind in ("tool", "prompt"):
        words += _words(subject)
    if subject.task:
        words.append("--task")
    return before + " ".join([*words, *after])


def _words(subject: Subject) -> list[str]:
    """The arguments as shell words: pairs if a person can read them, else `--args`."""
    value = mapping(subject.value)
    return (_argument_pairs(subject, value) or ["--args", quote(_ascii(value))]) if value else []


def _argument_pairs(subject: Subject, value: dict[str, Json]) -> list[str] | None:
    """Each argument as `key=value` or `key:=JSON`; None where one cannot be written so."""
    form = _form(subject, value)
    found: list[str] = []
    for key, item in value.items():
        json = _ascii(item)
        texts = (f"{key}={item if isinstance(item, str) else json}", f"{key}:={json}")
        pair = next((text for text in texts if _KEY.fullmatch(key) and _means(form, text, key, item)), None)
        if pair is None or len(pair) - len(key) > _LONGEST_PAIR or not readable(pair):
            return None
        found.append(quote(pair))
    return found


def _means(form: Form, text: str, key: str, value: Json) -> bool:
    """Whether a pair is read as exactly this argument."""
    try:
        return dumps(set_pair(form, {}, text)) == dumps({key: value})
    except ValueError:
        return False


def _ascii(value: Json) -> str:
    return escape_live(dumps(value).decode())


def _form(subject: Subject, value: dict[str, Json]) -> Form:
    if subject.ref.kind == "prompt":
        return Form(tuple(map(Text, value)))
    return build(subject.tool["inputSchema"]) if "inputSchema" in subject.tool else Form(whole=True)


def _named(subject: Subject, alone: bool) -> list[str]:
    """The verb with its subject; with the server's address the name stands alone."""
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
    """The words before the command, its options, and the words at its end."""
    server = subject.server
    if server is None:
        return "", [], []
    if address is None:
        file = server.source.file if server.source.origin == "file" else ""
        return "", [f"--config {quote(file)}"] if file else [], []
    options = [f"--era {server.era}"] if server.era != "auto" else []
    options += [f"--protocol-version {quote(server.protocol_version)}"] if server.protocol_version else []
    for name, said in (("--capabilities", server.capabilities), ("--client-info", server.client_info)):
        options += [f"{name} {quote(_ascii(said))}"] if said is not None else []
    if address.kind != "stdio":
        options += [f"--url {in_shell(address.url)}"]
        options += [f"--transport {server.transport}"] if server.transport in ("sse", "websocket", "http") else []
        options += _certificates(server, "--ca", "--cert", "--cert-key")
        headers = (f"{name}: {in_entry(words)}" for name, words in address.headers.items())
        return "", [*options, *(f"--header {quote(text)}" for text in headers)], []
    command = [in_shell(words) for words in address.command]
    if address.env:
        command = [*assigned(address.env), *command]
    return f"cd {quote(server.cwd)} && " if server.cwd else "", options, ["--", *command]


def _certificates(server: ServerConfig, ca: str, cert: str, key: str) -> list[str]:
    """The certificate options; the password of a key has none and is left out."""
    files = ((ca, server.tls.ca), (cert, server.tls.cert), (key, server.tls.key))
    return [*(f"{name} {quote(file)}" for name, file in files if file), *["--insecure"] * server.tls.insecure]


def _command(subject: Subject) -> _Made:
    if subject.server is not None and subject.server.source.origin == "argument":
        return _standalone(subject)  # no file contains it
    return line(subject), ()


def _standalone(subject: Subject) -> _Made:
    address = _address(subject)
    notes = address.remarks
    if address.kind != "stdio":
        # Options that replace references ask the keyring themselves.
        notes = tuple(note for note in notes if "the keyring" not in note)
    elif address.variables:
        notes = (*notes, "The environment is set by `env`: others on this computer can see that line while it runs.")
    return line(subject, address), notes


# ---------------------------------------------------------------------- curl


def _curl(subject: Subject) -> _Made:
    """One curl command. In eras with sessions the person has to insert the id of an open session."""
    address = _address(subject)
    if address.kind != "http":
        raise _No("curl sends HTTP requests: it can call servers over Streamable HTTP only.")
    remarks, out = [*address.remarks, *_likely(subject)], subject.out()
    headers = _entry_headers(address)
    if subject.modern:
        headers += [_header(name, text) for name, text in modern_headers(out)]
    else:
        headers += [_header("MCP-Protocol-Version", subject.supposed), '"Mcp-Session-Id: $SESSION"']
        remarks.append("SESSION has to be set: the Mcp-Session-Id that the server gave in its answer to initialize.")
    tls = _certificates(subject.server or ServerConfig(""), "--cacert", "--cert", "--key")
    globs = any(isinstance(part, str) and set("[]{}") & set(part) for part in address.url)
    first = " ".join(["curl", "-sS", "-N", *tls, *["-g"] * globs, in_shell(address.url)])
    body = f"--data-raw {quote(escape_live(out.frame.decode('utf-8')))}"
    return " \\\n  ".join([first, *(f"-H {one}" for one in headers), body]), remarks


def _entry_headers(address: Address) -> list[str]:
    """The headers as shell words: those of every request, then those of the server's entry."""
    own = {name.lower() for name in address.headers}
    usual: dict[str, Words] = {"Accept": (ACCEPT,), "Content-Type": ("application/json",)}
    headers = {name: words for name, words in usual.items() if name.lower() not in own} | {**address.headers}
    return [in_shell((f"{name}: ", *words)) if words else _header(name, "") for name, words in headers.items()]


def _header(name: str, text: str) -> str:
    # curl writes an empty header with a semicolon.
    return quote(f"{name}: {text}" if text else f"{name};")


# ---------------------------------------------------------------------- Python


def literal(value: Json, margin: int = 0) -> str:
    """A JSON value as an equal Python expression; `margin` columns precede its further lines."""
    if depth(value, _DEEPEST) > _DEEPEST:
        raise _No("The value is nested too deeply for Python.")
    # No line break is inside a string, because `repr` writes it as an escape.
    return pformat(value, width=_WIDTH - margin, sort_dicts=False).replace("\n", "\n" + " " * margin)


def _text(value: str) -> str:
    """A string literal, in double quotes if that needs no backslash."""
    made = repr(value)
    return f'"{made[1:-1]}"' if made[0] == "'" and '"' not in value else made


def _expression(words: Words) -> str:
    """A text with references as a Python expression."""
    return " + ".join(_variable(part) if isinstance(part, Variable) else _text(part) for part in words) or '""'


def _variable(variable: Variable) -> str:
    if variable.default is None:
        return f"os.environ[{_text(variable.name)}]"
    return f"os.environ.get({_text(variable.name)}, {_text(variable.default)})"


def _mapping(pairs: Mapping[str, Words]) -> str:
    return "{" + ", ".join(f"{_text(name)}: {_expression(words)}" for name, words in pairs.items()) + "}"


def _python(subject: Subject) -> _Made:
    address, remarks = _for_sdk(subject)
    imports, opening = _opened(subject, address)
    shown = "result.model_dump_json(by_alias=True, exclude_none=True, indent=2)"
    body = f"        result = {_sdk_call(subject)}\n        print({shown})\n"
    head = _head(address, imports)
    return f"{head}\n\nasync def main() -> None:\n{opening}{body}\n\nasyncio.run(main())\n", remarks


def _pytest(subject: Subject) -> _Made:
    address, remarks = _for_sdk(subject)
    imports, opening = _opened(subject, address)
    kind = {"tool": "CallToolResult", "prompt": "GetPromptResult"}.get(subject.ref.kind, "ReadResourceResult")
    came, expected, why = _compared(subject)
    code = mapping(subject.outcome.get("error")).get("code")
    if isinstance(code, int):
        kind = "MCPError"
        imports += ["import pytest", "from mcp.shared.exceptions import MCPError"]
        opening += "        with pytest.raises(MCPError) as failed:\n"
        body = f"            {_sdk_call(subject, 12)}\n        return failed.value\n"
        checks = f"    assert result.code == {code}, result.message\n"
    else:
        imports.append(f"from mcp_types import {kind}")
        body = f"        return {_sdk_call(subject)}\n"
        failed = mapping(subject.outcome.get("result")).get("isError") is True
        checks = f"    assert {'' if failed else 'not '}result.is_error, result.content\n" * (kind == "CallToolResult")
        if came:
            checks += f"    assert {came} == {literal(expected, 4)}\n"
        elif not checks:
            checks = f"    assert result.{'messages' if subject.ref.kind == 'prompt' else 'contents'}\n"
    name = re.sub(r"[^a-z0-9]+", "_", subject.ref.name.lower()).strip("_")[:60] or subject.ref.kind
    text = (
        f"{_head(address, imports)}\n\nasync def call() -> {kind}:\n{opening}{body}"
        f"\n\ndef test_{name}() -> None:\n    result = asyncio.run(call())\n{checks}"
    )
    return text, [*remarks, *[f"It only looks whether the call succeeds: {why}."] * bool(why)]


def _for_sdk(subject: Subject) -> tuple[Address, list[str]]:
    """The server's address for a program with the SDK, and remarks about the program."""
    address = _address(subject)
    if address.kind == "websocket":
        raise _No("The MCP SDK has no client for WebSockets.")
    _only_objects(subject)
    return address, [*address.remarks, *subject.notes, *["The SDK makes the call without a task."] * subject.task]


def _compared(subject: Subject) -> tuple[str, Json, str]:
    """An expression for the part of the result that a test compares, and its value; or why nothing is compared."""
    result = mapping(subject.outcome.get("result"))
    if "error" in subject.outcome or (subject.ref.kind == "tool" and result.get("isError") is True):
        return "", None, ""
    if subject.ref.kind == "tool" and "structuredContent" in result:
        came, value = "result.structured_content", result["structuredContent"]
    else:
        part = {"tool": "content", "prompt": "messages"}.get(subject.ref.kind, "contents")
        if not isinstance(result.get(part), list):
            return "", None, "no result is known"
        inner = "one.content" if part == "messages" else "one"
        items = [mapping(one).get("content") if part == "messages" else one for one in items_of(result[part])]
        came = f'[getattr({inner}, "text", None) for one in result.{part}]'
        value = [mapping(item).get("text") for item in items]
    small = len(dumps(value)) <= _EXPECTED and depth(value, _DEEPEST) <= _DEEPEST
    return (came, value, "") if small else ("", None, "the result is too large")


def _commented(text: str, remarks: Sequence[str]) -> str:
    """A program with remarks below its imports; not above them, because a first line can name an encoding."""
    head, _, rest = text.partition("\n\n\n")
    lines = [f"# {line}" for remark in remarks for line in textwrap.wrap(safe(remark, 600), _WIDTH)]
    return "\n".join([head, *["", *lines] * bool(lines), "", "", rest])


def _head(address: Address, imports: list[str]) -> str:
    standard = ["import asyncio", *["import os"] * bool(address.variables)]
    imports = sorted(imports, key=lambda line: (line.startswith("from"), line.split()[1]))
    return "\n".join([*standard, "", *imports]) + "\n"


def _sdk_call(subject: Subject, indent: int = 8) -> str:
    if subject.ref.kind in ("resource", "template"):
        return f"await client.read_resource({_text(subject.uri or subject.ref.name)})"
    method = "call_tool" if subject.ref.kind == "tool" else "get_prompt"
    given = literal({} if subject.value is None else subject.value, indent + 4)
    return f"await client.{method}(\n{' ' * (indent + 4)}{_text(subject.ref.name)}, {given}\n{' ' * indent})"


def _opened(subject: Subject, address: Address) -> tuple[list[str], str]:
    """The imports, and the lines that open the connection."""
    mode = ', mode="legacy"' if address.kind == "sse" or (subject.sure and not subject.modern) else ""
    client = f"Client(server{mode}) as client"
    imports = ["from mcp import Client"]
    if address.kind == "stdio":
        imports = ["from mcp import Client, StdioServerParameters"]
        lines = [
            f"command = {_expression(address.command[0])}",
            f"args = [{', '.join(map(_expression, address.command[1:]))}]",
            f"env = {_mapping(address.env) if address.env else None}",
            f"cwd = {_text(address.cwd) if address.cwd else None}",
            "server = StdioServerParameters(command=command, args=args, env=env, cwd=cwd)",
        ]
    elif address.kind == "sse":
        imports.append("from mcp.client.sse import sse_client")
        lines = [f"server = sse_client({_expression(address.url)}, headers={_mapping(address.headers)})"]
    elif address.headers:
        imports += ["import httpx2", "from mcp.client.streamable_http import streamable_http_client"]
        lines = [
            f"http = httpx2.AsyncClient(headers={_mapping(address.headers)}, timeout=httpx2.Timeout(30, read=300))",
            f"server = streamable_http_client({_expression(address.url)}, http_client=http)",
        ]
        client = f"http, {client}"
    else:
        lines = [f"server = {_expression(address.url)}"]
    return imports, "".join(f"    {line}\n" for line in [*lines, f"async with {client}:"])


# ---------------------------------------------------------------------- JSON


def _json_rpc(subject: Subject) -> _Made:
    notes = ["The studio adds a progress token of its own and another id.", *_likely(subject)]
    return printable(loads(subject.out().frame, exact=True)), notes


# ---------------------------------------------------------------------- what several forms need


def _likely(subject: Subject) -> list[str]:
    return [f"The server is not connected: that it speaks {subject.supposed} is only likely."] * (not subject.sure)


def _arguments(subject: Subject) -> Json:
    if subject.ref.kind == "resource":
        raise _No("A resource takes no arguments.")
    return {} if subject.value is None else subject.value


def _only_objects(subject: Subject) -> None:
    if subject.ref.kind in ("tool", "prompt") and not isinstance(_arguments(subject), dict):
        raise _No("Arguments are an object; what stands there is none.")


def _address(subject: Subject) -> Address:
    if subject.server is None:
        raise _No(f"There is no server {escape_live(dumps(subject.ref.server).decode())} in the configuration.")
    return address_of(subject.server, subject.kind)


_MAKERS: dict[str, Callable[[Subject], _Made]] = {
    "command": _command, "standalone": _standalone, "python": _python, "pytest": _pytest,
    "curl": _curl, "json-rpc": _json_rpc,
    "json": lambda subject: (printable(_arguments(subject)), ()),
    "literal": lambda subject: (literal(_arguments(subject)), ()),
}  # fmt: skip
