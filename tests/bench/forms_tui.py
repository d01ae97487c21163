"""How long a key takes in a large form, as a ratio to a key in an empty input: `python -m tests.bench.forms_tui`.

60 fields on 5 levels, and 1,000 rows of 5 fields, all unfolded, at 80x24: typing, walking, undoing, folding.
Processor time from the key to the end of the repaint, the median of 20.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))

from schema_zoo import TOOLS
from textual.pilot import Pilot

from mcp_studio.jsontext import Json
from mcp_studio.schema.form import build
from tests.tui.form_host import FormApp

ROWS = 1_000
TIMES = 20


async def timed(pilot: Pilot[Any], *keys: str) -> float:
    """Milliseconds of processor per key, from pressing it to the end of the repaint."""
    taken: list[float] = []
    for turn in range(TIMES):
        started = process_time()
        await pilot.press(keys[turn % len(keys)])
        taken.append((process_time() - started) * 1_000)
    return median(taken)


def rows() -> Json:
    """The rows of the large form."""
    return {"rows": [{"a": f"text {n}", "b": n, "c": True, "d": "x", "e": 1.5} for n in range(ROWS)]}


async def form(name: str, value: Json, steps: Callable[[FormApp, Pilot[Any]], Awaitable[None]]) -> None:
    """A tool's form at 80x24."""
    app = FormApp(build(TOOLS[name][1]), value)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("tab")
        await pilot.pause()
        await steps(app, pilot)


async def main() -> None:
    """Measure, and print a line for each."""
    base = 0.0

    def say(what: str, taken: float) -> None:
        print(f"{what:<44} {taken:7.1f} ms  {taken / base:5.1f} x an empty input")

    started = process_time()
    app = FormApp(build(TOOLS["deep"][1]), {})
    async with app.run_test(size=(80, 24)) as pilot:
        app.form.begin()
        await pilot.pause()
        print(f"{'opening an app with 60 fields on 5 levels':<44} {(process_time() - started) * 1_000:7.1f} ms")

    async def empty(app: FormApp, pilot: Pilot[Any]) -> None:
        nonlocal base
        app.set_focus(app.query_one("#before"))
        await timed(pilot, "x")
        base = await timed(pilot, "x")
        say("a key in an empty input", base)

    async def deep(app: FormApp, pilot: Pilot[Any]) -> None:
        app.form.focus_field("/level1_inside/level2_inside/level3_inside/level4_inside/level5_field0")
        await pilot.pause()
        say("60 fields on 5 levels: typing at level 5", await timed(pilot, "x"))
        say("60 fields on 5 levels: walking", await timed(pilot, "tab", "shift+tab"))

    async def large(app: FormApp, pilot: Pilot[Any]) -> None:
        app.form.model.fold([("rows", number) for number in range(ROWS)], True)
        lines = len(app.form.model.rows)
        app.form.focus_field("/rows/500/a")
        await pilot.pause()
        say(f"{lines:,} rows: typing in the middle", await timed(pilot, "x"))
        say(f"{lines:,} rows: walking", await timed(pilot, "tab", "shift+tab"))
        say(f"{lines:,} rows: undo and redo", await timed(pilot, "ctrl+z", "ctrl+y"))
        app.form.focus_field("/rows/500")
        await pilot.pause()
        say(f"{lines:,} rows: fold and unfold an item", await timed(pilot, "space"))

    await form("formats", {}, empty)
    await form("deep", {}, deep)
    await form("rows", rows(), large)


if __name__ == "__main__":
    asyncio.run(main())
