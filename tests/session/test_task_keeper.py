"""What is kept of tasks on the disk: what is over goes out of the file, and out of memory with it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import ServerConfig
from mcp_studio.session import tasks as task_keeper
from mcp_studio.session.tasks import Task, TaskFile

CONFIG = ServerConfig("s", url="http://localhost:1/mcp")


def task(identity: str) -> Task:
    return Task("s", identity, "core", ref=Ref("tool", "s", "t"))


def done(identity: str) -> Task:
    return replace(task(identity), gone="Over.")


def kept(file: Path) -> list[str]:
    return [kept.key[1] for kept in TaskFile(file).read()]


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_keeper, "_SAVING", 0.0)


async def written(keeper: TaskFile) -> None:
    """What has changed is on the disk."""
    await asyncio.sleep(0)
    await keeper.close()


async def test_of_what_is_over_nothing_stays(tmp_path: Path) -> None:
    file = tmp_path / "tasks.json"
    keeper = TaskFile(file)
    for number in range(3):
        keeper.keep(task(f"a{number}"), CONFIG)
        await written(keeper)
        assert kept(file) == [f"a{number}"]
        keeper.keep(done(f"a{number}"), CONFIG)
        await written(keeper)
        assert kept(file) == []
    for number in range(100):  # these never reach the disk
        keeper.keep(task(f"b{number}"), CONFIG)
        keeper.keep(done(f"b{number}"), CONFIG)
    await written(keeper)
    assert kept(file) == []


async def test_what_an_earlier_run_kept_and_is_over_is_not_taken_up_again(tmp_path: Path) -> None:
    file = tmp_path / "tasks.json"
    before = TaskFile(file)
    before.keep(task("old"), CONFIG)
    await written(before)
    keeper = TaskFile(file)
    assert len(keeper.read()) == 1
    keeper.keep(task("new"), CONFIG)
    await written(keeper)
    keeper.drop(done("new"), CONFIG)
    await written(keeper)
    # Its server is ready only now, and says at once that it is over.
    keeper.keep(task("old"), CONFIG)
    keeper.keep(done("old"), CONFIG)
    await written(keeper)
    assert kept(file) == []
