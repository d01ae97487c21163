"""One list of one server, with everything that it holds and everything that is wrong with it."""

import re
import time
import unicodedata
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Literal, NamedTuple, cast

from mcp_studio.catalog.skills import SkillState
from mcp_studio.errors import ProtocolError, StudioError
from mcp_studio.jsontext import Json, mapping, printable
from mcp_studio.limits import Limits
from mcp_studio.protocol.versions import Hint, hint_of
from mcp_studio.protocol.views import AnyView, PromptView, ResourceView, TemplateView, ToolView, header_problem
from mcp_studio.record import record
from mcp_studio.safetext import LINES_LIVE, hidden_in
from mcp_studio.trace.lint.results import LISTS, caution_of

EntryKind = Literal["tool", "resource", "template", "prompt"]
KINDS: tuple[EntryKind, ...] = ("tool", "resource", "template", "prompt")


class Ref(NamedTuple):
    """Names one tool, resource, template or prompt of one server.

    `name` is the tool's or prompt's name, the resource's URI, the template's URI template.
    """

    kind: EntryKind
    server: str
    name: str

    def __str__(self) -> str:
        return f"{self.server}.{self.name}"

    @property
    def flat(self) -> str:
        """The name in the form of model APIs: `mcp__server__tool`."""
        return f"mcp__{self.server}__{self.name}"


ChangeKind = Literal["new", "changed", "gone"]
_LINES = 4_000
"""Lines of the longest definition that is compared line by line, because the time grows with their square."""


PINNED = frozenset(("name", "title", "description", "inputSchema", "outputSchema", "annotations"))
"""The members of a tool's definition that its pin covers; other members may change from one list to the next."""


class Change(NamedTuple):
    """The difference of one entry since the person last looked."""

    kind: ChangeKind
    parts: tuple[str, ...] = ()
    """Members of the definition that differ, for `changed`."""
    before: dict[str, Json] | None = None
    """The definition that the person saw last; None for `new`."""

    @property
    def words(self) -> str:
        """The change in words: `changed: description, inputSchema`."""
        return f"{self.kind}: {', '.join(self.parts)}" if self.parts else self.kind

    @property
    def unaccepted(self) -> bool:
        """Whether pinned members of a tool have changed, which the person has to accept, not only to see."""
        return self.kind == "changed" and not PINNED.isdisjoint(self.parts)


def change_of(before: dict[str, Json] | None, now: dict[str, Json]) -> Change | None:
    """The difference between two definitions; None where there is none."""
    if before is None:
        return Change("new")
    if before == now:
        return None
    keys = dict.fromkeys((*before, *now))
    parts = [key for key in keys if (key in before, before.get(key)) != (key in now, now.get(key))]
    return Change("changed", tuple(parts), before)


def diff(before: Json, now: Json, context: int = 3) -> Iterator[str]:
    """The lines of a unified diff of two values as indented JSON; a sentence where the values are too long."""
    from difflib import unified_diff

    old, new = (printable(value).splitlines() for value in (before, now))
    if max(len(old), len(new)) > _LINES:
        yield f"The definitions have {len(old):,} and {len(new):,} lines, too many to be compared here."
        return
    for line in unified_diff(old, new, "as you saw it last", "as it is now", n=context, lineterm=""):
        yield line.rstrip("\n")


ListingState = Literal["empty", "remembered", "loading", "fresh", "failed"]


class Entry(NamedTuple):
    """One entry of a list."""

    ref: Ref
    view: AnyView
    remembered: bool = False
    """Whether the entry comes from an earlier run and the server has not confirmed it yet."""
    problem: str = ""
    """What is wrong with the entry, which is shown nevertheless."""
    excluded: bool = False
    """Whether the specification forbids to use the entry (invalid `x-mcp-header`, 2026-07-28)."""
    change: Change | None = None
    """The difference to the entry that the person saw last."""
    skill: SkillState = ""
    """The state of a resource that is a skill; empty for other resources."""

    def problem_with(self, doubts: Mapping[Ref, str]) -> str:
        """The change, the problem and the doubt of an entry in one line; empty where there is none."""
        change = f"± {self.change.words}" if self.change else ""
        return "; ".join(filter(None, (change, self.problem, doubts.get(self.ref, ""))))

    def as_json(self, doubts: Mapping[Ref, str]) -> Json:
        """The entry for scripts; `doubts` come from `doubts_of`."""
        found: dict[str, Json] = {"ref": str(self.ref), "server": self.ref.server, "name": self.ref.name}
        if problem := self.problem_with(doubts):
            found["problem"] = problem
        if self.skill:
            found["skill"] = self.skill
        return {**found, "definition": self.view.raw}


class Listing(NamedTuple):
    """The entries of one kind that one server offers."""

    server: str
    kind: EntryKind
    entries: tuple[Entry, ...] = ()
    state: ListingState = "empty"
    error: str = ""
    """Why the list could not be read, or not to its end."""
    capped: str = ""
    """The bound that cut the list."""
    read_at: float = 0.0
    """Monotonic time of the reading; 0 if the list was not read in this run."""
    hint: Hint | None = None
    """How long the server calls the list fresh (2026-07-28)."""
    gone: tuple[Entry, ...] = ()
    """The entries that the server no longer lists, until the person has looked at them."""

    def stale(self) -> bool:
        """Whether the time for which the server calls the list fresh has passed."""
        return self.hint is not None and self.read_at > 0 and time.monotonic() >= self.read_at + self.hint.ttl

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes since the person last looked."""
        return tuple(entry.change for entry in (*self.entries, *self.gone) if entry.change is not None)

    @property
    def problems(self) -> tuple[str, ...]:
        return problems_of(self.entries)


def problems_of(entries: Iterable[Entry]) -> tuple[str, ...]:
    """The problems of single entries, each with the entry's name."""
    return tuple(
        f"{entry.ref.name or 'an entry without a name'}: {entry.problem}" for entry in entries if entry.problem
    )


def doubts_of(entries: Iterable[Entry]) -> dict[Ref, str]:
    """The entries whose name is ambiguous: it is listed twice, or looks like another name of the server."""
    entries = tuple(entries)
    listed = Counter(entry.ref for entry in entries if entry.ref.name)
    looks: dict[Ref, list[str]] = {}
    for ref in listed:
        if ref.kind in ("tool", "prompt"):
            looks.setdefault(ref._replace(name=_look(ref.name)), []).append(ref.name)
    found: dict[Ref, str] = {}
    for ref, count in listed.items():
        cautions = [f"listed {count} times: the first definition counts"] if count > 1 else []
        others = [name for name in looks.get(ref._replace(name=_look(ref.name)), ()) if name != ref.name]
        cautions += [f"looks like {', '.join(others[:3])}"] if others else []
        letters = ref.name.casefold()
        mixed = not letters.isascii() and any(ord(one) in _FOREIGN for one in letters) and re.search("[a-z]", letters)
        if ref.kind in ("tool", "prompt") and not others and (mixed or hidden_in(ref.name)):
            cautions.append("its name has letters that are not what they look like, or cannot be seen")
        if cautions:
            found[ref] = "; ".join(cautions)
    for entry in entries:
        if (caution := caution_of(entry.view.raw)) and caution not in found.get(entry.ref, ""):
            found[entry.ref] = "; ".join(filter(None, (found.get(entry.ref), caution)))
    return found


def _look(name: str) -> str:
    """A name as it looks at a glance: without invisible characters, and with one letter for all that look alike."""
    if not (name.isascii() and name.isprintable()):
        name = unicodedata.normalize("NFKC", re.sub(LINES_LIVE, "", name))
    return name.casefold().translate(_FOREIGN).translate(_SAME)


_SAME = str.maketrans("01i-. ", "oll___")
_FOREIGN = str.maketrans(
    # Cyrillic and Greek small letters that fonts draw like Latin ones.
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u043a\u03bf\u03b1\u03bd\u03c1\u03b9",
    "aeopcyxijsdhkoavpi",
)

METHODS: dict[EntryKind, tuple[str, str, str]] = {
    "tool": ("tools/list", "tools", "tools"),
    "resource": ("resources/list", "resources", "resources"),
    "template": ("resources/templates/list", "resourceTemplates", "resources"),
    "prompt": ("prompts/list", "prompts", "prompts"),
}
"""The method that lists a kind, the key of the array in its result, and the capability that declares it."""

_VIEWS = dict(zip(KINDS, (ToolView, ResourceView, TemplateView, PromptView), strict=True))


def salvage(
    server: str, kind: EntryKind, items: Iterable[Json], *, remembered: bool = False, headers: bool = False
) -> tuple[Entry, ...]:
    """Turn the items of a list into entries: none is dropped, and a malformed one says what is wrong.

    Args:
        server: the server's name.
        kind: the kind of the items.
        items: the raw items.
        remembered: the items come from an earlier run.
        headers: check `x-mcp-header` annotations, which apply to HTTP in the modern era.
    """
    return tuple(_entry(server, kind, item, remembered, headers) for item in items)


def _entry(server: str, kind: EntryKind, item: Json, remembered: bool, headers: bool) -> Entry:
    raw = cast("dict[str, Json]", item) if isinstance(item, dict) else {"name": "", "received": item}
    view, key = _VIEWS[kind], LISTS[METHODS[kind][0]].identity
    name = raw.get(key)
    problem, excluded = "", False
    if not isinstance(item, dict):
        problem = "the entry is not an object"
    elif not isinstance(name, str) or not name:
        problem = f"it has no {key}"
    elif kind == "tool":
        problem = _tool_problem(raw.get("inputSchema"))
        if headers and not problem and (wrong := header_problem(raw.get("inputSchema"))):
            problem, excluded = f"excluded: {wrong}", True
    ref = Ref(kind, server, name if isinstance(name, str) else "")
    return Entry(ref, view(raw), remembered, problem, excluded)


def _tool_problem(schema: Json) -> str:
    if not isinstance(schema, dict):
        return "it has no inputSchema" if schema is None else "its inputSchema is not an object"
    return "" if mapping(schema).get("type") in ("object", None) else "its inputSchema is not of type object"


Ask = Callable[[str, dict[str, Json]], Awaitable[Json]]
"""Sends a request and returns its raw result; raises StudioError for any other outcome."""


@record(frozen=True)
class Page:
    """One page of a list."""

    cursor: str | None
    """The cursor of the request; None is the first page."""
    items: list[Json]
    following: str | None
    """The cursor of the next page, which may be an empty string; None is the end."""
    raw: Json
    hint: Hint | None = None
    ms: float = 0.0
    problem: str = ""
    """What is wrong with the page, whose items are usable nevertheless."""


@record()
class Fetched:
    """The raw items of one list, and why there are no more."""

    items: list[Json] = field(default_factory=list[Json])
    error: str = ""
    capped: str = ""
    hints: list[Hint | None] = field(default_factory=list["Hint | None"], compare=False)
    """The caching hint of each page."""


async def page_of(method: str, key: str, ask: Ask, cursor: str | None = None) -> Page:
    """Read one page (specification, server/utilities/pagination); a cursor is opaque and sent unchanged.

    Raises:
        StudioError: the server did not answer, refused, or sent a result without the array.
    """
    began = time.perf_counter()
    result = await ask(method, {} if cursor is None else {"cursor": cursor})
    ms = (time.perf_counter() - began) * 1000
    page: dict[str, Json] = mapping(result)
    items, following = page.get(key), page.get("nextCursor")
    if not isinstance(items, list):
        raise ProtocolError(f"The answer to {method} has no array {key!r}.")
    problem = ""
    if following is not None and not isinstance(following, str):
        following, problem = None, f"The nextCursor of {method} is not a string."
    return Page(cursor, items, following, result, hint_of(result), ms, problem)


async def fetch_all(method: str, key: str, ask: Ask, limits: Limits) -> Fetched:
    """Read page after page; items before a failure are kept."""
    found = Fetched()
    cursor: str | None = None
    seen: set[int] = set()
    for _ in range(limits.pages):
        try:
            page = await page_of(method, key, ask, cursor)
        except StudioError as error:
            found.error = error.message
            return found
        found.hints.append(page.hint)
        room = limits.items - len(found.items)
        found.items += page.items[:room]
        cursor = page.following
        if len(page.items) > room or (cursor is not None and len(page.items) == room):
            found.capped = f"cut at {limits.items} entries (limits.items)"
            return found
        if cursor is None:
            found.error = page.problem
            return found
        if hash(cursor) in seen:
            found.error = f"The pages of {method} go round in a circle; each entry is kept as often as it came."
            return found
        seen.add(hash(cursor))
    found.capped = f"cut at {limits.pages} pages (limits.pages)"
    return found
