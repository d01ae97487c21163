"""Tasks of both kinds on real servers: every way from its creation to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mcp_studio.call.call import Call, Cancelled, InBackground, Lost, Rejected, Succeeded, TimedOut, ToolFailed
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Timeouts
from mcp_studio.errors import ProtocolError, UsageError
from mcp_studio.limits import DEFAULT
from mcp_studio.protocol.tasks import TaskState, read_state
from mcp_studio.session import task_manager
from mcp_studio.session.tasks import Task
from mcp_studio.signal import Signal
from mcp_studio.studio import Studio
from tests.studio_support import PATIENT, opened, stdio, text
from tests.support import python_server, run, wait_until

BOTH = pytest.mark.parametrize("era", [(), ("--modern",)], ids=["core", "extension"])


@asynccontextmanager
async def served(*era: str, name: str = "s", can_ask: bool = True, **more: Any) -> AsyncGenerator[Studio]:
    async with opened(stdio(python_server("raw_tasks", *era), name, **more), can_ask=can_ask) as studio:
        yield studio


def start(studio: Studio, tool: str, **more: Any) -> Call:
    return studio.call_tool(Ref("tool", "s", tool), {}, approved=True, **more)


def only(studio: Studio) -> Task:
    found = studio.tasks.all()
    assert len(found) == 1, found
    return found[0]


def check(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    run(main())


@BOTH
def test_a_call_that_becomes_a_task_ends_with_the_tasks_result(era: tuple[str, ...]) -> None:
    async def main() -> None:
        async with served(*era) as studio:
            call = start(studio, "work", wants_task=True)
            assert text(await call.wait()) == "work is done"
            task = only(studio)
            assert (task.status, task.done, task.problems) == ("completed", True, ())
            assert task.ref == Ref("tool", "s", "work") and call.as_task == task
            assert [step.status for step in task.steps][-1] == "completed" and len(task.steps) >= 3

    check(main)


def test_a_tool_that_may_be_a_task_is_one_only_when_wanted() -> None:
    async def main() -> None:
        async with served() as studio:
            assert text(await start(studio, "work").wait()) == "at once"
            assert text(await start(studio, "plain", wants_task=True).wait()) == "plain"
            assert studio.tasks.all() == ()

    check(main)


def test_a_tool_that_must_be_a_task_is_one_without_asking() -> None:
    async def main() -> None:
        async with served() as studio:
            outcome = await start(studio, "error").wait()
            assert isinstance(outcome, ToolFailed), outcome

    check(main)


def test_the_wished_time_to_live_is_sent_in_milliseconds() -> None:
    async def main() -> None:
        async with served() as studio:
            await start(studio, "work", wants_task=True, ttl=12.5).wait()
            assert only(studio).ttl == 12.5

    check(main)


@BOTH
def test_what_a_task_asks_is_asked_once_and_its_answer_reaches_it(era: tuple[str, ...]) -> None:
    async def main() -> None:
        async with served(*era) as studio:
            call = start(studio, "ask")
            await wait_until(lambda: studio.inbox.pending, 10, "a question")
            question = studio.inbox.pending[0]
            assert question.message == "Who?" and question.subject == "s.ask"
            task = only(studio)
            before = task.seen
            await wait_until(lambda: only(studio).seen > before, 10, "another poll")
            assert studio.inbox.pending == (question,)
            question.answer("accept", {"name": "Ada"})
            said = text(await call.wait())
            assert '"Ada"' in said and "wrong" not in said
            assert studio.inbox.pending == ()

    check(main)


def test_a_declined_sampling_request_of_an_extension_task_is_answered_with_nothing_and_told() -> None:
    """No result of `sampling/createMessage` says no."""

    async def main() -> None:
        async with served("--modern") as studio:
            call = start(studio, "sample")
            await wait_until(lambda: studio.inbox.pending, 10, "a question")
            studio.inbox.pending[0].answer("decline")
            await wait_until(lambda: only(studio).problems, 10, "a note")
            assert "rejected" in only(studio).problems[0] and "cancel the task" in only(studio).problems[0]
            before = only(studio).seen
            await wait_until(lambda: only(studio).seen > before, 10, "another poll")
            assert not studio.inbox.pending
            assert not [entry for entry in studio.trace if entry.method == "tasks/update"]
            call.cancel()
            assert isinstance(await call.wait(), Cancelled)

    check(main)


@BOTH
def test_several_questions_of_one_task_are_all_answered(era: tuple[str, ...]) -> None:
    async def main() -> None:
        async with served(*era) as studio:
            call = start(studio, "ask_twice")
            for name in ("Ada", "Grace"):
                await wait_until(lambda: studio.inbox.pending, 10, "a question")
                question = studio.inbox.pending[0]
                question.answer("accept", {"name": name})
                await wait_until(lambda question=question: question not in studio.inbox.pending)
            said = text(await call.wait())
            assert '"Ada"' in said and '"Grace"' in said

    check(main)


@BOTH
def test_a_failed_task_is_a_refusal_with_its_code(era: tuple[str, ...]) -> None:
    async def main() -> None:
        async with served(*era) as studio:
            outcome = await start(studio, "fail").wait()
            assert isinstance(outcome, Rejected), outcome
            assert (outcome.code, outcome.message, outcome.data) == (-32603, "It broke", {"why": "tests"})
            assert only(studio).status == "failed"

    check(main)


@BOTH
def test_cancelling_the_call_cancels_the_task(era: tuple[str, ...]) -> None:
    async def main() -> None:
        async with served(*era) as studio:
            call = start(studio, "forever")
            await wait_until(lambda: call.as_task is not None)
            call.cancel()
            assert isinstance(await call.wait(), Cancelled)
            await wait_until(lambda: only(studio).status == "cancelled")

    check(main)


@BOTH
def test_a_task_cancelled_by_somebody_ends_the_call(era: tuple[str, ...]) -> None:
    async def main() -> None:
        async with served(*era) as studio:
            call = start(studio, "forever")
            await wait_until(lambda: call.as_task is not None)
            await studio.tasks.cancel("s", only(studio).id)
            assert isinstance(await call.wait(), Cancelled)

    check(main)


@BOTH
def test_a_refused_cancellation_is_told_and_the_task_goes_on(era: tuple[str, ...]) -> None:
    async def main() -> None:
        async with served(*era) as studio:
            call = start(studio, "stubborn")
            await wait_until(lambda: call.as_task is not None)
            with pytest.raises(ProtocolError, match="Not now"):
                await studio.tasks.cancel("s", only(studio).id)
            assert call.outcome is None and not only(studio).done

    check(main)


def test_a_server_that_offers_no_cancelling_is_told_of_and_its_task_goes_on() -> None:
    async def main() -> None:
        async with served("--no-cancel") as studio:
            call = start(studio, "forever")
            await wait_until(lambda: call.as_task is not None)
            call.cancel()
            assert isinstance(await call.wait(), Cancelled)
            assert any("does not offer to cancel tasks" in problem for problem in only(studio).problems)
            assert "tasks/cancel" not in [message.method for message in studio.trace]

    check(main)


def test_more_than_the_limit_are_not_kept_and_finished_ones_go_first() -> None:
    manager: Any = SimpleNamespace(changed=Signal(), notified=Signal(), removed=Signal(), names=lambda: ())
    store = task_manager.TaskManager(manager, replace(DEFAULT, tasks=3), lambda work: None)  # type: ignore[arg-type,return-value]
    for number in range(3):
        store.put(Task("s", str(number), "core", status="cancelled" if number == 1 else "working"))
    store.put(Task("s", "new", "core"))
    store.put(Task("other", "x", "core"))
    assert [task.id for task in store.all("s")] == ["0", "2", "new"]


@BOTH
def test_letting_go_ends_the_call_and_not_the_task(era: tuple[str, ...]) -> None:
    async def main() -> None:
        async with served(*era) as studio:
            call = start(studio, "work", wants_task=True)
            assert not call.leave()
            await wait_until(lambda: call.as_task is not None)
            assert call.leave()
            outcome = await call.wait()
            assert isinstance(outcome, InBackground) and outcome.task == only(studio).id
            await wait_until(lambda: only(studio).done)
            assert only(studio).result["content"][0]["text"] == "work is done"

    check(main)


@BOTH
def test_a_deadline_ends_the_waiting_and_not_the_task(era: tuple[str, ...]) -> None:
    async def main() -> None:
        async with served(*era) as studio:
            outcome = await start(studio, "forever", timeouts=Timeouts(total=0.4)).wait()
            assert isinstance(outcome, TimedOut) and "goes on" in outcome.limit
            assert only(studio).status == "working" and not only(studio).done

    check(main)


def test_what_limits_a_request_limits_a_task_that_is_waited_for() -> None:
    async def main() -> None:
        settings = replace(PATIENT, limits=replace(PATIENT.limits, call_total=0.5))
        async with opened(stdio(python_server("raw_tasks")), settings=settings) as studio:
            outcome = await start(studio, "forever").wait()
            assert isinstance(outcome, TimedOut) and outcome.limit.startswith("0.5 s in all (limits.call_total)")

    check(main)


@BOTH
def test_the_deadline_of_a_task_stands_still_while_somebody_is_asked(era: tuple[str, ...]) -> None:
    async def main() -> None:
        async with served(*era) as studio:
            call = start(studio, "ask", timeouts=Timeouts(total=2))
            await wait_until(lambda: studio.inbox.pending)
            assert call.task is not None and await asyncio.wait((call.task,), timeout=2) == (set(), {call.task})
            studio.inbox.pending[0].answer("accept", {"name": "Ada"})
            assert "Ada" in text(await call.wait())

    check(main)


@BOTH
def test_progress_and_status_reach_the_call(era: tuple[str, ...]) -> None:
    async def main() -> None:
        async with served(*era) as studio:
            call = start(studio, "progress")
            messages: list[str] = []
            call.changed.connect(lambda one: messages.append(one.as_task.message if one.as_task else ""))
            assert isinstance(await call.wait(), Succeeded)
            assert "step 1 of progress" in messages
            assert era or (call.progress is not None and call.progress.message == "half way")

    check(main)


def test_news_of_a_task_are_taken_without_asking() -> None:
    async def main() -> None:
        async with served() as studio:
            async with asyncio.timeout(20):  # it is asked for after 30 seconds where its notice is missed
                assert text(await start(studio, "pushed").wait()) == "pushed is done"
            asked = [one for one in studio.trace if one.method == "tasks/get" and one.direction == "out"]
            assert len(asked) <= 1, "once at most: where the notice overtook the answer"

    check(main)


@BOTH
def test_an_expired_task_is_told_as_such(era: tuple[str, ...]) -> None:
    async def main() -> None:
        async with served(*era) as studio:
            outcome = await start(studio, "expire").wait()
            assert isinstance(outcome, Lost) and "time to live of 0.3 s is over" in outcome.error.message

    check(main)


@BOTH
def test_a_task_that_the_server_forgets_ends_the_call(era: tuple[str, ...]) -> None:
    async def main() -> None:
        async with served(*era) as studio:
            outcome = await start(studio, "vanish").wait()
            assert isinstance(outcome, Lost) and "does not know it any more" in outcome.error.message

    check(main)


def test_polling_an_unknown_id_says_that_the_server_does_not_know_it() -> None:
    async def main() -> None:
        async with served() as studio:
            with pytest.raises(UsageError):
                studio.tasks.poll("s", "no-such")
            studio.tasks.adopt("s", "no-such")
            studio.tasks.poll("s", "no-such")
            task = await studio.tasks.until("s", "no-such", lambda task: task.done)
            assert "does not know" in task.gone

    check(main)


# ---------------------------------------------------------------------- hostile


@BOTH
async def test_an_unknown_status_is_given_up_after_some_attempts(
    era: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_manager, "SHORTEST", 0.005)  # doubled with each attempt

    async with served(*era, "--poll", "1") as studio:
        outcome = await start(studio, "hologram").wait()
        assert isinstance(outcome, Lost) and "Given up" in outcome.error.message
        assert any("'hologram'" in problem for problem in outcome.problems)


@BOTH
def test_crooked_numbers_and_texts_are_told_and_do_no_harm(
    era: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_manager, "POLL", 0.05)

    async def main() -> None:
        async with served(*era) as studio:
            outcome = await start(studio, "crooked").wait()
            assert text(outcome) == "crooked is done"
            said = " ".join(outcome.problems)
            assert "ttl" in said and "pollInterval" in said and "createdAt" in said
            assert only(studio).ttl is None and only(studio).poll is None

    check(main)


@BOTH
def test_a_task_id_given_twice_is_told(era: tuple[str, ...]) -> None:
    async def main() -> None:
        async with served(*era) as studio:
            assert text(await start(studio, "reuse").wait()) == "reuse is done"
            second = await start(studio, "reuse").wait()
            assert text(second) == "reuse is done"
            assert second.problems == ("The server gave the id of another task to this one.",)
            assert only(studio).id == "same"

    check(main)


def test_a_result_before_the_end_is_taken_and_told() -> None:
    async def main() -> None:
        async with served() as studio:
            outcome = await start(studio, "early").wait()
            assert text(outcome) == "too early"
            assert outcome.problems == ("The server gave its result while it was input_required.",)

    check(main)


@BOTH
def test_a_task_without_an_id_is_no_task(era: tuple[str, ...]) -> None:
    async def main() -> None:
        async with served(*era) as studio:
            outcome = await start(studio, "noid").wait()
            assert isinstance(outcome, Lost) and "no task id" in outcome.error.message
            assert studio.tasks.all() == ()

    check(main)


def test_a_task_that_has_ended_stays_so() -> None:
    def state(status: str) -> TaskState:
        times = {"createdAt": "", "lastUpdatedAt": ""}
        return read_state({"taskId": "t", "status": status, "ttl": None, **times}, "core")

    ended = Task("s", "t", "core").heard(state("completed"), None)
    after = ended.heard(state("working"), None)
    assert after.status == "completed"
    assert after.problems == ("The task went from completed to working, though it had ended.",)


def test_a_client_that_has_not_declared_tasks_takes_none_for_a_result() -> None:
    async def main() -> None:
        async with served("--modern", capabilities={"elicitation": {}}) as studio:
            outcome = await start(studio, "work").wait()
            assert text(outcome) == "at once" and studio.tasks.all() == ()

    check(main)


# ------------------------------------------------------------------ reconnecting


@BOTH
async def test_a_task_survives_the_end_of_its_servers_process(era: tuple[str, ...], tmp_path: Path) -> None:
    async with served(*era, "--state", str(tmp_path / "state.json")) as studio:
        call = start(studio, "ask")
        await wait_until(lambda: studio.inbox.pending, 10, "a question")
        assert isinstance(await start(studio, "die").wait(), Lost)
        await wait_until(lambda: not studio.inbox.pending, 10, "the question goes with the connection")
        await wait_until(lambda: studio.inbox.pending, 20, "it comes again")
        studio.inbox.pending[0].answer("accept", {"name": "Ada"})
        assert '"Ada"' in text(await call.wait())


@BOTH
async def test_a_task_goes_on_when_its_server_is_configured_anew(era: tuple[str, ...], tmp_path: Path) -> None:
    async with served(*era, "--state", str(tmp_path / "state.json")) as studio:
        call = start(studio, "forever")
        await wait_until(lambda: call.as_task is not None)
        call.leave()
        await call.wait()
        known = only(studio)
        await studio.manager.replace(replace(studio.manager.config("s"), log_level="error"))
        task = await studio.tasks.until("s", known.id, lambda task: task.seen > known.seen)
        assert not task.gone and task.status == "working"
        await studio.manager.remove("s")
        assert studio.tasks.all() == ()


def test_what_a_server_lists_is_taken_in_but_not_followed() -> None:
    async def main() -> None:
        async with served() as studio:
            call = start(studio, "forever")
            await wait_until(lambda: call.as_task is not None)
            identity = only(studio).id
            call.leave()
            await call.wait()
            studio.tasks.remove("s", identity)
            await studio.tasks.refresh("s")
            task = only(studio)
            assert (task.id, task.followed, task.ref) == (identity, False, None)
            await studio.tasks.cancel("s", identity)
            assert only(studio).status == "cancelled"

    check(main)


def test_a_server_that_is_switched_off_ends_the_waiting() -> None:
    async def main() -> None:
        async with served() as studio:
            call = start(studio, "forever")
            await wait_until(lambda: call.as_task is not None)
            await studio.manager.stop("s")
            outcome = await call.wait()
            assert isinstance(outcome, Lost) and "was disconnected" in outcome.error.message

    check(main)


@pytest.mark.parametrize("kind", ["core", "extension"])
@pytest.mark.parametrize("number", [10**400, -(10**400), 1e999, 1e308, -1, 0, True, "NaN", [1]])
def test_no_number_of_a_task_is_too_large_to_be_read(kind: Any, number: Any) -> None:
    raw = {"taskId": "t", "status": "working", "ttl": number, "ttlMs": number}
    state = read_state(raw | {"pollInterval": number, "pollIntervalMs": number}, kind)
    assert (state.ttl, state.poll, state.status) == (None, None, "working")
