"""Looking for texts in the bodies of neighbouring entries, all at once where that is quicker."""

from __future__ import annotations

from array import array

from mcp_studio.trace.query.judge import has_id, id_pattern, in_body
from mcp_studio.trace.query.needle import Needle, hits
from mcp_studio.trace.query.nodes import Id, Text
from mcp_studio.trace.query.regex import Regex
from mcp_studio.trace.query.rows import places
from mcp_studio.trace.recording import Block, Reader

_FEW = 8
"""Where fewer than one in so many bodies are asked about, each is looked at for itself."""


class BlockBodies:
    """The bodies of the rows of a block, as far as they are asked about; implements `rows.Bodies`.

    Args:
        block: has the bodies.
        reader: has those that stand elsewhere.
        low: the place in the block of the first row that is asked about.
        high: behind the last.
    """

    def __init__(self, block: Block, reader: Reader, low: int, high: int) -> None:
        self._reader = reader
        self._first = block.first + low
        begin = block.ends[low - 1] if low else 0
        # Cut to what is asked about, so that places in it are rows.
        self._ends = array("I", [end - begin for end in block.ends[low:high]]) if begin else block.ends[low:high]
        self._data = block.data[begin : block.ends[high - 1]] if high else b""
        self._large = [number - self._first for number in block.large if low <= number - block.first < high]
        self._lowered: bytes | None = None

    def mask(self, term: Text | Id, among: int) -> int:
        """See `rows.Bodies`."""
        count = len(self._ends)
        found = bytearray(count)
        asked = among.to_bytes(count, "little")
        for place in self._large:
            if asked[place]:
                found[place] = _meant(term, self._reader.body(self._first + place))
        if large := sum(1 << 8 * place for place in self._large):
            among &= ~large
        if not among:
            return int.from_bytes(found, "little")
        if isinstance(term, Id):
            self._with_id(term.id, among, found)
        elif isinstance(term.sought, Needle) and among.bit_count() * _FEW >= count:
            for place in term.sought.rows(self._lower(), self._ends):
                found[place] = asked[place] or found[place]
        else:
            self._one_by_one(term, among, asked, found)
        return int.from_bytes(found, "little") & (among | large)

    def _one_by_one(self, term: Text, among: int, asked: bytes, found: bytearray) -> None:
        count = len(self._ends)
        if isinstance(term.sought, Needle):
            for place in places(among, count):
                found[place] = term.sought.within(self._body(place))
            return
        rows = term.sought.rows(self._data, self._ends) if among.bit_count() * _FEW >= count else None
        if rows is not None:
            for place in rows:
                found[place] = asked[place] or found[place]
            return
        wanted = self._likely(term.sought, list(places(among, count)))
        for place, yes in zip(wanted, term.sought.which_bodies([self._body(place) for place in wanted]), strict=True):
            found[place] = yes

    def _likely(self, regex: Regex, wanted: list[int]) -> list[int]:
        """Those among these that a regex can be found in: each of the others costs more than looking for its text."""
        if not regex.literal or len(wanted) * _FEW < len(self._ends):
            return wanted
        data = self._lower() if regex.folded else self._data
        there = set(hits(lambda data, start, end: data.find(regex.literal, start, end), data, self._ends))
        return [place for place in wanted if place in there]

    def _lower(self) -> bytes:
        if self._lowered is None:
            self._lowered = self._data.lower()
        return self._lowered

    def _with_id(self, id: str, among: int, found: bytearray) -> None:
        pattern = id_pattern(id)
        asked = among.to_bytes(len(self._ends), "little")

        def find(data: bytes, start: int, end: int) -> int:
            match = pattern.search(data, start, end)
            return match.start() if match else -1

        for place in hits(find, self._data, self._ends):
            found[place] = asked[place] and has_id(self._body(place), id, pattern)

    def _body(self, place: int) -> bytes:
        return self._data[self._ends[place - 1] if place else 0 : self._ends[place]]


def _meant(term: Text | Id, body: bytes) -> bool:
    return has_id(body, term.id, id_pattern(term.id)) if isinstance(term, Id) else in_body(term.sought, body)
