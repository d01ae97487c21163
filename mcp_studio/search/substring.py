"""The method `substring`: typed text, letter by letter, and names that are nearly right."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_studio.catalog.listing import KINDS, Ref
from mcp_studio.search.fields import fields
from mcp_studio.search.index_file import Arrays, Redact, packed, unpacked
from mcp_studio.search.method import BY_LETTERS, BY_LIKENESS, Answer, Document, Query, Rows, Scored
from mcp_studio.search.names import (
    LONGEST_NAME,
    LONGEST_TEXT,
    MOST_WORDS,
    Joined,
    Matcher,
    Row,
    addresses,
    row,
    similar,
)

_LONGEST_ARGUMENTS = 120
ENOUGH = 5
"""If fewer rows match literally, similar names are added."""


class Substring(Rows[Row]):
    """The method `substring`; see the module."""

    def _row(self, document: Document) -> Row:
        texts, ref = fields(document), document.ref
        address = f"{ref.server[:LONGEST_NAME]}.{ref.name[:LONGEST_NAME]}"
        arguments = " ".join(one.name for one in texts.parameters)[:_LONGEST_ARGUMENTS]
        rest = (address, *texts.tags, arguments, texts.description[:LONGEST_TEXT])
        return row(texts.name, " ".join(rest), title=texts.title, server=ref.server)

    def state(self, redact: Redact) -> Arrays:
        """The rows without their documents' refs, for a file."""
        return {"rows": packed((text for own in self._rows.values() for text in own), redact)}

    def restore(self, refs: Sequence[Ref], arrays: Arrays) -> None:
        """Restore the rows from what `state` returned for the same documents."""
        texts = iter(unpacked(arrays["rows"]))
        self._rows = dict(zip(refs, map(Row._make, zip(texts, texts, texts, texts, strict=True)), strict=True))

    def search(self, query: Query) -> Answer:
        """All documents with every word, best first; a complete address finds exactly its entry."""
        if exact := self._exact_refs(query):
            return Answer([Scored(ref, 2.0, BY_LETTERS) for ref in exact[: query.limit]], len(exact))
        if self._derived is None or self._derived[0] != query.scope:
            refs = sorted((ref for ref in self._rows if query.scope.has(ref)), key=lambda ref: (*ref[1:], ref.kind))
            rows = [self._rows[ref] for ref in refs]
            self._derived = query.scope, refs, rows, Joined([f"{row.head}\n{row.server}" for row in rows])
        _, refs, rows, joined = self._derived
        matcher = Matcher(query.text)
        found = matcher.ranked(rows, joined if query.named else None)
        # Among names that match equally well, the shorter comes first.
        hits = [
            Scored(refs[place], score + (0.01 / (1 + rows[place].length) if score > 1 else 0), BY_LETTERS)
            for place, score in zip(found.places[: query.limit], found.scores, strict=False)
        ]
        total = len(found.places)
        note = f"Only the first {MOST_WORDS} words count." if len(query.text.split()) > MOST_WORDS else ""
        if not query.named and total < min(ENOUGH, len(refs)):
            like = similar(matcher.words, rows)
            places = sorted(like.keys() - set(found.places), key=lambda place: (-like[place], place))
            hits += [Scored(refs[place], like[place], BY_LIKENESS) for place in places[: query.limit - total]]
            if places and not total:
                note = f"Nothing has what was typed; these names are similar. {note}".rstrip()
            total += len(places)
        return Answer(hits, total, note)

    def _exact_refs(self, query: Query) -> list[Ref]:
        """The entries whose complete address the query is."""
        refs = [Ref(kind, server, name) for server, name in addresses(query.text.strip()) for kind in KINDS]
        known = (ref for ref in refs if ref in self._rows and query.scope.has(ref))
        return sorted(known, key=lambda ref: (*ref[1:], ref[0]))
