"""Sends steps again, one after the other, and compares what comes back with what came then."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Protocol, cast

from mcp_studio.call.call import Call
from mcp_studio.call.outcome import CallOutcome
from mcp_studio.call.policy import Origin
from mcp_studio.call.replay.given import Script
from mcp_studio.call.replay.load import Recorded, load
from mcp_studio.call.replay.plan import CALLS, Step
from mcp_studio.call.replay.result import Result, answer_of, differences, redacted, why_none
from mcp_studio.catalog.ref import Ref
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.events import Answered
from mcp_studio.protocol.versions import LISTS
from mcp_studio.record import record
from mcp_studio.redact import Redactor
from mcp_studio.session.manager import ConnectionManager
from mcp_studio.trace.diff import USUAL
from mcp_studio.trace.diff_ignore import Ignore
from mcp_studio.trace.diff_text import path_text
from mcp_studio.trace.recording import Recording

_COMPLETE = "completion/complete"
_LONGEST = 60.0
"""Seconds that are waited between two steps at the most, however long it was then."""


class Engine(Protocol):
    """What is needed of the studio."""

    manager: ConnectionManager
    redactor: Redactor

    def call_tool(
        self, ref: Ref, arguments: Mapping[str, Json], *, origin: Origin = ..., approved: bool = ...,
        task: bool = ..., ttl: float | None = ...,
    ) -> Call: ...  # fmt: skip

    def read_resource(self, server: str, uri: str, *, fresh: bool = ...) -> Call: ...

    def get_prompt(self, ref: Ref, arguments: Mapping[str, str]) -> Call: ...


@record(frozen=True)
class Manner:
    """How steps are sent."""

    origin: Origin = "program"
    """`person` where somebody wants this one step; many are sent by a program (see `call.policy`)."""
    approved: bool = False
    """What would be asked about is approved already."""
    ignore: Ignore = USUAL
    paced: bool = False
    """Wait between steps as long as it was then."""


SAFELY = Manner()
"""Many steps, of which nothing is approved."""
Fill = Callable[[Step, Recorded], Awaitable["dict[str, Json] | None"]]
"""Gives the params to send in the place of those that have something hidden in them; None where it cannot."""


async def leave(step: Step, recorded: Recorded) -> dict[str, Json] | None:
    """Fill nothing in."""
    return None


class Replayer:
    """Sends the steps of one recording.

    Args:
        fill: asked where a step has something in it that the recording does not tell.
    """

    def __init__(
        self,
        studio: Engine,
        recording: Recording,
        manner: Manner = SAFELY,
        fill: Fill = leave,
    ) -> None:
        self._studio = studio
        self._recording = recording
        self._manner = manner
        self._fill = fill
        self._cursors: dict[str, str] = {}
        self._began = 0.0
        self._first = 0.0
        self.call: Call | None = None
        """The call that is under way."""

    async def run(self, steps: tuple[Step, ...], servers: Mapping[str, str]) -> AsyncGenerator[Result]:
        """All steps, in their order, one at a time; ending it stops what is under way.

        Args:
            servers: where to send what went to a server; itself where it is not named.
        """
        for step in steps:
            await self._wait(step)
            yield await self.one(step, servers.get(step.server, step.server))

    async def one(self, step: Step, server: str) -> Result:
        """One step."""
        try:
            recorded = await load(self._recording, step)
        except StudioError as error:
            return Result(step, "skipped", said=error.message)
        params = recorded.params
        if not self._judged(step, params):
            return Result(step, "skipped", said="no rule can judge it: it is sent only when it is approved")
        if recorded.hidden:
            filled = await self._fill(step, recorded)
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
        ms = (time.perf_counter() - began) * 1000
        if outcome is not None and answer is None:
            return Result(step, "failed", said=why_none(outcome), ms=ms, outcome=outcome)
        return await self._compared(step, recorded, answer or {}, outcome, ms)

    def _judged(self, step: Step, params: dict[str, Json]) -> bool:
        """Whether a request is approved, or is judged when it is sent, or is harmless."""
        if self._manner.origin == "person" or self._manner.approved or step.method in (*LISTS, *CALLS[1:], _COMPLETE):
            return True
        return step.method == CALLS[0] and isinstance(params.get("name"), str) and _object(params.get("arguments", {}))

    async def _compared(
        self, step: Step, recorded: Recorded, answer: dict[str, Json], outcome: CallOutcome | None, ms: float
    ) -> Result:
        now = await redacted(answer, self._studio.redactor)
        if not recorded.answer:
            return Result(step, "new", ms=ms, answer=now, outcome=outcome)
        if step.method in LISTS:
            old, new = (mapping(one.get("result")).get("nextCursor") for one in (recorded.answer, now))
            if isinstance(old, str) and isinstance(new, str):
                self._cursors[old] = new
        found = await differences(step, recorded.answer, now, self._manner.ignore)
        return Result(step, "differs" if found else "same", found, ms=ms, answer=now, outcome=outcome)

    async def _send(
        self, step: Step, server: str, params: dict[str, Json], recorded: Recorded
    ) -> tuple[CallOutcome | None, dict[str, Json] | None]:
        connection = await self._studio.manager.ready(server)
        with self._answering(server, Script(recorded.given)):
            if step.method in CALLS and (call := self._call(step, server, params, recorded)) is not None:
                self.call = call
                try:
                    outcome = await call.wait()
                except asyncio.CancelledError:
                    call.cancel()
                    raise
                finally:
                    self.call = None
                return outcome, answer_of(outcome)
            event = (await connection.request(step.method, params)).event
            if isinstance(event, Answered):
                return None, {"result": event.result}
            more: dict[str, Json] = {"data": event.data} if event.data is not None else {}
            return None, {"error": {"code": event.code, "message": event.message, **more}}

    def _call(self, step: Step, server: str, params: dict[str, Json], recorded: Recorded) -> Call | None:
        """The call that a request is; None where it is a request that no call of ours would make."""
        studio, manner = self._studio, self._manner
        name, arguments = params.get("uri" if step.method == "resources/read" else "name"), params.get("arguments", {})
        if not isinstance(name, str) or not _object(arguments):
            return None
        given = cast("dict[str, Json]", arguments)
        if step.method == "resources/read":
            return studio.read_resource(server, name, fresh=True)
        if step.method == "prompts/get":
            return studio.get_prompt(Ref("prompt", server, name), given)
        ref = Ref("tool", server, name)
        return studio.call_tool(
            ref, given, origin=manner.origin, approved=manner.approved, task=recorded.task, ttl=recorded.ttl
        )

    @contextmanager
    def _answering(self, server: str, script: Script) -> Generator[None]:
        scripts = self._studio.manager.supervisor(server).answerer.scripts
        scripts.append(script.answer)
        try:
            yield
        finally:
            scripts.remove(script.answer)

    async def _wait(self, step: Step) -> None:
        if not self._manner.paced:
            return
        now = time.monotonic()
        if not self._began:
            self._began, self._first = now, step.at
            return
        await asyncio.sleep(min(max(0.0, (step.at - self._first) - (now - self._began)), _LONGEST))


def why_hidden(recorded: Recorded) -> str:
    """Which fields the recording does not tell, in a sentence."""
    names = [path_text(place) for place in recorded.hidden]
    what = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    verb = "is" if len(names) == 1 else "are"
    return f"{what} {verb} not in the recording, being secret"


def _object(value: Json) -> bool:
    return isinstance(value, dict)
