"""The drawn part of a form: one widget for all rows, of which only the visible lines are ever drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from mcp_studio.tui.views.line import Piece

_LOOKS = (
    "label label-current quiet required secret bad warn strong fold button "
    "field field-hint field-strong field-bad field-warn cursor cursor-hint cursor-strong cursor-bad cursor-warn "
    "list list-current list-quiet list-words"
)


class FormCanvas(Widget, can_focus=True):
    """Lines that somebody else lays out and draws. Has the focus while the current row needs no editor.

    Args:
        lay_out: gives the number of lines at a width.
        line: draws one line.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"form--{look}" for look in _LOOKS.split()}
    DEFAULT_CSS = """
    FormCanvas {
        layer: rows; width: 1fr; height: auto;
        & > .form--label { color: $foreground; }
        & > .form--label-current { color: $accent; text-style: bold; }
        & > .form--quiet { color: $quiet; }
        & > .form--required { color: $text-warning; text-style: bold; }
        & > .form--secret { color: $text-accent; }
        & > .form--bad { color: $text-error; }
        & > .form--warn { color: $text-warning; }
        & > .form--strong { text-style: bold; }
        & > .form--fold { color: $text-primary; }
        & > .form--button { color: $text-primary; }
        & > .form--field, & > .form--field-hint, & > .form--field-strong, & > .form--field-bad, & > .form--field-warn {
            background: $foreground 9%;
        }
        & > .form--field-hint { color: $quiet; }
        & > .form--field-strong { text-style: bold; }
        & > .form--field-bad { color: $text-error; }
        & > .form--field-warn { color: $text-warning; }
        & > .form--cursor, & > .form--cursor-hint, & > .form--cursor-strong, & > .form--cursor-bad,
        & > .form--cursor-warn, & > .form--list-current {
            color: $block-cursor-foreground; background: $block-cursor-background;
        }
        & > .form--cursor-strong { text-style: bold; }
        & > .form--list, & > .form--list-quiet, & > .form--list-words { background: $panel; }
        & > .form--list-quiet { color: $quiet; }
        & > .form--list-words { color: $text-accent; }
    }
    """

    @dataclass
    class Clicked(Message):
        """A click on a cell."""

        line: int
        x: int

    def __init__(self, lay_out: Callable[[int], int], line: Callable[[int], Sequence[Piece]]) -> None:
        self._styles_by_look: dict[str, Style] = {}
        super().__init__()
        self._lay_out = lay_out
        self._line = line

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._lay_out(width)

    def render_line(self, y: int) -> Strip:
        segments = [Segment(text, self._style(look) if isinstance(look, str) else look) for text, look in self._line(y)]
        return Strip(segments).adjust_cell_length(self.size.width, self._style(""))

    def _style(self, look: str) -> Style:
        style = self._styles_by_look.get(look)
        if style is None:
            style = self.get_component_rich_style(f"form--{look}") if look else self.rich_style
            self._styles_by_look[look] = style
        return style

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Colours may have changed with what lies around."""
        self._styles_by_look.clear()
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None:
            event.stop()
            self.post_message(self.Clicked(offset.y, offset.x))
