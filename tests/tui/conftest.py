"""Waiting for an app that rests: told by its event loop, not by a clock."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import textual.app
import textual.pilot
from textual._context import active_app
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

SOON = 0.02
"""Seconds, more than a frame takes: what is planned for within that time is waited for."""
LONGEST = 5.0
"""Seconds after which something that never rests is taken as it is."""

DRAWN = 0.25
"""Seconds that a screen gets to show what has changed; one that is covered never does."""


async def rest(*_: float) -> None:
    """Wait until nothing is ready to run, and nothing planned for the next moment is left.

    Textual's own way sleeps for 20 ms at least, and takes a process that gets no processor for one that rests. Here
    only sleep that was wanted counts: what is late on a busy machine is waited for.
    """
    loop: Any = asyncio.get_running_loop()
    end = loop.time() + LONGEST
    drawn = loop.time() + DRAWN
    left = SOON
    while loop.time() < end:
        await asyncio.sleep(0)
        if loop._ready:
            continue
        planned = min((handle.when() for handle in loop._scheduled if not handle.cancelled()), default=end)
        pause = max(0.0, planned - loop.time())
        if pause > left and (loop.time() > drawn or not _undrawn()):
            return
        left = max(0.0, left - pause)
        await asyncio.sleep(min(pause, SOON))


def _undrawn() -> bool:
    """Whether something has changed that the screen does not show yet."""
    app = active_app.get(None)
    screen: Any = app.screen_stack[-1] if app is not None and app.screen_stack else None
    return screen is not None and bool(screen._layout_required or screen._repaint_required or screen._dirty_widgets)


@pytest.fixture(autouse=True)
def no_idle_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pause of a pilot is one of these."""
    monkeypatch.setattr(textual.app, "wait_for_idle", rest)
    monkeypatch.setattr(textual.pilot, "wait_for_idle", rest)


_read: dict[object, list[RuleSet]] = {}


@pytest.fixture(autouse=True)
def styles_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules are never changed: hundreds of apps in one process share those of the same text and colours."""
    read = Stylesheet._parse_rules

    def once(sheet: Stylesheet, css: str, **of: Any) -> list[RuleSet]:
        key = (css, *of.items(), *sheet._variables.items())
        if key not in _read:
            _read[key] = read(sheet, css, **of)
        return _read[key]

    monkeypatch.setattr(Stylesheet, "_parse_rules", once)
