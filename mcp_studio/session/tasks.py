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
