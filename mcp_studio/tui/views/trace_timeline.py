"""How a timeline is drawn: a scale on top, then a row for each event with its bar on that scale."""

from __future__ import annotations

from rich.cells import cell_len

from mcp_studio.tui.timeline import Event, span_of
from mcp_studio.tui.tracing import clock
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Piece, fit
from mcp_studio.tui.views.trace_row import IN, OUT

_LOOKS = {"ok": "ok", "open": "warn", "cancelled": "warn", "tool error": "bad", "error": "bad", "lost": "bad"}
_AT = 9


class Drawing:
    """Draws the rows of one timeline: the scale is row 0, the events come after it."""

    def __init__(self, events: tuple[Event, ...], now: float = 0.0) -> None:
        """`now`: up to when what is open is drawn."""
        self.events = events
        self.begin, self.end = span_of(events)
        if any(event.end is None and event.number and not event.ticks for event in events):
            self.end = max(self.end, now)

    def draw(self, event: Event | None, width: int, selected: bool = False) -> list[Piece]:
        """One event, or the scale."""
        label = min(40, max(16, width * 2 // 5))
        room = max(4, width - label - _AT - 3)
        if event is None:
            return [(fit(f"  {clock(self.begin)}", label + _AT + 2), "dim"), (self._scale(room), "dim")]
        if not event.number:
            return [(fit(" " * (2 + 2 * event.depth) + event.label, width), "dim")]
        signs = glyphs()
        arrow: Piece = {"out": (signs.sent, OUT), "in": (signs.received, IN)}.get(event.direction, (signs.dot, "dim"))
        indent = "  " * min(event.depth, 6)
        text = fit(indent + event.label, label - 3)
        start = event.ticks[0] if event.ticks else event.begin
        at = fit(took((start - self.begin) * 1000), _AT, right=True)
        return [arrow, (f" {text} ", "strong" if event.here else ""), (f"{at}  ", "dim"), *self._bar(event, room)]

    def _scale(self, room: int) -> str:
        signs = glyphs()
        if self.end <= self.begin:
            return ""
        whole = f" {took((self.end - self.begin) * 1000)} "
        return f"{signs.begin}{signs.line * max(0, room - 2 - cell_len(whole))}{whole}{signs.end}"

    def _place(self, time: float, room: int) -> int:
        whole = self.end - self.begin
        share = (time - self.begin) / whole if whole > 0 else 0.0
        return max(0, min(room - 1, int(share * (room - 1) + 0.5)))

    def _bar(self, event: Event, room: int) -> list[Piece]:
        signs = glyphs()
        if event.ticks:
            # The clock may have been set back meanwhile.
            first, last = self._place(min(event.ticks), room), self._place(max(event.ticks), room)
            cells = [" "] * (last - first + 1)
            for tick in event.ticks:
                cells[self._place(tick, room) - first] = signs.dot if len(event.ticks) > 1 else signs.bar
            bar, look = "".join(cells), "dim" if not event.direction else "accent"
        else:
            first, last = self._place(event.begin, room), self._place(event.end or self.end, room)
            end = signs.end if event.end is not None else signs.more
            bar = signs.begin + signs.line * (last - first - 1) + end if last > first else signs.bar
            look = _LOOKS.get(event.outcome, "accent" if event.number and not event.direction else "")
        for note in (event.note, event.brief):
            if (placed := _beside(bar, look, first, note, room)) is not None:
                return placed
        return [(" " * first, ""), (bar, look)]


def _beside(bar: str, look: str, first: int, note: str, room: int) -> list[Piece] | None:
    """A bar with its note: behind it where there is room, else in front, else over its end; None without any."""
    cells, needed = cell_len(bar), cell_len(note) + 1
    after = room - first - cells
    if not note or needed <= after:
        return [(" " * first, ""), (bar, look), (f" {note}", "")]
    if needed <= first:
        return [(f"{note} ".rjust(first), ""), (bar, look)]
    if needed + 3 <= cells:
        head = bar[: cells - needed - 2]
        return [(" " * first, ""), (head, look), (f" {note} ", ""), (bar[-1], look)]
    return None


def took(ms: float) -> str:
    """Milliseconds in few characters: `0.4 ms`, `812 ms`, `12.1 s`."""
    if ms < 9.95:
        return f"{ms:.1f} ms"
    if ms < 9_995:
        return f"{ms:.0f} ms"
    return f"{ms / 1000:.1f} s" if ms < 600_000 else f"{ms / 60_000:.0f} min"
