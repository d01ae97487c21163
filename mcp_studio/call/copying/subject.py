"""What is copied: a call as it would be made, and the server that it would be made on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Literal, cast

from mcp_studio import __version__
from mcp_studio.call.replay.given import Given
from mcp_studio.call.replay.load import load
from mcp_studio.call.replay.plan import step_of
from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.ref import Ref
from mcp_studio.config.model import Kind, ServerConfig
from mcp_studio.config.rules import AnswerRule
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.compose import request
from mcp_studio.protocol.headers import param_headers
from mcp_studio.protocol.outgoing import Outgoing, request_out
from mcp_studio.protocol.tasks import support_of
from mcp_studio.protocol.versions import (
    LATEST_HANDSHAKE,
    LATEST_MODERN,
    META_CAPABILITIES,
    META_CLIENT,
    META_VERSION,
    era_of,
)
from mcp_studio.protocol.views import ToolView
from mcp_studio.record import record
from mcp_studio.session.manager import ConnectionManager
from mcp_studio.trace.recording import Recording

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
