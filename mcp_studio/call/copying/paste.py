"""Reading a call from JSON or a command line: nothing is run, no file is read, and any text is safe."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from itertools import takewhile
from typing import Literal, cast

from mcp_studio.call.copying.shell import END, PasteProblem, shell_words
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.table import loads_lenient
from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, mapping
from mcp_studio.record import record
from mcp_studio.redact import MARK
from mcp_studio.schema.field import Form
from mcp_studio.schema.text import set_pair

Meant = Literal["tool", "prompt", "resource", ""]
"""The kind of the call; empty where the text does not tell."""


@record(frozen=True)
class Pasted:
    """A call, or only its arguments."""

    form: str
    """The kind of the text: `JSON`, `JSON-RPC request`, `mcp-studio command line` …"""
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    kind: Meant = ""
    name: str = ""
    """The tool or prompt, or the URI of a resource; empty where the text does not tell."""
    server: str = ""
    """The server's name; empty where the text does not tell."""
    url: str = ""
    """The server's address; empty where the text does not tell."""
    pairs: tuple[str, ...] = ()
    """`key=value` words; a form is needed to type their values."""
    remarks: tuple[str, ...] = ()
    """Sentences on ignored parts of the text."""

    def value(self, form: Form) -> dict[str, Json]:
        """The arguments, with the pairs typed by the fields of a form.

        Raises:
            PasteProblem: a pair means nothing in the form.
        """
        made = dict(self.arguments)
        for pair in self.pairs:
            try:
                made = set_pair(form, made, pair)
            except ValueError as problem:
                raise PasteProblem(f"{problem}.".replace("?.", "?")) from None
        return made

    def names(self, ref: Ref) -> bool:
        """Whether the call can be of this entry: the text names no other one."""
        kind = "resource" if ref.kind == "template" else ref.kind
        return self.name in ("", ref.name) and self.kind in ("", kind) and self.server in ("", ref.server)

    def says(self) -> str:
        """A sentence without a full stop on the content of the text."""
        what = {"tool": "a call of", "prompt": "prompt", "resource": "reading", "": "for"}[self.kind]
        about = f": {what} {self.name}" if self.name else ""
        number = len({*self.arguments, *(pair.partition("=")[0].removesuffix(":") for pair in self.pairs)})
        if self.kind == "resource" and not number:
            return f"{self.form}{about}"
        count = "no arguments" if not number else "1 argument" if number == 1 else f"{number} arguments"
        return f"{self.form}{about}{', ' if about else ': '}{count}"


LARGEST = 8 * 1024 * 1024
"""Characters of the longest text."""
EXPECTED = "Expected: arguments as JSON, a JSON-RPC request, or a command line of mcp-studio or curl."
_METHODS: dict[str, Meant] = {"tools/call": "tool", "prompts/get": "prompt", "resources/read": "resource"}
FLAGS = frozenset(
    "--json --quiet --yes --unchecked --no-cache --fresh --logs --read --task --detach --last --notification --no-stamp"
    " --newlines --no-handshake --with-secrets --traceparent --strict --paced --follow --jsonl --stats --delete"
    " --keyring --failover --tokens --prometheus --events --pin --once --project --metrics --insecure --register"
    " --step --claims --no-browser --client --offline --durable --read-only --dry-run -q -y".split()
)
"""Our options without a value."""
_VERBS: dict[str, Meant] = {"call": "tool", "get": "prompt", "read": "resource"}
_OURS = r"(?:^|[\\/])mcp[-_]studio(?:\.exe)?\Z"
_PARAMS = frozenset(("name", "arguments", "_meta"))
"""The members of a call's params."""
_BODY = r"(?s)--(?:data|data-raw|data-binary|data-ascii|json)(?:=(.*))?\Z|-d(.+)?\Z"
# Possessive, and limited to a path's length, because a pasted text may be a megabyte of `$`.
_CURL = r"[\s$%>#]*+(?:\S{0,1000}/)?curl(?:\.exe)?\s"
_OUR_LINE = r"(?:^|[\s/\\(])mcp[-_]studio(?:\.exe)?\s"
_PROMPT = r"\A\s*[$%>#] +(?=\S)"
_URL = r"https?://[^\s\"']+"
_FENCE = r"```[^`\n]*+\n"


def read_paste(text: str) -> Pasted:
    """The call that a text describes.

    Raises:
        PasteProblem: the text describes no call; a sentence says what was expected, or what is wrong.
    """
    if len(text) > LARGEST:
        raise PasteProblem(f"It is larger than {LARGEST // 1024 // 1024} MB.")
    text = text.removeprefix("\ufeff")
    if (bare := text.strip()).startswith("```"):
        text = unfenced(bare)
    if not text.strip():
        raise PasteProblem(f"There is nothing in it. {EXPECTED}")
    found = _read(text)
    if MARK in text:
        return replace(found, remarks=(*found.remarks, f"{MARK} stands for a secret that was left out."))
    return found


def unfenced(text: str) -> str:
    """The text between the fences of a Markdown block; other text is returned unchanged."""
    # No regex for the end: looking ahead at every place takes hours in a megabyte of blank lines.
    begun = re.match(_FENCE, text)
    closed = begun is not None and len(text) >= begun.end() + 3 and text.endswith("```")
    return text[begun.end() : -3].rstrip() if begun and closed else text


def _read(text: str) -> Pasted:
    if re.match(_CURL, text):
        return _curl(text)
    if re.search(_OUR_LINE, text[:2_000]) and text.lstrip()[0] not in "{[\"'":
        return _ours(text)
    if text.lstrip()[0] in '{["/':
        return _call_in(_json(text))
    raise PasteProblem(f"It is nothing that is known. {EXPECTED}")


# ---------------------------------------------------------------------- JSON


def _json(text: str) -> Json:
    """The JSON value of a text; comments and trailing commas are ignored.

    Raises:
        PasteProblem: the text is not JSON; the message says where.
    """
    try:
        return loads_lenient(text, exact=True)
    except LimitExceeded as problem:
        raise PasteProblem(problem.message) from None
    except JsonProblem as problem:
        raise PasteProblem(f"It looks like JSON, but is not valid: {problem}.", problem.line) from None


def _call_in(value: Json) -> Pasted:
    """The request or the arguments in a JSON value.

    Raises:
        PasteProblem: the value is neither.
    """
    if not isinstance(value, dict):
        kind = "a list" if isinstance(value, list) else "a single value"
        raise PasteProblem(f"It is {kind}; arguments are an object: {{…}}.")
    known = cast("dict[str, Json]", value)
    method, params, name = known.get("method"), known.get("params"), known.get("name")
    if isinstance(method, str) and method in _METHODS and (isinstance(params, dict) or "jsonrpc" in known):
        return _request(method, mapping(params))
    if "jsonrpc" in known:
        what = f"message of {method[:60]}" if isinstance(method, str) else "answer"
        raise PasteProblem(f"It is a JSON-RPC {what}; what can be filled in is one of {', '.join(_METHODS)}.")
    if isinstance(name, str) and isinstance(known.get("arguments"), dict) and not known.keys() - _PARAMS:
        return Pasted("params of a call", mapping(known["arguments"]), "", name)
    return Pasted("JSON", known)


def _request(method: str, params: dict[str, Json]) -> Pasted:
    kind = _METHODS[method]
    name, arguments = params.get("uri" if kind == "resource" else "name"), params.get("arguments")
    if arguments is not None and not isinstance(arguments, dict):
        raise PasteProblem(f"The arguments of {method} are no object.")
    remarks = () if isinstance(name, str) else (f"The request of {method} names nothing.",)
    given = {} if kind == "resource" else mapping(arguments)
    return Pasted("JSON-RPC request", given, kind, name if isinstance(name, str) else "", remarks=remarks)


# ---------------------------------------------------------------------- curl


def _curl(text: str) -> Pasted:
    """The call in the body of a curl command; of several commands the first that has one.

    Raises:
        PasteProblem: no command has a call.
    """
    found = shell_words(re.sub(_PROMPT, "", text))
    problem = PasteProblem("The command has no JSON body: it has to be there with -d, --data-raw or --json.")
    for body in _bodies(found):
        if body.startswith("@"):
            problem = PasteProblem(f"The body is in the file {body[1:80]}, which is not read: paste what is in it.")
            continue
        try:
            call = _call_in(_json(body))
        except PasteProblem as reason:
            problem = PasteProblem(f"The body of the curl command: {str(reason)[:1].lower()}{str(reason)[1:]}")
            continue
        url = next((word for word in found if re.match(_URL, word)), "")
        form = call.form if call.form == "JSON" else f"a {call.form}"
        return replace(call, form=f"curl command with {form}", url=url)
    raise problem


def _bodies(found: list[str]) -> Iterable[str]:
    for index, word in enumerate(found):
        if option := re.match(_BODY, word):
            given = option[1] if option[1] is not None else option[2]
            following = found[index + 1] if index + 1 < len(found) else ""
            yield given if given is not None else following


# ---------------------------------------------------------------------- ours


def _ours(text: str) -> Pasted:
    """The call of an mcp-studio command line.

    Raises:
        PasteProblem: its verb is not call, get or read.
    """
    words = iter(shell_words(re.sub(_PROMPT, "", text)))
    next((word for word in words if re.search(_OURS, word)), None)
    line = [*takewhile(lambda word: word != END, words)]
    verb = line.pop(0) if line else ""
    if verb not in _VERBS:
        said = verb[:40] or "missing"
        raise PasteProblem(f"The command line calls nothing: its verb is {said}, not call, get or read.")
    options, rest, command = _sorted(line)
    arguments = _given(options)
    server, name = options.get("--server", ""), options.get("--prompt" if verb == "get" else "--tool", "")
    if verb == "read":
        if not server and len(rest) > 1 and "://" not in rest[0] and "=" not in rest[0]:
            server = rest.pop(0)
        name = rest.pop(0) if rest else ""
    elif not name:
        name = rest.pop(0) if rest else ""
        if "." in name and not (command or "--url" in options or server):
            server, _, name = name.partition(".")
    if wrong := next((word for word in rest if "=" not in word), ""):
        raise PasteProblem(f"`{wrong[:60]}` is not of the form key=value.")
    return Pasted(
        "mcp-studio command line", arguments, _VERBS[verb], name, server, options.get("--url", ""), tuple(rest)
    )


def _given(options: dict[str, str]) -> dict[str, object]:
    """The value of `--args`.

    Raises:
        PasteProblem: the value is in a file, or no object.
    """
    text = options.get("--args", "")
    if text.startswith("@") or text == "-" or "--from" in options:
        raise PasteProblem("The arguments are in a file, which is not read: paste what is in it.")
    value = _json(text) if text else {}
    if not isinstance(value, dict):
        raise PasteProblem("What --args says is no object.")
    return value


def _sorted(line: list[str]) -> tuple[dict[str, str], list[str], bool]:
    """The options, the other words, and whether a server's command follows."""
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
