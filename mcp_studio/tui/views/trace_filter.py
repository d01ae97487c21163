"""Which entries of a trace a filter text wants: the search behind the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_studio.trace.message import Recording
from mcp_studio.trace.query.parser import Query
from mcp_studio.trace.search import Search


class FilterRun:
    """The numbers of the wanted entries, found so far.

    Args:
        recording: where they are.
        query: what is wanted; see `trace.query.parser`.
    """

    def __init__(self, recording: Recording, query: Query) -> None:
        self.query = query
        self._search = Search(recording, query)

    def __len__(self) -> int:
        return len(self._search.found)

    @property
    def numbers(self) -> Sequence[int]:
        """All of them, ascending, as they are now."""
        return self._search.found.all()

    @property
    def trouble(self) -> str:
        """Why nothing further is looked for, in a sentence; empty where all is well."""
        return self._search.error

    @property
    def share(self) -> float:
        """How much has been looked at, 0 to 1."""
        return self._search.done

    def number(self, index: int) -> int:
        """The number of the entry at a place among the wanted ones."""
        return self._search.found[index]

    def place(self, number: int) -> int:
        """Where an entry is, or would be, among the wanted ones."""
        return self._search.found.place(number)

    def advance(self, budget: float) -> bool:
        """Take over what was found and what is new, in about `budget` seconds; True when that is all of it."""
        return self._search.pull(budget)

    def cancel(self) -> None:
        """Nobody wants it any more."""
        self._search.cancel()
