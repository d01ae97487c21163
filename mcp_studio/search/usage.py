"""The number of runs and openings of entries by the person, with the last time: in a file, bounded, without secrets.

The module imports next to nothing, because it is loaded from the first call on, long before anybody searches.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from mcp_studio.catalog.listing import KINDS, Ref
from mcp_studio.errors import ConfigError
from mcp_studio.jsontext import Json, dumps, items_of, loads_or, mapping
from mcp_studio.paths import read_object
from mcp_studio.vault.base import change_file

MOST = 1_000
"""Entries in the file; the entries used last stay."""
_FORMAT = 1
_LONGEST = 2_000
"""Characters of a name."""
_OPENED = 0.25
"""The weight of an opening; a run counts 1."""
_OFTEN = 64.0
"""The number of runs from which on more runs do not count."""
_HALF_LIFE = 30 * 86_400.0
_MANY = 1 << 40
"""The largest count that is stored."""


class Uses(NamedTuple):
    """The use of one entry."""

    runs: int = 0
    opened: int = 0
    last: float = 0.0
    """Seconds since the epoch."""

    def plus(self, other: Uses) -> Uses:
        runs, opened = min(self.runs + other.runs, _MANY), min(self.opened + other.opened, _MANY)
        return Uses(runs, opened, max(self.last, other.last))

    def strength(self, now: float) -> float:
        """How much the entry is used these days, from 0 to 1."""
        often = min(1.0, math.log1p(self.runs + _OPENED * self.opened) / math.log1p(_OFTEN))
        return often * 0.5 ** (max(0.0, now - self.last) / _HALF_LIFE)


class Usage:
    """The file `search-usage.json`. New uses are added to those that other programs have written meanwhile.

    Args:
        file: None stores and reads nothing.
        clean: removes secrets from a text; a name that it changes is not written.
    """

    def __init__(self, file: Path | None, clean: Callable[[str], str] = str) -> None:
        self._file = file
        self._clean = clean
        self._disk = threading.Lock()
        """Held while the file is read or written; never by the event loop."""
        self._new: dict[Ref, Uses] = {}
        """Uses that are not written yet."""

    def ran(self, ref: Ref, runs: int = 1, opened: int = 0) -> None:
        """Record that the person has run an entry; cheap."""
        if self._file is None or not ref.name or len(ref.name) + len(ref.server) > _LONGEST:
            return
        before = self._new.pop(ref, Uses())
        self._new[ref] = Uses(before.runs + runs, before.opened + opened, time.time())
        if len(self._new) > MOST:
            del self._new[next(iter(self._new))]

    def opened(self, ref: Ref) -> None:
        """Record that the person has opened an entry; cheap."""
        self.ran(ref, 0, 1)

    def all(self) -> dict[Ref, Uses]:
        """The uses of all entries."""
        if self._file is None:
            return {}
        with self._disk:
            return _merge(_entries(read_object(self._file)), self._new)

    def write(self) -> None:
        """Write new uses; blocks. If the disk refuses, only those uses are lost."""
        if self._file is None or not self._new:
            return
        with self._disk:
            new, self._new = self._new, {}
            try:
                change_file(self._file, lambda data: self._text(_merge(_entries(mapping(loads_or(data))), new)))
            except ConfigError:
                self._new = _merge(new, self._new)

    def _text(self, uses: dict[Ref, Uses]) -> bytes:
        found = [one for one in uses.items() if all(self._clean(text) == text for text in one[0][1:])]
        found.sort(key=lambda one: (one[1].last, one[0]))
        used: list[Json] = [
            {"kind": ref.kind, "server": ref.server, "name": ref.name, **one._asdict()} for ref, one in found[-MOST:]
        ]
        return dumps({"version": _FORMAT, "used": used})


def _merge(one: dict[Ref, Uses], other: dict[Ref, Uses]) -> dict[Ref, Uses]:
    found = dict(one)
    for ref, uses in tuple(other.items()):
        found[ref] = found.get(ref, Uses()).plus(uses)
    return found


def _entries(value: dict[str, Json]) -> dict[Ref, Uses]:
    found: dict[Ref, Uses] = {}
    for one in map(mapping, items_of(value.get("used"))[-MOST:] if value.get("version") == _FORMAT else ()):
        kind, server, name = one.get("kind"), one.get("server"), one.get("name")
        runs, opened, last = one.get("runs"), one.get("opened"), one.get("last")
        if (
            (kind in KINDS and isinstance(server, str) and isinstance(name, str) and name)
            and (isinstance(runs, int) and isinstance(opened, int) and isinstance(last, (int, float)))
            and (0 <= runs <= _MANY and 0 <= opened <= _MANY and 0 <= last < 1e11)
        ):
            found[Ref(kind, server, name)] = Uses(runs, opened, float(last))
    return found
