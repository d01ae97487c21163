"""The same call many times: how many at once, what is counted, and every way in which it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mcp_studio.call.call import Call, CallOutcome, Cancelled, Denied, Lost, Rejected, Succeeded, TimedOut, ToolFailed
from mcp_studio.call.load_test import Load, past_of_load
from mcp_studio.catalog.listing import Ref
from mcp_studio.errors import StudioError
from tests.support import wait_until

REF = Ref("tool", "demo", "add")


class Server:
    """Answers calls with what `answer` says, once it may."""

    def __init__(self, answer: Callable[[int], CallOutcome] = lambda number: Succeeded(ms=float(number), size=10)):
        self._answer = answer
        self.calls: list[Call] = []
        self.running = self.most = 0
        self.open = asyncio.Event()
        self.open.set()

    def begin(self) -> Call:
        call = Call(REF, "tools/call", {})
        self.calls.append(call)
        call.task = asyncio.ensure_future(self._run(call, len(self.calls)))
        call.task.add_done_callback(call.ended)
        return call

    async def _run(self, call: Call, number: int) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(0)
            await self.open.wait()
            call.finish(self._answer(number))
        except asyncio.CancelledError:
            call.finish(Cancelled())
        finally:
            self.running -= 1


async def test_it_makes_so_many_calls_and_so_many_at_once() -> None:
    server = Server()
    load = Load(server.begin, 50, 8)
    assert not load.running and load.rate == 0
    await load.run()
    assert (len(server.calls), server.most, load.done, load.sent, load.wrong) == (50, 8, 50, 50, 0)
    assert load.outcomes == {"ok": 50} and load.bytes == 500 and not load.why
    assert load.durations.percentile(0.5) == 25
    assert [call.unchecked for call in server.calls[:2]] == [False, True]
    assert not load.running and load.seconds > 0 and load.rate > 0


async def test_what_failed_is_counted_by_kind_and_by_what_it_said() -> None:
    def answer(number: int) -> CallOutcome:
        content = [{"type": "text", "text": f"row {number} is \x1b[31mlocked"}]
        return (
            Succeeded(ms=1),
            ToolFailed(ms=2, result={"content": content, "isError": True}),
            Rejected(ms=3, code=-32602, message="no"),
            TimedOut(ms=4, limit="5 s"),
        )[number % 4]

    load = Load(Server(answer).begin, 40, 3)
    await load.run()
    assert load.outcomes == {"ok": 10, "tool error": 10, "refused": 10, "timed out": 10}
    assert load.wrong == 30 and load.durations.count == 30 and not load.why
    assert sorted(load.errors) == [
        (10, "-32602 no"), (10, "no answer within 5 s"), (10, "row 37 is ␛[31mlocked"),
    ]  # fmt: skip
    figures = load.figures()
    assert figures["errors"][0]["count"] == 10 and figures["ms"]["max"] == 3 and "ended" not in figures
    past = past_of_load(load, REF, {"a": 1}, 0.0, "studio")
    assert (past.kind, past.said) == ("tool error", "40 calls, 3 at once, 30 failed")


async def test_stopping_stops_what_runs_and_starts_nothing_more() -> None:
    server = Server()
    server.open.clear()
    load = Load(server.begin, 1_000, 4)
    running = asyncio.ensure_future(load.run())
    await wait_until(lambda: load.sent - load.done == 4)
    load.stop("because")
    await running
    assert (load.sent, load.outcomes, load.wrong, load.why) == (4, {"cancelled": 4}, 0, "because")
    assert load.durations.count == 0 and load.figures()["ended"] == "because"


async def test_cancelling_the_run_stops_its_calls_before_it_ends() -> None:
    server = Server()
    server.open.clear()
    load = Load(server.begin, 1_000, 4)
    running = asyncio.ensure_future(load.run())
    await wait_until(lambda: load.sent - load.done == 4)
    running.cancel()
    await asyncio.wait((running,))
    assert running.cancelled() and server.running == 0 and not load.running
    assert [type(call.outcome) for call in server.calls] == [Cancelled] * 4


async def test_it_ends_when_nobody_answers_or_it_is_not_allowed() -> None:
    gone = Load(Server(lambda number: Lost(error=StudioError("gone"))).begin, 100_000, 10)
    await gone.run()
    assert 100 <= gone.done < 120 and gone.why == "100 calls in a row had no answer"
    all_gone = Load(Server(lambda number: Lost(error=StudioError("gone"))).begin, 100, 10)
    await all_gone.run()
    assert (all_gone.done, all_gone.wrong, all_gone.why) == (100, 100, ""), "it ended when it should"
    denied = Load(Server(lambda number: Denied(rule="never")).begin, 100_000, 1)
    await denied.run()
    assert (denied.done, denied.why) == (1, "it must not be run: never")

    def refuse() -> Call:
        raise StudioError("There is no such server.")

    broken = Load(refuse, 10, 2)
    await broken.run()
    assert (broken.sent, broken.why) == (0, "There is no such server.")


async def test_many_different_errors_stay_bounded() -> None:
    words = [chr(97 + number % 26) * (number % 7 + 1) for number in range(1_000)]
    load = Load(Server(lambda number: Rejected(message=words[number - 1])).begin, 1_000, 5)
    await load.run()
    assert len(load.said) <= 51 and sum(count for count, _ in load.errors) == 1_000
