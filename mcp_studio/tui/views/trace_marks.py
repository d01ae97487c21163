"""Finding entries in the columns of a trace by what one byte of each says."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from functools import lru_cache

from mcp_studio.trace.message import COMMENTED, MARKED

_STEP = 200_000


@lru_cache(16)
def _pattern(wanted: bytes) -> re.Pattern[bytes]:
    return re.compile(b"[" + re.escape(wanted) + b"]", re.DOTALL)


def rows_with(column: array[int], wanted: bytes, first: int, last: int) -> Iterator[int]:
    """The rows from `first` up to before `last` whose byte in a column is one of the wanted ones, in order."""
    for start in range(max(0, first), min(last, len(column)), _STEP):
        part = column[start : min(start + _STEP, last)].tobytes()
        for hit in _pattern(wanted).finditer(part):
            yield start + hit.start()


SAID = bytes(flags for flags in range(256) if flags & (MARKED | COMMENTED))
"""All values of the column `flags` of entries with a mark or a comment."""


def noted(flags: array[int], row: int, step: int) -> int | None:
    """The nearest row after (`step` 1) or before (-1) a row that has a mark or a comment; None without any."""
    if step > 0:
        return next(rows_with(flags, SAID, row + 1, len(flags)), None)
    for start in range(max(0, row - _STEP), -_STEP, -_STEP):
        found = list(rows_with(flags, SAID, max(0, start), min(row, start + _STEP)))
        if found:
            return found[-1]
    return None
