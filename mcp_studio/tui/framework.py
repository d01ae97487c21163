"""Our extension of Textual's App: the filter of everything drawn, and the one use of a private part of Textual."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.css.query import NoMatches
from textual.dom import NoScreen
from textual.filter import LineFilter
from textual.widget import MountError, Widget
from textual.worker import WorkerFailed

from mcp_studio.safetext import is_live

PICTURE = "mcp_studio_picture"
"""The meta data of a picture's cells. Only `views/image.py` sets it; text from a server cannot."""
PLACEHOLDER = "\U0010eeee"
"""The character at which a terminal draws a cell of a picture, in Kitty's protocol."""


class TerminalWall(LineFilter):
    """The second wall: whatever a widget draws, no live character reaches the terminal.

    `safetext.safe` makes foreign text visible and harmless before a widget takes it. In case a widget misses that, this
    filter stands behind all widgets, including borders, titles and toasts.

    It removes C0, C1, bidi, zero-width, tag and similar characters and terminal links from every drawn line.

    A removed character leaves as many cells as it took, so that the layout stays whole. Lines without such characters
    (nearly all) pass unchanged. Pictures keep the character at which the terminal draws them; it is a private one,
    so text from a server loses it.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments without live characters; the same list if there are none."""
        for text, style, _ in segments:
            if (style is not None and style.link) or _clean(text) != text:
                return [Segment(_cleaned(text, look), look and look.update_link(None)) for text, look, _ in segments]
        return segments


class Colourless(LineFilter):
    """Removes all colours (no-color.org); cells with a bright background, such as the cursor, are reversed instead."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(text, _colourless(style)) for text, style, _ in segments]


COLOURLESS = Colourless()
WALL = TerminalWall()
"""The only instance, because Textual caches lines per filter object."""


def _clean(text: str) -> str:
    return text if text.isascii() and text.isprintable() else _without_live(text)


def _cleaned(text: str, style: Style | None) -> str:
    is_picture = PLACEHOLDER in text and style is not None and PICTURE in style.meta
    return _without_live(text, PLACEHOLDER) if is_picture else _clean(text)


@lru_cache(4096)
def _without_live(text: str, exception: str = "") -> str:
    live = {char for char in set(text) if is_live(char) and char != exception}
    if not live:
        return text
    return set_cell_size("".join(char for char in text if char not in live), cell_len(text))


@lru_cache(512)
def _colourless(style: Style | None) -> Style | None:
    if style is None:
        return None
    bright = style.bgcolor is not None and Color.from_rich_color(style.bgcolor).brightness > 0.5
    return style.without_color + Style(reverse=True) if bright else style.without_color


class GuardedApp(App[int]):
    """An app behind the wall. A bug ends it without a report of local variables, which may contain tokens.

    Textual prints a traceback with locals, and has no setting or hook for another report (`App._fatal_error`).
    `run.py` writes a redacted report of `failure`.
    """

    failure: Exception | None = None
    """The bug that ended the app."""

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), WALL, *([COLOURLESS] if self.no_color else [])]

    def is_told(self, error: BaseException) -> bool:
        """Whether an error of a worker is no mistake of the app's own, and was told to the person."""
        return False

    def _handle_exception(self, error: Exception) -> None:
        if self._left(error) or (isinstance(error, WorkerFailed) and self.is_told(error.error)):
            return
        self.failure = self.failure or error
        self._return_code = 1
        if self._exception is None:  # `run_test` raises it
            self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()

    def _left(self, error: Exception) -> bool:
        """Whether work of a closed screen, or of an app that ends, found or could mount no widget any more: nobody
        would see the result of that work.
        """
        cause = error.error if isinstance(error, WorkerFailed) else error
        if not isinstance(cause, (MountError, NoMatches, NoScreen)):
            return False
        if not self.is_running or not any(screen.is_attached for screen in self.screen_stack):
            return True
        trace = cause.__traceback__
        while trace is not None:
            node = trace.tb_frame.f_locals.get("self")
            if isinstance(node, Widget) and not set(node.ancestors_with_self) & set(self.screen_stack):
                return True
            trace = trace.tb_next
        return False
