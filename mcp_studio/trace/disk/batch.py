"""What goes from the running trace to the disk in one step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from mcp_studio.jsontext import Json

Column = Literal["link", "outcome", "flags", "kind", "method", "target", "parent", "follows"]
"""What can become known of an entry after it was written."""


class Change(NamedTuple):
    """Something that became known of an entry after it was written."""

    number: int
    column: Column
    value: int


class Extra(NamedTuple):
    """What only few entries have, as JSON; the newest of one number and name counts, None takes it away."""

    number: int
    name: Literal["findings", "comment", "id"]
    value: Json


class Batch(NamedTuple):
    """Entries with the numbers from `first` on, redacted, and what changed in earlier ones."""

    first: int
    columns: Mapping[str, bytes]
    """For each column the new values as bytes of the machine's order, see `columns.CODES`."""
    bodies: tuple[bytes, ...]
    names: tuple[tuple[str, int, str], ...] = ()
    """New names: `server`, `method` or `target`, number, text."""
    changes: tuple[Change, ...] = ()
    """Of entries before and in this batch; `parent` and `follows`, which are no columns, come only in this way."""
    extras: tuple[Extra, ...] = ()
    """Of entries before and in this batch."""
    late: tuple[tuple[int, bytes], ...] = ()
    """Numbers and bodies of earlier entries, until then written as empty: large ones take some time to be redacted."""
