"""The forms in which a call can be copied."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from mcp_studio.call.copying import python
from mcp_studio.call.copying.python import answers_of
from mcp_studio.call.copying.subject import (
    Address,
    Subject,
    Words,
    address_of,
    assigned,
    in_entry,
    in_shell,
    places_of,
    quote,
    readable,
    without_secrets,
)
from mcp_studio.config.model import ServerConfig
from mcp_studio.jsontext import Json, dumps, loads, printable
from mcp_studio.protocol.events import request
from mcp_studio.redact import MARK
from mcp_studio.safetext import escape_live
from mcp_studio.schema.field import Form, Text
from mcp_studio.schema.form import build
from mcp_studio.schema.text import set_pair, to_text
from mcp_studio.transport.http_wire import ACCEPT, modern_headers

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


_NEXT = " \\\n  "
_GLOB = set("[]{}")
_SESSION = '"Mcp-Session-Id: $session"'


def why_not(address: Address) -> str:
    """Why curl cannot make calls of such a server; empty where it can."""
    match address.kind:
        case "stdio":
            return "curl speaks HTTP; this server is a program that is spoken to over its standard input."
        case "websocket":
            return "curl would have to speak MCP over a WebSocket; it sends HTTP requests."
        case "sse":
            return (
                "In HTTP+SSE the answer comes on another stream than the request, which one curl command cannot read."
            )
        case _:
            return ""


def modern(subject: Subject, address: Address, value: Json) -> str:
    """One request that stands alone (specification 2026-07-28, basic/transports/streamable-http)."""
    out = subject.out(value)
    headers = [*_base(address), *(_header(name, text) for name, text in modern_headers(out))]
    return _curl_curl(address, headers, out.frame, "-sS", "-N", *_curl_certificates(subject))


def legacy(subject: Subject, address: Address, value: Json) -> str:
    """A session: the handshake, the call, and the end (specification 2025-11-25, basic/transports)."""
    hello = request(
        "initialize",
        {"protocolVersion": subject.supposed, "capabilities": subject.can, "clientInfo": subject.who},
        identity=0,
    )
    base, tls = list(_base(address)), _curl_certificates(subject)
    known = [*base, _SESSION, _header("MCP-Protocol-Version", subject.supposed)]
    begun = _curl_curl(address, base, dumps(hello), "-sS", "-D", "-", "-o", "/dev/null", *tls)
    told = _curl_curl(address, known, dumps(request("notifications/initialized")), "-sS", *tls)
    call = _curl_curl(address, known, subject.out(value, 1).frame, "-sS", "-N", *tls)
    ended = _curl_curl(address, known[-2:], None, "-sS", "-o", "/dev/null", "-X", "DELETE", *tls)
    read = "tr -d '\\r' | awk 'tolower($1) == \"mcp-session-id:\" {print $2}'"
    return f"session=$({begun} | {read})\n{told}\n{call}\n{ended}"


def _base(address: Address) -> Iterable[str]:
    """Headers as words of the shell: those of every request, then those of the server's entry."""
    own = {name.lower() for name in address.headers}
    for name, text in (("Accept", ACCEPT), ("Content-Type", "application/json")):
        if name.lower() not in own:
            yield _header(name, text)
    for name, words in address.headers.items():
        yield in_shell((f"{name}: ", *words)) if words else quote(f"{name};")


def _curl_certificates(subject: Subject) -> list[str]:
    """Which are accepted and shown; curl asks for the password of a key."""
    if subject.server is None:
        return []
    tls = subject.server.tls
    files = (("--cacert", tls.ca), ("--cert", tls.cert), ("--key", tls.key))
    named = [word for option, file in files if file for word in (option, quote(file))]
    return [*named, *(["--insecure"] if tls.insecure else [])]


def _header(name: str, text: str) -> str:
    # An empty header has a semicolon in curl.
    return quote(f"{name}: {text}" if text else f"{name};")


def _curl_curl(address: Address, headers: Sequence[str], body: bytes | None, *options: str) -> str:
    globs = ["-g"] if _globs(address.url) else []
    parts = [" ".join(["curl", *options, *globs, in_shell(address.url)]), *(f"-H {one}" for one in headers)]
    if body is not None:
        parts.append(f"--data-raw {quote(escape_live(body.decode('utf-8')))}")
    return _NEXT.join(parts)


def _globs(url: Words) -> bool:
    return any(isinstance(part, str) and _GLOB & set(part) for part in url)


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


class _Made(NamedTuple):
    text: str
    remarks: tuple[str, ...] = ()


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
        made = make(subject, subject.value)
    except _No as reason:
        return Copy(form, why_not=str(reason))
    remarks = [*made.remarks]
    if hidden:
        remarks.append(_hidden(hidden))
    elif found and secrets:
        remarks.append(f"It has secrets in it: {_places(found)}.")
    text = python.commented(made.text, tuple(remarks)) if form in ("python", "pytest") else made.text
    return Copy(form, text, tuple(remarks))


def _shown(subject: Subject, secrets: bool) -> tuple[Subject, tuple[str, ...], tuple[str, ...]]:
    """The call as it may be written, what of it is hidden, and what of it is secret."""
    known = subject.server.secrets if subject.server else ()
    shown = without_secrets(subject.value, subject.hidden | places_of(subject.tool, subject.value), known)
    subject, unknown = _answers(subject, known, secrets)
    if without_secrets(python.compared(subject)[1], (), known).hidden:
        subject = replace(subject, outcome={}, notes=(*subject.notes, "What came of it has secrets in it."))
    if secrets:
        return subject, unknown, shown.hidden
    uri, hidden = subject.uri, (*shown.hidden, *unknown)
    if uri and (MARK in uri or any(secret in uri for secret in known if secret)):
        for secret in known:
            uri = uri.replace(secret, MARK) if secret else uri
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


def _hidden(places: tuple[str, ...]) -> str:
    return f"{MARK} stands for what is secret: {_places(places)}."


def _places(places: tuple[str, ...]) -> str:
    named = ", ".join(place.lstrip("/")[:60] or "the value" for place in places[:5])
    return f"{named} and {len(places) - 5} more" if len(places) > 5 else named


# ---------------------------------------------------------------------- the forms


def _command(subject: Subject, value: Json) -> _Made:
    if subject.server is not None and subject.server.source.origin == "argument":
        return _standalone(subject, value)  # no file knows it
    _only_objects(subject, value)
    return _Made(line(subject, value))


def _standalone(subject: Subject, value: Json) -> _Made:
    _only_objects(subject, value)
    address = _address(subject)
    notes = address.remarks
    if address.kind == "stdio" and address.variables:
        notes = (*notes, "The environment is set by `env`: others on this computer can see that line while it runs.")
    if address.kind != "stdio":
        # Options that replace references ask the keyring themselves.
        notes = tuple(note for note in notes if "the keyring" not in note)
    return _Made(line(subject, value, address), notes)


def _python(subject: Subject, value: Json) -> _Made:
    return _with_sdk(subject, value, python.program)


def _pytest(subject: Subject, value: Json) -> _Made:
    made = _with_sdk(subject, value, python.test)
    if not (why := python.compared(subject)[2]):
        return made
    return _Made(made.text, (*made.remarks, f"It only looks whether the call succeeds: {why}."))


def _with_sdk(subject: Subject, value: Json, make: Callable[[Subject, Address, Json, python.Answers], str]) -> _Made:
    address = _address(subject)
    if address.kind == "websocket":
        raise _No("The MCP SDK has no client for WebSockets.")
    _only_objects(subject, value)
    if problem := python.unsaid(value):
        raise _No(problem)
    answers = answers_of(subject)
    notes = [*address.remarks, *subject.notes, *answers.remarks]
    if subject.task:
        notes.append("The SDK makes the call without a task.")
    return _Made(make(subject, address, value, answers), tuple(notes))


def _curl(subject: Subject, value: Json) -> _Made:
    address = _address(subject)
    if reason := why_not(address):
        raise _No(reason)
    notes = [*address.remarks]
    if not subject.sure:
        notes.append(f"The server is not connected: that it speaks {subject.supposed} is only likely.")
    make = modern if subject.modern else legacy
    return _Made(make(subject, address, value), tuple(notes))


def _json_rpc(subject: Subject, value: Json) -> _Made:
    notes = ["The studio adds a progress token of its own and another id."]
    if not subject.sure:
        notes.append(f"The server is not connected: that it speaks {subject.supposed} is only likely.")
    return _Made(printable(loads(subject.out(value).frame, exact=True)), tuple(notes))


def _json(subject: Subject, value: Json) -> _Made:
    if subject.ref.kind == "resource":
        raise _No("A resource takes no arguments.")
    return _Made(printable(_given(value)))


def _literal(subject: Subject, value: Json) -> _Made:
    if subject.ref.kind == "resource":
        raise _No("A resource takes no arguments.")
    if problem := python.unsaid(value):
        raise _No(problem)
    return _Made(python.literal(_given(value)))


def _given(value: Json) -> Json:
    return {} if value is None else value


def _only_objects(subject: Subject, value: Json) -> None:
    if subject.ref.kind in ("tool", "prompt") and not isinstance(_given(value), dict):
        raise _No("Arguments are an object; what stands there is none.")


def _address(subject: Subject) -> Address:
    if subject.server is None:
        raise _No(f"There is no server {escape_live(dumps(subject.ref.server).decode())} in the configuration.")
    return address_of(subject.server, subject.kind)


_MAKERS = cast(
    "dict[str, Callable[[Subject, Json], _Made]]",
    {
        "command": _command, "standalone": _standalone, "python": _python, "pytest": _pytest,
        "curl": _curl, "json-rpc": _json_rpc, "json": _json, "literal": _literal,
    },
)  # fmt: skip
