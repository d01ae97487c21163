"""The numbers of some entries of a trace alone."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_studio.trace.columns import Columns
from mcp_studio.trace.numbers.numbers import Numbers


class _Part:
    """As much of a recording as numbers need."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns


def numbers_of(columns: Columns, entries: Iterable[int]) -> Numbers:
    """The figures of entries, by their numbers; of a request its answer counts too, and the other way round.

    Entries that are not kept are left out.
    """
    first, length = columns.first, len(columns)
    rows = {number - first for number in entries if first <= number < first + length}
    rows |= {link - first for row in rows if (link := columns.link[row]) and first <= link < first + length}
    numbers = Numbers(_Part(columns))
    numbers.take(columns, sorted(rows))
    return numbers
