"""Tasks of servers as frozen values, and the file that keeps those which have not ended."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import NamedTuple, cast

from mcp_studio.catalog.listing import KINDS, EntryKind, Ref
from mcp_studio.catalog.remembered import memory_file
from mcp_studio.config.model import ServerConfig
from mcp_studio.jsontext import Json, JsonProblem, dumps, items_of, loads
from mcp_studio.paths import read_object, write_atomically
from mcp_studio.protocol.tasks import ENDED, TaskKind, TaskState, TaskStatus
from mcp_studio.record import record

_STEPS = 60
"""Changes of one task that are kept."""
_PROBLEMS = 20


class Step(NamedTuple):
    """One change of a task, and when we learnt of it (seconds since the epoch)."""

    at: float
    status: str
    message: str


class TaskError(NamedTuple):
    """The JSON-RPC error that a task ended with."""

    code: int
    message: str
    data: Json = None


@record(frozen=True)
class Task:
    """One task of one server. All texts in it are foreign."""

    server: str
    id: str
    kind: TaskKind
    status: TaskStatus = "working"
    message: str = ""
    created: str = ""
    """`createdAt`, by the server's clock."""
    updated: str = ""
    ttl: float | None = None
    """Seconds from its creation for which the server keeps it; None is unlimited."""
    poll: float | None = None
    """Seconds between two questions that the server wishes."""
    ref: Ref | None = None
    """What was called; None where the task came from a list."""
    arguments: Json = None
    method: str = "tools/call"
    started: float = field(default_factory=time.time)
    """When we learnt of it, in seconds since the epoch."""
    seen: float = 0.0
    """When the server last said something of it."""
    followed: bool = True
    """It is asked for again and again; tasks that a server merely lists are not."""
    asking: bool = False
    """It waits for the answer of a person here."""
    result: Json = None
    has_result: bool = False
    error: TaskError | None = None
    gone: str = ""
    """Why nothing more will be heard of it though it has not ended; a sentence."""
    steps: tuple[Step, ...] = ()
    problems: tuple[str, ...] = ()
    """What the server does wrong with it, in words."""
    raw: Json = None
    """The newest task object as it came."""
    size: int = 0
    """Bytes of the frame that held the result."""
    request_id: int | str | None = None
    """The request that the result answered."""
    number: int = 0
    """Where the call that became it stands in the trace; 0 where it is of another run, or was listed."""

    @property
    def key(self) -> tuple[str, str]:
        """What it is found by."""
        return self.server, self.id

    @property
    def ended(self) -> bool:
        """It is in a state that it never leaves."""
        return self.status in ENDED

    @property
    def done(self) -> bool:
        """Nothing more will come of it: ended and its result here, or gone."""
        fetched = self.has_result or self.error is not None or self.status == "cancelled"
        return bool(self.gone) or (self.ended and fetched)

    @property
    def subject(self) -> str:
        """What it is for, for people."""
        return str(self.ref) if self.ref else f"{self.server} {self.method}"

    @property
    def expires(self) -> float | None:
        """When its time to live is over, in seconds since the epoch."""
        return None if self.ttl is None else self.started + self.ttl

    def as_json(self) -> dict[str, Json]:
        """It for scripts."""
        return {
            "server": self.server, "task": self.id, "kind": self.kind, "status": "gone" if self.gone else self.status,
            "message": self.gone or self.message or None, "for": self.ref.name if self.ref else None,
            "created": self.created or None, "updated": self.updated or None, "ttl": self.ttl,
        }  # fmt: skip

    def heard(self, state: TaskState, raw: Json) -> Task:
        """It after a message about it. A task that has ended changes no more; a server that says so is told of."""
        status = state.status or self.status
        problems = list(state.problems)
        if self.ended and status != self.status:
            problems.append(f"The task went from {self.status} to {status}, though it had ended.")
            status = self.status
        now = time.time()
        steps = self.steps
        if not steps or (steps[-1].status, steps[-1].message) != (status, state.message):
            steps = (*steps[-_STEPS:], Step(now, status, state.message))
        return replace(
            self, status=status, message=state.message, created=state.created or self.created, updated=state.updated,
            ttl=state.ttl, poll=state.poll, seen=now, steps=steps, raw=raw,
        ).wrong(problems)  # fmt: skip

    def wrong(self, problems: Iterable[str]) -> Task:
        """It with more that is wrong with it, each thing once."""
        found = dict.fromkeys((*self.problems, *problems))
        return replace(self, problems=tuple(found)[:_PROBLEMS]) if len(found) > len(self.problems) else self


_FORMAT = 1
_MOST_ON_DISK = 1_000
_OLDEST = 30 * 86_400.0
"""Seconds after which a task without a time to live is forgotten."""
_ENDLESS = 1e12
"""Seconds; a number in a file may have more digits than a float takes."""
_SAVING = 0.5
"""Seconds after a change: a task that has ended by then is never written."""
_CLOSING = 1.0

Address = tuple[str, str]
"""Server, as its configuration says where it is, and task id."""


class StoredTask(NamedTuple):
    """One task of the file: where its server is, and what is known of it."""

    address: str
    raw: dict[str, Json]

    @property
    def key(self) -> Address:
        return self.address, str(self.raw.get("id", ""))

    @property
    def fresh(self) -> bool:
        age = time.time() - (_number(self.raw.get("started")) or 0.0)
        return age < (_number(self.raw.get("ttl")) or _OLDEST)

    def task(self, server: str) -> Task | None:
        """It as a task of a configured server; None where the entry makes no sense."""
        raw = self.raw
        identity, kind, name = raw.get("id"), raw.get("kind"), raw.get("name")
        if not isinstance(identity, str) or not identity or kind not in ("core", "extension"):
            return None
        what: EntryKind = "tool"
        for one in KINDS:
            what = one if one == raw.get("what") else what
        return Task(
            server, identity, "core" if kind == "core" else "extension",
            message=str(raw.get("message") or ""), ttl=_number(raw.get("ttl")),
            started=_number(raw.get("started")) or 0.0,
            ref=Ref(what, server, name) if isinstance(name, str) else None, arguments=raw.get("arguments"),
            method=str(raw.get("method") or "tools/call"),
        )  # fmt: skip


def address_of(config: ServerConfig) -> str:
    """A text that is the same as long as a configuration means the same server."""
    return memory_file(Path(), config).name.removesuffix(".json")


class TaskFile:
    """The file. Several studios share it, and a disk that refuses costs what would have been kept and nothing else.

    Args:
        redact: takes secrets out of a text; arguments are written without them.
    """

    def __init__(self, file: Path, redact: Callable[[bytes], bytes] = bytes) -> None:
        self._file = file
        self._redact = redact
        self._open: dict[Address, StoredTask] = {}
        self._over: set[Address] = set()
        """What must not stay in the file."""
        self._dirty = asyncio.Event()
        self._closing = asyncio.Event()
        self._writing: asyncio.Task[None] | None = None

    def keep(self, task: Task, config: ServerConfig) -> None:
        """A task is new or has changed."""
        key = (address_of(config), task.id)
        if task.done:
            self.drop(task, config)
        elif key not in self._open:
            self._open[key] = self._record(task, key[0])
            self._over.discard(key)
            self._save_soon()

    def drop(self, task: Task, config: ServerConfig) -> None:
        """A task is done, or nobody wants to know of it any more."""
        key = (address_of(config), task.id)
        if self._open.pop(key, None) is not None:
            self._over.add(key)
            self._save_soon()

    async def close(self) -> None:
        """Write what has not been written yet, if the disk takes it soon."""
        self._closing.set()
        if self._writing is not None:
            await asyncio.wait((self._writing,), timeout=_CLOSING)

    def _save_soon(self) -> None:
        self._dirty.set()
        if self._writing is None or self._writing.done():
            self._writing = asyncio.get_running_loop().create_task(self._save())

    async def _save(self) -> None:
        while self._dirty.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(_SAVING):
                    await self._closing.wait()
            self._dirty.clear()
            await asyncio.to_thread(self._write, dict(self._open), set(self._over))

    def read(self) -> list[StoredTask]:
        """What earlier runs have kept; nothing of a file that is unreadable, too large, or of a newer format."""
        value = read_object(self._file, exact=True)
        found = value.get("tasks") if value.get("version") == _FORMAT else None
        items = [cast("dict[str, Json]", item) for item in items_of(found) if isinstance(item, dict)]
        return [StoredTask(str(item.get("address", "")), item) for item in items]

    def _write(self, mine: Mapping[Address, StoredTask], over: set[Address]) -> None:
        """Write ours and what others have written, but for those that we know to be over."""
        others = [one for one in self.read() if one.key not in over and one.key not in mine and one.fresh]
        tasks = [one.raw for one in (*others, *mine.values())][-_MOST_ON_DISK:]
        try:
            write_atomically(self._file, dumps({"version": _FORMAT, "tasks": tasks}))
        except OSError:
            return

    def _record(self, task: Task, address: str) -> StoredTask:
        arguments: Json = None
        with suppress(JsonProblem, ValueError, TypeError, RecursionError):
            arguments = loads(self._redact(dumps(task.arguments)))
        message = self._redact(task.message.encode("utf-8", "replace")).decode("utf-8", "replace")
        raw: dict[str, Json] = {
            "server": task.server, "address": address, "id": task.id, "kind": task.kind,
            "method": task.method, "what": task.ref.kind if task.ref else "tool",
            "name": task.ref.name if task.ref else None, "arguments": arguments, "ttl": task.ttl,
            "started": task.started, "message": message[:200],
        }  # fmt: skip
        return StoredTask(address, raw)


def _number(value: Json) -> float | None:
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
    return float(min(value, _ENDLESS)) if usable else None
