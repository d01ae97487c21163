"""The forms in which a call can be copied."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from mcp_studio.call.copying import python
from mcp_studio.call.copying.shell import quote, readable
from mcp_studio.call.copying.subject import Address, Subject, address_of, assigned, in_entry, in_shell
from mcp_studio.call.secrets import secret_places, without_secrets
from mcp_studio.config.model import ServerConfig
from mcp_studio.jsontext import Json, dumps, loads, printable
from mcp_studio.protocol.events import request
from mcp_studio.redact import MARK
from mcp_studio.safetext import escape_live
from mcp_studio.schema.field import Form, Text
from mcp_studio.schema.form import build
from mcp_studio.schema.text import set_pair, to_text
from mcp_studio.transport.http_connection import ACCEPT, modern_headers

_KEY = re.compile(r"[A-Za-z_][\w.-]*")
_LONGEST = 60
"""Characters of a value that is written as a pair."""
_PAIRS = 12
PROGRAM = "mcp-studio"


def line(subject: Subject, address: Address | None = None) -> str:
    """`mcp-studio call …`, `get …` or `read …`, quoted for a shell.

    Args:
        address: how to reach the server, where its name alone is not to be relied on.
    """
    before, options, after = _target(subject, address)
    words = [PROGRAM, *_named(subject, address is not None), *options]
    if subject.ref.kind in ("tool", "prompt"):
        words += _words(subject)
    if subject.task:
        words.append("--task")
    return before + " ".join([*words, *after])


def _words(subject: Subject) -> list[str]:
    """The arguments as words of a shell: pairs where they say the same and are no longer, else `--args`."""
    value = subject.value
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
        options += _certificates(server, "--ca", "--cert", "--cert-key")
        headers = (f"{name}: {in_entry(words)}" for name, words in address.headers.items())
        return "", [*options, *(f"--header {quote(text)}" for text in headers)], []
    command = [in_shell(words) for words in address.command]
    if address.env:
        command = [*assigned(address.env), *command]
    return f"cd {quote(server.cwd)} && " if server.cwd else "", options, ["--", *command]


def _certificates(server: ServerConfig | None, ca: str, cert: str, key: str) -> list[str]:
    """Which are accepted and shown; the password of a key has no option, and stays where it is."""
    if server is None:
        return []
    files = ((ca, server.tls.ca), (cert, server.tls.cert), (key, server.tls.key))
    named = [f"{name} {quote(file)}" for name, file in files if file]
    return [*named, *["--insecure"] * server.tls.insecure]


_NEXT = " \\\n  "
_GLOB = set("[]{}")
_SESSION = '"Mcp-Session-Id: $session"'


_NO_CURL = {
    "stdio": "curl speaks HTTP; this server is a program that is spoken to over its standard input.",
    "websocket": "curl would have to speak MCP over a WebSocket; it sends HTTP requests.",
    "sse": "In HTTP+SSE the answer comes on another stream than the request, which one curl command cannot read.",
}
"""Kinds of servers that curl cannot make calls of, and why."""


def _modern(subject: Subject, address: Address) -> str:
    """One request that stands alone (specification 2026-07-28, basic/transports/streamable-http)."""
    out = subject.out()
    headers = [*_base(address), *(_header(name, text) for name, text in modern_headers(out))]
    return _curl_line(subject, address, headers, out.frame, "-sS", "-N")


def _legacy(subject: Subject, address: Address) -> str:
    """A session: the handshake, the call, and the end (specification 2025-11-25, basic/transports)."""
    hello = request(
        "initialize",
        {"protocolVersion": subject.supposed, "capabilities": subject.can, "clientInfo": subject.who},
        identity=0,
    )
    base = list(_base(address))
    session = [*base, _SESSION, _header("MCP-Protocol-Version", subject.supposed)]
    opened = _curl_line(subject, address, base, dumps(hello), "-sS", "-D", "-", "-o", "/dev/null")
    ready = _curl_line(subject, address, session, dumps(request("notifications/initialized")), "-sS")
    call = _curl_line(subject, address, session, subject.out().frame, "-sS", "-N")
    closed = _curl_line(subject, address, session[-2:], None, "-sS", "-o", "/dev/null", "-X", "DELETE")
    read = "tr -d '\\r' | awk 'tolower($1) == \"mcp-session-id:\" {print $2}'"
    return f"session=$({opened} | {read})\n{ready}\n{call}\n{closed}"


def _base(address: Address) -> Iterable[str]:
    """Headers as words of the shell: those of every request, then those of the server's entry."""
    own = {name.lower() for name in address.headers}
    for name, text in (("Accept", ACCEPT), ("Content-Type", "application/json")):
        if name.lower() not in own:
            yield _header(name, text)
    for name, words in address.headers.items():
        yield in_shell((f"{name}: ", *words)) if words else quote(f"{name};")


def _header(name: str, text: str) -> str:
    # An empty header has a semicolon in curl.
    return quote(f"{name}: {text}" if text else f"{name};")


def _curl_line(subject: Subject, address: Address, headers: Sequence[str], body: bytes | None, *options: str) -> str:
    globs = any(isinstance(part, str) and _GLOB & set(part) for part in address.url)
    tls = _certificates(subject.server, "--cacert", "--cert", "--key")
    first = " ".join(["curl", *options, *tls, *["-g"] * globs, in_shell(address.url)])
    parts = [first, *(f"-H {one}" for one in headers)]
    if body is not None:
        parts.append(f"--data-raw {quote(escape_live(body.decode('utf-8')))}")
    return _NEXT.join(parts)


class Format(NamedTuple):
    """One form."""

    id: str
    """Its name on the command line."""
    title: str


FORMATS = (
    Format("command", "mcp-studio command line"),
    Format("standalone", "mcp-studio command line with the server in it"),
    Format("python", "Python program with the MCP SDK"),
    Format("pytest", "pytest test with the MCP SDK"),
    Format("curl", "curl"),
    Format("json-rpc", "JSON-RPC request"),
    Format("json", "Arguments as JSON"),
    Format("literal", "Arguments as a Python literal"),
)
IDS = tuple(form.id for form in FORMATS)


class Copy(NamedTuple):
    """A call in one form."""

    id: str
    text: str = ""
    remarks: tuple[str, ...] = ()
    """What is good to know about the text, in sentences."""
    why_not: str = ""
    """Why there is no such text, in a sentence; empty where there is one."""


class _No(Exception):
    """There is no such form; the message says why."""


def copy_as(subject: Subject, form: str, *, secrets: bool = False) -> Copy:
    """A call in the form of this id; never raises for what a call or a server may hold.

    Args:
        secrets: write the values of secret arguments too. Secrets of the server's own entry are never written: they
            are references to environment variables.

    Raises:
        KeyError: there is no form of this id.
    """
    make = _MAKERS[form]
    subject, hidden, found = _shown(subject, secrets)
    try:
        text, remarks = make(subject)
    except _No as reason:
        return Copy(form, why_not=str(reason))
    if hidden:
        remarks = [*remarks, f"{MARK} stands for what is secret: {_places(hidden)}."]
    elif found and secrets:
        remarks = [*remarks, f"It has secrets in it: {_places(found)}."]
    if form in ("python", "pytest"):
        text = python.commented(text, tuple(remarks))
    return Copy(form, text, tuple(remarks))


def _shown(subject: Subject, secrets: bool) -> tuple[Subject, tuple[str, ...], tuple[str, ...]]:
    """The call as it may be written, what of it is hidden, and what of it is secret."""
    known = tuple(filter(None, subject.server.secrets)) if subject.server else ()
    schema = subject.tool.get("inputSchema")
    places = secret_places(build(schema), subject.value) if schema is not None else frozenset[str]()
    shown = without_secrets(subject.value, subject.hidden | places, known)
    subject, unknown = _answers(subject, known, secrets)
    if without_secrets(python.compared(subject)[1], (), known).hidden:
        subject = replace(subject, outcome={}, notes=(*subject.notes, "What came of it has secrets in it."))
    if secrets:
        return subject, unknown, shown.hidden
    uri, hidden = subject.uri, (*shown.hidden, *unknown)
    for secret in known:
        uri = uri.replace(secret, MARK)
    if MARK in uri:
        hidden = (*hidden, "/uri")
    return replace(subject, value=shown.value, uri=uri), hidden, shown.hidden


def _answers(subject: Subject, known: tuple[str, ...], secrets: bool) -> tuple[Subject, tuple[str, ...]]:
    """The call with answers as they may be written, and what of them is hidden; recordings have no secrets anyway."""
    hidden: list[str] = []

    def shown(value: Json) -> Json:
        made = without_secrets(value, (), known)
        hidden.extend(f"an answer's {place.rpartition('/')[2]}" for place in made.hidden)
        return made.value

    given = tuple(one._replace(result=shown(one.result)) if one.secret or not secrets else one for one in subject.given)
    rules = tuple(one if secrets else one._replace(content=shown(one.content)) for one in subject.rules)
    return replace(subject, given=given, rules=rules), tuple(hidden)


def _places(places: tuple[str, ...]) -> str:
    named = ", ".join(place.lstrip("/")[:60] or "the value" for place in places[:5])
    return f"{named} and {len(places) - 5} more" if len(places) > 5 else named


# ---------------------------------------------------------------------- the forms

_Made = tuple[str, Sequence[str]]
"""A text, and what is good to know about it."""


def _command(subject: Subject) -> _Made:
    if subject.server is not None and subject.server.source.origin == "argument":
        return _standalone(subject)  # no file knows it
    _only_objects(subject)
    return line(subject), ()


def _standalone(subject: Subject) -> _Made:
    _only_objects(subject)
    address = _address(subject)
    notes = address.remarks
    if address.kind != "stdio":
        # Options that replace references ask the keyring themselves.
        notes = tuple(note for note in notes if "the keyring" not in note)
    elif address.variables:
        notes = (*notes, "The environment is set by `env`: others on this computer can see that line while it runs.")
    return line(subject, address), notes


def _python(subject: Subject) -> _Made:
    return _with_sdk(subject, python.program)


def _pytest(subject: Subject) -> _Made:
    text, remarks = _with_sdk(subject, python.test)
    why = python.compared(subject)[2]
    return text, [*remarks, *[f"It only looks whether the call succeeds: {why}."] * bool(why)]


def _with_sdk(subject: Subject, make: Callable[[Subject, Address, python.Answers], str]) -> _Made:
    address = _address(subject)
    if address.kind == "websocket":
        raise _No("The MCP SDK has no client for WebSockets.")
    _only_objects(subject)
    if problem := python.unsaid(subject.value):
        raise _No(problem)
    answers = python.answers_of(subject)
    task = ["The SDK makes the call without a task."] * subject.task
    return make(subject, address, answers), [*address.remarks, *subject.notes, *answers.remarks, *task]


def _curl(subject: Subject) -> _Made:
    address = _address(subject)
    if reason := _NO_CURL.get(address.kind):
        raise _No(reason)
    make = _modern if subject.modern else _legacy
    return make(subject, address), [*address.remarks, *_likely(subject)]


def _json_rpc(subject: Subject) -> _Made:
    notes = ["The studio adds a progress token of its own and another id.", *_likely(subject)]
    return printable(loads(subject.out().frame, exact=True)), notes


def _likely(subject: Subject) -> list[str]:
    return [f"The server is not connected: that it speaks {subject.supposed} is only likely."] * (not subject.sure)


def _json(subject: Subject) -> _Made:
    return printable(_arguments(subject)), ()


def _literal(subject: Subject) -> _Made:
    if problem := python.unsaid(subject.value):
        raise _No(problem)
    return python.literal(_arguments(subject)), ()


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
    "curl": _curl, "json-rpc": _json_rpc, "json": _json, "literal": _literal,
}  # fmt: skip
