"""What goes wrong in the thread of an index is a sentence for who asked; nothing else ends by it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator

import pytest

from mcp_studio.search.index import SearchFailed, Worker
from mcp_studio.search.method import SearchProblem

Make = Callable[..., Worker]


@pytest.fixture
def workers() -> Generator[Make]:
    """Makes workers, which are ended after the test."""
    made: list[Worker] = []

    def make(step: Callable[[], bool] = lambda: False, end: Callable[[], None] = lambda: None) -> Worker:
        made.append(Worker("worker", step, end))
        return made[-1]

    yield make
    for worker in made:
        worker.stop()
        if worker.thread.is_alive():
            worker.thread.join(5)


def fail(problem: BaseException) -> Callable[[], None]:
    def work() -> None:
        raise problem

    return work


def test_a_mistake_is_told_in_a_sentence_and_the_log_has_it(workers: Make, caplog: pytest.LogCaptureFixture) -> None:
    worker = workers()
    with caplog.at_level(logging.ERROR):
        problem = worker.ask(fail(NameError("name 'x' is not\x1b defined"))).exception(5)
    assert isinstance(problem, SearchFailed) and problem.exit_code == 1
    assert problem.message == "Searching failed inside the studio: NameError: name 'x' is not␛ defined."
    (record,) = caplog.records
    assert record.exc_info is not None and record.exc_info[0] is NameError
    assert worker.ask(lambda: 1).result(5) == 1


def test_what_was_said_about_a_question_stays_as_it_is(workers: Make) -> None:
    problem = SearchProblem("It is not closed.", at=0)
    assert workers().ask(fail(problem)).exception(5) is problem


def test_a_mistake_does_not_end_what_takes_up(workers: Make, caplog: pytest.LogCaptureFixture) -> None:
    failed, done = threading.Event(), threading.Event()

    def step() -> bool:
        if not failed.is_set():
            failed.set()
            raise KeyError("what")
        done.set()
        return False

    worker = workers(step)
    assert worker.ask(lambda: 1, lambda: False).result(5) == 1
    worker.wake()
    assert done.wait(5)
    assert [record.getMessage() for record in caplog.records] == ["worker failed"]


def test_questions_that_are_not_ready_wait_for_steps_and_others_go_first(workers: Make) -> None:
    left, order, quick = [3], list[str](), threading.Event()

    def step() -> bool:
        left[0] -= quick.is_set()
        return left[0] > 0

    worker = workers(step)
    patient = worker.ask(lambda: order.append("patient"), lambda: left[0] <= 0)
    worker.ask(lambda: order.append("quick")).result(5)
    quick.set()
    patient.result(5)
    assert order[-1] == "patient" and left[0] <= 0


def test_after_a_question_the_next_one_has_a_moment_before_there_are_steps(workers: Make) -> None:
    answered, steps, again = list[float](), list[float](), threading.Event()

    def step() -> bool:
        if answered:
            steps.append(time.monotonic())
            again.set()
        return True

    worker = workers(step)
    worker.wake()
    worker.ask(lambda: answered.append(time.monotonic())).result(5)
    assert again.wait(5)
    assert steps[0] - answered[0] > 0.09


def test_after_the_end_nobody_waits(workers: Make) -> None:
    begun, gate, ended = threading.Event(), threading.Event(), threading.Event()
    worker = workers(end=ended.set)
    worker.ask(lambda: begun.set() or gate.wait(5))
    assert begun.wait(5)
    waiting = worker.ask(int)
    worker.stop()
    later = worker.ask(int)
    gate.set()
    for future in (waiting, later):
        assert isinstance(future.exception(5), SearchProblem)
    assert ended.wait(5)
