"""The helpers that other tests lean on."""

from __future__ import annotations

import asyncio
import os

import pytest

from tests.support import npm_server, run, wait_until


def test_run_gives_the_result_and_ends_what_takes_too_long() -> None:
    assert run(asyncio.sleep(0, "done")) == "done"
    with pytest.raises(TimeoutError):
        run(asyncio.Event().wait(), timeout=0.05)


def test_wait_until_lets_other_tasks_run() -> None:
    async def scene() -> None:
        seen: list[int] = []
        task = asyncio.create_task(asyncio.sleep(0, None))
        task.add_done_callback(lambda _: seen.append(1))
        await wait_until(lambda: seen)

    run(scene())


def test_wait_until_fails_by_name() -> None:
    with pytest.raises(pytest.fail.Exception, match="the moon"):
        run(wait_until(lambda: False, timeout=0.02, what="the moon"))


def test_a_missing_npm_server_skips_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_STUDIO_NPM", os.devnull)
    with pytest.raises(pytest.skip.Exception, match="server-everything"):
        npm_server("everything")
