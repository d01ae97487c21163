"""What a step sent and was answered, read from its recording."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import cast

from mcp_studio.call.replay.given import Given
from mcp_studio.call.replay.plan import LeftOut, Plan, Step
from mcp_studio.errors import LimitExceeded, StudioError
from mcp_studio.jsontext import Json, JsonProblem, items_of, loads, mapping
from mcp_studio.protocol.versions import (
    LISTS,
    META_CAPABILITIES,
    META_CLIENT,
    META_LOG_LEVEL,
    META_VERSION,
    TASK_RESULT,
)
from mcp_studio.record import record
from mcp_studio.redact import MARK
from mcp_studio.schema.place import Path
from mcp_studio.trace.recording import Recording

_LARGE = 1 << 20
_OF_ITS_TIME = (META_VERSION, META_CLIENT, META_CAPABILITIES, META_LOG_LEVEL, "progressToken", "traceparent",
                "tracestate")  # fmt: skip
"""Members of `_meta` that belong to the connection, not to what was asked."""
_PLACES = 50
_AFTER = 5_000
"""Entries after an answer in which the end of its task is looked for."""


@record(frozen=True)
class Recorded:
    """What a step was."""

    params: dict[str, Json]
    """As they were sent, without what belonged to the connection."""
    answer: dict[str, Json]
    """`result` or `error` of the final answer; empty where there is none."""
    given: tuple[Given, ...] = ()
    """What was answered to the server's questions."""
    hidden: tuple[Path, ...] = ()
    """Places of `params` where the trace has something that it does not tell."""
    task: bool = False
    """It was to be a task."""
    ttl: float | None = None
    """Seconds for which the server was asked to keep that."""


async def load(recording: Recording, step: Step) -> Recorded:
    """Read a step.

    Raises:
        StudioError: its request is not kept, or is no message.
    """
    request = mapping(await _body(recording, step.number))
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


async def once(recording: Recording, plan: Plan) -> Plan:
    """The same with every page of a list once."""
    seen: set[str] = set()
    steps: list[Step] = []
    for step in plan.steps:
        if step.method in LISTS:
            cursor = mapping(mapping(await _body(recording, step.number)).get("params")).get("cursor")
            page = repr((step.server, step.method, cursor))
            if page in seen:
                continue
            seen.add(page)
        steps.append(step)
    again = len(plan.steps) - len(steps)
    more = (LeftOut("lists", again, "were asked for before"),) if again else ()
    return Plan(tuple(steps), (*plan.left_out, *more))


async def _body(recording: Recording, number: int) -> Json:
    entry = recording.entry(number) if number else None
    if entry is None:
        return None
    data = await recording.body(entry)
    try:
        return await asyncio.to_thread(loads, data) if len(data) > _LARGE else loads(data)
    except (JsonProblem, LimitExceeded):
        return None


async def _final(recording: Recording, step: Step) -> dict[str, Json]:
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
    result = mapping(answer.get("result"))
    return (await _told(recording, step, result.get("taskId"))) if result.get("resultType") == TASK_RESULT else answer


async def _told(recording: Recording, step: Step, task: Json) -> dict[str, Json]:
    """What a server has told of a task's end by itself (2026-07-28); nothing where it has not."""
    columns = recording.columns
    wanted = columns.methods.known("notifications/tasks")
    begin = step.answer - columns.first
    for row in range(begin, min(len(columns), begin + _AFTER)) if wanted is not None else ():
        if columns.method[row] == wanted:
            params = mapping(mapping(await _body(recording, columns.first + row)).get("params"))
            if params.get("taskId") == task and (told := _answer(params)):
                return told
    return {}


def _answer(message: Json) -> dict[str, Json]:
    known = mapping(message)
    return next(({key: known[key]} for key in ("error", "result") if key in known), {})


async def _given(recording: Recording, step: Step) -> AsyncIterator[Given]:
    for asked, answered in step.asked:
        question, answer = mapping(await _body(recording, asked)), mapping(await _body(recording, answered))
        if isinstance(method := question.get("method"), str) and answer:
            yield _one(method, question.get("params"), answer)
    columns = recording.columns
    wanted: dict[str, Json] = {}
    # Rounds of the call, and what its task asked for (tasks/get) and was brought (tasks/update).
    for number in sorted((step.number, *step.rounds, *step.tasks)):
        sent = mapping(mapping(mapping(await _body(recording, number)).get("params")).get("inputResponses"))
        for key, question in wanted.items():
            asked_for = mapping(question)
            if isinstance(method := asked_for.get("method"), str) and key in sent:
                yield _one(method, asked_for.get("params"), {"result": sent[key]})
        told = mapping(mapping(await _body(recording, columns.link[number - columns.first])).get("result"))
        wanted = mapping(told.get("inputRequests")) or (wanted if not sent else {})


def _one(method: str, params: Json, answer: dict[str, Json]) -> Given:
    secret = next(iter(_hidden(answer)), None) is not None
    return Given(method, mapping(params), answer.get("result"), answer.get("error"), secret)


def _hidden(value: Json) -> Iterator[Path]:
    """The places of what was taken out, the first of them."""
    found = 0
    todo: list[tuple[Path, Json]] = [((), value)]
    while todo and found < _PLACES:
        place, item = todo.pop()
        if isinstance(item, dict):
            members = cast("dict[str, Json]", item)
            todo += [((*place, key), inner) for key, inner in reversed(members.items())]
            item = next((key for key in members if MARK in key), None)
        elif isinstance(item, list):
            todo += [((*place, index), inner) for index, inner in reversed(list(enumerate(items_of(item))))]
        if isinstance(item, str) and MARK in item:
            found += 1
            yield place
