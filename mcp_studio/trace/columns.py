"""What is known of every entry besides its body: about 33 bytes each, so that a million fit into memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import takewhile

from mcp_studio.trace.message import DIRECTIONS, KINDS, OUTCOMES
from mcp_studio.trace.names import Names

PROBE, BY_HAND, ASKED, MARKED, COMMENTED = 1, 2, 4, 8, 16
"""Bits of `flags`; `ASKED`: on a request, a person's time may be in its duration."""
SEVERITY = 5
"""Two further bits of `flags`, `flags >> SEVERITY & 3`: the worst finding, 0 none, 1 hint, 2 warning, 3 error."""
_REVISED = 100_000
"""Entries whose later changes are remembered."""
CODES = {"time": "d", "size": "I", "server": "H", "method": "H", "target": "I", "kind": "B", "flags": "B",
         "outcome": "B", "link": "I", "exchange": "I"}  # fmt: skip
"""The columns and the machine types of their values (see `array`), little-endian where they are stored."""


class Columns:
    """One array per column; row 0 is the entry with the number `first`.

    Only what is captured is in them, and a live trace brings them up to date when it is asked for them: ask it again
    (`recording.columns`) rather than keep them. Another thread takes a `snapshot`. Nobody may keep a `memoryview` of
    an array: it could not grow then.
    """

    def __init__(self, first: int = 1) -> None:
        self.first = first
        self.time: array[float] = array("d")
        """Seconds since the epoch."""
        self.size: array[int] = array("I")
        """Bytes on the wire."""
        self.server: array[int] = array("H")
        self.method: array[int] = array("H")
        self.target: array[int] = array("I")
        self.kind: array[int] = array("B")
        """The place in `KINDS`, and in the upper four bits the place in `DIRECTIONS`."""
        self.flags: array[int] = array("B")
        self.outcome: array[int] = array("B")
        """Of the span that an entry is an end of: 1 and the place in `OUTCOMES`; 0 for others."""
        self.link: array[int] = array("I")
        """Of a request its answer's number, of an answer its request's; else 0."""
        self.exchange: array[int] = array("I")
        self.servers, self.methods, self.targets = Names(60_000, 500_000), Names(60_000), Names(200_000, 8_000_000)
        self.parents: dict[int, int] = {}
        """Of a request, the number of the request that it came under."""
        self.follows: dict[int, int] = {}
        """Of a request, the number of the earlier round of its conversation."""
        self._revised: array[int] = array("I")
        self._forgotten = 0

    def __len__(self) -> int:
        return len(self.time)

    def arrays(self) -> Iterator[tuple[str, array[int] | array[float]]]:
        """All columns with their names."""
        for name in CODES:
            yield name, getattr(self, name)

    def kind_of(self, row: int) -> str:
        """See `message.MessageKind`."""
        return KINDS[self.kind[row] & 15]

    def direction_of(self, row: int) -> str:
        """See `message.Direction`."""
        return DIRECTIONS[self.kind[row] >> 4]

    def outcome_of(self, row: int) -> str:
        """See `message.Outcome`; empty for what is no end of a span."""
        return OUTCOMES[self.outcome[row] - 1] if self.outcome[row] else ""

    def ms(self, row: int) -> float | None:
        """Milliseconds from request to answer, of either of them; None where there is none, or it is not kept."""
        other = self.link[row] - self.first
        if not self.link[row] or not 0 <= other < len(self.time):
            return None
        return abs(self.time[other] - self.time[row]) * 1000

    def snapshot(self) -> Columns:
        """The same arrays for another thread: rows keep their places in it, whatever is trimmed meanwhile."""
        taken = Columns.__new__(Columns)
        taken.__dict__.update(self.__dict__)
        taken.parents, taken.follows = dict(self.parents), dict(self.follows)
        return taken

    def trim(self, first: int) -> None:
        """Forget the rows of entries with lower numbers. Snapshots keep theirs: the arrays are replaced."""
        rows = min(first - self.first, len(self.time))
        if rows <= 0:
            return
        for name, values in self.arrays():
            setattr(self, name, values[rows:])
        self.first = first
        for links in (self.parents, self.follows):
            # Nearly in order: one that is not goes with those after it.
            for number in list(takewhile(first.__gt__, links)):
                del links[number]

    def revise(self, number: int) -> None:
        """Something of a captured entry has changed: tell who asks `revised_since`."""
        self._revised.append(number)
        if len(self._revised) > 2 * _REVISED:
            self._forgotten += _REVISED
            del self._revised[:_REVISED]

    def revised_since(self, place: int) -> tuple[int, array[int]]:
        """Where the list of changes has got to, and the numbers of the entries that changed since it was at `place`.

        A number may come several times; what was changed before it was captured is not among them. Begin with the
        place that `revised_since(0)` gives. Of very many changes only the newest are known.
        """
        return self._forgotten + len(self._revised), self._revised[max(0, place - self._forgotten) :]
