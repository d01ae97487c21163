"""Everything about one row of the statistics: its figures, the histogram of its times, what its errors say."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from mcp_studio.present import outcomes as describe
from mcp_studio.present import units
from mcp_studio.present.error_groups import ErrorGroup
from mcp_studio.safetext import safe
from mcp_studio.trace.statistics import Tally
from mcp_studio.tui.screens.statistics_rows import StatRow, View
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.histogram import brief, count_text, histogram
from mcp_studio.tui.views.line import Piece, cut, fit, width_of

_COLOURS = {"dim": "$quiet", "accent": "$primary", "bad": "$state-failed", "strong": "b"}
_BESIDE = 90
"""Cells from which on errors stand beside the histogram."""
_ERRORS = 4


class DetailRoom(Static):
    """About one row; says when it has another size than before."""

    class Changed(Message):
        """It was hidden, or the screen was another."""

    def on_resize(self) -> None:
        """Tell it."""
        self.post_message(self.Changed())


def detail(row: StatRow, view: View, errors: Sequence[ErrorGroup], width: int, height: int) -> Content:
    """A row in so many cells and lines."""
    lines = _facts(row, view, width)
    room = height - len(lines)
    said = [_error(group, width // 2 if width >= _BESIDE else width) for group in errors]
    if width >= _BESIDE:
        lines += _beside(histogram(row.tally.durations, width // 2 - 2, room), said[:room], width // 2)
    else:
        below = min(len(said), _ERRORS, max(0, room - 3))
        lines += histogram(row.tally.durations, width, room - below) + said[:below]
    return content(lines[:height])


def content(lines: Sequence[Sequence[Piece]]) -> Content:
    """Lines of pieces as one text."""
    parts: list[tuple[str, str]] = []
    for line in lines:
        parts += [("\n", "")] if parts else []
        parts += [(text, _COLOURS.get(str(look), "")) for text, look in line] or [("", "")]
    return Content.assemble(*parts)


def _facts(row: StatRow, view: View, width: int) -> list[list[Piece]]:
    tally, dot = row.tally, f" {glyphs().dot} "
    ended = dot.join((units.plural(tally.count, "time"), *outcomes(tally)))
    name: list[Piece] = [(cut(row.name, max(8, width // 2), more=glyphs().more), "strong"), ("  ", "")]
    lines: list[list[Piece]] = [[*name, (cut(ended, max(8, width - width_of(name))), "bad" if tally.errors else "")]]
    if tally.durations.count:
        times = tally.durations
        shown = (("min", times.least), ("mean", times.mean), ("p50", tally.p50), ("p95", tally.p95),
                 ("p99", tally.p99), ("max", times.most))  # fmt: skip
        how = "" if times.exact else f"{dot}percentiles of a sample"
        lines.append([(cut(dot.join(f"{word} {brief(ms)}" for word, ms in shown) + how, width), "")])
    sizes = f"{describe.size(tally.bytes_in)} in{dot}{describe.size(tally.bytes_out)} out"
    more = [units.plural(tally.notices, "notification")] if tally.notices else []
    more += [f"{units.plural(tally.questions, 'request')} of the server"] if tally.questions else []
    lines.append([(cut(dot.join((sizes, *more)), width), "dim")])
    return lines


def outcomes(tally: Tally) -> list[str]:
    """What did not go well, in words."""
    named = ((tally.failed, "failed"), (tally.refused, "refused"), (tally.lost, "lost"), (tally.cancelled, "cancelled"))
    return [f"{count:,} {word}" for count, word in named if count]


def _error(group: ErrorGroup, width: int) -> list[Piece]:
    count = f"{count_text(group.times):>6}x "
    return [(count, "bad"), (cut(safe(group.text, 400), max(4, width - len(count)), more=glyphs().more), "")]


def _beside(left: list[list[Piece]], right: list[list[Piece]], width: int) -> list[list[Piece]]:
    lines: list[list[Piece]] = []
    for place in range(max(len(left), len(right))):
        one = left[place] if place < len(left) else []
        other = right[place] if place < len(right) else []
        lines.append([*one, (fit("", width - width_of(one)), ""), *other])
    return lines
