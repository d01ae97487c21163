"""The way of searching where nobody chooses one: names first, then words, mixed with meaning where it is known.

A name that has all that was typed goes before the rest: that is what somebody wants who types a name, or its beginning.
A question in a sentence hardly ever stands in a name, so there the words decide alone.
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
"""The methods that it cannot do without."""
_MOST_WORDS = 4
"""A question of more words is a sentence: names are looked through only where words find too little."""
_ENOUGH = 5
"""Where words find fewer, whatever has the letters, and names that are nearly right, are shown as well."""
_NAMED = 12.0
"""What a name that is what was typed counts: a better name goes before anything that the words say."""
_USED = 0.02
"""What is used much may overtake what the words rate higher by this share of the best; names it never overtakes."""
_LONGEST = 200
_POOL = 100
"""So many of the best by words, and by names, are merged."""
Ask = Callable[[str, Query], Answer]


class Served(NamedTuple):
    """An answer, and the methods it is of."""

    answer: Answer
    method: str


def search(
    query: Query, ask: Ask, meaning: Callable[[], bool], strength: Callable[[Ref], float] = lambda _: 0.0
) -> Served:
    """Answer a question with several methods.

    Args:
        ask: asks one of them by its name.
        meaning: whether meaning is known well enough to be mixed in; asked where that would help.
        strength: how much something is used, from 0 to 1.
    """
    text, limit = query.text.strip(), query.limit
    query = query._replace(limit=max(_POOL, limit))  # how many are shown must not change their order
    names = ask("substring", query) if ("." in text or "__" in text) and not re.search(r"\s", text) else None
    if names is not None and names.hits and all(text in (str(hit.ref), hit.ref.flat) for hit in names.hits):
        return Served(names._replace(hits=names.hits[:limit]), "substring")  # an address in full
    words = _by_words(query, ask, several(query.text) and meaning())
    by_word = sum(hit.reasons != BY_MEANING for hit in words.answer.hits)
    if len(name_parts(text[:_LONGEST])) > _MOST_WORDS and len(words.answer.hits) >= _ENOUGH:
        names = Answer((), 0)
    elif names is None:
        names = ask("substring", query._replace(named=by_word >= _ENOUGH))
    return _merged(words, by_word, names, strength, limit)


def several(text: str) -> bool:
    """Whether a question may have several words, so that it has a meaning beyond a name; Chinese has no spaces."""
    return len(name_parts(text[:_LONGEST])) > 1 or (not text.isascii() and any(map(is_dense, text[:_LONGEST])))


def _by_words(query: Query, ask: Ask, meaning: bool) -> Served:
    """By words, and by meaning where that works: what is wrong with it costs no answer, and is said."""
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
    base = 0.0 if by_word else 1.0  # a name that is nearly right goes before what only means something alike
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
    """Hits with their share of the best score."""
    listed = list(hits)
    best = max((hit.score for hit in listed), default=0.0)
    return [(hit, max(0.0, hit.score / best) if best > 0 else 0.0) for hit in listed]
