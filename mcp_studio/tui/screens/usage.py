"""What is known from use, beside what can be used: in the catalog, in the call pane, in the statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_studio.catalog.listing import Ref
from mcp_studio.safetext import safe
from mcp_studio.schema.field import errors
from mcp_studio.schema.place import named
from mcp_studio.trace.statistics import NAMED, Numbers, Tally
from mcp_studio.tui import late_trace
from mcp_studio.tui.screens.statistics_rows import errors_text
from mcp_studio.tui.views.histogram import brief, count_text
from mcp_studio.tui.views.line import Piece

if TYPE_CHECKING:
    from mcp_studio.tui.opened import Opened
    from mcp_studio.tui.screens.main import MainScreen

_METHODS: dict[str, str] = {kind: method for method, kind in NAMED.items()}
_SOON = 0.02


class Usage:
    """The figures of the running trace, and where the main screen shows them."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self.numbers = Numbers(screen.studio.trace)
        self._behind = False
        self._shown = -1
        self._spent = 0.0

    def tick(self) -> None:
        """Take over what is new, some of it a little later where it is much."""
        if self._behind:
            return
        self._behind = not self.numbers.look()
        if self._behind:
            self._screen.set_timer(_SOON, self._go_on)
        else:
            self._show()

    def _go_on(self) -> None:
        self._behind = False
        self.tick()

    def _show(self) -> None:
        if self.numbers.revision != self._shown:
            self._shown = self.numbers.revision
            catalog, call = self._screen.catalog, self._screen.call
            catalog.use, call.use = self.of_row, self.of_call
            if self.numbers.targets:
                catalog.list.redraw()
                call.show_use()

    def of(self, ref: Ref) -> Tally | None:
        """The figures of an entry of the catalog; None before it was used."""
        method = _METHODS.get(ref.kind)
        return self.numbers.of(ref.server, method, ref.name) if method else None

    def of_row(self, ref: Ref) -> list[Piece]:
        """For a row of the catalog: how often, how fast, and how much of it failed."""
        tally = self.of(ref)
        if tally is None or not tally.count:
            return []
        pieces: list[Piece] = [(f"{count_text(tally.count)}×", "dim")]
        if tally.p50 is not None:
            pieces.append((f" {brief(tally.p50)}", "dim"))
        if tally.errors:
            pieces.append((f" {tally.error_rate:.0%}" if tally.error_rate >= 0.01 else " <1%", "bad"))
        return pieces

    def of_call(self, ref: Ref) -> list[tuple[str, str]]:
        """For the heading of the call pane."""
        tally = self.of(ref)
        if tally is None or not tally.count:
            return []
        parts = [(f"  {count_text(tally.count)}×", "$quiet")]
        if tally.p50 is not None:
            parts.append((f"  p50 {brief(tally.p50)}  p95 {brief(tally.p95)}", "$quiet"))
        if tally.errors:
            parts.append((f"  {errors_text(tally)} failed", "$state-failed"))
        return parts

    # Dialogs

    def open(self) -> None:
        """Statistics of the trace that is shown."""
        recording = self._screen.trace.recording
        live = self._screen.trace.live
        numbers = self.numbers if live else Numbers(recording)
        self._screen.app.push_screen(late_trace.statistics(recording, numbers, live), self._chosen)

    def _chosen(self, query: str | None) -> None:
        if query:
            self._screen.run_worker(self._find(query), group="find", exclusive=True)

    async def _find(self, query: str) -> None:
        """Show in the trace what a filter finds."""
        trace = self._screen.trace
        self._screen.go_to(trace)
        await trace.action_filter()
        await trace.filter.put(query)
        self._screen.set_focus(trace.entry_point())

    def load(self) -> None:
        """Run what is open many times, once it has been checked."""
        screen = self._screen
        opened, app = screen.calling.opened, screen.studio_app
        if opened is None or opened.entry.ref.kind == "template":
            app.say("Open a tool, a prompt or a resource first: it is run many times then.", "warning")
        elif opened.entry.excluded:
            app.say(f"It must not be used: {safe(opened.entry.problem)}", "warning")
        elif screen.calling.running:
            app.say("It is still running; esc stops it.", "warning")
        else:
            screen.run_worker(self._load(opened), group="call", exclusive=True)

    async def _load(self, opened: Opened) -> None:
        screen = self._screen
        problems = screen.call.unreadable() or await screen.calling.problems(opened)
        screen.call.show_problems(problems)
        if wrong := errors(problems):
            screen.call.focus_problem(wrong[0])
            what = named(wrong[0].pointer, opened.value)
            screen.studio_app.say(f"Not begun: {safe(what, 80)} {safe(wrong[0].message, 300)}", "warning")
        elif await screen.calling.connected(opened.entry.ref.server):
            screen.app.push_screen(late_trace.load_dialog(screen, opened))
