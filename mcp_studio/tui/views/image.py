"""Images as half blocks: two pixels a cell, in any terminal with colours. Nothing is ever fetched."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from typing import Any

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from mcp_studio.safetext import safe
from mcp_studio.tui.views.glyphs import ASCII, glyphs

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
BYTES_MOST = 16 * 1024 * 1024
_PIXELS = 10_000_000
"""Larger images are not decoded: a few hundred bytes can stand for gigabytes. Decoders take up to 14 bytes a pixel."""
_PIXELS_JPEG = 50_000_000
"""The same where the decoder gives an eighth of the size at once."""
_FINER = 4
"""Points taken of an image for each pixel drawn, across and down."""


class ImageProblem(Exception):
    """Why an image cannot be drawn, in words."""


class ImageView(Widget):
    """Draws an image in the width it gets; it is as high as that makes it.

    Args:
        load: gives the bytes, in a thread; may raise ValueError.
        rows_most: rows that it takes at most.
    """

    DEFAULT_CSS = """
    ImageView { height: auto; width: 1fr; color: $foreground 60%; }
    """

    def __init__(self, load: Callable[[], bytes], *, rows_most: int = 20) -> None:
        super().__init__()
        self._load = load
        self._rows_most = rows_most
        self._drawn: list[Strip] = []
        self._width = 0

    def on_resize(self) -> None:
        if self.size.width != self._width:
            self._width = self.size.width
            self.run_worker(self._show(self._width), exclusive=True)

    async def _show(self, width: int) -> None:
        plain = glyphs() is ASCII
        try:
            rows = await asyncio.to_thread(lambda: draw(self._load(), width, self._rows_most, ascii=plain))
        except (ImageProblem, ValueError) as problem:
            rows = [Strip([Segment(safe(problem, 300), self.rich_style)])]
        self._drawn = rows
        self.styles.height = len(rows)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        blank = Strip.blank(self.size.width, self.rich_style)
        return Strip.join([self._drawn[y], blank]).crop(0, self.size.width) if y < len(self._drawn) else blank


def draw(data: bytes, width: int, height: int, *, ascii: bool = False) -> list[Strip]:
    """The rows of an image in at most `width` cells and `height` rows, never larger than it is; takes a while.

    Raises:
        ImageProblem: it is none, or too large.
    """
    image = _opened(data)
    try:
        across, down = _fitting(image.size, width, height)
        small = _thinned(image, across, down * 2).convert("RGBA").resize((across, down * 2))
    except (OSError, ValueError, SyntaxError, MemoryError) as problem:
        raise ImageProblem(f"it cannot be drawn: {problem}") from None
    pixels = small.load()
    return [Strip([_cell(pixels[x, 2 * y], pixels[x, 2 * y + 1], ascii) for x in range(across)]) for y in range(down)]


def _opened(data: bytes) -> Any:
    from PIL import Image, UnidentifiedImageError

    if len(data) > BYTES_MOST:
        raise ImageProblem("it is too large to be drawn here")
    # Its own bound warns on standard error and is not ours; the sizes are looked at below.
    Image.MAX_IMAGE_PIXELS = None
    try:
        # Only these decoders see what a server sends.
        image = Image.open(io.BytesIO(data), formats=FORMATS)
    except UnidentifiedImageError:
        raise ImageProblem("it is no image that can be drawn") from None
    except (OSError, ValueError, SyntaxError) as problem:
        raise ImageProblem(f"it cannot be drawn: {problem}") from None
    is_reduced = image.format == "JPEG" and not image.info.get("progressive")
    if image.width * image.height > (_PIXELS_JPEG if is_reduced else _PIXELS):
        raise ImageProblem(f"it is too large to be drawn: {image.width} x {image.height}")
    if image.format == "JPEG":
        image.draft("RGB", (1_024, 1_024))
    return image


def _thinned(image: Any, across: int, down: int) -> Any:
    """Some points of a large image, in the colours as they are stored: quick, and no second copy in memory."""
    finer = (min(image.width, across * _FINER), min(image.height, down * _FINER))
    return image if finer == image.size else image.resize(finer, 0)


def _fitting(size: tuple[int, int], width: int, height: int) -> tuple[int, int]:
    """Cells across and rows down that keep the proportions."""
    across, down = max(1, size[0]), max(1, size[1])
    scale = min(1.0, max(1, width) / across, max(1, height) * 2 / down)
    return max(1, round(across * scale)), max(1, round(down * scale / 2))


def _cell(upper: tuple[int, ...], lower: tuple[int, ...], ascii: bool) -> Segment:
    if ascii:
        return Segment(" ", Style(bgcolor=_colour(upper)))
    return Segment("▀", Style(color=_colour(upper), bgcolor=_colour(lower)))


def _colour(pixel: tuple[int, ...]) -> Color:
    """A pixel over black."""
    red, green, blue, alpha = pixel
    return Color.from_rgb(red * alpha // 255, green * alpha // 255, blue * alpha // 255)
