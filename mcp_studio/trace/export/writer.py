"""What all formats have in common: where they write to, and how entries come to them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, NamedTuple, Protocol

from mcp_studio.jsontext import Json
from mcp_studio.redact import Redactor
from mcp_studio.trace.columns import Columns
from mcp_studio.trace.export.item import Item
from mcp_studio.trace.recording import Reader


class Source(NamedTuple):
    """What a writer knows of the whole before it begins."""

    columns: Columns
    """Of the recording, as they were when the export began."""
    numbers: Sequence[int]
    """The entries that were chosen, ascending."""
    servers: Mapping[str, Json]
    """What is known of each server that is in it, see `servers`."""
    title: str
    made: float
    """Seconds since the epoch."""
    redactor: Redactor
    reader: Reader
    """For bodies of entries that were not chosen; those of the chosen come with them."""

    def chosen(self, number: int) -> bool:
        """Whether an entry is one of those that were chosen."""
        at = bisect_left(self.numbers, number)
        return at < len(self.numbers) and self.numbers[at] == number


class Writer(Protocol):
    """Writes one format; all is called by one thread, `write` with the entries in their order, some at a time."""

    def begin(self, source: Source, out: IO[bytes]) -> None:
        """What stands before the entries.

        Raises:
            StudioError: the format has nothing to say about what was chosen.
        """
        ...

    def write(self, items: Iterable[Item]) -> None:
        """Further entries."""
        ...

    def end(self) -> None:
        """What stands after them."""
        ...
