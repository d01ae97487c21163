"""The screens that `tests.bench.widgets` measures: one view among what is usually around it, or nothing in its place.

    widget_app.py trace|list|text|json|none [--rate N] [--count N] [--file F]

`x` counts up in the status line (`K1;`), and so does every filter that has been applied (`F1;`).
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical
from textual.filter import LineFilter
from textual.widget import Widget
from textual.widgets import Footer, Input, Static

from mcp_studio.catalog.listing import Entry, Ref
from mcp_studio.limits import Limits
from mcp_studio.protocol.views import ToolView
from mcp_studio.redact import Redactor
from mcp_studio.search.names import Matcher
from mcp_studio.trace.store import TraceStore
from mcp_studio.tui.app import SHEETS
from mcp_studio.tui.framework import WALL
from mcp_studio.tui.panes.catalog import NameFilter
from mcp_studio.tui.themes import complete
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.rows import Line, TextView, VirtualList, mark_matches
from mcp_studio.tui.views.trace_table import TraceTable

PER_SECOND = 60


class Bench(App[None]):
    """A side, a view, a status line, a footer."""

    CSS_PATH = [*SHEETS]  # noqa: RUF012
    CSS = "#side { width: 30; border: round $primary; } #main { border: round $primary; } #status { height: 1; }"
    BINDINGS = [("x", "count", "Count")]  # noqa: RUF012

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__()
        self.options = options
        self.data = Path(options.file).read_bytes() if options.file else b""
        self.complete = asyncio.Event()
        self.store = TraceStore(Redactor(), Limits())
        self.counted = self.filtered = 0
        self.fact = ""
        self.stall = 0.0
        verbs = ("get", "list", "create", "sync")
        self.tools = [
            (f"{verbs[n % 4]}_issue_{n:05}", f"{verbs[n % 4].title()} one issue (generated tool {n})")
            for n in range(options.count)
        ]
        entries = [Entry(Ref("tool", "bench", name), ToolView({"description": text})) for name, text in self.tools]
        self.letters = NameFilter(entries)
        self.matcher = Matcher("")

    def compose(self) -> ComposeResult:
        """A screen as the studio's."""
        with Horizontal():
            with Vertical(id="side"):
                for number in range(12):
                    yield Static(f"server-{number}")
            with Vertical(id="main"):
                yield from self.make()
        yield Static("starting", id="status")
        yield Footer()

    def make(self) -> list[Widget]:
        """The view that is measured."""
        match self.options.view:
            case "trace":
                view = TraceTable(self.store, Static())
            case "list":
                view = VirtualList(self.draw, key=lambda tool: tool[0])
            case "json":
                view = JsonView()
            case "text":
                view = TextView()
            case _:
                view = Static("")
        view.id = "view"
        return [Input(), view] if self.options.view.endswith("list") else [view]

    def draw(self, tool: tuple[str, str], width: int, selected: bool) -> Line:
        """One tool."""
        return [
            (" r ", "ok"),
            *mark_matches(tool[0], self.matcher.pieces(tool[0]), "strong"),
            ("  " + tool[1], "dim"),
        ]

    def get_css_variables(self) -> dict[str, str]:
        """As the studio has them."""
        return complete(super().get_css_variables())

    def get_line_filters(self) -> Sequence[LineFilter]:
        """As the studio has it."""
        return [*super().get_line_filters(), WALL]

    def on_ready(self) -> None:
        """Begin, with the collector set as the studio sets it."""
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        for focus in (*self.query(Input), *self.query("#view")):
            focus.focus()
            break
        self.run_worker(self.go())

    async def go(self) -> None:
        """Fill the view, say how long that took, then feed the trace."""
        await asyncio.sleep(0.2)
        beat = asyncio.create_task(self.beat())
        await asyncio.sleep(0.1)
        self.stall = 0.0
        self.complete.clear()
        began, cpu = time.perf_counter(), time.process_time()
        self.fill(self.data)
        painted = asyncio.Event()
        self.call_after_refresh(painted.set)
        await painted.wait()
        fact = {"show": time.perf_counter() - began, "cpu": time.process_time() - cpu}
        await self.complete.wait()
        fact |= {"all": time.perf_counter() - began, "stall": self.stall}
        beat.cancel()
        self.write(fact)
        self.fact = "READY; "
        self.say()
        if self.options.rate:
            await self.feed()

    def fill(self, data: bytes) -> None:
        """Hand over what is to be shown."""
        for view in self.query("#view"):
            if isinstance(view, VirtualList):
                view.show(self.tools)
            elif isinstance(view, (JsonView, TextView)):
                view.show(data)

    async def feed(self) -> None:
        """So many entries a second, a batch at a time, as a transport hands them over."""
        body = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x" * 120}}).encode()
        began, sent = time.perf_counter(), 0
        while True:
            await asyncio.sleep(1 / PER_SECOND)
            due = int((time.perf_counter() - began) * self.options.rate)
            for _ in range(min(due - sent, self.options.rate)):
                entry = self.store.add("flood", "in", "notification", body)
                entry.method = "notifications/message"
                self.store.revised(entry)
            sent = due

    async def beat(self) -> None:
        """Notice for how long the loop was held; in CPU time, so that other programs do not count."""
        last = time.thread_time()
        while True:
            await asyncio.sleep(0.001)
            now = time.thread_time()
            self.stall, last = max(self.stall, now - last), now
            if all(view.row_count for view in self.query("#view") if isinstance(view, (JsonView, TextView))):
                self.complete.set()

    def write(self, fact: dict[str, float]) -> None:
        """Leave the times for the one who measures."""
        Path(self.options.out).write_text(json.dumps(fact))

    def say(self) -> None:
        """Tell the one who watches."""
        self.query_one("#status", Static).update(f"{self.fact}K{self.counted}; F{self.filtered};")

    def action_count(self) -> None:
        """A key has arrived."""
        self.counted += 1
        self.say()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter as one types."""
        self.matcher = Matcher(event.value)
        for view in self.query(VirtualList):
            hits = self.letters.find(event.value)
            view.show([self.tools[place] for place in hits.places], keep=False)
        self.filtered += 1
        self.say()


def main() -> None:
    """Run one screen."""
    parser = argparse.ArgumentParser()
    parser.add_argument("view")
    parser.add_argument("--rate", type=int, default=0)
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--file", default="")
    parser.add_argument("--out", default=os.devnull)
    Bench(parser.parse_args()).run()


if __name__ == "__main__":
    main()
