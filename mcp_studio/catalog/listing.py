"""One list of one server, as it came: salvaged, bounded, with everything that was wrong with it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Literal, NamedTuple, cast

from mcp_studio.catalog.changes import Change
from mcp_studio.catalog.ref import EntryKind, Ref
from mcp_studio.catalog.skills import SkillState
from mcp_studio.jsontext import Json
from mcp_studio.protocol.caching import Hint
from mcp_studio.protocol.headers import header_problem
from mcp_studio.protocol.views import AnyView, PromptView, ResourceView, TemplateView, ToolView

ListingState = Literal["empty", "remembered", "loading", "fresh", "failed"]


class Entry(NamedTuple):
    """One listed thing."""

    ref: Ref
    view: AnyView
    remembered: bool = False
    """From an earlier run: the server has not confirmed it yet."""
    problem: str = ""
    """What is wrong with it; a malformed entry is shown all the same."""
    excluded: bool = False
    """The specification forbids using it (invalid `x-mcp-header`, 2026-07-28)."""
    change: Change | None = None
    """How it differs from what it was when the person last looked."""
    skill: SkillState = ""
    """For a resource that is a skill: what is known of it."""


class Listing(NamedTuple):
    """All entries of one kind that one server offers."""

    server: str
    kind: EntryKind
    entries: tuple[Entry, ...] = ()
    state: ListingState = "empty"
    error: str = ""
    """Why the list could not be read, or read to its end."""
    capped: str = ""
    """Which bound cut the list off."""
    read_at: float = 0.0
    """Monotonic time when it was read; 0 for what was not read in this run."""
    hint: Hint | None = None
    """What the server says about how long the list is fresh (2026-07-28)."""
    gone: tuple[Entry, ...] = ()
    """What it does not list any more, until the person has looked at that."""

    def stale(self, now: float | None = None) -> bool:
        """Whether the time has passed for which the server calls the list fresh."""
        if self.hint is None or not self.read_at:
            return False
        return (time.monotonic() if now is None else now) >= self.read_at + self.hint.ttl

    @property
    def changes(self) -> tuple[Change, ...]:
        """What is new, changed or gone since the person last looked."""
        return tuple(entry.change for entry in (*self.entries, *self.gone) if entry.change is not None)

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with single entries."""
        return problems_of(self.entries)


def problems_of(entries: Iterable[Entry]) -> tuple[str, ...]:
    """What is wrong with single entries, each with its name."""
    return tuple(
        f"{entry.ref.name or 'an entry without a name'}: {entry.problem}" for entry in entries if entry.problem
    )


METHODS: dict[EntryKind, tuple[str, str, str]] = {
    "tool": ("tools/list", "tools", "tools"),
    "resource": ("resources/list", "resources", "resources"),
    "template": ("resources/templates/list", "resourceTemplates", "resources"),
    "prompt": ("prompts/list", "prompts", "prompts"),
}
"""Kind -> method, key of the array in the result, capability that a server declares for it."""

_KEYS: dict[EntryKind, str] = {"tool": "name", "resource": "uri", "template": "uriTemplate", "prompt": "name"}
_VIEWS: dict[EntryKind, type[AnyView]] = {
    "tool": ToolView,
    "resource": ResourceView,
    "template": TemplateView,
    "prompt": PromptView,
}


def salvage(
    server: str, kind: EntryKind, items: Iterable[Json], *, remembered: bool = False, headers: bool = False
) -> tuple[Entry, ...]:
    """Entries from what a server listed: nothing is thrown away, everything malformed says why.

    Args:
        server: the server's name.
        kind: what is listed.
        items: the raw items.
        remembered: they come from an earlier run.
        headers: judge `x-mcp-header` annotations, which count on HTTP in the modern era.
    """
    return tuple(_entry(server, kind, item, remembered, headers) for item in items)


def _entry(server: str, kind: EntryKind, item: Json, remembered: bool, headers: bool) -> Entry:
    raw = cast("dict[str, Json]", item) if isinstance(item, dict) else {"name": "", "received": item}
    name = raw.get(_KEYS[kind])
    problem, excluded = "", False
    if not isinstance(item, dict):
        problem = "the entry is not an object"
    elif not isinstance(name, str) or not name:
        problem = f"it has no {_KEYS[kind]}"
    elif kind == "tool":
        problem = _tool_problem(raw)
        if headers and not problem and (wrong := header_problem(raw.get("inputSchema"))):
            problem, excluded = f"excluded: {wrong}", True
    return Entry(
        Ref(kind, server, name if isinstance(name, str) else ""), _VIEWS[kind](raw), remembered, problem, excluded
    )


def _tool_problem(raw: dict[str, Json]) -> str:
    schema = raw.get("inputSchema")
    if schema is None:
        return "it has no inputSchema"
    if not isinstance(schema, dict):
        return "its inputSchema is not an object"
    kind = cast("dict[str, Json]", schema).get("type")
    return "" if kind in ("object", None) else "its inputSchema is not of type object"
