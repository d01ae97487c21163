"""Where records are kept: what a storage has to do, and the one that is a JSON file."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Protocol

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, JsonProblem, dumps, items_of, loads, mapping
from mcp_studio.limits import MB
from mcp_studio.paths import write_atomically
from mcp_studio.registry.record import ToolRecord, record_of
from mcp_studio.vault.base import file_lock

FORMAT = 1
LARGEST = 512 * MB
"""A JSON file that is read."""


class StorageProblem(StudioError):
    """A storage cannot be opened, read or written; says which, why, and what to do."""


class Uses(NamedTuple):
    """Calls that are to be added to those that are known."""

    calls: int
    last: float


class Storage(Protocol):
    """Where records are kept. A package adds one by the group of entry points `mcp_studio.registry`.

    Several processes may use the same one at once: every method does all or nothing, and none undoes what another
    process has done to other tools. All of them block, and come from any thread, one at a time.

    Raises, all of them:
        StorageProblem: it cannot be reached, read or written.
    """

    place: str
    """What it is called in sentences, without secrets."""

    def load_all(self) -> Sequence[ToolRecord]:
        """Everything that is kept, by name."""
        ...

    def save(self, records: Sequence[ToolRecord]) -> None:
        """Write records in place of those of the same names; at most 10,000 at once. Use never gets less by it."""
        ...

    def delete(self, names: Collection[str]) -> None:
        """Forget tools; those that are not there do not matter."""
        ...

    def count(self, uses: Mapping[str, Uses]) -> None:
        """Add calls; tools that are not there do not matter."""
        ...

    def revision(self) -> int:
        """A number that goes up by one with each of the three above that changes something; quick."""
        ...


class MemoryStorage:
    """Keeps nothing: what a registry knows ends with it."""

    place = "memory"

    def load_all(self) -> Sequence[ToolRecord]:
        return ()

    def save(self, records: Sequence[ToolRecord]) -> None:
        pass

    def delete(self, names: Collection[str]) -> None:
        pass

    def count(self, uses: Mapping[str, Uses]) -> None:
        pass

    def revision(self) -> int:
        return 0


def used(record: ToolRecord, uses: Uses) -> ToolRecord:
    """A record with more calls."""
    return replace(record, uses=record.uses + uses.calls, last_used=max(record.last_used, uses.last))


def merged(old: ToolRecord | None, new: ToolRecord) -> ToolRecord:
    """A record that takes another one's place: what other processes have counted meanwhile stays."""
    if old is None or (old.uses <= new.uses and old.last_used <= new.last_used):
        return new
    return replace(new, uses=max(old.uses, new.uses), last_used=max(old.last_used, new.last_used))


class JsonStorage:
    """One JSON file, replaced as a whole, with a lock between processes: right for some thousands of tools."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.place = str(file)
        self._turn = threading.RLock()
        self._stamp: tuple[int, ...] | None = None
        self._records: dict[str, ToolRecord] = {}
        self._revision = 0

    def load_all(self) -> Sequence[ToolRecord]:
        with self._turn:
            self._look()
            return tuple(self._records.values())

    def save(self, records: Sequence[ToolRecord]) -> None:
        with self._change() as now:
            now.update({record.name: merged(now.get(record.name), record) for record in records})

    def delete(self, names: Collection[str]) -> None:
        with self._change() as now:
            for name in names:
                now.pop(name, None)

    def count(self, uses: Mapping[str, Uses]) -> None:
        with self._change() as now:
            now.update({name: used(now[name], one) for name, one in uses.items() if name in now})

    def revision(self) -> int:
        with self._turn:
            self._look()
            return self._revision

    @contextmanager
    def _change(self) -> Generator[dict[str, ToolRecord]]:
        """Change what is in the file, by itself among threads and processes."""
        try:
            with self._turn, file_lock(self.file.with_name(f".{self.file.name}.lock"), self.place):
                self._look()
                now = dict(self._records)
                yield now
                if now != self._records:
                    self._write(now)
        except OSError as problem:
            raise self._problem("written", problem.strerror or str(problem)) from None

    def _write(self, records: dict[str, ToolRecord]) -> None:
        tools: list[Json] = [record.as_json() for _, record in sorted(records.items())]
        value = {"version": FORMAT, "revision": self._revision + 1, "tools": tools}
        write_atomically(self.file, dumps(value))
        self._records, self._stamp, self._revision = records, self._stamped(), self._revision + 1

    def _look(self) -> None:
        """Read the file, if it is another one than before."""
        try:
            if (stamp := self._stamped()) == self._stamp:
                return
            if stamp and stamp[1] > LARGEST:
                raise self._problem("read", f"it is larger than {LARGEST // MB} MB")
            value = mapping(loads(self.file.read_bytes())) if stamp else {}
        except OSError as problem:
            raise self._problem("read", problem.strerror or str(problem)) from None
        except JsonProblem as problem:
            raise self._problem("read", f"it is not JSON, {problem}") from None
        version, revision = value.get("version", FORMAT), value.get("revision", 0)
        if not isinstance(version, int) or version > FORMAT or not isinstance(revision, int):
            raise self._problem("read", f"its format is {version}, and this version knows {FORMAT} alone")
        self._records = {record.name: record for record in readable(items_of(value.get("tools")))}
        self._stamp, self._revision = stamp, revision

    def _stamped(self) -> tuple[int, ...]:
        """What changes with the file: every writer puts another one in its place. Empty where there is none."""
        try:
            status = os.stat(self.file)
        except FileNotFoundError:
            return ()
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _problem(self, done: str, why: str) -> StorageProblem:
        hint = f"{'Move it away, or name' if done == 'read' else 'Name'} another one by [registry] storage."
        return StorageProblem(f"The registry {self.place} cannot be {done}: {why}.", hint=hint)


def readable(values: Iterable[Json]) -> Generator[ToolRecord]:
    """The records among values of a storage; what is none is left out."""
    for value in values:
        try:
            yield record_of(value)
        except ValueError:
            continue
