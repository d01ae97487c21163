"""Durable runs: processes are killed, and what may not be done twice is not."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from mcp_studio.errors import ConfigError, InputNeeded, StudioError, UsageError
from mcp_studio.session.inbox import Action, InputRequest
from mcp_studio.studio import Studio
from mcp_studio.workflow import Run, Workflow
from mcp_studio.workflow.durable import DurableRuns
from mcp_studio.workflow.records import Report, RunStore
from tests.registry.kit import postgres
from tests.servers.plan_tools import lines
from tests.support import ROOT, wait_until
from tests.workflow.kit import plan

if find_spec("dbos") is None:  # importing it takes most of a second, which is for the process that runs these tests
    pytest.skip("the extra `durable` is not installed", allow_module_level=True)

PLAN = """
name = "survivor"
output = ["$var.n", "of ${len(many)}", "$sides"]
on_error = "skip"
[[steps]]
loop = "iteration < 4"
do = [
  { call = "s.again", arguments = { key = "again${iteration}", seconds = 0.02 } },
  { call = "s.once", arguments = { key = "once${iteration}", seconds = 0.02 } },
  { set = { n = "$iteration" } },
]
[[steps]]
id = "many"
each = "range(8)"
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
REPEATABLE = {f"again again{at}" for at in range(4)} | {f"again second{at}" for at in range(8)} | {"again left"}
ONCE = {f"once once{at}" for at in range(4)} | {f"once first{at}-3" for at in range(8)} | {"once right8"}


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


@asynccontextmanager
async def here(studio: Studio, database: str, action: Action, by: str = "") -> AsyncGenerator[DurableRuns]:
    """The runs of a database in this process, where every question is answered so."""
    forget = studio.inbox.changed.connect(lambda request: request.answer(action, by=by))
    async with DurableRuns(studio, database, approved=True) as runs:
        yield runs
    forget()


def check(folder: Path) -> None:
    """All that may be repeated was done, and nothing twice that may not be."""
    counts = Counter(lines(folder / "log"))
    assert REPEATABLE - counts.keys() == set()
    assert {line: count for line, count in counts.items() if line.startswith("once") and count > 1} == {}
    assert counts.keys() <= REPEATABLE | ONCE


async def test_a_run_that_is_killed_again_and_again_ends(database: str, tmp_path: Path, studio: Studio) -> None:
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    for mode in ("run", "resume-decline"):
        with process(database, tmp_path, mode) as one:
            await more_lines(tmp_path / "log", chance.randint(3, 10), one)
    async with here(studio, database, "decline") as runs:
        found = await runs.resume("the-run")
    assert found[:2] == [3, "of 8"], seed
    check(tmp_path)


async def test_workers_take_items_and_may_be_killed(database: str, tmp_path: Path, studio: Studio) -> None:
    worker = Process(database, tmp_path, "work-decline", "one")
    try:
        async with here(studio, database, "decline") as runs:
            run = asyncio.ensure_future(runs.run(Workflow.of(tomllib.loads(PLAN)), {}, "the-run"))
            await more_lines(tmp_path / "log", 12, worker)
            worker.kill()
            worker = Process(database, tmp_path, "work-decline", "one")
            found = await asyncio.wait_for(run, 120)
    finally:
        worker.kill()
    assert found[:2] == [3, "of 8"]
    check(tmp_path)


async def test_what_may_have_been_done_waits_for_an_answer(tmp_path: Path, studio: Studio) -> None:
    database = f"sqlite:///{tmp_path}/runs.sqlite"
    text = 'name = "x"\nsteps = [{ call = "s.once", arguments = { key = "x", seconds = 1 } }]'
    with process(database, tmp_path, "run", "-", text):
        await wait_until(lambda: (tmp_path / "runs.sqlite").exists() and "begin" in steps(tmp_path))
    async with here(studio, database, "cancel", by="nobody") as runs:
        with pytest.raises(InputNeeded, match=r"call-1 may have been done .*Do it again. Needs approval, nobody"):
            await runs.resume("the-run")
    async with here(studio, database, "accept") as runs:
        assert await runs.resume("the-run") == "x"
    assert lines(tmp_path / "log") in (["once x"], ["once x", "once x"])


async def test_a_run_that_waits_for_nobody_goes_on_later(tmp_path: Path, studio: Studio) -> None:
    workflow = plan("""
    output = ["$left.text", "$w.by", "$last"]
    steps = [
      { id = "first", call = "s.again", arguments = { key = "first" } },
      { id = "both", parallel = [{ id = "left", call = "s.text", arguments = { text = "[1]" } }, { set = { x = 1 } }] },
      { id = "w", wait = "Ship it?" },
      { id = "last", call = "s.again", arguments = { key = "last" } },
    ]""")
    database = f"sqlite:///{tmp_path}/runs.sqlite"

    def answer(request: InputRequest) -> None:
        if request.message == "Ship it?":
            request.answer("cancel", by="nobody can be asked")
        else:
            request.answer("accept")

    forget = studio.inbox.changed.connect(answer)
    async with DurableRuns(studio, database) as runs:
        with pytest.raises(InputNeeded, match=r"Ship it. Needs approval, nobody can be asked") as caught:
            await runs.run(workflow, {}, "the-run")
    forget()
    assert (caught.value.exit_code, "run --resume the-run" in caught.value.hint) == (6, True)
    async with here(studio, database, "accept") as runs:
        assert await runs.resume("the-run") == ["[1]", "beforehand", "last"]
    assert lines(tmp_path / "log") == ["again first", "again last"]


def steps(folder: Path) -> str:
    """The names of the steps that are in the database."""
    import sqlite3

    with sqlite3.connect(folder / "runs.sqlite") as connection:
        try:
            return " ".join(name for (name,) in connection.execute("SELECT function_name FROM operation_outputs"))
        except sqlite3.OperationalError:
            return ""


async def test_what_is_recorded_of_a_run_is_reported_as_if_it_was_done_here(studio: Studio, tmp_path: Path) -> None:
    workflow = plan("""
    output = "${len(many)} ${either}"
    steps = [
      { id = "many", each = "range(5)", concurrency = 3, do = [
        { call = "s.echo", arguments = { value = "$item" }, id = "said" },
        { assert = "said < 4", message = "too many", on_error = "skip" },
      ] },
      { id = "either", parallel = [
        { id = "slow", call = "s.slow", arguments = { seconds = 0.2, value = 1 } },
        { id = "wrong", call = "s.fail" },
      ], merge = "first" },
    ]""")
    here = Run(workflow, studio)
    reports = [Report(here)]
    await here.execute()
    async with DurableRuns(studio, f"sqlite:///{tmp_path}/runs.sqlite") as runs:
        with pytest.raises(StudioError, match="too many"):
            await runs.run(workflow, {}, "a-run")
        before = studio.trace.total
        again = await runs.recorded("a-run")
        reports.append(Report(again))
        await again.execute()
    assert studio.trace.total == before and again.output == here.output == "5 1"
    assert reports[1].compare(reports[0].snapshot()) == ()
    assert again.root.ms > 200 and again.why and here.why and again.why.message == here.why.message
    reports[1].junit(tmp_path / "junit.xml")
    (suite,) = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("6", "1", "1")


async def test_who_resumes_hears_of_a_worker_that_has_a_part(tmp_path: Path, studio: Studio) -> None:
    database = f"sqlite:///{tmp_path}/runs.sqlite"
    text = 'name = "x"\nsteps = [{ each = "range(40)", concurrency = 4, do = [{ call = "s.slow", arguments = SLOW }] }]'
    text = text.replace("SLOW", "{ seconds = 0.3, value = 1 }")
    with process(database, tmp_path, "work", "one", text), process(database, tmp_path, "run", "-", text):
        await wait_until(lambda: "one" in executors(tmp_path))
    async with DurableRuns(studio, database) as runs:
        heard: list[str] = []
        runs.held.connect(heard.append)
        run = asyncio.ensure_future(runs.resume("the-run"))
        await wait_until(lambda: any("worker one" in said for said in heard))
        with process(database, tmp_path, "work", "one", text):
            assert await asyncio.wait_for(run, 120) == [1] * 40
    kept = RunStore(studio.paths.state / "runs", studio.redactor)
    assert [(one["id"], one["state"]) for one in kept.all()] in ([], [("the-run", "done")])


def executors(folder: Path) -> set[str]:
    """Who has begun something that has not ended."""
    import sqlite3

    with sqlite3.connect(folder / "runs.sqlite") as connection:
        try:
            rows = connection.execute("SELECT executor_id FROM workflow_status WHERE status = 'PENDING'").fetchall()
        except sqlite3.OperationalError:
            return set()
    return {str(name) for (name,) in rows}


@pytest.mark.parametrize("address", ["nonsense", "mysql://x", "postgresql://host"])
async def test_an_address_of_no_database_is_refused_in_a_sentence(studio: Studio, address: str) -> None:
    with pytest.raises(ConfigError, match="The database of runs cannot be opened: "):
        await DurableRuns(studio, address).__aenter__()


async def test_a_run_in_this_process(studio: Studio, tmp_path: Path) -> None:
    steps = '{ id = "a", call = "s.fail" }'
    async with DurableRuns(studio, f"sqlite:///{tmp_path}/runs.sqlite") as runs:
        with pytest.raises(StudioError, match="Step a: tool error: it is meant to fail") as caught:
            await runs.run(plan(f"steps = [{steps}]"), {}, "one")
        assert caught.value.exit_code == 5
        empty = 'steps = [{ each = "[]", concurrency = 3, do = [{ wait = "x" }] }]'
        assert await runs.run(plan(empty), {}, "empty") == []
        deep = '{ id = "deep", choose = "item > 0", then = [{ id = "b", call = "s.fail" }] }'
        many = plan(f'steps = [{{ id = "many", each = "range(3)", concurrency = 2, do = [{deep}] }}]')
        with pytest.raises(StudioError, match=r"Step many\[1\]\.deep\.b: tool error"):
            await runs.run(many, {}, "many")
        for identity, says in (("one", "has ended"), ("two", "not in this database")):
            with pytest.raises(UsageError, match=says):
                await runs.resume(identity)
        with pytest.raises(UsageError, match="cannot be scheduled"):
            await runs.schedule(plan('steps = [{ assert = "1" }]'), "now and then", {})
        often = plan('steps = [{ call = "s.echo", arguments = { value = 7 } }]')
        await runs.schedule(often, "* * * * * *", {})
        kept = RunStore(studio.paths.state / "runs", studio.redactor)
        await wait_until(lambda: any(one["id"].startswith("sched-trial-") for one in kept.all()))
        await runs.schedule(often, "", {})
    assert [one["output"] for one in kept.all() if one["id"].startswith("sched-trial-")][-1] == 7
    ended = {one["id"]: (one["state"], one["failed"]) for one in kept.all()}
    assert (ended["one"], ended["many"], ended["empty"]) == (
        ("failed", "a"), ("failed", "many[1].deep.b"), ("done", None)
    )  # fmt: skip
    with pytest.raises(ConfigError, match="cannot be opened"):
        async with DurableRuns(studio, "sqlite:////nowhere/at/all.sqlite"):
            pass
