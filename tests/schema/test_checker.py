"""Whole-schema checks happen in a process that cannot hang the studio, nor outlive it."""

from __future__ import annotations

import asyncio
import http.server
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_studio.limits import MB, Limits
from mcp_studio.schema.checker import Checker
from mcp_studio.schema.field import SchemaProblem
from tests.support import run, wait_until
from tests.transport.stdio_kit import alive, below

ENDLESS = {"pattern": "^(a|aa)+$"}
TRAP = "a" * 80 + "b"
INTEGER = {"type": "integer"}
WRONG = (SchemaProblem("", "must be a whole number, got 'x'"),)


@asynccontextmanager
async def checker(limits: Limits = Limits()) -> AsyncGenerator[Checker]:  # noqa: B008
    """A checker that is closed at the end."""
    one = Checker(limits)
    try:
        yield one
    finally:
        await one.close()


def checking(test: Callable[[Checker], Awaitable[Any]], limits: Limits = Limits()) -> Any:  # noqa: B008
    """Run a test with a checker."""

    async def within() -> Any:
        async with checker(limits) as one:
            return await test(one)

    return run(within(), timeout=120)


def only(found: tuple[SchemaProblem, ...]) -> str:
    """The message of the only warning."""
    (problem,) = found
    assert (problem.pointer, problem.severity) == ("", "warning")
    return problem.message


def checkers(owner: int) -> list[int]:
    """The processes below one that check."""
    return [process for process, words in below(owner).items() if "schema.validator" in words]


def test_one_process_checks_value_after_value() -> None:
    async def test(one: Checker) -> None:
        assert await one.check(INTEGER, "x") == WRONG
        first = checkers(os.getpid())
        assert await one.check(INTEGER, 5) == ()
        assert await one.check({"required": ["a"]}, {}) == (SchemaProblem("/a", "is required"),)
        assert len(first) == 1 and checkers(os.getpid()) == first

    checking(test)


def test_nothing_is_started_before_the_first_check() -> None:
    async def test(one: Checker) -> None:
        assert checkers(os.getpid()) == []

    checking(test)


def test_checks_asked_for_at_once_are_answered_each_with_its_own() -> None:
    async def test(one: Checker) -> None:
        schemas = [{"type": "integer", "minimum": n} for n in range(20)]
        found = await asyncio.gather(*(one.check(schema, -1) for schema in schemas))
        assert [problems[0].message for problems in found] == [f"must be at least {n}, got -1" for n in range(20)]

    checking(test)


def test_a_check_without_end_is_given_up_and_the_next_one_works() -> None:
    async def test(one: Checker) -> None:
        start = time.monotonic()
        message = only(await one.check(ENDLESS, TRAP))
        assert message == "unchecked against the whole schema: it takes longer than 0.3 s (limit check_time)"
        assert time.monotonic() - start < 15
        assert await one.check(INTEGER, "x") == WRONG

    checking(test, Limits(check_time=0.3))


def test_the_loop_goes_on_while_a_check_is_busy() -> None:
    async def test(one: Checker) -> None:
        await one.check(INTEGER, 1)
        busy = asyncio.ensure_future(one.check(ENDLESS, TRAP))
        turns = 0
        while not busy.done():
            await asyncio.sleep(0.005)
            turns += 1
        assert turns > 5

    checking(test, Limits(check_time=0.5))


def test_a_cancelled_check_leaves_no_answer_for_the_next() -> None:
    async def test(one: Checker) -> None:
        await one.check(INTEGER, 1)
        for _ in range(20):
            given_up = asyncio.ensure_future(one.check(INTEGER, "other"))
            await asyncio.sleep(0)
            given_up.cancel()
            assert await one.check(INTEGER, "x") == WRONG

    checking(test)


def test_a_check_behind_a_cancelled_endless_one_is_made_all_the_same() -> None:
    async def test(one: Checker) -> None:
        await one.check(INTEGER, 1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await one.check(ENDLESS, TRAP)
        assert await one.check(INTEGER, "x") == WRONG

    checking(test)


UNCHECKED, ENDED = "unchecked against the whole schema:", "the checking process ended"


def test_a_check_that_eats_memory_is_given_up() -> None:
    async def test(one: Checker) -> None:
        message = only(await one.check({"items": INTEGER}, ["x"] * 1_500_000))
        # Where the process has no memory left to say so, it ends.
        assert message in (f"{UNCHECKED} it takes more than 100 MB (limit check_memory)", f"{UNCHECKED} {ENDED}")
        assert await one.check(INTEGER, "x") == WRONG

    checking(test, Limits(check_memory=100 * MB, check_time=20))


def test_values_too_large_or_not_json_are_not_sent() -> None:
    async def test(one: Checker) -> None:
        assert "larger than 8 MB" in only(await one.check({}, "x" * 9 * MB))
        assert "cannot be written" in only(await one.check({}, float("inf")))

    checking(test)


def test_a_process_that_ends_by_itself_is_told_and_replaced() -> None:
    async def test(one: Checker) -> None:
        await one.check(INTEGER, 1)
        (process,) = checkers(os.getpid())
        os.kill(process, signal.SIGKILL)
        assert only(await one.check(INTEGER, "x")).endswith("the checking process ended")
        assert await one.check(INTEGER, "x") == WRONG

    checking(test)


def test_a_process_that_cannot_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(one: Checker) -> None:
        monkeypatch.setattr(sys, "executable", "/nowhere/python")
        assert "cannot be started (No such file" in only(await one.check(INTEGER, 1))

    checking(test)


async def test_closing_ends_the_process_and_checks() -> None:
    one = Checker()
    await one.check(INTEGER, 1)
    (process,) = checkers(os.getpid())
    await one.close()
    assert not alive(process)
    assert "closing" in only(await one.check(INTEGER, "x"))


def test_no_reference_is_fetched() -> None:
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_address[1]}/schema.json"
    try:
        for schema in ({"$ref": url}, {"$schema": url}, {"$id": url, "$ref": "other.json"}, {"$dynamicRef": url}):
            checking(lambda one, schema=schema: one.check(schema, 1))
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert asked == []


OWNER = """
import asyncio, sys
from mcp_studio.limits import Limits
from mcp_studio.schema.checker import Checker
async def main():
    one = Checker(Limits(check_time=float(sys.argv[1])))
    await one.check({"type": "integer"}, 1)
    print("ready", flush=True)
    if sys.argv[2] == "busy":
        await one.check({"pattern": "^(a|aa)+$"}, "a" * 80 + "b")
    await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.mark.parametrize("doing", ["idle", "busy"])
def test_it_does_not_outlive_an_owner_that_was_killed(doing: str) -> None:
    root = Path(__file__).resolve().parents[2]
    owner = subprocess.Popen([sys.executable, "-c", OWNER, "1", doing], stdout=subprocess.PIPE, cwd=root)
    assert owner.stdout
    assert owner.stdout.readline()
    (process,) = checkers(owner.pid)
    owner.kill()
    owner.wait()
    owner.stdout.close()
    run(wait_until(lambda: not alive(process), timeout=60))


def test_the_owner_imports_nothing_heavy() -> None:
    code = "import sys, mcp_studio.schema.checker, mcp_studio.schema.form; print(*sys.modules)"
    root = Path(__file__).resolve().parents[2]
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert not {"jsonschema", "referencing", "textual", "pydantic"} & set(loaded.stdout.split())
