"""The subject of a copy: a call, and the server that it would be made on."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import groupby
from typing import Literal, NamedTuple, cast

from mcp_studio import __version__
from mcp_studio.call.call import Method
from mcp_studio.call.copying.shell import printed, quote
from mcp_studio.call.replay.plan import load, step_of
from mcp_studio.call.secrets import holds
from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.expand import REFERENCE, folder_of
from mcp_studio.config.model import Kind, ServerConfig
from mcp_studio.config.secrets import secret_values
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol import versions
from mcp_studio.protocol.events import Outgoing, request, request_out
from mcp_studio.protocol.tasks import support_of
from mcp_studio.protocol.views import ToolView, param_headers
from mcp_studio.record import record
from mcp_studio.safetext import LINES_LIVE, safe
from mcp_studio.session.manager import ConnectionManager
from mcp_studio.trace.message import Recording

_ASKED = (
    "The server asked for input meanwhile. Answer it with callbacks of the client: elicitation_callback and the like."
)
_CLIENT: dict[str, Json] = {"name": "mcp-studio", "version": __version__}


@record(frozen=True)
class Subject:
    """One call of a tool, prompt, resource or filled template."""

    ref: Ref
    value: Json = None
    """The content of the form: a tool's arguments, a prompt's strings, a template's variables."""
    uri: str = ""
    """The URI of a resource or a filled template."""
    server: ServerConfig | None = None
    spoken: Kind | Literal[""] = ""
    """The transport that the server turned out to speak."""
    version: str = ""
    """The negotiated protocol version; empty without a connection."""
    remembered: str = ""
    """The era that the server spoke last time."""
    info: Json = None
    """Our `Implementation` object."""
    capabilities: Json = None
    """Our declared capabilities."""
    tool: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The tool as the server lists it."""
    task: bool = False
    """Whether the call should run as a task (2025-11-25)."""
    hidden: frozenset[str] = frozenset()
    """Pointers of secrets in the value, besides those that schema and names tell."""
    outcome: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The last answer's `result` or `error`; empty where it is unknown."""
    notes: tuple[str, ...] = ()
    """Sentences on parts of the last call that a program does not repeat."""

    @property
    def method(self) -> Method:
        kind = self.ref.kind
        return "tools/call" if kind == "tool" else "prompts/get" if kind == "prompt" else "resources/read"

    @property
    def kind(self) -> Kind:
        """The transport of the server."""
        return self.spoken or (self.server.kind if self.server else "stdio")

    @property
    def supposed(self) -> str:
        """The protocol version of the request: the negotiated one, else the most likely one."""
        if self.version:
            return self.version
        server = self.server or ServerConfig("")
        era = self.remembered if server.era == "auto" else server.era
        return server.protocol_version or (versions.LATEST_MODERN if era == "modern" else versions.LATEST_HANDSHAKE)

    @property
    def sure(self) -> bool:
        """Whether the server is known to speak that version."""
        return bool(self.version or (self.server and (self.server.protocol_version or self.server.era != "auto")))

    @property
    def modern(self) -> bool:
        """Whether the request belongs to the stateless era."""
        return versions.era_of(self.supposed) == "modern"

    @property
    def params(self) -> dict[str, Json]:
        """The params of the request, as the studio sends them."""
        if self.ref.kind in ("resource", "template"):
            return {"uri": self.uri or self.ref.name}
        params: dict[str, Json] = {"name": self.ref.name, "arguments": {} if self.value is None else self.value}
        return {**params, "task": {}} if self.task else params

    def out(self, identity: int = 1) -> Outgoing:
        """The request as a transport gets it."""
        params = self.params
        schema = self.tool.get("inputSchema")
        headers = param_headers(schema, mapping(self.value)) if self.modern and schema is not None else ()
        if self.modern:
            own = self.server or ServerConfig("")
            who, can = self.info or own.client_info or _CLIENT, self.capabilities or own.capabilities or {}
            stamp = {versions.META_VERSION: self.supposed, versions.META_CLIENT: who, versions.META_CAPABILITIES: can}
            params = cast("dict[str, Json]", request("", params, meta=stamp)["params"])
        return request_out(identity, self.method, params, self.supposed, self.modern, headers)


def subject_of(
    manager: ConnectionManager, catalog: Catalog, ref: Ref, value: Json, *, uri: str = "", task: bool = False
) -> Subject:
    """A call with all present facts on its server, which need not be connected, or even exist."""
    entries = catalog.find(ref)
    view = entries[0].view if entries else None
    tool = view.raw if isinstance(view, ToolView) else {}
    if ref.server not in manager.names():
        return Subject(ref, value, uri, tool=tool)
    server, status = manager.config(ref.server), manager.status(ref.server)
    support = support_of(tool or None, status.version, status.capabilities)
    return Subject(
        ref, value, uri, server, status.spoken, status.version,
        manager.memories.recall(server).era, status.client_info or manager.client_info, status.declared, tool,
        support == "required" or (support == "optional" and task),
    )  # fmt: skip


async def with_outcome(subject: Subject, recording: Recording, number: int) -> Subject:
    """The call with its outcome in a recording.

    Args:
        number: any entry of the call.
    """
    step = step_of(recording.columns, number)
    if step is None:
        return subject
    try:
        recorded = await load(recording, step)
    except StudioError:
        return subject
    return replace(subject, outcome=recorded.answer, notes=(_ASKED,) if recorded.given else ())


_SCHEME = r"(?i)(bearer|basic|token) +"
_FLAG = r"--?([A-Za-z][\w-]*)(?:=|\Z)"
_TAME = r"(?a)[\w ./:@%+=,;?&*-]*"
"""Texts without special characters inside double quotes."""
_NAME = r"[A-Za-z_][A-Za-z0-9_]*\Z"
"""Names that a shell takes for variables."""


class Variable(NamedTuple):
    """A reference to an environment variable."""

    name: str
    default: str | None = None
    keyring: str = ""
    """The keyring's name of the secret for the variable."""
    written: str = ""
    """The reference in the syntax of our configuration."""


Words = tuple[str | Variable, ...]
"""A text as a sequence of parts."""


class Address(NamedTuple):
    """A server's entry in words that contain no secrets."""

    kind: Kind
    command: tuple[Words, ...]
    """The program and its arguments."""
    env: Mapping[str, Words]
    cwd: str
    url: Words
    headers: Mapping[str, Words]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The environment variables that the person has to set."""
        texts = (*self.command, *self.env.values(), self.url, *self.headers.values())
        parts = [part for text in texts for part in text if isinstance(part, Variable)]
        # A variable that lacks a default in one place has to be set.
        return tuple({one.name: one for one in sorted(parts, key=lambda one: one.default is None)}.values())

    @property
    def remarks(self) -> tuple[str, ...]:
        """A sentence for each variable that has to be set."""
        needed = [one for one in self.variables if one.default is None]
        secret = "what belongs there is secret"
        where = [f"the keyring has it as {safe(one.keyring, 80)}" if one.keyring else secret for one in needed]
        return tuple(f"{one.name} has to be set: {why}." for one, why in zip(needed, where, strict=True))


def address_of(server: ServerConfig, kind: Kind) -> Address:
    """The address of a server from its expanded entry, without secrets."""
    written = server.written or server
    known = sorted({*server.secrets, *secret_values(server)} - {""}, key=len, reverse=True)
    folder = folder_of(server.source.file) if server.source.file else ""

    def words(value: str, source: str, name: str) -> Words:
        """One text: expanded if it contains no secret, else with references."""
        if not holds(value, known):
            return (value,) if value else ()
        parts: list[str | Variable] = []
        at = 0
        for found in REFERENCE.finditer(source):
            parts += [*_literal(source[at : found.start()], name, known), _reference(found, folder)]
            at = found.end()
        return tuple(part for part in (*parts, *_literal(source[at:], name, known)) if part)

    command = [words(server.command, written.command, "COMMAND")]
    name = ""
    for number, value in enumerate(server.args):  # a word after `--token` is named after it
        flag = re.match(_FLAG, value)
        source = written.args[number] if number < len(written.args) else value
        command.append(words(value, source, flag[1] if flag else name or f"ARGUMENT_{number + 1}"))
        name = flag[1] if flag and "=" not in value else ""
    env = {name: words(value, written.env.get(name, value), name) for name, value in server.env.items()}
    env |= {name: (Variable(name, ""),) for name in server.inherit_env if name not in env and re.match(_NAME, name)}
    headers = {name: words(value, written.headers.get(name, value), name) for name, value in server.headers.items()}
    return Address(kind, tuple(command), env, server.cwd, words(server.url, written.url, "URL_SECRET"), headers)


def _reference(found: re.Match[str], folder: str) -> str | Variable:
    literal, scheme, name, default = found.groups()
    if literal:
        return "${"
    if scheme == "keyring":
        return Variable(_variable_name(name), None, name, found[0])
    if name == "workspaceFolder":
        return folder
    if scheme not in (None, "env") or not name.isidentifier() or not name.isascii():
        return os.sep if name == "pathSeparator" else found[0]
    return Variable("HOME" if name == "userHome" else name, default, "", found[0])


def _literal(text: str, name: str, known: Sequence[str]) -> list[str | Variable]:
    """The text between references; secrets in it become variables named after their place."""
    made = _variable_name(name)
    own = Variable(made, None, "", f"${{{made}}}")
    if (scheme := re.match(_SCHEME, text)) and text in known:
        return [scheme[0], own]
    for secret in known:
        if holds(text, (secret,)):
            before, _, after = text.partition(secret)
            return [*_literal(before, name, known), own, *_literal(after, name, known)]
    return [text]


def _variable_name(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_").upper() or "SECRET"
    return f"_{plain}" if plain[0].isdigit() else plain


def in_shell(words: Words) -> str:
    """A text as one shell word."""
    runs = [(plain, [*run]) for plain, run in groupby(words, key=lambda part: isinstance(part, str))]
    parts = [part for plain, run in runs for part in (["".join(map(str, run))] if plain else run)]
    if len(parts) > 1 and all(isinstance(part, Variable) or re.fullmatch(_TAME, part) for part in parts):
        return '"' + "".join(part if isinstance(part, str) else _dollar(part, braces=True) for part in parts) + '"'
    return "".join(quote(part) if isinstance(part, str) else f'"{_dollar(part)}"' for part in parts) or "''"


def _dollar(variable: Variable, braces: bool = False) -> str:
    """A reference for use in double quotes."""
    if variable.default is None:
        return f"${{{variable.name}}}" if braces else f"${variable.name}"
    default = re.sub(r'([\\"$`}])', r"\\\1", variable.default)
    default = re.sub(LINES_LIVE, lambda found: printed(found[0]), default)
    return f"${{{variable.name}{':-' if default else '-'}{default}}}"


def assigned(env: Mapping[str, Words]) -> list[str]:
    """The shell words of `env` and its assignments; names are as foreign as values."""
    pairs = [f"{name if re.match(_NAME, name) else quote(name)}={in_shell(words)}" for name, words in env.items()]
    return ["env", *["--"] * any(name.startswith("-") for name in env), *pairs]


def in_entry(words: Words) -> str:
    """A text in the syntax of our configuration, and of options that replace references."""
    return "".join(part.replace("${", "$${") if isinstance(part, str) else part.written for part in words)
