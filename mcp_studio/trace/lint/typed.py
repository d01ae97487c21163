"""Checking whole messages against the SDK's model of their version. Slow to start: for a thread, when somebody looks.

Its errors are put into our words, and of a union only the errors of the arm that was meant are kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, cast

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads, mapping
from mcp_studio.protocol.versions import META_VERSION, VERSIONS
from mcp_studio.trace.lint.messages import duplicate_keys, nulls
from mcp_studio.trace.lint.rules import Spot, escaped
from mcp_studio.trace.message import Direction, MessageKind

Path = tuple[str | int, ...]
_TELLING = ("type", "resultType", "mode", "method")
"""Members whose value decides which arm of a union is meant."""


class Flaw(NamedTuple):
    """One error, its location divided into the way through the value and the arms of unions on it."""

    path: Path
    arms: tuple[tuple[Path, str], ...]
    kind: str
    text: str
    """What is wrong with the last step of the path, to follow its name."""


def placed(root: Json, location: Sequence[str | int], kind: str, message: str) -> Flaw:
    """Find out which steps of an error's location lead through the value; the others name arms of unions."""
    node, path, arms = root, list[str | int](), list[tuple[Path, str]]()
    for at, step in enumerate(location):
        last = at == len(location) - 1
        if isinstance(node, dict) and isinstance(step, str):
            known = cast("dict[str, Json]", node)
            if step in known:
                node = known[step]
                path.append(step)
                continue
            if last and kind == "missing":
                path.append(step)
                continue
        elif isinstance(node, list) and isinstance(step, int) and step < len(cast("list[Json]", node)):
            node = cast("list[Json]", node)[step]
            path.append(step)
            continue
        arms.append((tuple(path), str(step)))
    return Flaw(tuple(path), tuple(arms), kind, _words(kind, message))


def meant(flaws: Sequence[Flaw], level: int = 0) -> list[Flaw]:
    """The errors without those of arms that were not meant."""
    kept: list[Flaw] = []
    unions: dict[Path, dict[str, list[Flaw]]] = {}
    for flaw in flaws:
        if len(flaw.arms) <= level:
            kept.append(flaw)
        else:
            place, arm = flaw.arms[level]
            unions.setdefault(place, {}).setdefault(arm, []).append(flaw)
    for place, arms in unions.items():
        best = min(arms.values(), key=lambda found: _tells(found, place))  # the first, where nothing tells them apart
        if _tells(best, place) and len(arms) > 1:
            kept.append(Flaw(place, (), "union", "is of no known kind"))
        else:
            kept += meant(best, level + 1)
    return kept


def _tells(flaws: Sequence[Flaw], place: Path) -> bool:
    """Whether an arm is out of the question: the value names another one."""
    return any(flaw.kind == "literal_error" and flaw.path[:-1] == place and flaw.path[-1] in _TELLING for flaw in flaws)


def _words(kind: str, message: str) -> str:
    if kind == "missing":
        return "is missing"
    if kind in ("model_type", "dict_type", "model_attributes_type"):
        return "must be an object"
    text = (
        message.split(", unable to")[0].replace("Input should be a valid", "must be a").replace("Input should", "must")
    )
    return text.replace("a array", "an array").replace("a integer", "an integer").replace("a list", "an array")[:200]


TIME = 2.0
"""Seconds of computing for all messages that are checked together, without what has to be imported first."""
_MOST = 20
_SECTIONS = {
    "tools": "server/tools",
    "resources": "server/resources",
    "prompts": "server/prompts",
    "completion": "server/utilities/completion",
    "logging": "server/utilities/logging",
    "message": "server/utilities/logging",
    "sampling": "client/sampling",
    "elicitation": "client/elicitation",
    "roots": "client/roots",
    "initialize": "basic/lifecycle#initialization",
    "subscriptions": "basic/patterns/subscriptions",
}
"""First part of a method, without `notifications/` -> page of the specification."""


class Job(NamedTuple):
    """One message to check."""

    direction: Direction
    kind: MessageKind
    method: str
    """Of an answer, the method of its request."""
    version: str
    """What was negotiated when it crossed the wire; empty before that."""
    body: bytes


def check_all(jobs: Iterable[Job]) -> list[list[Spot]]:
    """What is wrong with each message; those that there is no time for get an empty list."""
    import mcp_types.methods  # noqa: F401  # pyright: ignore[reportUnusedImport] - before the clock begins

    until = time.thread_time() + TIME
    return [check(job) if time.thread_time() < until else [] for job in jobs]


def check(job: Job) -> list[Spot]:
    """What is wrong with one message."""
    try:
        value = loads(job.body)
    except (JsonProblem, LimitExceeded):
        return []
    spots = duplicate_keys(job.body.decode("utf-8", "replace"))
    if not isinstance(value, dict):
        return spots
    message = cast("dict[str, Json]", value)
    part = "result" if job.kind == "result" else "params"
    content = message.get(part)
    if not isinstance(content, dict) and (part == "result" or part in message):
        return spots  # the envelope's rules say so
    version = _version(job, cast("Json", content))
    if part == "result" and _is_task(cast("dict[str, Json]", content)):
        return spots  # the answer comes later, and has this shape then
    root: Json = content if part == "result" else {"params": content or {}}
    base = "/result" if part == "result" else ""
    if job.direction == "in":
        spots += nulls(cast("Json", content), f"/{part}")
    flaws = meant(_flaws(job, version, cast("Json", content), root)) if version else []
    said = {spot.pointer for spot in spots}
    return spots + [spot for flaw in flaws[:_MOST] if (spot := _spot(flaw, base, job.method)).pointer not in said]


def _is_task(result: dict[str, Json]) -> bool:
    return "task" in result or result.get("resultType") == "task"


def _version(job: Job, content: Json) -> str:
    """Messages of the negotiation say their version themselves."""
    known: dict[str, Json] = mapping(content)
    said: Json = job.version
    if job.method == "initialize":
        said = known.get("protocolVersion")
    elif job.method == "server/discover":
        meta = known.get("_meta")
        said = mapping(meta).get(META_VERSION)
        said = said or VERSIONS[-1]
    return said if isinstance(said, str) and said in VERSIONS else ""


def _flaws(job: Job, version: str, content: Json, root: Json) -> list[Flaw]:
    from mcp_types import methods
    from pydantic import ValidationError

    checks: dict[tuple[Direction, MessageKind], Callable[[str, str, Any], object]] = {
        ("in", "result"): methods.validate_server_result,
        ("in", "request"): methods.parse_server_request,
        ("in", "notification"): methods.parse_server_notification,
        ("out", "result"): methods.validate_client_result,
        ("out", "request"): methods.validate_client_request,
        ("out", "notification"): methods.validate_client_notification,
    }
    validate = checks.get((job.direction, job.kind))
    if validate is None:
        return []
    try:
        validate(job.method, version, content)
    except ValidationError as problem:
        errors = problem.errors(include_url=False, include_context=False, include_input=False)
        return [placed(root, error["loc"], error["type"], error["msg"]) for error in errors]
    except (KeyError, ValueError, RuntimeError):
        return []  # a method that the version does not have; the rules say so where that is wrong
    return []


def _spot(flaw: Flaw, base: str, method: str) -> Spot:
    name = str(flaw.path[-1])[:80] if flaw.path else "the message"
    if len(flaw.path) > 1 and isinstance(flaw.path[-1], int):
        name = f"{str(flaw.path[-2])[:80]}[{name}]"
    pointer = base + "".join(f"/{escaped(str(step))}" for step in flaw.path)
    where = method.removeprefix("notifications/").split("/", 1)[0]
    return Spot("not-in-schema", f"{name} {flaw.text}.", pointer, _SECTIONS.get(where, ""))
