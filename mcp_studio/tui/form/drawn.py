"""What drawing a row gives: its lines, and where they can be clicked."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from mcp_studio.record import record
from mcp_studio.tui.views.line import Piece

Target = int | Literal["value", "fold", "remove", "add"]
"""An option by its number; the value as a whole; what folds; what takes the item away; what adds one."""


@record(frozen=True)
class Spot:
    """A part of a line that can be clicked."""

    line: int
    start: int
    end: int
    target: Target


@record()
class Drawn:
    """The lines of one row."""

    lines: list[list[Piece]] = field(default_factory=list[list[Piece]])
    spots: list[Spot] = field(default_factory=list[Spot])
