"""Asking the index while somebody types: one question at a time, the newest next, answers in the order of questions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_studio.search.method import Found, SearchProblem
from mcp_studio.tui.screens.search_question import Question

if TYPE_CHECKING:
    from mcp_studio.search.index import SearchIndex
    from mcp_studio.studio import Studio

FEW, MANY = 30, 1_000
"""Hits that are asked for where nobody says how many, and at the most."""


class Answer(NamedTuple):
    """What came of a question."""

    question: Question
    limit: int
    found: Found | None = None
    problem: SearchProblem | None = None
    again: bool = False
    """The same question as before, asked once more: what is shown stays where it is."""


class Asker:
    """Asks the index of a studio.

    Args:
        work: runs a coroutine for as long as it is wanted.
        show: is told every answer, on the loop.
    """

    def __init__(
        self, studio: Studio, work: Callable[[Coroutine[Any, Any, None]], object], show: Callable[[Answer], None]
    ) -> None:
        self._studio = studio
        self._work = work
        self._show = show
        self.index: SearchIndex | None = None
        """The index, once it is there."""
        self._disconnect: Callable[[], None] = lambda: None
        self._wanted: Answer | None = None
        self._newest = Answer(Question(), FEW)
        self._asked = asyncio.Event()
        self._running = self._closed = False
        self.settled = False
        """Everything that was asked is answered."""

    def ask(self, question: Question, limit: int = FEW, *, again: bool = False) -> None:
        """Ask soon; a question that waits is given up for it."""
        # Asking once more must not make a new question that waits look like one that was answered.
        again = again and (self._wanted is None or self._wanted.again)
        self._wanted = self._newest = Answer(question, limit, again=again)
        self.settled = False
        self._asked.set()
        if not self._running:
            self._running = True
            self._work(self._go())

    def more(self) -> None:
        """Ask for more hits of the same question."""
        if self.settled and self._newest.limit < MANY:
            self.ask(self._newest.question, min(MANY, self._newest.limit * 5), again=True)

    def close(self) -> None:
        """Ask no more, and hear nothing of the index any more."""
        self._closed = True
        self._asked.set()
        self._disconnect()

    async def _go(self) -> None:
        """Answer for as long as it is wanted: to start anew for each letter costs more than to wait."""
        index = await self.open()
        while await self._asked.wait() and not self._closed:
            self._asked.clear()
            if (wanted := self._wanted) is not None:
                self._wanted = None
                answer = await self._answer(index, wanted)
                self.settled = self._wanted is None
                self._show(answer)

    async def _answer(self, index: SearchIndex, wanted: Answer) -> Answer:
        question = wanted.question
        try:
            found = await index.ask(
                question.text, method=question.method, scope=question.scope, limit=wanted.limit, typing=True
            )
        except SearchProblem as problem:
            return wanted._replace(problem=problem)
        return wanted._replace(found=found)

    async def open(self) -> SearchIndex:
        """The index; what it needs is imported beside the loop."""
        if self.index is None:
            await asyncio.to_thread(_import)
        if self.index is None:
            self.index = self._studio.index
            if not self._closed:
                self._disconnect = self.index.changed.connect(self._changed)
        return self.index

    def _changed(self, _: None) -> None:
        """There is more to be found, or less: what is shown is asked again."""
        if self._wanted is None:
            self.ask(self._newest.question, self._newest.limit, again=True)


def _import() -> None:
    import mcp_studio.search.index  # noqa: F401  # pyright: ignore[reportUnusedImport]
