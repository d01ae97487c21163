"""Tasks on the wire: the core ones of 2025-11-25 (basic/utilities/tasks) and the extension of 2026-07-28.

Both have the same five states. The names of two members differ, and the extension puts the result into the task.
"""

import math
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.versions import EXTENSION_TASKS, META_TASK, at_least, era_of
from mcp_studio.protocol.views import text_of

TaskKind = Literal["core", "extension"]
TaskStatus = Literal["working", "input_required", "completed", "failed", "cancelled"]
Support = Literal["required", "optional", "server", ""]
"""Whether a tool must be or may be called as a task, whether the server alone decides, or not at all (empty)."""

STATUSES: tuple[TaskStatus, ...] = ("working", "input_required", "completed", "failed", "cancelled")
ENDED: frozenset[TaskStatus] = frozenset(("completed", "failed", "cancelled"))
"""States that a task never leaves."""
NOTIFICATIONS = {"notifications/tasks/status": "core", "notifications/tasks": "extension"}
"""Notifications that carry a task, with the kind of the task."""
CLIENT_TASKS: dict[str, Json] = {
    "list": {},
    "cancel": {},
    "requests": {"elicitation": {"create": {}}, "sampling": {"createMessage": {}}},
}
"""The capability of a client of 2025-11-25 that answers questions as tasks of its own."""

_ID = 1_000
"""Characters of a task id."""
_MESSAGE = 2_000
_TIME = 64
_KEYS: dict[TaskKind, tuple[str, str]] = {"core": ("ttl", "pollInterval"), "extension": ("ttlMs", "pollIntervalMs")}
_LONGEST = 10 * 365 * 86_400.0
"""Seconds from which on a time to live counts as unlimited."""


class TaskState(NamedTuple):
    """The state of a task according to one message; `problems` are sentences on what is wrong with the message."""

    id: str
    status: TaskStatus | None
    """None where the protocol does not know the status."""
    message: str
    created: str
    updated: str
    ttl: float | None
    """Seconds from the task's creation; None is unlimited, or unusable."""
    poll: float | None
    """Seconds between two questions for the state, as the server wishes."""
    problems: tuple[str, ...]


def read_state(raw: Json, kind: TaskKind) -> TaskState:
    """Read a task object; never raises."""
    known = mapping(raw)
    problems: list[str] = []
    ttl_key, poll_key = _KEYS[kind]
    identity = known.get("taskId")
    if not isinstance(identity, str) or not 0 < len(identity) <= _ID:
        problems.append("The task has no usable taskId.")
        identity = ""
    status_name = known.get("status")
    status: TaskStatus | None = next((one for one in STATUSES if one == status_name), None)
    if status is None:
        problems.append(f"The task has the unknown status {str(status_name)[:40]!r}.")
    if ttl_key not in known:
        problems.append(f"The task has no {ttl_key}.")
    for name in ("createdAt", "lastUpdatedAt"):
        if not isinstance(known.get(name), str):
            problems.append(f"The task has no {name}.")
    ttl, poll = _seconds(known, ttl_key, problems), _seconds(known, poll_key, problems)
    return TaskState(
        identity, status, text_of(known, "statusMessage", _MESSAGE), text_of(known, "createdAt", _TIME),
        text_of(known, "lastUpdatedAt", _TIME), ttl, poll, tuple(problems),
    )  # fmt: skip


def created_task(result: Json, kind: TaskKind) -> Json:
    """The task object inside the result of a request that became a task; None where the result has none."""
    known = mapping(result)
    if kind == "core":
        return known.get("task")
    return known if known.get("resultType") == "task" else None


def support_of(tool: Json, version: str, capabilities: Json) -> Support:
    """Whether a tool can be called as a task on a server of this version with these capabilities.

    2025-11-25: only where the server declares `tasks.requests.tools.call`, and then as the tool's
    `execution.taskSupport` says. 2026-07-28: the server decides, where both declare the extension.
    """
    if era_of(version) == "modern":
        return "server" if has(capabilities, "extensions", EXTENSION_TASKS) else ""
    support = mapping(mapping(tool).get("execution")).get("taskSupport")
    if support not in ("required", "optional") or not at_least(version, "2025-11-25"):
        return ""
    return support if has(capabilities, "tasks", "requests", "tools", "call") else ""


def has(capabilities: Json, *path: str) -> bool:
    """Whether capabilities have an object at this path of keys."""
    value = capabilities
    for step in path:
        value = mapping(value).get(step)
    return isinstance(value, dict)


def related_task(params: dict[str, Json]) -> str:
    """The id of the task that a message belongs to by its `_meta`, or an empty string."""
    return text_of(mapping(mapping(params.get("_meta")).get(META_TASK)), "taskId")


def timestamp(seconds: float) -> str:
    """A time as tasks have it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _seconds(known: dict[str, Json], key: str, problems: list[str]) -> float | None:
    """Convert milliseconds to seconds; an unusable number is added to `problems` and left out."""
    value = known.get(key)
    if value is None:
        return None
    # Compared before conversion: an integer may have hundreds of digits, which no float takes.
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf:
        return value / 1000 if value < _LONGEST * 1000 else None
    problems.append(f"The task's {key} is no positive number of milliseconds.")
    return None
