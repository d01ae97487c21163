"""Selecting the requests of a recording to send again, their order, and why others are left out.

Pure; reads no bodies.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import islice
from typing import NamedTuple, cast

from mcp_studio.call.secrets import walk
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, loads_or, mapping
from mcp_studio.protocol.versions import META_CAPABILITIES, META_CLIENT, META_LOG_LEVEL, META_VERSION, TASK_RESULT
from mcp_studio.record import record
from mcp_studio.redact import MARK
from mcp_studio.schema.place import Path
from mcp_studio.session.server_requests import Refusal
from mcp_studio.trace.message import DIRECTIONS, KINDS, PROBE, Columns, Recording
from mcp_studio.trace.tree import parent_of, relation_of

CALLS = ("tools/call", "resources/read", "prompts/get")
"""Methods that are sent as calls: with policy, rounds of input, tasks."""
NEVER = {
    "initialize": "opens a connection", "server/discover": "opens a connection", "ping": "has nothing to compare",
    "subscriptions/listen": "stays open", "resources/subscribe": "is a setting of its connection",
    "resources/unsubscribe": "is a setting of its connection", "logging/setLevel": "is a setting of its connection",
    "tasks/get": "is about a task of that time", "tasks/result": "is about a task of that time",
    "tasks/update": "is about a task of that time", "tasks/cancel": "is about a task of that time",
    "tasks/list": "is about tasks of that time",
}  # fmt: skip
"""Methods that are never sent again, with the reason."""
_REQUEST, _OUT = KINDS.index("request"), DIRECTIONS.index("out")
_OURS = _REQUEST | _OUT << 4


@record(frozen=True)
class ReplayStep:
    """One request to send again, with everything that belonged to it."""

    number: int
    """The number of the request; of a conversation its first one."""
    server: str
    """The server that got the request."""
    method: str
    target: str
    at: float
    """The time of the request, in seconds since the epoch."""
    rounds: tuple[int, ...] = ()
    """The numbers of the later rounds of its conversation."""
    asked: tuple[tuple[int, int], ...] = ()
    """The server's questions meanwhile with our answers, by number."""
    tasks: tuple[int, ...] = ()
    """The numbers of the requests about its task."""
    answer: int = 0
    """The number of the final answer; 0 where it is not kept."""
    ms: float | None = None
    """Milliseconds from the first request to the final answer."""

    @property
    def subject(self) -> str:
        """Method and target in words; foreign text."""
        return f"{self.method} {self.target}".rstrip()


class LeftOut(NamedTuple):
    """Requests of one method that are not sent again."""

    method: str
    times: int
    reason: str
    """The reason, which follows the method in a sentence: `ping has nothing to compare`."""


@record(frozen=True)
class Plan:
    """The steps to send, in order."""

    steps: tuple[ReplayStep, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def servers(self) -> tuple[str, ...]:
        """The servers of the steps, in the order of their first request."""
        return tuple(dict.fromkeys(step.server for step in self.steps))


def plan(columns: Columns, numbers: Iterable[int] | None = None) -> Plan:
    """Plan the steps for a selection of entries: any entry of a conversation selects all of it, once.

    Requests without an answer are left out, because there is nothing to compare.

    Args:
        numbers: the entries; None takes all.
    """
    chosen = range(columns.first, columns.first + len(columns)) if numbers is None else numbers
    roots = sorted({root for number in chosen if (root := _root(columns, number))})
    steps: list[ReplayStep] = []
    left: Counter[tuple[str, str]] = Counter()
    under = _children(columns)
    for root in roots:
        step = _step(columns, root, under)
        if columns.flags[root - columns.first] & PROBE:
            continue
        without = "" if step.answer else "had no answer"
        if why := NEVER.get(step.method) or (without if step.method else "is no request"):
            left[step.method, why] += 1
        else:
            steps.append(step)
    return Plan(tuple(steps), tuple(LeftOut(method, times, why) for (method, why), times in left.items()))


def step_of(columns: Columns, number: int) -> ReplayStep | None:
    """The conversation of an entry, answered or not; None where it belongs to no request of ours."""
    root = _root(columns, number)
    return _step(columns, root, _children(columns)) if root else None


def _kept(columns: Columns, number: int) -> bool:
    return 0 <= number - columns.first < len(columns)


def _root(columns: Columns, number: int) -> int:
    """The first request of ours in an entry's conversation; 0 where there is none."""
    if not _kept(columns, number):
        return 0
    if columns.kind[number - columns.first] & 15 != _REQUEST:
        number = columns.link[number - columns.first]
    # A `step` has a parent but stands for itself, such as a list that was read meanwhile.
    while _kept(columns, number) and relation_of(columns, number) not in ("root", "step"):
        if not _kept(columns, above := parent_of(columns, number)):
            break
        number = above
    return number if _kept(columns, number) and columns.kind[number - columns.first] == _OURS else 0


def _children(columns: Columns) -> dict[int, list[int]]:
    """The requests with a parent, except those that stand for themselves."""
    found: dict[int, list[int]] = {}
    for child in dict.fromkeys((*columns.parents, *columns.follows)):
        if _kept(columns, child) and relation_of(columns, child) not in ("root", "step"):
            found.setdefault(parent_of(columns, child), []).append(child)
    return found


def _step(columns: Columns, root: int, under: dict[int, list[int]]) -> ReplayStep:
    """A conversation from its first request on."""
    row, rounds, asked, tasks = root - columns.first, [root], list[tuple[int, int]](), list[int]()
    below = list(under.get(root, ()))
    for number in below:
        below += under.get(number, ())
    for number in sorted(below):
        match relation_of(columns, number):
            case "asked":
                asked.append((number, columns.link[number - columns.first]))
            case "task":
                tasks.append(number)
            case _:
                rounds.append(number)
    last = rounds[-1] - columns.first
    answer = columns.link[last] if _kept(columns, columns.link[last]) else 0
    ended = max([answer, *(columns.link[number - columns.first] for number in tasks)])
    ms = (columns.time[ended - columns.first] - columns.time[row]) * 1000 if _kept(columns, ended) else None
    return ReplayStep(
        root, columns.servers.texts[columns.server[row]], columns.methods.texts[columns.method[row]],
        columns.targets.texts[columns.target[row]], columns.time[row], tuple(rounds[1:]), tuple(asked),
        tuple(tasks), answer, ms,
    )  # fmt: skip


class GivenAnswer(NamedTuple):
    """One question of a server, and its answer."""

    method: str
    params: dict[str, Json]
    result: Json = None
    error: Json = None
    """The error object of a refusal."""
    secret: bool = False
    """Whether the answer contains a secret that the trace lacks, so that it cannot be given again."""


class Script:
    """The answers of one conversation, each to be given once."""

    def __init__(self, given: tuple[GivenAnswer, ...]) -> None:
        self._left = list(given)

    def answer(self, method: str, params: dict[str, Json]) -> Json | Refusal | None:
        """The answer to the same question, else to the next of its kind; None where a person has to be asked."""
        wanted = _words(params)
        same = [one for one in self._left if one.method == method]
        chosen = next((one for one in same if _words(one.params) == wanted), same[0] if same else None)
        if chosen is None:
            return None
        self._left.remove(chosen)
        if chosen.secret or chosen.error is None:
            return None if chosen.secret else chosen.result
        error = mapping(chosen.error)
        code = error.get("code")
        return Refusal(code if isinstance(code, int) else 0, str(error.get("message", "")), "declined in the recording")


def _words(params: dict[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in params.items() if key != "_meta"}


_LARGE = 1 << 20
_OF_ITS_TIME = (META_VERSION, META_CLIENT, META_CAPABILITIES, META_LOG_LEVEL, "progressToken", "traceparent",
                "tracestate")  # fmt: skip
"""Members of `_meta` that belong to the connection, not to the request."""
_PLACES = 50


@record(frozen=True)
class Recorded:
    """The recorded data of a step."""

    params: dict[str, Json]
    """The params of the request, without members that belong to the connection."""
    answer: dict[str, Json]
    """`result` or `error` of the final answer; empty where there is none."""
    given: tuple[GivenAnswer, ...] = ()
    """The answers to the server's questions."""
    hidden: tuple[Path, ...] = ()
    """Places of `params` that the trace has redacted."""
    task: bool = False
    """Whether the call was to become a task."""
    ttl: float | None = None
    """Seconds for which the server was asked to keep the task."""


async def load(recording: Recording, step: ReplayStep) -> Recorded:
    """Read a step.

    Raises:
        StudioError: the request is not kept, or is not a message.
    """
    request = await _body(recording, step.number)
    params = request.get("params")
    if "method" not in request or not isinstance(params or {}, dict):
        raise StudioError("the recording has no usable request of it")
    sent = dict(mapping(params))
    task = mapping(sent.pop("task", None) if step.method == "tools/call" else None)
    own = {key: value for key, value in mapping(sent.pop("_meta", None)).items() if key not in _OF_ITS_TIME}
    if own:
        sent["_meta"] = own
    ttl = task.get("ttl")
    return Recorded(
        sent, await _final(recording, step), tuple([one async for one in _given(recording, step)]),
        tuple(_hidden(sent)), isinstance(mapping(params).get("task"), dict) and step.method == "tools/call",
        ttl / 1000 if isinstance(ttl, (int, float)) and not isinstance(ttl, bool) and ttl > 0 else None,
    )  # fmt: skip


async def _body(recording: Recording, number: int) -> dict[str, Json]:
    """The message of an entry; empty where it is not kept, or is not a message."""
    entry = recording.entry(number) if number else None
    if entry is None:
        return {}
    data = await recording.body(entry)
    return mapping(await asyncio.to_thread(loads_or, data) if len(data) > _LARGE else loads_or(data))


async def _final(recording: Recording, step: ReplayStep) -> dict[str, Json]:
    answer = _answer(await _body(recording, step.answer))
    columns = recording.columns
    for number in reversed(step.tasks):
        row = number - columns.first
        method = columns.methods.texts[columns.method[row]]
        told = _answer(await _body(recording, columns.link[row]))
        if method == "tasks/result" and told:
            return told
        if method == "tasks/get" and (inner := _answer(told.get("result"))):
            return inner
    # Nobody read the end of what became a task.
    return {} if mapping(answer.get("result")).get("resultType") == TASK_RESULT else answer


def _answer(message: Json) -> dict[str, Json]:
    known = mapping(message)
    return next(({key: known[key]} for key in ("error", "result") if key in known), {})


async def _given(recording: Recording, step: ReplayStep) -> AsyncIterator[GivenAnswer]:
    for asked, answered in step.asked:
        question, answer = await _body(recording, asked), await _body(recording, answered)
        if isinstance(method := question.get("method"), str) and answer:
            yield _one(method, question.get("params"), answer)
    columns = recording.columns
    wanted: dict[str, Json] = {}
    # Rounds of the call, and what its task asked for (tasks/get) and got (tasks/update).
    for number in sorted((step.number, *step.rounds, *step.tasks)):
        sent = mapping(mapping((await _body(recording, number)).get("params")).get("inputResponses"))
        for key, question in wanted.items():
            asked_for = mapping(question)
            if isinstance(method := asked_for.get("method"), str) and key in sent:
                yield _one(method, asked_for.get("params"), {"result": sent[key]})
        told = mapping((await _body(recording, columns.link[number - columns.first])).get("result"))
        wanted = mapping(told.get("inputRequests")) or (wanted if not sent else {})


def _one(method: str, params: Json, answer: dict[str, Json]) -> GivenAnswer:
    secret = next(iter(_hidden(answer)), None) is not None
    return GivenAnswer(method, mapping(params), answer.get("result"), answer.get("error"), secret)


def _hidden(value: Json) -> Iterator[Path]:
    """The first redacted places of a value."""
    return islice((path for path, item in walk(value) if _is_marked(item)), _PLACES)


def _is_marked(item: Json) -> bool:
    texts = (item,) if isinstance(item, str) else cast("dict[str, Json]", item) if isinstance(item, dict) else ()
    return any(MARK in text for text in texts)
