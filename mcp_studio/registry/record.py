"""The stored data of one tool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field, replace
from typing import Literal, cast, get_args

from mcp_studio.catalog.listing import Ref
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.protocol.views import ToolView
from mcp_studio.record import record

Pinned = Literal["", "hot", "deferred"]
Source = Literal["server", "file", "hand", "program", "process"]
PINNED: tuple[str, ...] = get_args(Pinned)
SOURCES: tuple[str, ...] = get_args(Source)
LONGEST_NAME = 500
MOST_TAGS = 50
LONGEST_TAG = 100
_MANY = 1 << 40


@record(frozen=True)
class ToolRecord:
    """One tool: its definition, and what people and programs added. Foreign text, unsanitized."""

    name: str
    """The unique name: `server.tool`, or just `tool` where no server offers the tool."""
    server: str = ""
    """Empty for a tool that a person or a program registered, and for a tool in this process."""
    description: str = ""
    title: str = ""
    tags: tuple[str, ...] = ()
    category: str = ""
    """The category that somebody chose; `group` is the category in force."""
    input_schema: dict[str, Json] = field(default_factory=dict[str, Json])
    output_schema: dict[str, Json] | None = None
    annotations: dict[str, Json] = field(default_factory=dict[str, Json])
    uses: int = 0
    """Calls by programs and agents."""
    last_used: float = 0.0
    """Seconds since the epoch."""
    pinned: Pinned = ""
    """`hot` always offers the tool to agents, `deferred` never by itself; empty lets use decide."""
    source: Source = "server"
    """The origin of the tool: `file` is an import, `program` a client of the gateway, `process` a Python object."""
    listed: bool = True
    """Whether the server still lists the tool. A tagged or used tool stays stored for its return, but is not found."""

    @property
    def tool(self) -> str:
        """The tool's name at its server."""
        return self.name.removeprefix(f"{self.server}.") if self.server else self.name

    @property
    def ref(self) -> Ref:
        return Ref("tool", self.server, self.tool)

    @property
    def group(self) -> str:
        """The tool's category, or the server's name if nobody chose a category."""
        return self.category or self.server or "own"

    @property
    def definition(self) -> dict[str, Json]:
        """The definition as in `tools/list`, under the unique name."""
        found: dict[str, Json] = {"name": self.name, "description": self.description, "inputSchema": self.input_schema}
        for key, value in (
            ("title", self.title), ("outputSchema", self.output_schema), ("annotations", self.annotations),
        ):  # fmt: skip
            if value:
                found[key] = value
        return found

    @property
    def marked(self) -> bool:
        """Whether the record holds something that would be lost with it: tags, category, pin or use."""
        return bool(self.tags or self.category or self.pinned or self.uses)

    def defined(self, other: ToolRecord) -> ToolRecord:
        """The record with the definition of another; its tags, category, pin and use stay."""
        return replace(
            self, description=other.description, title=other.title, input_schema=other.input_schema,
            output_schema=other.output_schema, annotations=other.annotations, listed=True,
        )  # fmt: skip

    def as_json(self) -> dict[str, Json]:
        """The record for files and scripts, without empty members."""
        members: dict[str, Json] = {
            **self.definition, "server": self.server, "tags": list(self.tags), "category": self.category,
            "uses": self.uses, "lastUsed": self.last_used, "pinned": self.pinned,
        }  # fmt: skip
        found = {key: value for key, value in members.items() if value not in ("", [], 0) or key in ("name",)}
        return {**found, "source": self.source, **({} if self.listed else {"listed": False})}


_DEFINED = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")


def listed_by(server: str, definitions: Iterable[Mapping[str, Json]]) -> Iterator[ToolRecord]:
    """Records of the tools that a server lists; the server does not choose their category, tags or origin.

    Unusable definitions are left out; of several with the same name the first counts.
    """
    seen: set[str] = set()
    for definition in definitions:
        members = {key: definition[key] for key in _DEFINED if key in definition}
        if not (name := _text(members, "name")) or name in seen:
            continue
        seen.add(name)
        with suppress(ValueError):
            yield record_of({**members, "name": f"{server}.{name}", "server": server}, "server")


def record_of(value: Json, source: Source = "file") -> ToolRecord:
    """Read a record in the form of `as_json`, or a definition in the form of `tools/list`.

    Args:
        source: the origin of the tool, unless the value names one.

    Raises:
        ValueError: the value is not a record; the message continues a sentence about it.
    """
    members = mapping(value)
    name, server = members.get("name"), _text(members, "server")
    if not isinstance(name, str) or not name.strip():
        raise ValueError("has no name" if members else "is not an object")
    if len(name) + len(server) > LONGEST_NAME:
        raise ValueError(f"has a name of more than {LONGEST_NAME} characters")
    if not f"{server}{name}".isprintable():
        raise ValueError("has a name with characters that cannot be seen")
    schema = members.get("inputSchema", members.get("input_schema", members.get("parameters")))
    if schema is not None and not isinstance(schema, dict):
        raise ValueError(f"({name}) has an inputSchema that is not an object")
    output = members.get("outputSchema", members.get("output_schema"))
    pinned, kind = members.get("pinned"), members.get("source")
    uses, last = members.get("uses"), members.get("lastUsed")
    return ToolRecord(
        name if not server or name.startswith(f"{server}.") else f"{server}.{name}",
        server,
        _text(members, "description"),
        ToolView(members).title,
        tags_of(tag for tag in items_of(members.get("tags")) if isinstance(tag, str)),
        _text(members, "category")[:LONGEST_TAG],
        mapping(schema),
        mapping(output) or None,
        mapping(members.get("annotations")),
        uses if isinstance(uses, int) and 0 <= uses <= _MANY else 0,
        float(last) if isinstance(last, int | float) and 0 <= last < 1e11 else 0.0,
        cast("Pinned", pinned if pinned in PINNED else ""),
        cast("Source", kind if kind in SOURCES else source),
        members.get("listed") is not False,
    )


def tags_of(tags: Iterable[str]) -> tuple[str, ...]:
    """The tags in their order, without duplicates, at most `MOST_TAGS`."""
    return tuple(dict.fromkeys(tag.strip()[:LONGEST_TAG] for tag in tags if tag.strip()))[:MOST_TAGS]


def _text(members: Mapping[str, Json], key: str) -> str:
    value = members.get(key)
    return value if isinstance(value, str) else ""
