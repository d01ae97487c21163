"""Tasks of servers as frozen values."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import field, replace
from typing import NamedTuple

from mcp_studio.catalog.listing import Ref
from mcp_studio.jsontext import Json
from mcp_studio.protocol.tasks import ENDED, TaskKind, TaskState, TaskStatus
from mcp_studio.record import record

_STEPS = 60
"""The most changes of one task that are kept."""
_PROBLEMS = 20


class TaskChange(NamedTuple):
    """A change of a task, with the time at which we learnt of it (seconds since the epoch)."""

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
    """A task of a server. All texts are foreign."""

    server: str
    id: str
    kind: TaskKind
    status: TaskStatus = "working"
    message: str = ""
    created: str = ""
    """`createdAt`, by the server's clock."""
    updated: str = ""
    ttl: float | None = None
    """Seconds from its creation for which the server keeps the task; None is unlimited."""
    poll: float | None = None
    """Seconds between two readings of the state, as the server wishes."""
    ref: Ref | None = None
    """The called entry; None where the task came from a list."""
    arguments: Json = None
    method: str = "tools/call"
    started: float = field(default_factory=time.time)
    """The time at which we learnt of the task, in seconds since the epoch."""
    seen: float = 0.0
    """The time of the server's last message on the task."""
    followed: bool = True
    """Whether the state is read again and again; tasks that a server only lists are not followed."""
    asking: bool = False
    """Whether the task waits for the answer of a person here."""
    result: Json = None
    has_result: bool = False
    error: TaskError | None = None
    gone: str = ""
    """A sentence on why there will be no more news although the task has not ended; empty otherwise."""
    steps: tuple[TaskChange, ...] = ()
    problems: tuple[str, ...] = ()
    """Sentences on faults of the server with the task."""
    raw: Json = None
    """The newest task object, raw."""
    size: int = 0
    """Bytes of the frame with the result."""
    request_id: int | str | None = None
    """The request that the result answered."""
    number: int = 0
    """The trace's number of the task's call; 0 for a task of another run or from a list."""

    @property
    def key(self) -> tuple[str, str]:
        return self.server, self.id

    @property
    def ended(self) -> bool:
        """Whether the task is in a state that it never leaves."""
        return self.status in ENDED

    @property
    def done(self) -> bool:
        """Whether there is nothing more to learn: the task has ended and its result is here, or it is gone."""
        fetched = self.has_result or self.error is not None or self.status == "cancelled"
        return bool(self.gone) or (self.ended and fetched)

    @property
    def subject(self) -> str:
        """The purpose of the task, for people."""
        return str(self.ref) if self.ref else f"{self.server} {self.method}"

    @property
    def expires(self) -> float | None:
        """The end of the time to live, in seconds since the epoch."""
        return None if self.ttl is None else self.started + self.ttl

    def as_json(self) -> dict[str, Json]:
        """The task for scripts."""
        return {
            "server": self.server, "task": self.id, "kind": self.kind, "status": "gone" if self.gone else self.status,
            "message": self.gone or self.message or None, "for": self.ref.name if self.ref else None,
            "created": self.created or None, "updated": self.updated or None, "ttl": self.ttl,
        }  # fmt: skip

    def heard(self, state: TaskState, raw: Json) -> Task:
        """The task after a message about it. An ended task does not change; a message that says so is a fault."""
        status = state.status or self.status
        problems = list(state.problems)
        if self.ended and status != self.status:
            problems.append(f"The task went from {self.status} to {status}, though it had ended.")
            status = self.status
        now = time.time()
        steps = self.steps
        if not steps or (steps[-1].status, steps[-1].message) != (status, state.message):
            steps = (*steps[-_STEPS:], TaskChange(now, status, state.message))
        return replace(
            self, status=status, message=state.message, created=state.created or self.created, updated=state.updated,
            ttl=state.ttl, poll=state.poll, seen=now, steps=steps, raw=raw,
        ).wrong(problems)  # fmt: skip

    def wrong(self, problems: Iterable[str]) -> Task:
        """The task with further problems, without duplicates."""
        found = dict.fromkeys((*self.problems, *problems))
        return replace(self, problems=tuple(found)[:_PROBLEMS]) if len(found) > len(self.problems) else self
