"""Checks whole messages against the SDK's types of their version. Slow to start: runs in a thread, on demand.

An error of the SDK becomes the rule that describes it best. Of a union only the errors of the intended arm count.
"""

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, cast

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, dumps, items_of, loads, mapping
from mcp_studio.protocol.versions import META_VERSION, MODERN_VERSIONS, VERSIONS
from mcp_studio.trace.lint.ledger import Ledger, attach
from mcp_studio.trace.lint.rules import Spot, escaped, found
from mcp_studio.trace.message import Direction, MessageKind, WireMessage

Path = tuple[str | int, ...]
SIZE = 256 * 1024
"""Bytes of the largest message that is checked; larger ones would take too long."""
TIME = 2.0
"""Seconds of CPU for all messages that are checked together, without imports."""
_LOOKED_AT = 4_000
_OF_A_KIND = 2
_TOGETHER = 100
_FLAWS, _NULLS, _DUPLICATES = 20, 20, 10
_TELLING = ("type", "resultType", "mode", "method")
"""Members whose value tells the intended arm of a union."""
_FREE = frozenset(
    "inputSchema outputSchema requestedSchema structuredContent input data _meta metadata experimental "
    "inputRequests task error extensions".split()
)
"""Members whose values the protocol does not define."""
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
"""The rule for an error at a place; errors elsewhere break a rule about types in general."""


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
"""The specification's page and heading, by method without `notifications/`, or by its first part."""


async def examine(entries: Iterable[WireMessage], ledger: Callable[[str], Ledger]) -> list[WireMessage]:
    """Check messages and attach the findings; returns the messages that got any.

    Args:
        ledger: returns the ledger of a server.
    """
    wanted = [entry for entry in entries if _is_wanted(entry)][:_TOGETHER]
    jobs = [
        Job(one.direction, one.kind, one.method, ledger(one.server).version_at(one.number), one.body) for one in wanted
    ]
    all_spots = await asyncio.to_thread(check_all, jobs) if jobs else []
    changed: list[WireMessage] = []
    for entry, job, spots in zip(wanted, jobs, all_spots, strict=True):
        known = {finding.pointer for finding in entry.findings}
        modern = job.version in MODERN_VERSIONS
        new = [found(spot, entry.number, modern) for spot in spots if not _is_covered(spot.pointer, known)]
        if attach(entry, ledger(entry.server), new):
            changed.append(entry)
    return changed


def _is_wanted(entry: WireMessage) -> bool:
    kinds = ("request", "notification", "result")
    return entry.direction != "none" and entry.kind in kinds and entry.size <= SIZE and bool(entry.body)


def _is_covered(pointer: str, known: set[str]) -> bool:
    """Whether a rule has a finding at this place, directly above or directly below."""
    return any(pointer in (one, one.rpartition("/")[0]) or pointer.rpartition("/")[0] == one for one in known if one)


def typical(newest_first: Iterable[WireMessage], server: str) -> list[WireMessage]:
    """The newest messages of a server, some of each kind, which are enough to judge it."""
    chosen: list[WireMessage] = []
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for seen, entry in enumerate(newest_first):
        if seen >= _LOOKED_AT or len(chosen) >= _TOGETHER:
            break
        key = (entry.direction, entry.kind, entry.method, entry.target)
        if entry.server == server and counts[key] < _OF_A_KIND:
            counts[key] += 1
            chosen.append(entry)
    return chosen


class Job(NamedTuple):
    """One message to check."""

    direction: Direction
    kind: MessageKind
    method: str
    """For an answer, the method of its request."""
    version: str
    """The version that was negotiated when the message crossed the wire; empty before."""
    body: bytes


def check_all(jobs: Iterable[Job]) -> list[list[Spot]]:
    """The problems of each message; messages that the time does not suffice for get an empty list."""
    import mcp_types.methods  # noqa: F401  # pyright: ignore[reportUnusedImport] - before the clock begins

    until = time.thread_time() + TIME
    return [check(job) if time.thread_time() < until else [] for job in jobs]


def check(job: Job) -> list[Spot]:
    """The problems of one message."""
    try:
        message = loads(job.body)
    except (JsonProblem, LimitExceeded):
        return []
    repeated = _duplicate_keys(job.body)
    part = "result" if job.kind == "result" else "params"
    content = mapping(message).get(part, None if part == "result" else {})
    if not isinstance(content, dict):
        return repeated  # the rules on the envelope report this
    known = mapping(content)
    if part == "result" and ("task" in known or known.get("resultType") == "task"):
        return repeated  # the result comes later, and has this shape then
    spots = _nulls(content, f"/{part}") if job.direction == "in" else []
    known_places = {spot.pointer for spot in spots}
    flaws = _intended_flaws(_flaws(job, _version(job, known), content))
    spots += [spot for flaw in flaws[:_FLAWS] if (spot := _spot(flaw, job)).pointer not in known_places]
    return repeated + spots


def _version(job: Job, content: dict[str, Json]) -> str:
    """The version of a message; messages of the negotiation name it themselves."""
    version: Json = job.version
    if job.method == "initialize":
        version = content.get("protocolVersion")
    elif job.method == "server/discover":
        version = mapping(content.get("_meta")).get(META_VERSION) or VERSIONS[-1]
    return version if isinstance(version, str) else ""


def _duplicate_keys(body: bytes) -> list[Spot]:
    """Keys that an object has twice; readers differ in which value they use."""
    repeated: set[str] = set()

    def members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for name, value in pairs:
            if name in found:
                repeated.add(name)
            found[name] = value
        return found

    json.loads(body.decode("utf-8", "replace"), object_pairs_hook=members, parse_int=str)  # integers of any length
    names = sorted(repeated)[:_DUPLICATES]
    return [Spot("duplicate-key", f'An object has the key "{name[:80]}" twice.') for name in names]


def _nulls(value: Json, where: str) -> list[Spot]:
    """Members that are null where the schema has no null, except in values that the protocol does not define."""
    spots: list[Spot] = []
    todo: list[tuple[Json, str]] = [(value, where)]
    while todo and len(spots) < _NULLS:
        node, path = todo.pop()
        members = mapping(node) or dict(enumerate(items_of(node)))
        for key, inner in members.items():
            place = f"{path}/{escaped(str(key))}"
            if inner is None and isinstance(key, str) and key != "data":
                text = f'"{key[:80]}" is null; an optional member is left out instead.'
                spots.append(Spot("not-in-schema", text, place))
            elif key not in _FREE:
                todo.append((inner, place))
    return spots


# ---------------------------------------------------------------------- errors of the SDK


class _Flaw(NamedTuple):
    """One error, its location split into the path through the value and the arms of unions on it."""

    path: Path
    arms: tuple[tuple[Path, str], ...]
    kind: str
    text: str
    """What is wrong with the last step of the path; follows its name in a sentence."""


def _flaws(job: Job, version: str, content: Json) -> list[_Flaw]:
    from mcp_types import methods
    from pydantic import TypeAdapter, ValidationError

    side = "SERVER" if job.direction == "in" else "CLIENT"
    types: dict[tuple[str, str], Any] = getattr(methods, f"{side}_{job.kind.upper()}S", {})
    wanted = types.get((job.method, version))
    if wanted is None:
        return []  # the version has no such method; other rules report that where it is wrong
    whole: Json = content
    if job.kind != "result":
        whole = {"jsonrpc": "2.0", "method": job.method, "params": content}
        if job.kind == "request":
            whole["id"] = 0
    try:
        TypeAdapter(wanted).validate_json(dumps(whole), strict=True, by_name=False)
    except ValidationError as problem:
        errors = problem.errors(include_url=False, include_context=False, include_input=False)
        return [_locate(whole, error["loc"], error["type"], error["msg"]) for error in errors]
    return []


def _locate(root: Json, location: Sequence[str | int], kind: str, message: str) -> _Flaw:
    """Find the steps of an error's location that lead through the value; the others name arms of unions."""
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


def _intended_flaws(flaws: Sequence[_Flaw], level: int = 0) -> list[_Flaw]:
    """The errors without those of arms that were not intended."""
    found = [flaw for flaw in flaws if len(flaw.arms) <= level]
    unions: dict[Path, dict[str, list[_Flaw]]] = {}
    for flaw in flaws:
        if len(flaw.arms) > level:
            place, arm = flaw.arms[level]
            unions.setdefault(place, {}).setdefault(arm, []).append(flaw)
    for place, arms in unions.items():
        best = min(arms.values(), key=lambda errors: _is_excluded(errors, place))  # the first arm if no value tells
        if len(arms) > 1 and _is_excluded(best, place):
            found.append(_Flaw(place, (), "union", "is of no known kind"))
        else:
            found += _intended_flaws(best, level + 1)
    return found


def _is_excluded(flaws: Sequence[_Flaw], place: Path) -> bool:
    """Whether an arm cannot be intended, because the value names another one."""
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
    name = str(flaw.path[-1])[:80] if flaw.path else "The message"
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
