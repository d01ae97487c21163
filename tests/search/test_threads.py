"""What goes wrong in a thread of the index is a sentence for who asked; nothing else ends by it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent import futures

import pytest

from mcp_studio.search.method import SearchProblem
from mcp_studio.search.threads import Desk, Lane, SearchFailed


def fail(problem: BaseException) -> Callable[[], None]:
    def work() -> None:
        raise problem

    return work


def test_a_mistake_is_told_in_a_sentence_and_the_log_has_it(caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk("desk")
    with caplog.at_level(logging.ERROR):
        problem = desk.ask(fail(NameError("name 'x' is not\x1b defined"))).exception(5)
    assert isinstance(problem, SearchFailed)
    assert problem.message == "Searching failed inside the studio: NameError: name 'x' is not␛ defined."
    assert problem.exit_code == 1
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[0] is NameError
    assert desk.ask(lambda: 1).result(5) == 1
    desk.close(1)


def test_what_was_said_about_a_question_stays_as_it_is() -> None:
    desk = Desk("desk")
    said = SearchProblem("It is not closed.", at=0)
    assert desk.ask(fail(said)).exception(5) is said
    desk.close(1)


def test_a_mistake_does_not_end_what_takes_up(caplog: pytest.LogCaptureFixture) -> None:
    failed, done = threading.Event(), threading.Event()

    def step() -> bool:
        if not failed.is_set():
            failed.set()
            raise KeyError("what")
        done.set()
        return False

    lane = Lane("lane", step)
    lane.wake()
    assert failed.wait(5)
    lane.wake()
    assert done.wait(5)
    lane.close(1)
    assert [record.getMessage() for record in caplog.records] == ["lane failed"]


def test_after_the_end_nobody_waits() -> None:
    begun, end = threading.Event(), threading.Event()
    desk = Desk("desk")
    desk.ask(lambda: begun.set() or end.wait(5))
    assert begun.wait(5)
    waiting = desk.ask(int)
    desk.close(0)
    later = desk.ask(int)
    end.set()
    assert futures.wait((waiting, later), 5).not_done == set()
    assert waiting.cancelled() and later.cancelled()
