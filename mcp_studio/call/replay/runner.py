"""Sends recorded steps again, one after the other, and compares the answers with the recorded ones."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import Literal, cast, get_args

from mcp_studio.call.call import OUTCOMES, Call, CallOutcome, InBackground, Rejected, Succeeded, ToolFailed, said_of
from mcp_studio.call.caller import Caller, Origin
from mcp_studio.call.replay.plan import CALLS, Recorded, ReplayStep, Script, load
from mcp_studio.catalog.listing import Ref
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, dumps, loads, mapping
from mcp_studio.protocol.events import Answered
from mcp_studio.protocol.versions import LISTS
from mcp_studio.record import record
from mcp_studio.trace.diff import USUAL, Difference, Ignore, diff, path_text
from mcp_studio.trace.message import Recording

Verdict = Literal["same", "differs", "new", "failed", "skipped"]
"""The result of a step.

`new`: the recording has no answer to compare; `failed`: there is no answer now; `skipped`: the step could not be sent
as it was.
"""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
_IGNORED = ("$.ttlMs", "$.cacheScope", "$.resultType", "$.nextCursor")
"""Members of results that only one era has, or that mean nothing to another server."""


@record(frozen=True)
class Result:
    """A step that was sent or skipped."""

    step: ReplayStep
    verdict: Verdict
    differences: tuple[Difference, ...] = ()
    """The differences to the recorded answer; paths are within the result, or the error."""
    said: str = ""
    """Why the step failed or was skipped; foreign text."""
    ms: float | None = None
    """Milliseconds of the new call."""
    answer: dict[str, Json] | None = None
    """`result` or `error` of the new answer, without secrets."""
    outcome: CallOutcome | None = None


def summary(results: Iterable[Result]) -> dict[str, int]:
    """The number of results of each verdict, and of all."""
    counted = Counter(one.verdict for one in results)
    return {"steps": counted.total(), **{word: counted[word] for word in VERDICTS}}


def answer_of(outcome: CallOutcome) -> dict[str, Json] | None:
    """The answer of a call in the form of a message; None where there is none."""
    match outcome:
        case Succeeded(result=result) | ToolFailed(result=result):
            return {"result": result}
        case Rejected(code=0, message=_, data=data) if outcome.problems and data is not None:
            return {"result": data}
        case Rejected(code=code, message=message, data=data):
            return _error(code, message, data)
        case InBackground(task=task):
            return {"result": {"task": {"taskId": task}}}
        case _:
            return None


def _error(code: int, message: str, data: Json) -> dict[str, Json]:
    more: dict[str, Json] = {"data": data} if data is not None else {}
    return {"error": {"code": code, "message": message, **more}}


def comparable(before: dict[str, Json], after: dict[str, Json]) -> tuple[Json, Json]:
    """The values to compare: both results, or both errors; otherwise the whole answers."""
    for kind in ("result", "error"):
        if kind in before and kind in after:
            return before[kind], after[kind]
    return before, after


Fill = Callable[[ReplayStep, Recorded], Awaitable["dict[str, Json] | None"]]
"""Returns params to send in place of those with redacted parts; None where it cannot."""


@record(eq=False)
class Replayer:
    """Sends the steps of one recording."""

    caller: Caller
    recording: Recording
    origin: Origin = "program"
    """`person` for a single step that a person sends; many steps are sent by a program (see `call.policy`)."""
    approved: bool = False
    """Whether the steps need no further approval."""
    ignore: Ignore = USUAL
    fill: Fill | None = None
    """Called for a step with redacted parts."""
    _cursors: dict[str, str] = field(default_factory=dict[str, str], init=False)

    async def run(self, steps: tuple[ReplayStep, ...], servers: Mapping[str, str]) -> AsyncGenerator[Result]:
        """Send all steps in order, one at a time; closing the generator stops the running one.

        Args:
            servers: the servers to send to, by the recorded server; by default the same.
        """
        for step in steps:
            yield await self.one(step, servers.get(step.server, step.server))

    async def one(self, step: ReplayStep, server: str) -> Result:
        try:
            recorded = await load(self.recording, step)
        except StudioError as error:
            return Result(step, "skipped", said=error.message)
        params = recorded.params
        if not self._judged(step, params):
            return Result(step, "skipped", said="no rule can judge it: it is sent only when it is approved")
        if recorded.hidden:
            filled = await self.fill(step, recorded) if self.fill is not None else None
            if filled is None:
                return Result(step, "skipped", said=why_hidden(recorded))
            params = filled
        if step.method in LISTS and isinstance(cursor := params.get("cursor"), str):
            params = {**params, "cursor": self._cursors.get(cursor, cursor)}
        began = time.perf_counter()
        try:
            outcome, answer = await self._send(step, server, params, recorded)
        except StudioError as error:
            return Result(step, "failed", said=error.message)
        asked = outcome.asked_ms if outcome is not None else 0.0  # a person's time is none of the server's
        ms = (time.perf_counter() - began) * 1000 - asked
        if outcome is not None and answer is None:
            why = said_of(outcome) or OUTCOMES.get(type(outcome), "no answer")
            return Result(step, "failed", said=why, ms=ms, outcome=outcome)
        return await self._compared(server, recorded, Result(step, "new", ms=ms, answer=answer or {}, outcome=outcome))

    def _judged(self, step: ReplayStep, params: dict[str, Json]) -> bool:
        """Whether a request is approved, will be judged when it is sent, or is harmless."""
        if self.origin == "person" or self.approved or step.method in (*LISTS, *CALLS[1:], "completion/complete"):
            return True
        return step.method == CALLS[0] and _named(step, params) is not None

    async def _compared(self, server: str, recorded: Recorded, result: Result) -> Result:
        manager, step = self.caller.manager, result.step

        def compare() -> tuple[dict[str, Json], tuple[Difference, ...]]:
            # Redacted as in the trace, because recorded answers have no secrets either.
            now, before = mapping(loads(manager.redactor.bytes(dumps(result.answer)))), recorded.answer
            if result.outcome is not None:  # the result of a call has passed the filter
                before = mapping(self.caller.filter.shown(server, before))
            ignore = Ignore((*self.ignore.patterns, *_IGNORED), usual=self.ignore.usual)
            return now, diff(*comparable(before, now), ignore) if before else ()

        now, found = await asyncio.to_thread(compare)
        if step.method in LISTS:
            old, new = (mapping(one.get("result")).get("nextCursor") for one in (recorded.answer, now))
            if isinstance(old, str) and isinstance(new, str):
                self._cursors[old] = new
        verdict: Verdict = "new" if not recorded.answer else "differs" if found else "same"
        return replace(result, verdict=verdict, differences=found, answer=now)

    async def _send(
        self, step: ReplayStep, server: str, params: dict[str, Json], recorded: Recorded
    ) -> tuple[CallOutcome | None, dict[str, Json] | None]:
        manager = self.caller.manager
        connection = await manager.ready(server)
        scripts, script = manager.supervisor(server).answerer.scripts, Script(recorded.given)
        scripts.append(script.answer)
        try:
            if step.method in CALLS and (call := self._call(step, server, params, recorded)) is not None:
                outcome = await call.join()
                return outcome, answer_of(outcome)
            event = (await connection.request(step.method, params)).event
            if isinstance(event, Answered):
                return None, {"result": event.result}
            return None, _error(event.code, event.message, event.data)
        finally:
            scripts.remove(script.answer)

    def _call(self, step: ReplayStep, server: str, params: dict[str, Json], recorded: Recorded) -> Call | None:
        """The call of a request; None where no call of ours sends such a request."""
        if (named := _named(step, params)) is None:
            return None
        caller, (name, given) = self.caller, named
        if step.method == "resources/read":
            return caller.start(Ref("resource", server, name), step.method, {"uri": name}, fresh=True)
        if step.method == "prompts/get":
            return caller.start(Ref("prompt", server, name), step.method, {"name": name, "arguments": given})
        return caller.call_tool(
            Ref("tool", server, name), given,
            origin=self.origin, approved=self.approved, wants_task=recorded.task, ttl=recorded.ttl,
        )  # fmt: skip


def _named(step: ReplayStep, params: dict[str, Json]) -> tuple[str, dict[str, Json]] | None:
    """The name and arguments of a request; None where no call of ours has such."""
    name, arguments = params.get("uri" if step.method == "resources/read" else "name"), params.get("arguments", {})
    if isinstance(name, str) and isinstance(arguments, dict):
        return name, cast("dict[str, Json]", arguments)
    return None


def why_hidden(recorded: Recorded) -> str:
    """A sentence on the fields that the recording has redacted."""
    names = [path_text(place) for place in recorded.hidden]
    what = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"the recording does not have {what}, being secret"
