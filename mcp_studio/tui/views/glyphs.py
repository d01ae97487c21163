"""The signs that lists and viewers draw, each one cell wide, with a plain ASCII set for terminals without them."""

from __future__ import annotations

from mcp_studio.record import record


@record(frozen=True)
class Glyphs:
    """One set of signs."""

    folded: str = "▸"
    unfolded: str = "▾"
    sent: str = "→"
    received: str = "←"
    by_hand: str = "»"
    ok: str = "✓"
    bad: str = "✗"
    on: str = "●"
    half: str = "◐"
    off: str = "○"
    waiting: str = "⚑"
    warning: str = "!"
    mark: str = "▌"
    more: str = "…"
    dot: str = "·"
    dash: str = "—"
    line: str = "─"
    bar: str = "│"
    full: str = "▓"
    void: str = "░"
    new: str = "+"
    changed: str = "±"
    gone: str = "-"
    watched: str = "◉"
    follows: str = "↳"
    under: str = "└"
    marked: str = "◆"
    said: str = "◇"
    marked_said: str = "◈"
    begin: str = "├"
    end: str = "┤"
    stray: str = "≠"
    up: str = "▴"
    down: str = "▾"


UNICODE = Glyphs()
ASCII = Glyphs(
    folded="+",
    unfolded="-",
    sent=">",
    received="<",
    by_hand="=",
    ok="v",
    bad="x",
    on="*",
    half="~",
    off="o",
    waiting="?",
    mark=">",
    more="~",
    dot=".",
    dash="-",
    line="-",
    bar="|",
    full="#",
    void=".",
    changed="~",
    watched="@",
    follows="\\",
    under="\\",
    marked="#",
    said='"',
    marked_said="&",
    begin="|",
    end="|",
    stray="#",
    up="^",
    down="v",
)

_chosen = UNICODE


def glyphs() -> Glyphs:
    """The set in use."""
    return _chosen


def choose(*, ascii: bool) -> Glyphs:
    """Set the signs for the whole program, once at start; `ascii` takes the plain set."""
    global _chosen
    _chosen = ASCII if ascii else UNICODE
    return _chosen
