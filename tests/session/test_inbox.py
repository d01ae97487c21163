"""The inbox: questions wait for answers, and go when nobody wants them."""

from __future__ import annotations

import asyncio

import pytest

from mcp_studio.limits import Limits
from mcp_studio.session.inbox import Answer, Inbox, InputRequest
from tests.support import wait_until


async def test_an_answer_reaches_who_asked_and_only_the_first_counts() -> None:
    inbox = Inbox()
    told: list[int] = []
    inbox.changed.connect(lambda request: told.append(len(inbox.pending)))
    task = asyncio.create_task(inbox.ask(InputRequest("elicitation", "s", "m")))
    await wait_until(lambda: inbox.pending)
    inbox.pending[0].answer("accept", {"a": 1})
    inbox.pending[0].answer("decline")
    assert await task == Answer("accept", {"a": 1})
    assert inbox.pending == () and told == [1, 0]


async def test_cancelling_who_asked_withdraws_the_question() -> None:
    inbox = Inbox()
    task = asyncio.create_task(inbox.ask(InputRequest("approval", "s", "m")))
    await wait_until(lambda: inbox.pending)
    task.cancel()
    await asyncio.wait((task,))
    assert inbox.pending == ()


async def test_of_one_server_few_questions_are_open_and_the_others_wait_their_turn() -> None:
    inbox = Inbox(Limits(prompts=2))
    tasks = [asyncio.create_task(inbox.ask(InputRequest("elicitation", "s", str(n)))) for n in range(5)]
    other = asyncio.create_task(inbox.ask(InputRequest("elicitation", "t", "other")))
    await wait_until(lambda: inbox.held == 3)
    assert [request.message for request in inbox.pending] == ["0", "1", "other"]
    for number in range(5):
        await wait_until(lambda: any(request.server == "s" for request in inbox.pending))
        next(request for request in inbox.pending if request.server == "s").answer("accept", number)
        await wait_until(lambda number=number: sum(task.done() for task in tasks) == number + 1)
    assert [task.result().content for task in tasks] == [0, 1, 2, 3, 4]
    assert inbox.held == 0 and not other.done()
    other.cancel()


async def test_a_question_that_waits_its_turn_can_be_withdrawn() -> None:
    inbox = Inbox(Limits(prompts=1))
    first, second = (asyncio.create_task(inbox.ask(InputRequest("sampling", "s", "m"))) for _ in range(2))
    await wait_until(lambda: inbox.held)
    second.cancel()
    await asyncio.wait((second,))
    assert inbox.held == 0
    inbox.pending[0].answer("decline")
    assert (await first).action == "decline" and inbox.pending == ()


async def test_everything_of_one_server_can_be_declined_at_once() -> None:
    inbox = Inbox(Limits(prompts=2))
    tasks = [asyncio.create_task(inbox.ask(InputRequest("elicitation", "s", "m"))) for _ in range(5)]
    approval = asyncio.create_task(inbox.ask(InputRequest("approval", "s", "m")))
    await wait_until(lambda: inbox.held == 3)
    shown: list[bool] = []
    inbox.changed.connect(lambda request: shown.append(request in inbox.pending))
    inbox.decline_all("s")
    assert [answer.action for answer in await asyncio.gather(*tasks)] == ["decline"] * 5
    assert not any(shown)  # those that waited their turn come into nobody's sight
    assert [request.kind for request in inbox.pending] == ["approval"]
    approval.cancel()


async def test_a_server_that_asks_too_often_opens_no_more_dialogs() -> None:
    inbox = Inbox(Limits(prompts_minute=2))
    tasks = [asyncio.create_task(inbox.ask(InputRequest("elicitation", "s", "m"))) for _ in range(4)]
    await wait_until(lambda: len(inbox.pending) == 4)
    assert [request.quiet for request in inbox.pending] == [False, False, True, True]
    for task in tasks:
        task.cancel()


async def test_what_nobody_answers_in_time_is_cancelled_and_says_so() -> None:
    answer = await Inbox(Limits(answer=0.01)).ask(InputRequest("elicitation", "s", "m"))
    assert answer.action == "cancel" and "limits.answer" in answer.by


async def test_a_page_that_a_call_waits_for_is_answered_when_the_server_says_that_it_is_done() -> None:
    inbox = Inbox()
    request = InputRequest("url", "s", "m", url="https://a.example", elicitation_id="e", retries=True)
    task = asyncio.create_task(inbox.ask(request))
    await wait_until(lambda: inbox.pending)
    inbox.page_opened(request)
    inbox.completed("other", "e")
    await asyncio.sleep(0)
    assert not request.completed and not task.done()
    inbox.completed("s", "e")
    assert (await task).action == "accept"


async def test_a_page_of_its_own_is_answered_when_it_is_opened_and_remembered_until_it_is_done() -> None:
    inbox = Inbox()
    request = InputRequest("url", "s", "m", url="https://a.example", elicitation_id="e")
    task = asyncio.create_task(inbox.ask(request))
    await wait_until(lambda: inbox.pending)
    inbox.page_opened(request)
    assert (await task).action == "accept" and inbox.pages == (request,)
    inbox.completed("s", "e")
    assert inbox.pages == ()


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Answer("decline"), "denied by you"),
        (Answer("decline", by="another terminal", note="not today"), "denied by another terminal: not today"),
        (Answer("decline", by="nobody to ask"), "needs approval, nobody to ask"),
        (Answer("cancel"), "needs approval, nobody answered"),
    ],
)
def test_why_something_is_not_run_is_said(answer: Answer, says: str) -> None:
    assert answer.refusal == says


async def test_an_approval_that_nobody_gives_in_time_says_how_long_it_waited() -> None:
    answer = await Inbox(Limits(approval=0.05)).ask(InputRequest("approval", "s", "m"))
    assert answer.refusal == "needs approval, nobody answered within 0.05 s (limits.approval)"
