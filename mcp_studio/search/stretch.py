"""Pieces of a text: where a folded word stands in it, and what stands round it."""

from __future__ import annotations

import re

from mcp_studio.search.names import fold

LONGEST = 120
"""Characters of a stretch, without the marks that say that there is more."""
_LOOKED_AT = 4_000
_SPACE = re.compile(r"\s+")


def spot(text: str, folded: str) -> tuple[int, int] | None:
    """Where a folded word stands in a text first: begin and end."""
    if not folded:
        return None
    lowered = text.lower()
    if len(lowered) == len(text) and (at := lowered.find(folded)) >= 0:
        return at, at + len(folded)
    if text.isascii():
        return None
    return _spot_folded(text[:_LOOKED_AT], folded)


def _spot_folded(text: str, folded: str) -> tuple[int, int] | None:
    """The same where folding changes lengths."""
    places: list[int] = []
    letters: list[str] = []
    for place, char in enumerate(text):
        plain = fold(char) or " "
        letters.append(plain)
        places.extend([place] * len(plain))
    at = "".join(letters).find(folded)
    return None if at < 0 else (places[at], places[at + len(folded) - 1] + 1)


def stretch(text: str, start: int = 0, end: int = 0, most: int = LONGEST) -> str:
    """What stands round a piece of a text, on one line, cut between words where there are some.

    Args:
        start: where the piece begins.
        end: where it ends; of a long piece only the beginning is sure to be there.
        most: characters, without the `…` on each side that has more.
    """
    end = min(max(end, start), start + most)
    room = most - (end - start)
    left = max(0, start - room // 3)
    right = min(len(text), left + most)
    left = max(0, min(left, right - most))
    if left and (space := _SPACE.search(text, left, start)):
        left = space.end()
    if right < len(text) and (at := max(text.rfind(" ", end, right), text.rfind("\n", end, right))) > end:
        right = at
    middle = _SPACE.sub(" ", text[left:right]).strip()
    return f"{'…' if left else ''}{middle}{'…' if right < len(text) else ''}"
