"""The method of searching where nobody chooses one: names first, then words, mixed with meaning where it is known.

A name that contains everything that was typed comes before all other hits, because a person who types a name, or its
beginning, wants that name. A whole sentence hardly ever occurs in a name, so words alone decide there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from mcp_studio.catalog.listing import Ref
from mcp_studio.search.method import BY_MEANING, Answer, Query, Scored, SearchProblem, order
from mcp_studio.search.names import name_parts
from mcp_studio.search.tokens import is_dense

NAME = "auto"
LEXICAL = ("substring", "bm25")
"""The methods that `auto` needs."""
_MOST_WORDS = 4
"""Words of the longest query that is no sentence; for a sentence, names are searched only if words find too little."""
_ENOUGH = 5
"""If words find fewer hits, entries that contain the letters and names that are similar are added."""
_NAMED = 12.0
"""The weight of a name match; a better name comes before any difference between words."""
_USED = 0.02
"""The bonus for use, as a share of the best score, with which a used entry may overtake another; names it cannot."""
_LONGEST = 200
_POOL = 100
"""The number of best hits by words, and by names, that are merged."""
Ask = Callable[[str, Query], Answer]


class Served(NamedTuple):
    """An answer, and the methods that gave it."""

    answer: Answer
    method: str


def search(
    query: Query, ask: Ask, meaning: Callable[[], bool], strength: Callable[[Ref], float] = lambda _: 0.0
) -> Served:
    """Answer a query with several methods.

    Args:
        ask: asks one of the methods by its name.
        meaning: whether enough vectors are known to mix meaning in; asked only where meaning would help.
        strength: how much an entry is used, from 0 to 1.
    """
    text, limit = query.text.strip(), query.limit
    query = query._replace(limit=max(_POOL, limit))  # the number of hits to show must not change their order
    names = ask("substring", query) if ("." in text or "__" in text) and not re.search(r"\s", text) else None
    if names is not None and names.hits and all(text in (str(hit.ref), hit.ref.flat) for hit in names.hits):
        return Served(names._replace(hits=names.hits[:limit]), "substring")  # a complete address
    words = _by_words(query, ask, several(query.text) and meaning())
    by_word = sum(hit.reasons != BY_MEANING for hit in words.answer.hits)
    if len(name_parts(text[:_LONGEST])) > _MOST_WORDS and len(words.answer.hits) >= _ENOUGH:
        names = Answer((), 0)
    elif names is None:
        names = ask("substring", query._replace(named=by_word >= _ENOUGH))
    return _merged(words, by_word, names, strength, limit)


def several(text: str) -> bool:
    """Whether a query may have several words, and so a meaning beyond a name; Chinese has no spaces."""
    return len(name_parts(text[:_LONGEST])) > 1 or (not text.isascii() and any(map(is_dense, text[:_LONGEST])))


def _by_words(query: Query, ask: Ask, meaning: bool) -> Served:
    """Search by words, with meaning where that works; a problem with meaning becomes the note of the answer."""
    note = ""
    if meaning:
        try:
            return Served(ask("hybrid", query), "hybrid")
        except SearchProblem as problem:
            note = problem.message
    found = ask("bm25", query)
    return Served(found._replace(note=f"{note} {found.note}".strip()), "bm25")


def _merged(words: Served, by_word: int, names: Answer, strength: Callable[[Ref], float], limit: int) -> Served:
    found = words.answer
    base = 0.0 if by_word else 1.0  # a similar name comes before an entry that is only similar in meaning
    near = {hit.ref: max(0.0, hit.score - 1) for hit in names.hits}
    scores = {hit.ref: (0.5 + 0.5 * share, hit) for hit, share in _shares(found.hits)}
    of_names = {
        hit.ref: (base + 0.45 * share, hit)
        for hit, share in _shares(names.hits)
        if hit.ref not in scores and (by_word < _ENOUGH or near[hit.ref])
    }
    hits = [
        Scored(ref, _NAMED * near.get(ref, 0.0) + score + _USED * strength(ref), hit.reasons)
        for ref, (score, hit) in (scores | of_names).items()
    ]
    hits.sort(key=order)
    more = found.total > len(found.hits) or names.total > len(names.hits)
    total = max(found.total, names.total) if more else found.total + len(of_names)
    notes = filter(None, (found.note, names.note if of_names and not by_word else ""))
    served = "+".join(name for name, part in (("substring", of_names), (words.method, found.hits)) if part)
    return Served(Answer(hits[:limit], max(total, len(hits)), " ".join(notes)), served or words.method)


def _shares(hits: Iterable[Scored]) -> list[tuple[Scored, float]]:
    """Each hit with its share of the best score."""
    listed = list(hits)
    best = max((hit.score for hit in listed), default=0.0)
    return [(hit, max(0.0, hit.score / best) if best > 0 else 0.0) for hit in listed]
