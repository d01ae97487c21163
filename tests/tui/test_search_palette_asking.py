"""Asking while somebody types: nothing typed is lost, no older answer comes after a newer one."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp_studio.tui.screens.search_asking import Answer, Asker
from mcp_studio.tui.screens.search_question import Question

from mcp_studio.search.method import Found, Query, SearchProblem
from mcp_studio.signal import Signal
from tests.support import wait_until


class Index:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.changed: Signal[None] = Signal()
        self.asked: list[tuple[str, int]] = []
        self.go = asyncio.Semaphore(0)

    async def ask(self, text: str, *, limit: int, **_: Any) -> Found:
        self.asked.append((text, limit))
        await self.go.acquire()
        if text == "(":
            raise SearchProblem("It is not closed.", at=0)
        return Found(Query(text), total=500)


class Studio:
    """Has an index."""

    def __init__(self) -> None:
        self.index = Index()


class Desk:
    """An asker, and what it showed."""

    def __init__(self) -> None:
        self.index = (studio := Studio()).index
        self.shown: list[Answer] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.asker = Asker(studio, lambda work: self.tasks.append(asyncio.create_task(work)), self.shown.append)  # type: ignore[arg-type]

    async def asked(self, count: int) -> None:
        await wait_until(lambda: len(self.index.asked) >= count)

    async def answered(self, count: int) -> None:
        self.index.go.release()
        await wait_until(lambda: len(self.shown) >= count)

    @property
    def texts(self) -> list[str]:
        return [answer.question.text for answer in self.shown]


async def test_what_is_typed_during_an_answer_is_asked_next_and_only_the_newest() -> None:
    desk = Desk()
    desk.asker.ask(Question("r"))
    await desk.asked(1)
    for text in ("re", "rea", "read"):
        desk.asker.ask(Question(text))
    await desk.answered(1)
    assert not desk.asker.settled
    await desk.answered(2)
    assert desk.asker.settled
    assert desk.texts == ["r", "read"]
    desk.asker.ask(Question("reads"))
    await desk.answered(3)
    assert [text for text, _ in desk.index.asked] == ["r", "read", "reads"]


async def test_a_question_that_cannot_be_asked_is_answered_with_the_problem() -> None:
    desk = Desk()
    desk.asker.ask(Question("(", "regex"))
    await desk.answered(1)
    assert desk.shown[0].problem is not None and desk.shown[0].found is None
    desk.asker.ask(Question("()", "regex"))
    await desk.answered(2)
    assert desk.shown[1].problem is None


async def test_when_the_index_changes_what_is_shown_is_asked_once_more() -> None:
    desk = Desk()
    desk.asker.ask(Question("r"))
    await desk.answered(1)
    desk.index.changed.emit(None)
    await desk.answered(2)
    assert [answer.again for answer in desk.shown] == [False, True]
    desk.index.changed.emit(None)
    desk.asker.ask(Question("re"))
    desk.index.changed.emit(None)
    await desk.answered(3)
    assert [answer.again for answer in desk.shown] == [False, True, False]
    desk.asker.close()
    desk.index.changed.emit(None)
    assert desk.asker.settled and len(desk.index.asked) == 3


async def test_more_hits_of_the_same_question_are_asked_for_up_to_a_bound() -> None:
    desk = Desk()
    desk.asker.ask(Question("r"))
    desk.asker.more()
    await desk.answered(1)
    for count in range(2, 5):
        desk.asker.more()
        if not desk.asker.settled:
            await desk.answered(count)
    assert [limit for _, limit in desk.index.asked] == [30, 150, 750, 1_000]
