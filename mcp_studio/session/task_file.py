"""Tasks that had not ended, kept on disk so that the next run goes on with them.

Several programs write the same file: each leaves alone what it does not know.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, cast

from mcp_studio.atomic import write_atomically
from mcp_studio.catalog.ref import KINDS, EntryKind, Ref
from mcp_studio.catalog.remembered import memory_file
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, JsonProblem, dumps, items_of, loads
from mcp_studio.session.tasks import Task

_FORMAT = 1
_MOST = 1_000
_LARGEST = 8 * 1024 * 1024
_OLDEST = 30 * 86_400.0
"""Seconds after which a task without a time to live is forgotten."""
_ENDLESS = 1e12
"""Seconds; a number in a file may have more digits than a float takes."""

Address = tuple[str, str]
"""Server, as its configuration says where it is, and task id."""


class Kept(NamedTuple):
    """One task of the file: where its server is, and what is known of it."""

    address: str
    raw: dict[str, Json]

    @property
    def key(self) -> Address:
        """What it is found by."""
        return self.address, str(self.raw.get("id", ""))

    def task(self, server: str) -> Task | None:
        """It as a task of a configured server, None where the entry makes no sense."""
        raw = self.raw
        identity, kind, name, ttl = raw.get("id"), raw.get("kind"), raw.get("name"), raw.get("ttl")
        if not isinstance(identity, str) or not identity or kind not in ("core", "extension"):
            return None
        what: EntryKind = "tool"
        for one in KINDS:
            what = one if one == raw.get("what") else what
        return Task(
            server, identity, "core" if kind == "core" else "extension",
            message=str(raw.get("message") or ""), ttl=_number(ttl), started=_number(raw.get("started")) or 0.0,
            ref=Ref(what, server, name) if isinstance(name, str) else None, arguments=raw.get("arguments"),
            method=str(raw.get("method") or "tools/call"),
        )  # fmt: skip


def address_of(config: ServerConfig) -> str:
    """A text that is the same as long as a configuration means the same server."""
    return memory_file(Path(), config).name.removesuffix(".json")


class TaskFile:
    """The file. A disk that refuses costs what would have been kept and nothing else.

    Args:
        redact: takes secrets out of a text; arguments are written without them.
    """

    def __init__(self, file: Path, redact: Callable[[bytes], bytes] = bytes) -> None:
        self._file = file
        self._redact = redact

    def read(self) -> list[Kept]:
        """What is kept; nothing of a file that is unreadable, too large, or of a newer format."""
        try:
            if self._file.stat().st_size > _LARGEST:
                return []
            value = loads(self._file.read_bytes(), exact=True)
        except (OSError, JsonProblem, StudioError):
            return []
        found = value.get("tasks") if isinstance(value, dict) and value.get("version") == _FORMAT else None
        items = items_of(found)
        return [_kept(cast("dict[str, Json]", item)) for item in items if isinstance(item, dict)]

    def record(self, task: Task, config: ServerConfig) -> Kept:
        """A task as it is written."""
        try:
            arguments = loads(self._redact(dumps(task.arguments)))
        except (JsonProblem, ValueError, TypeError, RecursionError):
            arguments = None
        message = self._redact(task.message.encode("utf-8", "replace")).decode("utf-8", "replace")
        raw: dict[str, Json] = {
            "server": task.server, "address": address_of(config), "id": task.id, "kind": task.kind,
            "method": task.method, "what": task.ref.kind if task.ref else "tool",
            "name": task.ref.name if task.ref else None, "arguments": arguments, "ttl": task.ttl,
            "started": task.started, "message": message[:200],
        }  # fmt: skip
        return _kept(raw)

    def write(self, mine: Mapping[Address, Kept], known: Iterable[Address]) -> None:
        """Write ours and what others have written, but for those that we know to be over; may run in a thread."""
        over = {*known}
        others = [kept for kept in self.read() if kept.key not in over and kept.key not in mine and _fresh(kept)]
        tasks = [kept.raw for kept in (*others, *mine.values())][-_MOST:]
        try:
            write_atomically(self._file, dumps({"version": _FORMAT, "tasks": tasks}))
        except OSError:
            return


def _kept(raw: dict[str, Json]) -> Kept:
    return Kept(str(raw.get("address", "")), raw)


def _fresh(kept: Kept) -> bool:
    age = time.time() - (_number(kept.raw.get("started")) or 0.0)
    return age < (_number(kept.raw.get("ttl")) or _OLDEST)


def _number(value: Json) -> float | None:
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
    return float(min(value, _ENDLESS)) if usable else None
