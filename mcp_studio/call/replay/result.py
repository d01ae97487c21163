"""What came of a step: the same, another answer, none, or why it was not sent."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Literal, cast, get_args

from mcp_studio.call.outcome import CallOutcome, InBackground, Rejected, Succeeded, ToolFailed
from mcp_studio.call.past import OUTCOMES, said_of
from mcp_studio.call.replay.plan import Step
from mcp_studio.jsontext import Json, dumps, loads, mapping
from mcp_studio.protocol.versions import LISTS
from mcp_studio.record import record
from mcp_studio.redact import Redactor
from mcp_studio.trace.diff import Difference, diff
from mcp_studio.trace.diff_ignore import Ignore

Verdict = Literal["same", "differs", "new", "failed", "skipped"]
"""`new`: the recording has no answer to compare with; `failed`: it was sent, or was to be, and there is no answer;
`skipped`: it could not be sent as it was."""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
_QUICK = 32 * 1024
_OF_ERA = ("ttlMs", "cacheScope")
"""Members of results that only one era has."""


@record(frozen=True)
class Result:
    """One step, done."""

    step: Step
    verdict: Verdict
    differences: tuple[Difference, ...] = ()
    """Where the answer differs from the recorded one; paths are within the result, or the error."""
    said: str = ""
    """Why it failed or was skipped; foreign text."""
    ms: float | None = None
    """Milliseconds it took now."""
    answer: dict[str, Json] | None = None
    """`result` or `error` as it came now, without secrets."""
    outcome: CallOutcome | None = None


def summary(results: Iterable[Result]) -> dict[str, int]:
    """How many there are of each verdict, and of all together."""
    counted = Counter(one.verdict for one in results)
    return {"steps": counted.total(), **{word: counted[word] for word in VERDICTS}}


def answer_of(outcome: CallOutcome) -> dict[str, Json] | None:
    """The answer of a call as it stands in a message; None where there is none."""
    match outcome:
        case Succeeded(result=result) | ToolFailed(result=result):
            return {"result": result}
        case Rejected(code=0, message=_, data=data) if outcome.problems and data is not None:
            return {"result": data}
        case Rejected(code=code, message=message, data=data):
            more: dict[str, Json] = {"data": data} if data is not None else {}
            return {"error": {"code": code, "message": message, **more}}
        case InBackground(task=task):
            return {"result": {"task": {"taskId": task}}}
        case _:
            return None


def why_none(outcome: CallOutcome) -> str:
    """Why a call has no answer, in words; foreign text."""
    return said_of(outcome) or OUTCOMES.get(type(outcome), "no answer")


async def redacted(answer: dict[str, Json], redactor: Redactor) -> dict[str, Json]:
    """An answer as the trace would have it: recorded ones have no secrets either."""
    frame = dumps(answer)
    if len(frame) > _QUICK:
        return await asyncio.to_thread(lambda: mapping(loads(redactor.bytes(frame))))
    clean = redactor.bytes(frame)
    return answer if clean == frame else mapping(loads(clean))


async def differences(
    step: Step, before: dict[str, Json], after: dict[str, Json], ignore: Ignore
) -> tuple[Difference, ...]:
    """Where an answer differs from the recorded one, beside the event loop where it is large."""
    old, new = _comparable(step, before, after)
    size = sum(len(dumps(value)) for value in (old, new)) if _large(old) or _large(new) else 0
    if size > _QUICK:
        return await asyncio.to_thread(diff, old, new, ignore)
    return diff(old, new, ignore)


def _comparable(step: Step, before: dict[str, Json], after: dict[str, Json]) -> tuple[Json, Json]:
    for kind in ("result", "error"):
        if kind in before and kind in after:
            old, new = before[kind], after[kind]
            if not isinstance(old, dict) or not isinstance(new, dict):
                return old, new
            return _of_either_era(step, cast("dict[str, Json]", old), cast("dict[str, Json]", new))
    return before, after


def _of_either_era(step: Step, old: dict[str, Json], new: dict[str, Json]) -> tuple[Json, Json]:
    """Without what one of them has only since it is of another era, and what is of no meaning to another server."""
    drop = {key for key in _OF_ERA if (key in old) != (key in new)}
    if {old.get("resultType", "complete"), new.get("resultType", "complete")} == {"complete"}:
        drop.add("resultType")
    if step.method in LISTS and "nextCursor" in old and "nextCursor" in new:
        drop.add("nextCursor")
    if not drop:
        return old, new
    return ({key: value for key, value in one.items() if key not in drop} for one in (old, new))  # type: ignore[return-value]


def _large(value: Json) -> bool:
    """Whether a value may be large: it is cheaper to look at a few of its parts than to write it."""
    todo = [value]
    seen = 0
    while todo and seen < 200:
        item = todo.pop()
        seen += 1
        if isinstance(item, str) and len(item) > _QUICK:
            return True
        if isinstance(item, (dict, list)):
            if len(item) > 200:
                return True
            todo += item.values() if isinstance(item, dict) else item
    return bool(todo)
