"""The signs that lists and viewers draw, each one cell wide, with a plain ASCII set for terminals without them."""

from __future__ import annotations

from typing import NamedTuple


class Glyphs(NamedTuple):
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
    up: str = "↑"
    down: str = "↓"


_PLAIN = str.maketrans("▸▾→←»✓✗●◐○⚑▌…·—─│▓±◉↳└◆◇◈├┤≠↑↓", '+-><=vx*~o?>~.--|#~@\\\\#"&||#^v')
UNICODE = Glyphs()
ASCII = Glyphs(*(sign.translate(_PLAIN) for sign in UNICODE))

_chosen = UNICODE


def glyphs() -> Glyphs:
    """The set in use."""
    return _chosen


def choose(*, ascii: bool) -> Glyphs:
    """Set the signs for the whole program, once at start; `ascii` takes the plain set."""
    global _chosen
    _chosen = ASCII if ascii else UNICODE
    return _chosen
