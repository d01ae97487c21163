"""What is copied: a call as it would be made, and the server that it would be made on."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Literal, NamedTuple, cast

from mcp_studio import __version__
from mcp_studio.call.replay.plan import Given, load, step_of
from mcp_studio.call.secrets import secret_places as secret_field_places
from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.expand import REFERENCE, folder_of, secret_places
from mcp_studio.config.model import AnswerRule, Kind, ServerConfig
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.events import Outgoing, request, request_out
from mcp_studio.protocol.tasks import support_of
from mcp_studio.protocol.versions import (
    LATEST_HANDSHAKE,
    LATEST_MODERN,
    META_CAPABILITIES,
    META_CLIENT,
    META_VERSION,
    era_of,
)
from mcp_studio.protocol.views import ToolView, param_headers
from mcp_studio.record import record
from mcp_studio.redact import MARK, SHORTEST, is_secret_name
from mcp_studio.safetext import LINES_LIVE, hidden_in, safe
from mcp_studio.schema.field import Form
from mcp_studio.schema.form import build
from mcp_studio.schema.place import Path, pointer
from mcp_studio.session.manager import ConnectionManager
from mcp_studio.trace.message import Recording

_LARGE = 1 << 20
"""Bytes of an answer that nobody wants to see in a test."""
_CLIENT: dict[str, Json] = {"name": "mcp-studio", "version": __version__}


@record(frozen=True)
class Subject:
    """One call of a tool, prompt, resource or filled template."""

    ref: Ref
    value: Json = None
    """What stands in the form: a tool's arguments, a prompt's strings, a template's variables."""
    uri: str = ""
    """Of a resource or a filled template."""
    server: ServerConfig | None = None
    spoken: Kind | Literal[""] = ""
    """The transport that the server turned out to speak."""
    version: str = ""
    """The protocol version agreed on; empty while there is none."""
    remembered: str = ""
    """The era that the server spoke last time."""
    info: Json = None
    """Who we say that we are."""
    capabilities: Json = None
    """What we say that we can do."""
    tool: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The tool as the server lists it."""
    task: bool = False
    """It is to be called as a task (2025-11-25)."""
    hidden: frozenset[str] = frozenset()
    """Pointers of what is secret in the value, besides what its schema and names say."""
    outcome: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """`result` or `error` of the answer that came last time; empty where that is not known."""
    given: tuple[Given, ...] = ()
    """What was answered last time to what the server asked."""
    rules: tuple[AnswerRule, ...] = ()
    """What is to be answered where nothing is known of a last time."""
    notes: tuple[str, ...] = ()
    """What a program cannot do of what was done last time, in sentences."""

    @property
    def method(self) -> str:
        """The method of the request."""
        return {"tool": "tools/call", "prompt": "prompts/get"}.get(self.ref.kind, "resources/read")

    @property
    def kind(self) -> Kind:
        """How the server is reached."""
        return self.spoken or (self.server.kind if self.server else "stdio")

    @property
    def supposed(self) -> str:
        """The protocol version that a request is made for: the one agreed on, else the most likely one."""
        if self.version:
            return self.version
        server = self.server or ServerConfig("")
        era = self.remembered if server.era == "auto" else server.era
        return server.protocol_version or (LATEST_MODERN if era == "modern" else LATEST_HANDSHAKE)

    @property
    def sure(self) -> bool:
        """Whether the server speaks that version, and it is not only likely."""
        return bool(self.version or (self.server and (self.server.protocol_version or self.server.era != "auto")))

    @property
    def modern(self) -> bool:
        """Whether the request is one of the stateless era."""
        return era_of(self.supposed) == "modern"

    def params(self, value: Json) -> dict[str, Json]:
        """The params of the request with these arguments, as the studio would send them."""
        if self.ref.kind in ("resource", "template"):
            params: dict[str, Json] = {"uri": self.uri or self.ref.name}
        else:
            params = {"name": self.ref.name, "arguments": {} if value is None else value}
        if self.task:
            params["task"] = {}
        return params

    def stamped(self, value: Json) -> dict[str, Json]:
        """The same with what its era wants in `_meta`."""
        return cast("dict[str, Json]", request("", self.params(value), meta=self.stamp)["params"])

    @property
    def stamp(self) -> dict[str, Json]:
        """What every request of the stateless era says of us; nothing in the handshake era."""
        if not self.modern:
            return {}
        return {META_VERSION: self.supposed, META_CLIENT: self.who, META_CAPABILITIES: self.can}

    @property
    def who(self) -> Json:
        """Who we say that we are."""
        own = self.server.client_info if self.server else None
        return self.info or own or _CLIENT

    @property
    def can(self) -> Json:
        """What we say that we can do."""
        own = self.server.capabilities if self.server else None
        return self.capabilities or own or {}

    def out(self, value: Json, identity: int = 1) -> Outgoing:
        """The request with these arguments as a transport would be given it."""
        schema = self.tool.get("inputSchema")
        headers = param_headers(schema, mapping(value)) if self.modern and schema is not None else ()
        return request_out(identity, self.method, self.stamped(value), self.supposed, self.modern, headers)


def subject_of(
    manager: ConnectionManager,
    catalog: Catalog,
    ref: Ref,
    value: Json,
    *,
    uri: str = "",
    task: bool = False,
) -> Subject:
    """A call with all that the studio knows of its server now; the server need not be connected, or be there at all."""
    entries = catalog.find(ref)
    view = entries[0].view if entries else None
    tool = view.raw if isinstance(view, ToolView) else {}
    if ref.server not in manager.names():
        return Subject(ref, value, uri, tool=tool)
    server, status = manager.config(ref.server), manager.status(ref.server)
    support = support_of(tool or None, status.version, status.capabilities)
    return Subject(
        ref, value, uri, server, status.spoken, status.version,
        manager.era_of(server), status.client_info or manager.client_info, status.declared, tool,
        support == "required" or (support == "optional" and task),
    )  # fmt: skip


async def with_outcome(subject: Subject, recording: Recording, number: int) -> Subject:
    """The same with what came of it in a recording, and with what was answered meanwhile.

    Args:
        number: of any entry of the call.
    """
    step = step_of(recording.columns, number)
    if step is None:
        return subject
    columns = recording.columns
    rounds = [columns.link[one - columns.first] for one in (step.number, *step.rounds[:-1])] if step.rounds else []
    pages = any(columns.kind_of(answer - columns.first) == "error" for answer in rounds)
    notes = ("A page had to be opened before it was sent again, which the SDK does not do by itself.",) if pages else ()
    answer = recording.entry(step.answer) if step.answer else None
    if answer is not None and answer.size > _LARGE:
        step = replace(step, answer=0)
    try:
        recorded = await load(recording, step)
    except StudioError:
        return subject
    return replace(subject, outcome=recorded.answer, given=recorded.given, notes=notes)


class Shown(NamedTuple):
    """A value as it may be shown."""

    value: Json
    hidden: tuple[str, ...] = ()
    """The pointers of what `‹redacted›` stands for, in the order of the value."""


def without_secrets(value: Json, places: Collection[str] = (), known: Collection[str] = ()) -> Shown:
    """The value with `‹redacted›` in the place of what is secret; the same object where nothing is.

    Args:
        places: pointers of what is secret whatever it is called.
        known: texts that are secret wherever they stand; too short ones count only as a whole.
    """
    hider = _Hider(frozenset(places), tuple(filter(None, known)))
    made = hider.shown(value, (), secret=False)
    return Shown(made if hider.hidden else value, tuple(hider.hidden))


def places_of(tool: Mapping[str, Json], value: Json) -> frozenset[str]:
    """What the schema of a tool calls secret in its arguments."""
    schema = tool.get("inputSchema")
    form: Form = build(schema) if schema is not None else Form()
    return secret_field_places(form, value)


def holds(text: str, known: Collection[str]) -> bool:
    """Whether a known secret is in a text."""
    return any(secret == text or (len(secret) >= SHORTEST and secret in text) for secret in known if secret)


class _Hider:
    """Goes through one value."""

    def __init__(self, places: frozenset[str], known: tuple[str, ...]) -> None:
        self._places = places
        self._known = known
        self._names: dict[str, bool] = {}
        self.hidden: list[str] = []

    def shown(self, value: Json, path: Path, *, secret: bool) -> Json:
        """The value without secrets; `secret` is what stands under the name of a secret, however deep."""
        # One frame for each level: values are nested as deep as the limit on depth allows.
        secret = secret or (bool(self._places) and pointer(*path) in self._places)
        if isinstance(value, dict):
            members: dict[str, Json] = {}
            for key, item in cast("dict[str, Json]", value).items():
                members[key] = self.shown(item, (*path, key), secret=secret or self._named(key))
            return members
        if isinstance(value, list):
            items: list[Json] = []
            for index, item in enumerate(cast("list[Json]", value)):
                items.append(self.shown(item, (*path, index), secret=secret))
            return items
        if value is None or isinstance(value, bool) or value == "" or not (secret or self._known_secret(value)):
            return value
        self.hidden.append(pointer(*path))
        return MARK

    def _named(self, name: str) -> bool:
        if name not in self._names:
            self._names[name] = is_secret_name(name)
        return self._names[name]

    def _known_secret(self, value: Json) -> bool:
        return isinstance(value, str) and (MARK in value or bool(self._known and holds(value, self._known)))


_SCHEME = re.compile(r"(?i)(bearer|basic|token) +")
_FLAG = re.compile(r"--?([A-Za-z][\w-]*)(?:=|\Z)")
_UNSAFE = re.compile(r"[^A-Za-z0-9_]+")
_TAME = re.compile(r"[\w ./:@%+=,;?&*-]*", re.ASCII)
"""What means itself between double quotes."""
_IN_DOUBLE = re.compile(r'([\\"$`}])')
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
"""Names that a shell takes for variables."""


class Variable(NamedTuple):
    """Stands for the value of an environment variable."""

    name: str
    default: str | None = None
    keyring: str = ""
    """The name under which the keyring has what belongs into it."""
    written: str = ""
    """How an entry of ours writes it."""


Words = tuple[str | Variable, ...]
"""A text in parts."""


class Address(NamedTuple):
    """A server's entry in words that may be shown."""

    kind: Kind
    command: tuple[Words, ...]
    """The program and its arguments."""
    env: Mapping[str, Words]
    cwd: str
    url: Words
    headers: Mapping[str, Words]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The environment variables that somebody has to set."""
        texts = (*self.command, *self.env.values(), self.url, *self.headers.values())
        parts = [part for text in texts for part in text if isinstance(part, Variable)]
        # One that has a default in one place and none in another has to be set.
        return tuple({one.name: one for one in sorted(parts, key=lambda one: one.default is None)}.values())

    @property
    def remarks(self) -> tuple[str, ...]:
        """What has to be set, and what to: a sentence for each variable."""
        return tuple(
            f"{one.name} has to be set: {where}."
            for one in self.variables
            if one.default is None
            for where in [
                f"the keyring has it as {safe(one.keyring, 80)}" if one.keyring else "what belongs there is secret"
            ]
        )


def address_of(server: ServerConfig, kind: Kind) -> Address:
    """How to reach a server, as it is in force, but nothing of it that is secret."""
    written = server.written or server
    told = _Told(server)
    env = {name: told.text(value, written.env.get(name, value), name) for name, value in server.env.items()}
    env |= {name: (Variable(name, ""),) for name in server.inherit_env if name not in env and _NAME.match(name)}
    headers = {name: told.text(value, written.headers.get(name, value), name) for name, value in server.headers.items()}
    return Address(
        kind,
        (told.text(server.command, written.command, "COMMAND"), *told.arguments(server.args, written.args)),
        env,
        server.cwd,
        told.text(server.url, written.url, "URL_SECRET"),
        headers,
    )


class _Told:
    """Tells texts of one entry."""

    def __init__(self, server: ServerConfig) -> None:
        known = {*server.secrets, *secret_places(server)} - {""}
        self._secrets = sorted(known, key=len, reverse=True)
        self._folder = folder_of(server.source.file) if server.source.file else ""

    def arguments(self, values: Iterable[str], written: tuple[str, ...]) -> list[Words]:
        """The arguments of a command: what follows `--token` is named after it."""
        found: list[Words] = []
        name = ""
        for number, value in enumerate(values):
            flag = _FLAG.match(value)
            source = written[number] if number < len(written) else value
            found.append(self.text(value, source, flag[1] if flag else name or f"ARGUMENT_{number + 1}"))
            name = flag[1] if flag and "=" not in value else ""
        return found

    def text(self, value: str, written: str, name: str) -> Words:
        """One text: as it is in force where nothing in it is secret, else with references."""
        if not holds(value, self._secrets):
            return (value,) if value else ()
        parts: list[str | Variable] = []
        at = 0
        for found in REFERENCE.finditer(written):
            parts += [*self._literal(written[at : found.start()], name), self._reference(found)]
            at = found.end()
        return tuple(part for part in (*parts, *self._literal(written[at:], name)) if part)

    def _reference(self, found: re.Match[str]) -> str | Variable:
        literal, scheme, name, default = found.groups()
        if literal:
            return "${"
        if scheme == "keyring":
            return Variable(_variable(name), None, name, found[0])
        if name == "workspaceFolder":
            return self._folder
        if scheme not in (None, "env") or not name.isidentifier() or not name.isascii():
            return os.sep if name == "pathSeparator" else found[0]
        return Variable("HOME" if name == "userHome" else name, default, "", found[0])

    def _literal(self, text: str, name: str) -> list[str | Variable]:
        """Text between references; secrets that were written out become variables named after their place."""
        if (scheme := _SCHEME.match(text)) and text in self._secrets:
            return [scheme[0], _own(name)]
        for secret in self._secrets:
            if holds(text, (secret,)):
                before, _, after = text.partition(secret)
                return [*self._literal(before, name), _own(name), *self._literal(after, name)]
        return [text]


def _variable(name: str) -> str:
    plain = _UNSAFE.sub("_", name).strip("_").upper() or "SECRET"
    return f"_{plain}" if plain[0].isdigit() else plain


def _own(name: str) -> Variable:
    made = _variable(name)
    return Variable(made, None, "", f"${{{made}}}")


def in_shell(words: Words) -> str:
    """The text as one word of a shell."""
    parts = _joined(words)
    if len(parts) > 1 and all(isinstance(part, Variable) or _TAME.fullmatch(part) for part in parts):
        return '"' + "".join(part if isinstance(part, str) else _dollar(part, braces=True) for part in parts) + '"'
    return "".join(quote(part) if isinstance(part, str) else f'"{_dollar(part)}"' for part in parts) or "''"


def assigned(env: Mapping[str, Words]) -> list[str]:
    """Words of a shell: `env`, and what is set; names are no less foreign than values."""
    pairs = [f"{name if _NAME.match(name) else quote(name)}={in_shell(words)}" for name, words in env.items()]
    return ["env", *["--"] * any(name.startswith("-") for name in env), *pairs]


def _joined(words: Words) -> list[str | Variable]:
    found: list[str | Variable] = []
    for part in words:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        else:
            found.append(part)
    return found


def _dollar(variable: Variable, braces: bool = False) -> str:
    """A reference inside double quotes."""
    if variable.default is None:
        return f"${{{variable.name}}}" if braces else f"${variable.name}"
    default = _IN_DOUBLE.sub(r"\\\1", variable.default)
    default = LINES_LIVE.sub(lambda found: printed(found[0]), default)
    return f"${{{variable.name}{':-' if default else '-'}{default}}}"


def in_entry(words: Words) -> str:
    """The text as an entry of ours, or an option that replaces references, has it."""
    return "".join(part.replace("${", "$${") if isinstance(part, str) else part.written for part in words)


_PIECE = re.compile(
    r"""(?P<blank>[ \t\r]+)|(?P<line>\n)|(?P<join>\\\r?\n)|(?P<comment>(?<![^\s;&|])\#[^\n]*)"""
    r"""|(?P<ansi>\$'(?:[^'\\]|\\.)*+')|(?P<single>'[^']*+')|(?P<double>\$?"(?:[^"\\]|\\.)*+")"""
    r"""|(?P<escape>\\.)|(?P<end>\|\||&&|;|\||&(?!>)|\d*>>?(?:&\d)?|<)|(?P<plain>(?:[^\s'"\\;&|<>$]|\$(?!['"]))++)""",
    re.DOTALL,
)


_INNER = re.compile(r'\\([$`"\\\n])')


_ANSI = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))", re.DOTALL)


_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


END = "\0"
"""Stands for what ends a command among the words of `words`: a newline, `;`, `|`, `>` and the like."""


class Unclosed(ValueError):
    """A quote that is not closed; `line` is where it begins, from 1."""

    def __init__(self, line: int) -> None:
        super().__init__("a quote is not closed")
        self.line = line


def quote(text: str) -> str:
    """One word that a shell reads as this text.

    What a terminal acts on as it is pasted, or nobody sees, never stands in it as it is: `printf` makes it.
    """
    if not LINES_LIVE.search(text):
        return shlex.quote(text)
    parts: list[str] = []
    at = 0
    for run in LINES_LIVE.finditer(text):
        parts += (shlex.quote(text[at : run.start()]) if run.start() > at else "", f'"{printed(run[0])}"')
        at = run.end()
    return "".join((*parts, shlex.quote(text[at:]) if at < len(text) else ""))


def printed(text: str) -> str:
    """What stands between double quotes for characters that are better not there themselves."""
    octal = "".join(f"\\{byte:03o}" for byte in text.encode("utf-8", "surrogatepass"))
    return f"$(printf '{octal}')"


def readable(text: str) -> bool:
    """Whether a person sees in a command line what this is: one short line without anything invisible."""
    return len(text) <= 200 and text.isprintable() and not hidden_in(text)


def shell_words(text: str) -> list[str]:
    """The words of a script, as a shell would split them; nothing is expanded or run. `END` stands between commands.

    Raises:
        Unclosed: a quote is not closed.
    """
    found: list[str] = []
    word: list[str] | None = None
    for name, piece in _pieces(text):
        if name in ("blank", "line", "comment", "end"):
            if word is not None:
                found.append("".join(word))
                word = None
            if name in ("line", "end") and found and found[-1] != END:
                found.append(END)
        elif name != "join":
            word = word if word is not None else []
            word.append(_meant(name, piece))
    if word is not None:
        found.append("".join(word))
    return found


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        piece = _PIECE.match(text, at)
        if piece is None:
            if text[at] == "\\":
                return  # the last character of all
            raise Unclosed(text.count("\n", 0, at) + 1)
        yield str(piece.lastgroup), piece[0]
        at = piece.end()


def _meant(name: str, piece: str) -> str:
    match name:
        case "single":
            return piece[1:-1]
        case "double":
            return _INNER.sub(lambda found: "" if found[1] == "\n" else found[1], piece.removeprefix("$")[1:-1])
        case "ansi":
            return _ANSI.sub(_letter, piece[2:-1])
        case "escape":
            return piece[1:]
        case _:
            return piece


def _letter(found: re.Match[str]) -> str:
    two, four, eight, octal, letter = found.groups()
    if letter is not None:
        return _LETTERS.get(letter, letter)
    number = int(octal, 8) if octal else int(two or four or eight, 16)
    return chr(number) if number <= 0x10FFFF else "\ufffd"
