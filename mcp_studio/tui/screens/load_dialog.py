"""Running what is open many times, some of them at once, with the figures as they come."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.call.load import MOST, MOST_AT_ONCE, Load, consent, past_of_load
from mcp_studio.jsontext import pretty
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui import late
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.screens.statistics_detail import content
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.histogram import brief, count_text, histogram
from mcp_studio.tui.views.line import Piece, cut

if TYPE_CHECKING:
    from mcp_studio.tui.opened import Opened
    from mcp_studio.tui.screens.main import MainScreen

_PAUSE = 0.2
"""Seconds between two looks at how far it is."""
_ERRORS = 3
_BAR = 24


class LoadDialog(Dialog[None], scope="load"):
    """Asks for two numbers, runs, and keeps the figures on screen until it is left."""

    newest = ("100", "8")
    """What was typed last."""

    def __init__(self, screen: MainScreen, opened: Opened) -> None:
        super().__init__()
        self._screen = screen
        self._opened = opened
        self.load: Load | None = None
        self._began = 0.0
        self.total = Input(self.newest[0], compact=True, type="integer", max_length=9)
        self.at_once = Input(self.newest[1], compact=True, type="integer", max_length=5)
        self._note = Static(classes="note")
        self._figures = Static(classes="figures")

    def heading(self) -> Content:
        """What is run."""
        return Content(f"Load: {safe(self._opened.entry.ref, 60)}")

    def body(self) -> Iterable[Widget]:
        """Two numbers, and what comes of them."""
        yield Horizontal(Static("How many", classes="label"), self.total, classes="row")
        yield Horizontal(Static("At once", classes="label"), self.at_once, classes="row")
        yield self._note
        yield self._figures

    def on_mount(self) -> None:
        """Say what is sent each time."""
        words = "Each time with what the form has now. The trace has every call, the history one entry."
        self._note.update(Content.styled(words, "$quiet"))
        self.total.focus()
        self.set_interval(_PAUSE, self._draw)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter goes on to the other number, and begins from there."""
        event.stop()
        if event.input is self.total:
            self.at_once.focus()
        else:
            self.action_start()

    # Running

    def action_start(self) -> None:
        """Begin."""
        if self.load is not None and self.load.running:
            return
        total, at_once = _number(self.total.value, MOST), _number(self.at_once.value, MOST_AT_ONCE)
        if total is None or at_once is None:
            words = f"How many is a whole number from 1 to {MOST:,}, at once one to {MOST_AT_ONCE:,}."
            self._note.update(Content.styled(words, "$state-failed"))
            return
        type(self).newest = self.total.value, self.at_once.value
        self.run_worker(self._run(total, at_once), group="load", exclusive=True)

    async def _run(self, total: int, at_once: int) -> None:
        opened, studio = self._opened, self._screen.studio
        ref = opened.entry.ref
        if ref.kind == "tool":
            denied = await consent(
                self._ask, ref, studio.catalog.find(ref), opened.value, total, at_once,
                trusted=studio.manager.config(ref.server).trust, rules=studio.config.settings.policy,
            )  # fmt: skip
            if denied is not None:
                self._note.update(Content.styled(f"Not begun: {safe(denied.rule, 200)}.", "$state-failed"))
                return
        self._note.update("")
        self._began = time.time()
        load = self.load = Load(partial(self._screen.calling.begin, opened), total, at_once)
        self._close_inputs(True)
        try:
            await load.run()
        finally:
            self._remember(load)
            if self.is_attached:
                self._close_inputs(False)
                self._draw()

    async def _ask(self, request: InputRequest) -> Answer:
        """Put the question over this dialog: it belongs to it."""
        answered: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        self.app.push_screen(late.question(request, self._screen.asking), answered.set_result)
        return await answered or Answer("decline")

    def _close_inputs(self, closed: bool) -> None:
        self.total.disabled = self.at_once.disabled = closed
        if not closed:
            self.total.focus()

    def _remember(self, load: Load) -> None:
        opened = self._opened
        value = None if opened.entry.ref.kind == "resource" else opened.value
        past = past_of_load(load, opened.entry.ref, value, self._began, "studio")
        self._screen.studio.memory.history.put(past, opened.secrets)

    # Showing

    def _draw(self) -> None:
        load = self.load
        if load is None:
            return
        room = max(6, self.app.size.height - 12)
        self._figures.update(content(figures(load, max(20, self._figures.size.width), room)))

    def action_copy(self) -> None:
        """Copy the figures as JSON."""
        if self.load is None:
            self._screen.studio_app.say("There are no figures yet.", "warning")
        else:
            self._screen.studio_app.copy(pretty(self.load.figures()))

    def action_close(self) -> None:
        """Stop it, or leave."""
        if self.load is not None and self.load.running:
            self.load.stop()
        else:
            self.dismiss(None)


def _number(text: str, most: int) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and 0 < int(text) <= most else None


def figures(load: Load, width: int, height: int) -> list[list[Piece]]:
    """How far a run is and how it goes, in so many cells and lines."""
    dot = f" {glyphs().dot} "
    head = f"{load.done:,} of {load.total:,}{dot}{load.rate:,.0f}/s{dot}{load.seconds:.1f} s"
    bar = max(0, min(_BAR, width - 1 - len(head)))
    done = load.done * bar // load.total
    lines: list[list[Piece]] = []
    lines.append([(glyphs().full * done, "accent"), (glyphs().void * (bar - done), "dim"), (f" {head}", "strong")])
    parts = [f"{count:,} {kind}" for kind, count in load.outcomes.most_common()]
    parts += [f"{load.flying:,} on their way"] if load.running else []
    lines.append([(cut(dot.join((*parts, f"{units.size(load.bytes)} came back")), width), "bad" if load.wrong else "")])
    times = load.durations
    if times.count:
        p50, p95, p99 = (times.percentile(share) for share in (0.5, 0.95, 0.99))
        named = (("min", times.least), ("p50", p50), ("p95", p95), ("p99", p99), ("max", times.most))
        lines.append([(cut(dot.join(f"{name} {brief(ms)}" for name, ms in named), width), "")])
        lines.append([])
    if load.why and not load.running:
        lines.append([(cut(f"Ended early: {safe(load.why, 200)}.", width), "bad")])
    said = load.errors[:_ERRORS]
    lines += histogram(times, width, max(3, height - len(lines) - len(said)))
    for count, text in said:
        lines.append([(f"{count_text(count):>6}x ", "bad"), (cut(text, max(4, width - 8), more=glyphs().more), "")])
    return lines
