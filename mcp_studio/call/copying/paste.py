"""Reading a call from whatever people copy: nothing is run, no file is read, and any text is safe."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field, replace
from typing import Literal, cast

from mcp_studio.call.copying.shell import END, Unclosed, shell_words
from mcp_studio.catalog.listing import EntryKind, Ref
from mcp_studio.config.table import loads_lenient, unfenced
from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads, mapping
from mcp_studio.record import record
from mcp_studio.redact import MARK
from mcp_studio.schema.field import Form
from mcp_studio.schema.text import set_pair

Meant = Literal["tool", "prompt", "resource", ""]
"""What is called; empty where the text does not say."""


class PasteProblem(ValueError):
    """A text that says nothing of a call: a sentence, and the line that it is about (from 1; 0 for none)."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


@record(frozen=True)
class Pasted:
    """A call, or only its arguments."""

    form: str
    """What the text is, in words: `JSON`, `JSON-RPC request`, `mcp-studio command line` …"""
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    kind: Meant = ""
    name: str = ""
    """The tool or prompt, or the URI of a resource; empty where it is not said."""
    server: str = ""
    """The server's name where it is said."""
    url: str = ""
    """The server's address where it is said."""
    pairs: tuple[str, ...] = ()
    """`key=value` words, whose values only a form can type."""
    remarks: tuple[str, ...] = ()
    """What of the text was not taken, in sentences."""

    @property
    def count(self) -> int:
        """How many arguments there are."""
        return len({*self.arguments, *(pair.partition("=")[0].removesuffix(":") for pair in self.pairs)})

    def value(self, form: Form) -> dict[str, Json]:
        """The arguments, those that are words typed by the fields of a form.

        Raises:
            PasteProblem: one of them has no meaning there.
        """
        made = dict(self.arguments)
        for pair in self.pairs:
            try:
                made = set_pair(form, made, pair)
            except ValueError as problem:
                said = str(problem)
                # Else it begins with the name of the argument.
                said = f"T{said[1:]}" if said.startswith("there is ") else said
                raise PasteProblem(f"{said}.".replace("?.", "?")) from None
        return made

    def names(self, ref: Ref) -> bool:
        """Whether it can be about this entry: it says nothing else."""
        kinds: dict[EntryKind, Meant] = {
            "tool": "tool", "prompt": "prompt", "resource": "resource", "template": "resource",
        }  # fmt: skip
        same = self.name in ("", ref.name) and self.kind in ("", kinds[ref.kind])
        return same and self.server in ("", ref.server)

    def says(self) -> str:
        """What it is, in a sentence without a full stop."""
        what = {"tool": "a call of", "prompt": "prompt", "resource": "reading", "": "for"}[self.kind]
        about = f": {what} {self.name}" if self.name else ""
        if self.kind == "resource" and not self.count:
            return f"{self.form}{about}"
        count = "no arguments" if not self.count else "1 argument" if self.count == 1 else f"{self.count} arguments"
        return f"{self.form}{about}{', ' if about else ': '}{count}"


_METHODS: dict[str, Meant] = {"tools/call": "tool", "prompts/get": "prompt", "resources/read": "resource"}
_AROUND = ("message", "body", "request", "frame", "sent", "payload", "data", "params", "item", "output")
"""Members under which logs and answers of models hold a message."""
_LISTS = ("tool_calls", "content", "output", "messages", "function_calls", "choices")
_LOOKED_AT = 1_000
_BLOCKS = {"tool_use": "tool-use block", "server_tool_use": "tool-use block", "mcp_tool_use": "tool-use block"}


def read(text: str) -> Json:
    """The JSON value of a text, with comments and trailing commas forgiven, or of its lines as a list.

    Raises:
        PasteProblem: it is none; says where.
    """
    try:
        try:
            return loads(text, exact=True)
        except JsonProblem as strict:
            if strict.reason == "Extra data":
                with suppress(JsonProblem, LimitExceeded):
                    return [loads(line, exact=True) for line in text.splitlines() if line.strip()]
        return loads_lenient(text, exact=True)
    except LimitExceeded as problem:
        raise PasteProblem(problem.message) from None
    except JsonProblem as problem:
        raise PasteProblem(f"It looks like JSON, but is not valid: {problem}.", problem.line) from None


def call_in(value: Json) -> Pasted:
    """The call that a value describes, or the arguments that it is.

    Raises:
        PasteProblem: it is neither.
    """
    if isinstance(value, str):
        value = _inside(value)
    found = _found(value, 4)
    first = next(found, None)
    if first is not None:
        more = sum(1 for _ in found)
        if not more:
            return first
        count = "one more call" if more == 1 else f"{more} more calls"
        return replace(first, remarks=(*first.remarks, f"The first is taken; there is {count} in the text."))
    if isinstance(value, list):
        raise PasteProblem("It is a list with no call in it; arguments are an object: {…}.")
    if not isinstance(value, dict):
        raise PasteProblem("It is a single value; arguments are an object: {…}.")
    known = cast("dict[str, Json]", value)
    if known.get("jsonrpc") is not None:
        if isinstance(method := known.get("method"), str):
            wanted = ", ".join(_METHODS)
            raise PasteProblem(f"It is a JSON-RPC message of {method[:60]}; what can be filled in is one of {wanted}.")
        if "result" in known or "error" in known:
            raise PasteProblem("It is an answer, not a request.")
    return Pasted("JSON", known)


def _inside(text: str) -> Json:
    try:
        return loads(text, exact=True)
    except (JsonProblem, LimitExceeded):
        return text


def _found(value: Json, levels: int) -> Iterator[Pasted]:
    """The calls in a value, in their order."""
    if isinstance(value, list):
        for item in cast("list[Json]", value)[:_LOOKED_AT]:
            yield from _found(item, levels - 1) if levels else ()
        return
    if not isinstance(value, dict):
        return
    known = cast("dict[str, Json]", value)
    if (call := _call(known)) is not None:
        yield call
        return
    if levels and _wraps(known):
        for key in (*_AROUND, *_LISTS):
            inner = _inside(known[key]) if key in _AROUND and isinstance(known.get(key), str) else known.get(key)
            before = _found(inner, levels - 1)
            if (first := next(before, None)) is not None:
                yield first
                yield from before
                return


def _wraps(value: dict[str, Json]) -> bool:
    """Whether an object is something around a call, and not the arguments of one that have calls in them."""
    marks = ("role", "direction", "tool_calls", "choices", "stop_reason", "server", "time", "timestamp", "jsonrpc")
    return any(mark in value for mark in marks) or (len(value) == 1 and next(iter(value)) in (*_AROUND, *_LISTS))


def _call(value: dict[str, Json]) -> Pasted | None:
    """The call that an object is: a request, a block or function call of a model, or the params of a call alone."""
    method, params, name, kind = (value.get(key) for key in ("method", "params", "name", "type"))
    if isinstance(method, str) and method in _METHODS and (isinstance(params, dict) or "jsonrpc" in value):
        return _request(method, mapping(params))
    if kind in _BLOCKS and isinstance(name, str):
        return _named(_BLOCKS[str(kind)], name, value.get("input"), value.get("server_name"))
    function = value.get("function") if kind in ("function", None) else None
    if not isinstance(function, dict):
        function = value if kind in ("function_call", "mcp_call") else value.get("function_call")
    known = mapping(function)
    if isinstance(known.get("name"), str) and "arguments" in known:
        return _named("function call", known["name"], known["arguments"], known.get("server_label"))
    alone = not value.keys() - {"name", "arguments", "_meta"}
    if alone and isinstance(name, str) and isinstance(value.get("arguments"), dict):
        return _named("params of a call", name, value["arguments"], "", kind="")
    return None


def _request(method: str, params: dict[str, Json]) -> Pasted:
    kind = _METHODS[method]
    name = params.get("uri" if kind == "resource" else "name")
    arguments = {} if kind == "resource" else _object(params.get("arguments"), method)
    if not isinstance(name, str):
        return Pasted("JSON-RPC request", arguments, kind, remarks=(f"The request of {method} names nothing.",))
    return Pasted("JSON-RPC request", arguments, kind, name)


def _named(form: str, name: str, arguments: Json, server: Json, kind: Meant = "tool") -> Pasted:
    """Programs that give models the tools of several servers call them `mcp__SERVER__TOOL`."""
    owner, given = server if isinstance(server, str) else "", _object(arguments, name)
    prefix, mark, rest = name.removeprefix("mcp__").partition("__")
    if name.startswith("mcp__") and mark and rest:
        owner, name = owner or prefix, rest
    return Pasted(form, given, kind, name, owner)


def _object(value: Json, what: str) -> dict[str, Json]:
    """Arguments: an object, or its text.

    Raises:
        PasteProblem: they are something else.
    """
    if isinstance(value, str):
        try:
            value = loads(value, exact=True) if value.strip() else {}
        except (JsonProblem, LimitExceeded) as problem:
            raise PasteProblem(f"The arguments of {what[:60]} are text that is no JSON: {problem}.") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise PasteProblem(f"The arguments of {what[:60]} are no object.")
    return cast("dict[str, Json]", value)


LARGEST = 8 * 1024 * 1024
"""Characters."""
EXPECTED = (
    "Expected: arguments as JSON, a JSON-RPC request, a command line of mcp-studio or curl, or a tool-use block of a "
    "model."
)
_EVENT = re.compile(r"(?m)^(?:(?:event|id|retry|:).*(?:\n|\Z)|data: ?)")
_LOGGED = re.compile(r'[^\n{]{1,400}?(?=\{\s*"(?:jsonrpc|method|id)")')
"""What a log writes in front of a message."""
FLAGS = frozenset(
    "--json --quiet --yes --unchecked --fresh --read --logs --task --detach --last --no-stamp --notification --newlines"
    " --no-handshake --with-secrets --traceparent --strict --paced --follow --jsonl --stats --delete --keyring"
    " --insecure --step --no-browser --claims --client --register --offline -q -y".split()
)
"""Options of ours without a value."""
_VERBS: dict[str, Meant] = {"call": "tool", "get": "prompt", "read": "resource"}
_OURS = re.compile(r"(?:^|[\\/])mcp[-_]studio(?:\.exe)?\Z")
_BODY = re.compile(r"--(?:data|data-raw|data-binary|data-ascii|json)(?:=(.*))?\Z|-d(.+)?\Z", re.DOTALL)
# Possessive, and no longer than a path: what comes from anywhere may be a megabyte of `$`.
_CURL = re.compile(r"[\s$%>#(]*+(?:\w{1,200}+=\$\()?(?:\S{0,1000}/)?curl(?:\.exe)?\s")
_OUR_LINE = re.compile(r"(?:^|[\s/\\(])mcp[-_]studio(?:\.exe)?\s")
_PROMPT = re.compile(r"\A\s*[$%>#] +(?=\S)")
_URL = re.compile(r"https?://[^\s\"']+")


def read_paste(text: str) -> Pasted:
    """The call that a text describes.

    Raises:
        PasteProblem: it describes none; a sentence says what was expected, or what is wrong with it.
    """
    if len(text) > LARGEST:
        raise PasteProblem(f"It is larger than {LARGEST // 1024 // 1024} MB.")
    text = text.removeprefix("\ufeff")
    if (bare := text.strip()).startswith("```"):
        text = unfenced(bare)
    elif text.startswith(("data:", "event:")):
        text = _EVENT.sub("", text)
    if not text.strip():
        raise PasteProblem(f"There is nothing in it. {EXPECTED}")
    found = _read(text)
    if MARK in text:
        return replace(found, remarks=(*found.remarks, f"{MARK} stands for a secret that was left out."))
    return found


def _read(text: str) -> Pasted:
    if _CURL.match(text):
        return _curl(text)
    if _OUR_LINE.search(text[:2_000]) and text.lstrip()[0] not in "{[\"'":
        return _ours(text)
    if text.lstrip()[0] in '{["/':
        return call_in(read(text))
    if logged := _LOGGED.match(text):
        return call_in(read(text[logged.end() :]))
    raise PasteProblem(f"It is nothing that is known. {EXPECTED}")


# ---------------------------------------------------------------------- command lines: ours, and those of curl


def _words(text: str) -> list[str]:
    try:
        return shell_words(_PROMPT.sub("", text))
    except Unclosed as problem:
        raise PasteProblem("A quote is not closed.", problem.line) from None


# ---------------------------------------------------------------------- curl


def _curl(text: str) -> Pasted:
    """The call in the body of a curl command; of several commands the first that has one.

    Raises:
        PasteProblem: there is none.
    """
    found = _words(text)
    problem = PasteProblem("The command has no JSON body: it has to be there with -d, --data-raw or --json.")
    for body in _bodies(found):
        if body.startswith("@"):
            problem = PasteProblem(f"The body is in the file {body[1:80]}, which is not read: paste what is in it.")
            continue
        try:
            call = call_in(read(body))
        except PasteProblem as reason:
            problem = PasteProblem(f"The body of the curl command: {str(reason)[:1].lower()}{str(reason)[1:]}")
            continue
        url = next((word for word in found if _URL.match(word)), "")
        form = call.form if call.form == "JSON" else f"a {call.form}"
        return replace(call, form=f"curl command with {form}", url=url)
    raise problem


def _bodies(found: list[str]) -> Iterable[str]:
    for index, word in enumerate(found):
        if option := _BODY.match(word):
            given = option[1] if option[1] is not None else option[2]
            following = found[index + 1] if index + 1 < len(found) else ""
            yield given if given is not None else following


# ---------------------------------------------------------------------- ours


def _ours(text: str) -> Pasted:
    """The call of a command line of ours.

    Raises:
        PasteProblem: it is none that calls, gets or reads.
    """
    found = _words(text)
    start = next((index for index, word in enumerate(found) if _OURS.search(word)), -1)
    line = found[start + 1 :]
    line = line[: line.index(END)] if END in line else line
    verb = line.pop(0) if line else ""
    if start < 0 or verb not in _VERBS:
        raise PasteProblem(
            f"The command line calls nothing: its verb is {verb[:40] or 'missing'}, not call, get or read."
        )
    options, rest, command = _sorted(line)
    arguments = _given(options)
    server, name = options.get("--server", ""), options.get("--prompt" if verb == "get" else "--tool", "")
    if verb == "read":
        if not server and len(rest) > 1 and "://" not in rest[0] and "=" not in rest[0]:
            server = rest.pop(0)
        name = rest.pop(0) if rest else ""
    elif not name:
        first = rest.pop(0) if rest else ""
        alone = command or "--url" in options or server
        server, name = (
            (server, first) if alone or "." not in first else (first.partition(".")[0], first.partition(".")[2])
        )
    if wrong := next((word for word in rest if "=" not in word), ""):
        raise PasteProblem(f"`{wrong[:60]}` is not of the form key=value.")
    return Pasted(
        "mcp-studio command line", arguments, _VERBS[verb], name, server, options.get("--url", ""), tuple(rest)
    )


def _given(options: dict[str, str]) -> dict[str, object]:
    """What `--args` says.

    Raises:
        PasteProblem: it is in a file, or no object.
    """
    text = options.get("--args", "")
    if text.startswith("@") or text == "-" or "--from" in options:
        raise PasteProblem("The arguments are in a file, which is not read: paste what is in it.")
    if not text:
        return {}
    value = read(text)
    if not isinstance(value, dict):
        raise PasteProblem("What --args says is no object.")
    return value


def _sorted(line: list[str]) -> tuple[dict[str, str], list[str], bool]:
    """Options, other words, and whether a server's command follows."""
    options: dict[str, str] = {}
    rest: list[str] = []
    todo = iter(line)
    for word in todo:
        if word == "--":
            return options, rest, True
        if not word.startswith("-") or word == "-":
            rest.append(word)
            continue
        name, sign, value = word.partition("=")
        options[name] = value if sign else "" if name in FLAGS else next(todo, "")
    return options, rest, False
