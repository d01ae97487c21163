"""What the search palette says: what there is, what was found, what is to be known, why there is nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mcp_studio.catalog.listing import KINDS
from mcp_studio.present import connections, units
from mcp_studio.safetext import safe
from mcp_studio.search.method import Found, MethodInfo, SearchProblem
from mcp_studio.tui.screens.search_asking import MANY, Answer
from mcp_studio.tui.screens.search_line import Way
from mcp_studio.tui.screens.search_question import HIDDEN, WAYS, Question, way
from mcp_studio.tui.views.glyphs import glyphs

if TYPE_CHECKING:
    from mcp_studio.studio import Studio

EXTRA = "mcp-studio["
"""Stands in what is said of an extra that is not installed."""
_BUSY = ("idle", "connecting")


def heading(studio: Studio) -> str:
    """How much there is of each kind."""
    names = studio.manager.names()
    counts = {kind: sum(len(studio.catalog.listing(name, kind).entries) for name in names) for kind in KINDS}
    words = f" {glyphs().dot} ".join(units.plural(count, kind) for kind, count in counts.items() if count)
    return f"Search {words}" if words else "Search"


def ways(methods: Sequence[MethodInfo], current: str) -> list[Way]:
    """The ways of searching in their order, plug-ins last."""
    known = {method.name: method for method in methods}
    own = [name for name in WAYS if name not in HIDDEN or name == current]
    own = [name for name in own if name in known or not known]
    others = [name for name in known if name not in WAYS]
    return [
        Way(name, way(name), known[name].why_not if name in known and not known[name].available else "")
        for name in (*own, *others)
    ]


def told(problem: SearchProblem) -> str:
    """A problem with what to do about it, in a line."""
    return safe(f"{problem.message} {problem.hint}".strip(), 300)


def status(answer: Answer | None) -> str:
    """How much was found among how much, how fast, and what served: `3 of 260 · 4 ms · words`."""
    if answer is None:
        return ""
    if answer.found is None:
        return way(answer.question.method)
    found, dot = answer.found, f" {glyphs().dot} "
    ms = f"{found.ms:.0f} ms" if found.ms >= 1 else f"{found.ms:.1f} ms"
    if found.method == "used":
        return f"{found.of:,} in all"
    return dot.join((f"{found.total:,} of {found.of:,}", ms, way(found.method)))


def notes(answer: Answer | None, vectors: tuple[int, int], held: str = "") -> str:
    """What is to be known about an answer; where it says nothing itself, what an earlier one said once (`held`)."""
    if answer is None or answer.found is None:
        return ""
    found = answer.found
    parts: list[str] = [safe(note, 400)] if (note := found.note or held) else []
    if found.pending:
        entries = "entry" if found.pending == 1 else "entries"
        parts.append(f"{found.pending:,} {entries} still being taken up")
    done, whole = vectors
    if done < whole and answer.question.method == "auto":  # the others say so themselves
        parts.append(f"meaning is known of {done:,} of {whole:,} so far")
    if found.total > MANY and found.method != "used":
        parts.append(f"the first {MANY:,} can be looked through")
    return f" {glyphs().dot} ".join(parts)


def nothing(studio: Studio, found: Found, question: Question, keys: Callable[[str], str]) -> str:
    """Why nothing is listed, and what to do."""
    wider = _wider(question, keys)
    if found.of == 0 and not found.pending:
        return wider or _no_catalogue(studio)
    if found.pending:
        return "Nothing so far; more is still being taken up."
    if not question.text.strip():
        return "Type a part of a name, or words for what you want to do."
    way_on = f"{keys('search-mode')} searches in another way."
    return "\n".join(("Nothing is found.", *([wider] if wider else []), way_on))


def _wider(question: Question, keys: Callable[[str], str]) -> str:
    """What the search is limited to, and how that ends."""
    limits: list[str] = []
    if question.servers is not None:
        limits.append(f"{question.where} ({keys('search-servers')})")
    if question.kind is not None:
        limits.append(f"{question.what} ({keys('search-kinds')})")
    verb = "are" if len(limits) > 1 or question.kind is not None or len(question.servers or ()) > 1 else "is"
    return f"Only {' and '.join(limits)} {verb} searched." if limits else ""


def _no_catalogue(studio: Studio) -> str:
    manager = studio.manager
    names = manager.names()
    if not names:
        return "There is nothing to search yet.\n\nAdd a server first: esc, 1, then n."
    busy = [name for name in names if manager.status(name).state in _BUSY]
    if busy:
        return f"{units.plural(len(busy), 'server')} connecting; what they offer appears here by itself."
    lines = [safe(connections.state_words(manager.status(name)), 160) for name in names[:6]]
    return "\n".join(("No server offers anything that could be searched.", "", *lines))


def extras(answer: Answer | None) -> str:
    """What an answer says of an extra that is not installed: it says so once, and not with each letter."""
    found = answer.found if answer is not None else None
    return found.note if found is not None and EXTRA in found.note else ""
