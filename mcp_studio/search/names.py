"""Search by names: what is typed stands in names, addresses and texts; names that are similar where that is too few."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from mcp_studio.catalog.listing import KINDS, Ref
from mcp_studio.search.fields import fields
from mcp_studio.search.index_file import Arrays, Redact, packed, unpacked
from mcp_studio.search.matcher import (
    LONGEST_NAME,
    LONGEST_TEXT,
    MOST_WORDS,
    Matcher,
    Row,
    addresses,
    name_parts,
    row,
)
from mcp_studio.search.method import BY_LETTERS, BY_LIKENESS, Answer, Document, Query, Scope, Scored

_LONGEST_ARGUMENTS = 120
ENOUGH = 5
"""Where fewer are found as they are written, names that are only similar are shown as well."""


def _row(ref: Ref, name: str, title: str, *rest: str) -> Row:
    address = f"{ref.server[:LONGEST_NAME]}.{ref.name[:LONGEST_NAME]}"
    return row(name, " ".join((address, *rest)), title=title, server=ref.server)


class Substring:
    """A `Method`; see above."""

    def __init__(self) -> None:
        self._rows: dict[Ref, Row] = {}
        self._sorted: tuple[Scope, list[Ref], list[Row]] | None = None
        """For the last scope, until something changes."""

    def add(self, documents: Sequence[Document]) -> None:
        """Take documents."""
        for document in documents:
            texts = fields(document)
            arguments = " ".join(one.name for one in texts.parameters)[:_LONGEST_ARGUMENTS]
            about = texts.description[:LONGEST_TEXT]
            self._rows[document.ref] = _row(document.ref, texts.name, texts.title, *texts.tags, arguments, about)
        self._sorted = None

    def remove(self, refs: Collection[Ref]) -> None:
        """Forget documents."""
        for ref in refs:
            self._rows.pop(ref, None)
        self._sorted = None

    def state(self, redact: Redact) -> Arrays:
        """All of it but the addresses of its documents."""
        return {"rows": packed((text for own in self._rows.values() for text in own), redact)}

    def restore(self, refs: Sequence[Ref], arrays: Arrays) -> None:
        """Take what `state` gave of just these documents."""
        texts = iter(unpacked(arrays["rows"]))
        self._rows = dict(zip(refs, map(Row._make, zip(texts, texts, texts, texts, strict=True)), strict=True))

    def search(self, query: Query) -> Answer:
        """All that have every word, the best first; an address in full finds exactly that."""
        if exact := self._addressed(query.text.strip(), query.scope):
            return Answer([Scored(ref, 2.0, BY_LETTERS) for ref in exact[: query.limit]], len(exact))
        if self._sorted is None or self._sorted[0] != query.scope:
            refs = sorted((ref for ref in self._rows if query.scope.has(ref)), key=lambda ref: (*ref[1:], ref.kind))
            self._sorted = query.scope, refs, [self._rows[ref] for ref in refs]
        _, refs, rows = self._sorted
        matcher = Matcher(query.text)
        found = matcher.ranked(rows)
        # Among names that have it equally well the shorter comes first.
        hits = [
            Scored(refs[place], score + (0.01 / (1 + rows[place].length) if score > 1 else 0), BY_LETTERS)
            for place, score in zip(found.places[: query.limit], found.scores, strict=False)
        ]
        total = len(found.places)
        note = f"Only the first {MOST_WORDS} words count." if len(query.text.split()) > MOST_WORDS else ""
        if total < min(ENOUGH, len(refs)):
            like = similar(matcher.words, rows)
            places = sorted(like.keys() - set(found.places), key=lambda place: (-like[place], place))
            hits += [Scored(refs[place], like[place], BY_LIKENESS) for place in places[: query.limit - total]]
            if places and not total:
                note = f"Nothing has what was typed; these names are similar. {note}".rstrip()
            total += len(places)
        return Answer(hits, total, note)

    def _addressed(self, text: str, scope: Scope) -> list[Ref]:
        """What is called so in full."""
        refs = [Ref(kind, server, name) for server, name in addresses(text) for kind in KINDS]
        return sorted((ref for ref in refs if ref in self._rows and scope.has(ref)), key=lambda ref: (*ref[1:], ref[0]))


_SHORTEST, _LONGEST = 3, 40
"""Letters of what was typed that similar names are looked for with."""
_MOST_SIMILAR = 200
_LIKE = 75.0
"""Of 100: a letter or two may be wrong, swapped or missing."""


def similar(words: Iterable[str], rows: Sequence[Row]) -> dict[int, float]:
    """The places of names that are nearly what was typed, or a part of which is; worth less than what has the words."""
    from rapidfuzz import fuzz, process

    whole = "".join(part for word in words for part in name_parts(word))
    if not _SHORTEST <= len(whole) <= _LONGEST:
        return {}
    names = ["".join(own.parts) for own in rows]
    like = process.extract(whole, names, scorer=fuzz.ratio, score_cutoff=_LIKE, limit=_MOST_SIMILAR)
    inside = process.extract(whole, names, scorer=fuzz.partial_ratio, score_cutoff=_LIKE, limit=_MOST_SIMILAR)
    found = {place: 0.05 * score / 100 for name, score, place in inside if len(name) > len(whole)}
    return found | {place: 0.09 * score / 100 for _, score, place in like}
