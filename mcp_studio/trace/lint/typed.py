"""Whole messages against the SDK's types of their version. Slow to start: for a thread, when somebody looks.

An error of the SDK becomes the rule that names it best. Of a union only the errors of the arm that was meant count.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, dumps, loads, mapping
from mcp_studio.protocol.versions import META_VERSION, VERSIONS
from mcp_studio.trace.lint.rules import Spot, escaped
from mcp_studio.trace.message import Direction, MessageKind

Path = tuple[str | int, ...]
TIME = 2.0
"""Seconds of computing for all messages that are checked together, without what has to be imported first."""
_FLAWS, _NULLS, _DUPLICATES = 20, 20, 10
_TELLING = ("type", "resultType", "mode", "method")
"""Members whose value decides which arm of a union is meant."""
_FREE = frozenset(
    "inputSchema outputSchema requestedSchema structuredContent input data _meta metadata experimental "
    "inputRequests task error extensions".split()
)
"""Members whose values are anybody's own."""
_RULES = (
    (r"/result/resultType", "result-type"),
    (r"/result/(ttlMs|cacheScope)", "cache-hints"),
    (r"/result/(inputRequests|requestState)(/.*)?", "input-required"),
    (r"/result/nextCursor", "cursor-type"),
    (r"/result/tools/\d+/inputSchema(/type)?", "tool-schema"),
    (r"/result/tools/\d+/outputSchema(/type)?", "output-schema"),
    (r"/result/structuredContent", "structured-content"),
    (r"/result/(content/\d+|messages/\d+/content)/type", "content-block"),
    (r"/result/completion/values(/\d+)?", "completion-values"),
    (r"/params/(progressToken|progress|total)", "progress-type"),
    (r"/params/level", "log-level"),
)
"""Where an error is -> the rule that it breaks; anywhere else it breaks a rule about types in general."""
_SECTIONS = {
    "tools/call": "server/tools#tool-result",
    "tools": "server/tools#tool",
    "resources/read": "server/resources#resource-contents",
    "resources": "server/resources#resource",
    "prompts/get": "server/prompts#promptmessage",
    "prompts": "server/prompts#prompt",
    "completion": "server/utilities/completion#completion-results",
    "logging": "server/utilities/logging",
    "message": "server/utilities/logging",
    "sampling": "client/sampling",
    "elicitation": "client/elicitation",
    "roots": "client/roots",
    "initialize": "basic/lifecycle#initialization",
    "server": "schema#discoverresult",
    "subscriptions": "basic/patterns/subscriptions",
}
"""Method without `notifications/`, or the first part of it -> page and heading of the specification."""


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
        message = loads(job.body)
    except (JsonProblem, LimitExceeded):
        return []
    spots = _duplicate_keys(job.body.decode("utf-8", "replace"))
    part = "result" if job.kind == "result" else "params"
    content = mapping(message).get(part, None if part == "result" else {})
    if not isinstance(content, dict):
        return spots  # the envelope's rules say so
    known = mapping(content)
    if part == "result" and ("task" in known or known.get("resultType") == "task"):
        return spots  # the result comes later, and has this shape then
    if job.direction == "in":
        spots += _nulls(content, f"/{part}")
    known_places = {spot.pointer for spot in spots}
    flaws = _meant(_flaws(job, _version(job, known), content))
    return spots + [spot for flaw in flaws[:_FLAWS] if (spot := _spot(flaw, job)).pointer not in known_places]


def _version(job: Job, content: dict[str, Json]) -> str:
    """Messages of the negotiation say their version themselves."""
    version: Json = job.version
    if job.method == "initialize":
        version = content.get("protocolVersion")
    elif job.method == "server/discover":
        version = mapping(content.get("_meta")).get(META_VERSION) or VERSIONS[-1]
    return version if isinstance(version, str) else ""


def _nulls(value: Json, where: str) -> list[Spot]:
    """Members that are null where the schema knows no null, except in what servers and people say themselves."""
    spots: list[Spot] = []
    todo: list[tuple[Json, str]] = [(value, where)]
    while todo and len(spots) < _NULLS:
        node, path = todo.pop()
        for key, inner in mapping(node).items():
            if inner is None and key != "data":
                text = f'"{key[:80]}" is null; an optional member is left out instead.'
                spots.append(Spot("not-in-schema", text, f"{path}/{escaped(key)}"))
            elif isinstance(inner, (dict, list)) and key not in _FREE:
                todo.append((inner, f"{path}/{escaped(key)}"))
        if isinstance(node, list):
            todo += [(inner, f"{path}/{index}") for index, inner in enumerate(cast("list[Json]", node))]
    return spots


def _duplicate_keys(text: str) -> list[Spot]:
    """Keys that an object has twice; readers differ in which they take."""
    seen: set[str] = set()

    def pairs(items: list[tuple[str, Json]]) -> dict[str, Json]:
        made = dict(items)
        if len(made) < len(items):
            names = [name for name, _ in items]
            seen.update(name for name in names if names.count(name) > 1)
        return made

    try:
        json.loads(text, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return []
    return [Spot("duplicate-key", f'An object has the key "{name[:80]}" twice.') for name in sorted(seen)[:_DUPLICATES]]


# ---------------------------------------------------------------------- errors of the SDK


class _Flaw(NamedTuple):
    """One error, its location divided into the way through the value and the arms of unions on it."""

    path: Path
    arms: tuple[tuple[Path, str], ...]
    kind: str
    text: str
    """What is wrong with the last step of the path, to follow its name."""


def _flaws(job: Job, version: str, content: Json) -> list[_Flaw]:
    from mcp_types import methods
    from pydantic import TypeAdapter, ValidationError

    types: dict[tuple[str, str], Any] = {
        ("in", "result"): methods.SERVER_RESULTS,
        ("in", "request"): methods.SERVER_REQUESTS,
        ("in", "notification"): methods.SERVER_NOTIFICATIONS,
        ("out", "result"): methods.CLIENT_RESULTS,
        ("out", "request"): methods.CLIENT_REQUESTS,
        ("out", "notification"): methods.CLIENT_NOTIFICATIONS,
    }
    wanted = types.get((job.direction, job.kind), {}).get((job.method, version))
    if wanted is None:
        return []  # a method that the version does not have; other rules say so where that is wrong
    whole: Json = content
    if job.kind != "result":
        whole = {"jsonrpc": "2.0", "method": job.method, "params": content}
        if job.kind == "request":
            whole["id"] = 0
    try:
        TypeAdapter(wanted).validate_json(dumps(whole), strict=True, by_name=False)
    except ValidationError as problem:
        errors = problem.errors(include_url=False, include_context=False, include_input=False)
        return [_placed(whole, error["loc"], error["type"], error["msg"]) for error in errors]
    return []


def _placed(root: Json, location: Sequence[str | int], kind: str, message: str) -> _Flaw:
    """Find out which steps of an error's location lead through the value; the others name arms of unions."""
    node, path, arms = root, list[str | int](), list[tuple[Path, str]]()
    for at, step in enumerate(location):
        if isinstance(node, dict) and step in (known := cast("dict[str | int, Json]", node)):
            node = known[step]
        elif isinstance(node, list) and isinstance(step, int) and step < len(items := cast("list[Json]", node)):
            node = items[step]
        elif not (kind == "missing" and at == len(location) - 1):
            arms.append((tuple(path), str(step)))
            continue
        path.append(step)
    return _Flaw(tuple(path), tuple(arms), kind, _words(kind, message))


def _meant(flaws: Sequence[_Flaw], level: int = 0) -> list[_Flaw]:
    """The errors without those of arms that were not meant."""
    found = [flaw for flaw in flaws if len(flaw.arms) <= level]
    unions: dict[Path, dict[str, list[_Flaw]]] = {}
    for flaw in flaws:
        if len(flaw.arms) > level:
            place, arm = flaw.arms[level]
            unions.setdefault(place, {}).setdefault(arm, []).append(flaw)
    for place, arms in unions.items():
        best = min(arms.values(), key=lambda errors: _is_excluded(errors, place))  # the first, if nothing tells
        if len(arms) > 1 and _is_excluded(best, place):
            found.append(_Flaw(place, (), "union", "is of no known kind"))
        else:
            found += _meant(best, level + 1)
    return found


def _is_excluded(flaws: Sequence[_Flaw], place: Path) -> bool:
    """Whether an arm is out of the question: the value names another one."""
    return any(flaw.kind == "literal_error" and flaw.path[:-1] == place and flaw.path[-1] in _TELLING for flaw in flaws)


def _words(kind: str, message: str) -> str:
    if kind == "missing":
        return "is missing"
    if kind in ("model_type", "dict_type", "model_attributes_type"):
        return "must be an object"
    text = message.split(", unable to")[0].replace("Input should be a valid", "must be a")
    text = text.replace("Input should", "must").replace("object", "an object")
    return text.replace("a array", "an array").replace("a integer", "an integer").replace("a list", "an array")[:200]


def _spot(flaw: _Flaw, job: Job) -> Spot:
    name = str(flaw.path[-1])[:80] if flaw.path else "the message"
    if len(flaw.path) > 1 and isinstance(flaw.path[-1], int):
        name = f"{str(flaw.path[-2])[:80]}[{name}]"
    base = "/result" if job.kind == "result" else ""
    pointer = base + "".join(f"/{escaped(str(step))}" for step in flaw.path)
    place = f"{pointer}/type" if flaw.kind == "union" else pointer
    rule = next((rule for pattern, rule in _RULES if re.fullmatch(pattern, place)), "")
    text = f"{name} {flaw.text}."
    if rule:
        return Spot(rule, text, pointer)
    rule = {"missing": "missing-field", "union": "not-in-schema"}.get(flaw.kind, "wrong-type")
    method = job.method.removeprefix("notifications/")
    return Spot(rule, text, pointer, _SECTIONS.get(method) or _SECTIONS.get(method.split("/", 1)[0], ""))
