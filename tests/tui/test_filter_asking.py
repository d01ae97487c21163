"""What the index finds for a filter: names that are nearly right first, the rest below, only for what is typed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from mcp_studio.tui.screens.filtering import Filtering

from mcp_studio.catalog.listing import Ref
from mcp_studio.search.method import EVERYWHERE, Found, Hit, Query, Reason
from mcp_studio.signal import Signal
from tests.support import wait_until

NEAR, WORDED = Ref("tool", "a", "near"), Ref("tool", "a", "worded")


class Screen:
    """Has a studio with an index that answers when it is told to, and notes what is shown."""

    is_attached = True

    def __init__(self) -> None:
        self.studio = SimpleNamespace(index=self)
        self.catalog = self
        self.changed: Signal[None] = Signal()
        self.go = {"substring": asyncio.Semaphore(0), "auto": asyncio.Semaphore(0)}
        self.asked: list[tuple[str, str]] = []
        self.shown: list[tuple[str, list[Ref], bool]] = []
        self.pending = 0
        self.tasks: list[asyncio.Task[None]] = []

    def run_worker(self, work: Any, group: str) -> None:
        self.tasks.append(asyncio.create_task(work))

    async def ask(self, text: str, *, method: str, **_: Any) -> Found:
        self.asked.append((method, text))
        await self.go[method].acquire()
        refs = (NEAR,) if method == "substring" else (WORDED, NEAR)
        hits = tuple(Hit(ref, 1.0, (Reason("name", (ref.name,)),)) for ref in refs)
        return Found(Query(text, scope=EVERYWHERE), hits, len(hits), pending=self.pending)

    def show_also(self, kind: str, text: str, pieces: Mapping[Ref, tuple[str, ...]], *, whole: bool) -> None:
        assert kind == "tool" and all(words == (ref.name,) for ref, words in pieces.items())
        self.shown.append((text, list(pieces), whole))

    async def shows(self, *answers: tuple[str, list[Ref], bool]) -> None:
        await wait_until(lambda: self.shown == list(answers), 5, f"{answers}, not {self.shown}")
        self.shown.clear()


async def test_names_do_not_wait_for_words_which_come_below_them() -> None:
    screen = Screen()
    Filtering(screen).ask("tool", "naer")  # type: ignore[arg-type]
    screen.go["substring"].release()
    await screen.shows(("naer", [NEAR], False))
    screen.go["auto"].release()
    await screen.shows(("naer", [NEAR, WORDED], True))


async def test_words_wait_for_names_and_answers_to_different_texts_are_not_mixed() -> None:
    screen = Screen()
    filtering = Filtering(screen)  # type: ignore[arg-type]
    filtering.ask("tool", "n")
    await wait_until(lambda: len(screen.asked) == 2)
    screen.go["auto"].release()
    filtering.ask("tool", "na")
    await wait_until(lambda: ("auto", "na") in screen.asked)
    assert screen.shown == []
    screen.go["auto"].release()
    screen.go["substring"].release()
    screen.go["substring"].release()
    await wait_until(lambda: len(screen.shown) == 2 and screen.shown[1] == ("na", [NEAR, WORDED], True))
    assert screen.shown[0][0] == "n"


async def test_it_asks_again_when_the_index_knows_more_until_nothing_is_wanted() -> None:
    screen = Screen()
    filtering = Filtering(screen)  # type: ignore[arg-type]
    screen.pending = 5
    for method in screen.go.values():
        for _ in range(9):
            method.release()
    filtering.ask("tool", "n")
    await wait_until(lambda: screen.shown[-1:] == [("n", [NEAR, WORDED], False)])
    screen.pending = 0
    screen.changed.emit(None)
    await wait_until(lambda: screen.shown[-1:] == [("n", [NEAR, WORDED], True)])
    filtering.ask("tool", "")
    before = len(screen.asked)
    screen.changed.emit(None)
    await asyncio.sleep(0)
    assert len(screen.asked) == before
