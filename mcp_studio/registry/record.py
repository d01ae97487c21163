"""What is kept of one tool across runs."""

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
    """One tool: what it is, and what people and programs have said of it. Foreign text, unsanitized."""

    name: str
    """The whole name, which no other tool has: `server.tool`, or just `tool` where no server offers it."""
    server: str = ""
    """Empty for a tool that was registered by hand or by a program, and for one in this process."""
    description: str = ""
    title: str = ""
    tags: tuple[str, ...] = ()
    category: str = ""
    """What somebody has sorted it under; `group` is what it counts as."""
    input_schema: dict[str, Json] = field(default_factory=dict[str, Json])
    output_schema: dict[str, Json] | None = None
    annotations: dict[str, Json] = field(default_factory=dict[str, Json])
    uses: int = 0
    """Calls by programs and agents."""
    last_used: float = 0.0
    """Seconds since the epoch."""
    pinned: Pinned = ""
    """`hot` is offered to agents by itself, `deferred` never is; else use decides."""
    source: Source = "server"
    """Where it comes from: `file` was imported, `program` came by the gateway, `process` is a Python object."""
    listed: bool = True
    """Its server still lists it. What was tagged or used stays here for when it comes back, and is not found."""

    @property
    def tool(self) -> str:
        """Its name at its server."""
        return self.name.removeprefix(f"{self.server}.") if self.server else self.name

    @property
    def ref(self) -> Ref:
        """It as the studio names it."""
        return Ref("tool", self.server, self.tool)

    @property
    def group(self) -> str:
        """Its category; the server's name where nobody gave one."""
        return self.category or self.server or "own"

    @property
    def definition(self) -> dict[str, Json]:
        """It as `tools/list` lists it, under its whole name."""
        found: dict[str, Json] = {"name": self.name, "description": self.description, "inputSchema": self.input_schema}
        for key, value in (
            ("title", self.title), ("outputSchema", self.output_schema), ("annotations", self.annotations),
        ):  # fmt: skip
            if value:
                found[key] = value
        return found

    @property
    def marked(self) -> bool:
        """Whether somebody has said or done something that would be lost with it."""
        return bool(self.tags or self.category or self.pinned or self.uses)

    def defined(self, other: ToolRecord) -> ToolRecord:
        """It with another's definition; what was said of it and how often it was used stays."""
        return replace(
            self, description=other.description, title=other.title, input_schema=other.input_schema,
            output_schema=other.output_schema, annotations=other.annotations, listed=True,
        )  # fmt: skip

    def as_json(self) -> dict[str, Json]:
        """It for files and scripts; what is empty is left out."""
        given: dict[str, Json] = {
            **self.definition, "server": self.server, "tags": list(self.tags), "category": self.category,
            "uses": self.uses, "lastUsed": self.last_used, "pinned": self.pinned,
        }  # fmt: skip
        found = {key: value for key, value in given.items() if value not in ("", [], 0) or key in ("name",)}
        return {**found, "source": self.source, **({} if self.listed else {"listed": False})}


_DEFINED = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")


def listed_by(server: str, definitions: Iterable[Mapping[str, Json]]) -> Iterator[ToolRecord]:
    """Records of the tools that a server lists, which has no say in how they are sorted and whose they are.

    What cannot be used is left out; of several of the same name the first counts.
    """
    seen: set[str] = set()
    for definition in definitions:
        given = {key: definition[key] for key in _DEFINED if key in definition}
        if not (name := _text(given, "name")) or name in seen:
            continue
        seen.add(name)
        with suppress(ValueError):
            yield record_of({**given, "name": f"{server}.{name}", "server": server}, "server")


def record_of(value: Json, source: Source = "file") -> ToolRecord:
    """A record out of what `as_json` gives, or out of what a person wrote in the manner of `tools/list`.

    Args:
        source: where it comes from, unless it says so itself.

    Raises:
        ValueError: it is none; says why, as the rest of a sentence about it.
    """
    given = mapping(value)
    name, server = given.get("name"), _text(given, "server")
    if not isinstance(name, str) or not name.strip():
        raise ValueError("has no name" if given else "is not an object")
    if len(name) + len(server) > LONGEST_NAME:
        raise ValueError(f"has a name of more than {LONGEST_NAME} characters")
    if not f"{server}{name}".isprintable():
        raise ValueError("has a name with characters that cannot be seen")
    schema = given.get("inputSchema", given.get("input_schema", given.get("parameters")))
    if schema is not None and not isinstance(schema, dict):
        raise ValueError(f"({name}) has an inputSchema that is not an object")
    output = given.get("outputSchema", given.get("output_schema"))
    pinned, kind = given.get("pinned"), given.get("source")
    uses, last = given.get("uses"), given.get("lastUsed")
    return ToolRecord(
        name if not server or name.startswith(f"{server}.") else f"{server}.{name}",
        server,
        _text(given, "description"),
        ToolView(given).title,
        tags_of(tag for tag in items_of(given.get("tags")) if isinstance(tag, str)),
        _text(given, "category")[:LONGEST_TAG],
        mapping(schema),
        mapping(output) or None,
        mapping(given.get("annotations")),
        uses if isinstance(uses, int) and 0 <= uses <= _MANY else 0,
        float(last) if isinstance(last, int | float) and 0 <= last < 1e11 else 0.0,
        cast("Pinned", pinned if pinned in PINNED else ""),
        cast("Source", kind if kind in SOURCES else source),
        given.get("listed") is not False,
    )


def tags_of(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags in their order, each once, bounded."""
    return tuple(dict.fromkeys(tag.strip()[:LONGEST_TAG] for tag in tags if tag.strip()))[:MOST_TAGS]


def _text(given: Mapping[str, Json], key: str) -> str:
    value = given.get(key)
    return value if isinstance(value, str) else ""
