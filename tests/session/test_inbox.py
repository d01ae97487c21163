"""The inbox: questions wait for answers, and go when nobody wants them."""

from __future__ import annotations

import asyncio

from mcp_studio.session.inbox import Answer, Inbox, InputRequest
from tests.support import run, wait_until


def test_an_answer_reaches_who_asked_and_only_the_first_counts() -> None:
    async def go() -> None:
        inbox = Inbox()
        told: list[int] = []
        inbox.changed.connect(lambda request: told.append(len(inbox.pending)))
        task = asyncio.create_task(inbox.ask(InputRequest("elicitation", "s", "m")))
        await wait_until(lambda: inbox.pending)
        inbox.pending[0].answer("accept", {"a": 1})
        inbox.pending[0].answer("decline")
        assert await task == Answer("accept", {"a": 1})
        assert inbox.pending == () and told == [1, 0]

    run(go())


def test_cancelling_who_asked_withdraws_the_question() -> None:
    async def go() -> None:
        inbox = Inbox()
        task = asyncio.create_task(inbox.ask(InputRequest("approval", "s", "m")))
        await wait_until(lambda: inbox.pending)
        task.cancel()
        await asyncio.wait((task,))
        assert inbox.pending == ()

    run(go())
