"""What large lists bring is taken out of garbage collections, seldom."""

from __future__ import annotations

import asyncio
import gc

import pytest

from mcp_studio.tui import large


async def test_lists_that_have_become_large_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen: list[int] = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(1))
    monkeypatch.setattr(large, "QUIET", 0.0)

    looked = large.Large()
    seen: list[int] = []
    for count in (0, large.MANY - 1, large.MANY, large.MANY + 1, 2 * large.MANY, 10):
        looked.grown(count)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        seen.append(len(frozen))
    assert seen == [0, 0, 1, 1, 2, 2]
    looked.grown(10 * large.MANY)
    looked.close()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(frozen) == 2
