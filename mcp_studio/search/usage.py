"""How often things were run and opened by a person, and when last: kept on disk, bounded, without secrets.

Imports next to nothing: it is there from the first call on, long before anybody searches.
"""

from __future__ import annotations

import asyncio
import math
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple, cast

from mcp_studio.catalog.listing import KINDS, Ref
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, JsonProblem, dumps, loads
from mcp_studio.paths import write_atomically

MOST = 1_000
"""Entries that are kept; those used last stay."""
_FORMAT = 1
_DELAY = 1.0
_LARGEST = 4 << 20
"""Bytes of a file that is read."""
_LONGEST = 2_000
"""Characters of a name that is kept."""
_OPENED = 0.25
"""What opening something counts beside running it."""
_OFTEN = 64.0
"""Runs that are as often as can be."""
_HALF = 30 * 86_400.0
"""Seconds after which what is not used any more counts half as much."""
_MANY = 1 << 40
"""A count beyond which nobody counts."""


class Uses(NamedTuple):
    """What is known of one entry."""

    runs: int = 0
    opened: int = 0
    last: float = 0.0
    """Seconds since the epoch."""

    def plus(self, other: Uses) -> Uses:
        """Both together."""
        return Uses(
            min(self.runs + other.runs, _MANY), min(self.opened + other.opened, _MANY), max(self.last, other.last)
        )

    def strength(self, now: float) -> float:
        """From 0 to 1: how much it is used these days."""
        often = min(1.0, math.log1p(self.runs + _OPENED * self.opened) / math.log1p(_OFTEN))
        return often * 0.5 ** (max(0.0, now - self.last) / _HALF)


class Usage:
    """The file `search-usage.json`. What is used is added to what other programs have written meanwhile.

    Args:
        file: where it is kept; None keeps nothing, and reads nothing.
        clean: takes secrets out of a text; a name that it changes is not kept.
    """

    def __init__(self, file: Path | None, clean: Callable[[str], str] = str) -> None:
        self._file = file
        self._clean = clean
        self._disk = threading.Lock()
        """Held while the file is read or written."""
        self._turn = threading.Lock()
        """Held for a moment: the loop waits for it."""
        self._new: dict[Ref, Uses] = {}
        """What was used and is not written yet."""
        self._writing: dict[Ref, Uses] = {}
        self._read: dict[Ref, Uses] = {}
        self._state: tuple[int, int] | None = None
        """Time and size of the file as it was read."""
        self._timer: asyncio.TimerHandle | None = None

    def ran(self, ref: Ref) -> None:
        """A person has run it; cheap."""
        self._add(ref, Uses(1, 0, time.time()))

    def opened(self, ref: Ref) -> None:
        """A person has opened it; cheap."""
        self._add(ref, Uses(0, 1, time.time()))

    def all(self) -> dict[Ref, Uses]:
        """Everything that is known; reads the file where it is another than before, and nobody is writing it."""
        if self._file is not None and self._disk.acquire(blocking=False):
            try:
                self._load(self._file)
            finally:
                self._disk.release()
        with self._turn:
            return _joined(_joined(self._read, self._writing), self._new)

    def write(self) -> None:
        """Write what was used; blocks. A disk that refuses costs that and nothing else."""
        if self._file is None:
            return
        with self._disk:
            with self._turn:
                if not self._new:
                    return
                self._writing, self._new = self._new, {}
            self._load(self._file)
            kept = {ref: uses for ref, uses in _joined(self._read, self._writing).items() if self._may_keep(ref)}
            kept = dict(sorted(kept.items(), key=lambda one: (one[1].last, one[0]))[-MOST:])
            try:
                write_atomically(self._file, _text(kept.items()))
            except OSError:
                with self._turn:
                    self._new, self._writing = _joined(self._writing, self._new), {}
                return
            with self._turn:
                self._read, self._writing, self._state = kept, {}, _state(self._file)

    def close(self) -> None:
        """Write no more by itself; what is left is for `write`."""
        if self._timer is not None:
            self._timer.cancel()

    def _add(self, ref: Ref, uses: Uses) -> None:
        if self._file is None or not ref.name or len(ref.name) + len(ref.server) > _LONGEST:
            return
        with self._turn:
            known = self._new.pop(ref, None)
            self._new[ref] = known.plus(uses) if known else uses
            if len(self._new) > MOST:
                del self._new[next(iter(self._new))]
        if self._timer is None:
            try:
                self._timer = asyncio.get_running_loop().call_later(_DELAY, self._soon)
            except RuntimeError:
                return  # without a loop it is written at the end

    def _soon(self) -> None:
        self._timer = None
        asyncio.get_running_loop().run_in_executor(None, self.write)

    def _load(self, file: Path) -> None:
        state = _state(file)
        if state != self._state:
            self._read, self._state = _entries(file) if state else {}, state

    def _may_keep(self, ref: Ref) -> bool:
        return all(self._clean(text) == text for text in (ref.server, ref.name))


def _joined(one: dict[Ref, Uses], other: dict[Ref, Uses]) -> dict[Ref, Uses]:
    found = dict(one)
    for ref, uses in other.items():
        found[ref] = found[ref].plus(uses) if ref in found else uses
    return found


def _state(file: Path) -> tuple[int, int] | None:
    try:
        known = os.stat(file)
    except OSError:
        return None
    return known.st_mtime_ns, known.st_size


def _text(entries: Iterable[tuple[Ref, Uses]]) -> bytes:
    used: list[Json] = [
        {"kind": ref.kind, "server": ref.server, "name": ref.name, **uses._asdict()} for ref, uses in entries
    ]
    return dumps({"version": _FORMAT, "used": used})


def _entries(file: Path) -> dict[Ref, Uses]:
    """What a file says; one that is no such file, or of a newer format, says nothing."""
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST:
            return {}
        value = loads(file.read_bytes())
    except (OSError, JsonProblem, StudioError):
        return {}
    if not isinstance(value, dict) or value.get("version") != _FORMAT or not isinstance(value.get("used"), list):
        return {}
    found: dict[Ref, Uses] = {}
    for one in cast("list[Json]", value["used"])[-MOST:]:
        if isinstance(one, dict) and (entry := _entry(one)):
            found[entry[0]] = entry[1]
    return found


def _entry(one: dict[str, Json]) -> tuple[Ref, Uses] | None:
    kind, server, name = one.get("kind"), one.get("server"), one.get("name")
    runs, opened, last = one.get("runs"), one.get("opened"), one.get("last")
    if kind not in KINDS or not isinstance(server, str) or not isinstance(name, str) or not name:
        return None
    if not isinstance(runs, int) or not isinstance(opened, int) or not isinstance(last, (int, float)):
        return None
    if not (0 <= runs <= _MANY and 0 <= opened <= _MANY and 0 <= last < 1e11):
        return None
    return Ref(kind, server, name), Uses(runs, opened, float(last))
