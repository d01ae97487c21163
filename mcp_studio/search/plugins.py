"""Search methods that packages add by an entry point. A fault of one affects itself alone; see `docs/search.md`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from itertools import islice
from math import isfinite
from typing import Any, NamedTuple, TypeVar

from mcp_studio.catalog.listing import Ref
from mcp_studio.safetext import safe
from mcp_studio.search.method import Answer, Method, Query, Reason, Scored, SearchProblem, order

log = logging.getLogger(__name__)
T = TypeVar("T")
ENTRY_POINTS = "mcp_studio.search_methods"
"""The group of entry points: the name of a method, and a callable without arguments that creates a `Method`."""
_MOST = 50
_MOST_HITS = 100_000
_LONGEST = 2_000
"""Characters of a note or of a reason's text."""
_MOST_WORDS = 50


class MethodOffer(NamedTuple):
    """A method that can be created."""

    name: str
    title: str
    make: Callable[[], Method]
    """Creates the method with the imports that it needs; may take seconds."""
    package: str = ""
    """The package of the method; empty for our own."""
    storable: bool = False
    """Whether the index can be stored in a file: the method has `state` and `restore`."""

    @property
    def label(self) -> str:
        """The name of the method in a sentence."""
        return f"The search method {self.name!r}" + (f" of {self.package}" if self.package else "")


class MethodFailed(SearchProblem):
    """The code of a method raised, or returned nonsense."""

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(message, hint="Other methods are not concerned.")


def entry_points(known_names: Collection[str]) -> dict[str, MethodOffer]:
    """The methods that packages add, by name; slow, because it reads the metadata of all packages.

    `known_names` names are skipped.
    """
    from importlib import metadata

    found: dict[str, MethodOffer] = {}
    for point in sorted(metadata.entry_points(group=ENTRY_POINTS), key=lambda one: (one.name, one.value)):
        package = (point.dist and point.dist.name) or point.module
        if point.name in found or point.name in known_names or len(found) >= _MOST:
            log.warning("search method %s of %s is left out: its name is taken, or there are many", point.name, package)
            continue
        found[point.name] = MethodOffer(point.name, point.name, lambda point=point: point.load()(), package)
    return found


def guarded(offer: MethodOffer, doing: str, work: Callable[[], T]) -> T:
    """Run code of a method.

    Raises:
        SearchProblem: raised by the method itself, about the query.
        MethodFailed: the method raised anything else; the message is a sentence that names it.
    """
    try:
        return work()
    except SearchProblem:
        raise
    except (Exception, SystemExit) as problem:  # foreign code: the one place that catches anything
        log.warning("%s failed while %s", offer.label, doing, exc_info=problem)
        reason = safe(f"{type(problem).__name__}: {problem}", 200)
        raise MethodFailed(f"{offer.label} failed while {doing}: {reason}.") from None


def made(offer: MethodOffer) -> Method:
    """Create a method, which must have all members of `Method`.

    Raises:
        SearchProblem: the method cannot be created, or lacks a member.
    """
    method = guarded(offer, "it was loaded", offer.make)
    for name in ("index", "remove", "search"):
        if not callable(getattr(method, name, None)):
            raise MethodFailed(f"{offer.label} is not a search method: it has no {name}().")
    return method


def checked(offer: MethodOffer, answer: Any, query: Query, known: Callable[[Ref], object]) -> Answer:
    """A valid answer: with known documents in scope, without duplicates, sorted, cut.

    Raises:
        MethodFailed: the answer is unusable.
    """
    try:
        hits, total, note = answer
        best: dict[Ref, Scored] = {}
        for ref, score, reasons in islice(hits, _MOST_HITS):
            kind, server, name = ref
            ref, score = Ref(kind, server, name), float(score)
            if not isfinite(score) or not known(ref) or not query.scope.has(ref):
                continue
            if ref not in best or score > best[ref].score:
                best[ref] = Scored(ref, score, tuple(_reason(one) for one in reasons))
        ordered = sorted(best.values(), key=order)
        return Answer(ordered[: query.limit], max(int(total), len(ordered)), str(note)[:_LONGEST])
    except (TypeError, ValueError, AttributeError, OverflowError):
        raise MethodFailed(f"{offer.label} returned something that is not an Answer.") from None


def _reason(one: Any) -> Reason:
    field, words, text = one
    return Reason(str(field)[:60], tuple(str(word)[:200] for word in words)[:_MOST_WORDS], str(text)[:_LONGEST])
