"""Durable runs: processes are killed, and what may not be done twice is not."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_studio.errors import ConfigError, StudioError, UsageError
from mcp_studio.studio import Studio
from mcp_studio.workflow.durable import DurableRuns
from tests.registry.kit import postgres
from tests.servers.plan_tools import lines
from tests.support import ROOT, wait_until
from tests.workflow.kit import plan

pytest.importorskip("dbos", reason="the extra `durable` is not installed")

PLAN = """
name = "survivor"
output = ["$var.n", "of ${len(many)}", "$sides"]
on_error = "skip"
[[steps]]
loop = "iteration < 6"
do = [
  { call = "s.again", arguments = { key = "again${iteration}", seconds = 0.02 } },
  { call = "s.once", arguments = { key = "once${iteration}", seconds = 0.02 } },
  { set = { n = "$iteration" } },
]
[[steps]]
id = "many"
each = "range(16)"
concurrency = 4
do = [
  { call = "s.once", arguments = { key = "first${item}-${var.n}", seconds = 0.05 } },
  { call = "s.again", arguments = { key = "second${item}", seconds = 0.05 } },
]
[[steps]]
id = "sides"
parallel = [
  { id = "left", call = "s.again", arguments = { key = "left" } },
  { id = "right", call = "s.once", arguments = { key = "right${len(many)}" } },
]
"""
REPEATABLE = {f"again again{at}" for at in range(6)} | {f"again second{at}" for at in range(16)} | {"again left"}
ONCE = {f"once once{at}" for at in range(6)} | {f"once first{at}-5" for at in range(16)} | {"once right16"}


@pytest.fixture(scope="module")
def server() -> Generator[str]:
    with postgres() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/runs.sqlite"
    import psycopg

    address: str = request.getfixturevalue("server")
    name = f"runs{random.randrange(1 << 40)}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    return address.replace("/postgres?", f"/{name}?")


class Process:
    """One process of `durable_process`."""

    def __init__(self, database: str, folder: Path, mode: str, name: str = "-", text: str = PLAN) -> None:
        (folder / "plan.toml").write_text(text)
        words = [database, name, str(folder / "plan.toml"), str(folder / "log"), mode, "the-run"]
        argv = [sys.executable, "-m", "tests.workflow.durable_process", *words]
        self.child = subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.child.stdout and self.child.stdout.readline() == "ready\n"

    def kill(self) -> None:
        self.child.kill()
        self.child.communicate()

    def result(self) -> Any:
        """How the run has ended there."""
        said, _ = self.child.communicate(timeout=120)
        return json.loads(said)


@contextmanager
def process(*words: Any) -> Generator[Process]:
    one = Process(*words)
    try:
        yield one
    finally:
        one.kill()


async def more_lines(log: Path, count: int, one: Process) -> None:
    """Wait until so much more was done, or the process has ended."""
    wanted = len(lines(log)) + count
    await wait_until(lambda: len(lines(log)) >= wanted or one.child.poll() is not None)


def check(folder: Path) -> None:
    """All that may be repeated was done, and nothing twice that may not be."""
    counts = Counter(lines(folder / "log"))
    assert REPEATABLE - counts.keys() == set()
    assert {line: count for line, count in counts.items() if line.startswith("once") and count > 1} == {}
    assert counts.keys() <= REPEATABLE | ONCE


async def test_a_run_that_is_killed_again_and_again_ends(database: str, tmp_path: Path) -> None:
    seed = random.randrange(1 << 30)
    chance, mode, kills = random.Random(seed), "run", 0
    while True:
        with process(database, tmp_path, mode) as one:
            if kills == 2:
                found = one.result()
                break
            await more_lines(tmp_path / "log", chance.randint(3, 15), one)
        mode, kills = "resume-decline", kills + 1
    assert found[:2] == [5, "of 16"], seed
    check(tmp_path)


async def test_workers_take_items_and_may_be_killed(database: str, tmp_path: Path) -> None:
    workers = {name: Process(database, tmp_path, "work-decline", name) for name in ("one", "two")}
    try:
        with process(database, tmp_path, "run-decline") as run:
            await more_lines(tmp_path / "log", 20, run)
            name = random.choice(["one", "two"])
            workers[name].kill()
            workers[name] = Process(database, tmp_path, "work-decline", name)
            found = run.result()
    finally:
        for worker in workers.values():
            worker.kill()
    assert found[:2] == [5, "of 16"]
    check(tmp_path)


async def test_what_may_have_been_done_waits_for_an_answer(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/runs.sqlite"
    text = 'name = "x"\nsteps = [{ call = "s.once", arguments = { key = "x", seconds = 1 } }]'
    with process(database, tmp_path, "run", "-", text):
        await wait_until(lambda: (tmp_path / "runs.sqlite").exists() and "begin" in steps(tmp_path))
    for mode, found in (
        ("resume-nobody", {"postponed": "Whether call-1 is to be done again is not known: needs approval, nobody."}),
        ("resume-accept", "x"),
    ):
        with process(database, tmp_path, mode, "-", text) as one:
            assert one.result() == found
    assert lines(tmp_path / "log") in (["once x"], ["once x", "once x"])


def steps(folder: Path) -> str:
    """The names of the steps that are in the database."""
    import sqlite3

    with sqlite3.connect(folder / "runs.sqlite") as connection:
        try:
            return " ".join(name for (name,) in connection.execute("SELECT function_name FROM operation_outputs"))
        except sqlite3.OperationalError:
            return ""


async def test_a_run_in_this_process(studio: Studio, tmp_path: Path) -> None:
    steps = '{ id = "a", call = "s.fail" }'
    async with DurableRuns(studio, f"sqlite:///{tmp_path}/runs.sqlite") as runs:
        with pytest.raises(StudioError, match="Step a: tool error: it is meant to fail") as caught:
            await runs.run(plan(f"steps = [{steps}]"), {}, "one")
        assert caught.value.exit_code == 5
        empty = 'steps = [{ each = "[]", concurrency = 3, do = [{ wait = "x" }] }]'
        assert await runs.run(plan(empty), {}, "empty") == []
        for identity, says in (("one", "has ended"), ("two", "not in this database")):
            with pytest.raises(UsageError, match=says):
                await runs.resume(identity)
        with pytest.raises(UsageError, match="cannot be scheduled"):
            await runs.schedule(plan('steps = [{ assert = "1" }]'), "now and then", {})
    with pytest.raises(ConfigError, match="cannot be opened"):
        async with DurableRuns(studio, "sqlite:////nowhere/at/all.sqlite"):
            pass
