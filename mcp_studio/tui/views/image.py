"""Images: real pictures in terminals that draw them at placeholders (Kitty, Ghostty) or as Sixels (foot, WezTerm and
others), elsewhere half blocks, which show two pixels per cell. Nothing is ever fetched.
"""

from __future__ import annotations

import asyncio
import io
import os
import re
import select
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache, partial
from importlib import import_module
from typing import Any

from rich.color import Color
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.strip import Strip
from textual.widget import Widget

from mcp_studio.safetext import safe
from mcp_studio.tui.framework import PICTURE
from mcp_studio.tui.views.rows import ASCII, glyphs

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
BYTES_MOST = 16 * 1024 * 1024
_PIXELS = 10_000_000
"""Larger images are not decoded: a few hundred bytes can stand for gigabytes. Decoders take up to 14 bytes a pixel."""
_PIXELS_JPEG = 50_000_000
"""The same bound for JPEGs that the decoder reduces to an eighth of their size at once."""
_FINER = 4
"""Sampled points of an image per drawn pixel, across and down."""
_CELL = (5, 10)
"""Pixels of a picture per cell; with `_FINER` enough for a screen of twice the usual density."""
_COLUMNS = {"": 1_000, "kitty": 120, "sixel": 60}
"""The widest picture. A wider one would send megabytes to the terminal, and Kitty's placeholders end at column 297;
Sixels are made on the event loop, whenever another part of the picture is seen.
"""
_LARGEST = 8.0
"""How much larger than it is a small image is drawn at most."""
_LIBRARY = "textual_image.renderable"
_KITTY, _SIXEL = "kitty|ghostty", "foot|wezterm|iterm|mlterm|contour"
"""Parts of the names of terminals that are asked whether they draw pictures at placeholders, and as Sixels."""
_LATEST = 2.0
"""Seconds after which a terminal answers no more."""


class ImageView(Widget):
    """Draws an image at the width of the widget; the height follows from the proportions.

    Args:
        load: returns the bytes, in a thread; may raise ValueError.
        rows_most: the greatest height in rows.
        larger: whether a small image is drawn larger than it is.
    """

    def __init__(self, load: Callable[[], bytes], *, rows_most: int = 20, larger: bool = False) -> None:
        super().__init__()
        self._load = load
        self._larger = larger
        self._rows_most = rows_most
        self._drawn: list[Strip] = []
        self._width = 0

    def on_mount(self) -> None:
        # Terminals forget their pictures when the app leaves the full screen, as for an external editor.
        self.app.app_resume_signal.subscribe(self, lambda _: self._draw_again())

    def on_resize(self) -> None:
        if self.size.width != self._width:
            self._draw_again()

    def _draw_again(self) -> None:
        self._width = self.size.width
        if self._width:  # else the widget is not on screen
            self.run_worker(self._show(self._width), exclusive=True)

    async def _show(self, width: int) -> None:
        plain = glyphs() is ASCII
        kind = "" if plain else await _kind(self.app)
        make = {"": partial(draw, ascii=plain), "kitty": picture, "sixel": _shrunk}[kind]
        most = min(width, _COLUMNS[kind])
        try:
            made: Any = await asyncio.to_thread(lambda: make(self._load(), most, self._rows_most, larger=self._larger))
            rows = self._sixels(*made) if kind == "sixel" else made
        except (ValueError, OSError) as problem:
            rows = [Strip([Segment(safe(problem, 300), self.rich_style)])]
        self._drawn = rows
        self.styles.height = len(rows)
        self.refresh()

    def _sixels(self, across: int, down: int, small: Any) -> list[Strip]:
        """Let the library's widget draw the image over blank rows, which it does while no dialog is open."""
        from textual_image.widget import SixelImage

        if (view := self.query_one_optional(SixelImage)) is None:
            self.mount(view := SixelImage())
        view.image, view.styles.width, view.styles.height = small, across, down
        return [Strip.blank(across)] * down

    def render_line(self, y: int) -> Strip:
        blank = Strip.blank(self.size.width, self.rich_style)
        return Strip.join([self._drawn[y], blank]).crop(0, self.size.width) if y < len(self._drawn) else blank


def draw(data: bytes, width: int, height: int, *, ascii: bool = False, larger: bool = False) -> list[Strip]:
    """Draw an image in at most `width` cells and `height` rows. This is slow.

    Raises:
        ValueError: the data is no image, or the image is too large.
    """
    across, down, small = _shrunk(data, width, height, (1, 2), larger=larger)
    pixels = small.resize((across, down * 2)).convert("RGBa").load()  # over black

    def cell(x: int, y: int) -> Segment:
        upper, lower = (Color.from_rgb(*pixels[x, at][:3]) for at in (2 * y, 2 * y + 1))
        return Segment(" ", Style(bgcolor=upper)) if ascii else Segment("▀", Style(color=upper, bgcolor=lower))

    return [Strip([cell(x, y) for x in range(across)]) for y in range(down)]


async def _kind(app: App[Any]) -> str:
    """How the terminal draws pictures, if it does; it is asked once, and only if its name says that it may.

    The library asks the terminal while it is imported, and reads the answer: the app must not read meanwhile. It waits
    for 0.1 seconds only, and the app would take a later answer for keys.
    """
    name = f"{os.environ.get('TERM')} {os.environ.get('TERM_PROGRAM')}".lower()
    within = any(map(os.environ.get, ("TMUX", "STY", "ZELLIJ")))
    if app.is_headless or within or not re.search(f"{_KITTY}|{_SIXEL}", name):
        return ""
    # The terminal finds a picture by the colour of its placeholders.
    if app.no_color or app.console.color_system != "truecolor" or not (os.isatty(0) and os.isatty(1)):
        return ""
    await asyncio.to_thread(import_module, "numpy")  # which the library imports: the screen is away for less time
    with nullcontext() if _LIBRARY in sys.modules else app.suspend():
        found = _found()
    # Others that know Kitty's protocol do not know its placeholders.
    return found if found == "sixel" or re.search(_KITTY, name) else ""


@cache
def _found() -> str:
    """Let the library ask the terminal, and read what it answers later.

    The terminal answers in order, so its answer to a last question ends the wait.
    """
    import termios
    import tty

    library, before, answers = import_module(_LIBRARY), termios.tcgetattr(0), b""
    if is_sixel := library.Image is library.SixelImage:
        import_module("textual_image.widget")  # which asks for the size of a cell
    tty.setcbreak(0)
    os.write(1, b"\x1b[5n")
    while b"\x1b[0n" not in answers and select.select([0], [], [], _LATEST)[0]:
        answers += os.read(0, 1_000)
    termios.tcsetattr(0, termios.TCSANOW, before)
    return "sixel" if is_sixel else "kitty" if library.Image is library.TGPImage or b";OK" in answers else ""


def picture(data: bytes, width: int, height: int, *, larger: bool = False) -> list[Strip]:
    """Decode an image, send it to the terminal, and return the rows of placeholders where the terminal draws it.

    Raises:
        ValueError: the data is no image, or the image is too large.
    """
    from textual_image.renderable import TGPImage

    across, down, small = _shrunk(data, width, height, larger=larger)
    console = Console(file=io.StringIO())
    room = console.options.update(width=across, height=down)
    rows = console.render(TGPImage(small, "auto", "auto"), room)
    mark = Style(meta={PICTURE: True})
    return [Strip([Segment(row.text.rstrip("\n"), (row.style or mark) + mark)]) for row in rows]


def _shrunk(
    data: bytes, width: int, height: int, cell: tuple[int, int] = _CELL, *, larger: bool = False
) -> tuple[int, int, Any]:
    """Cells across, rows down, and the image reduced to them. A pixel has one cell at most, unless it may be larger.

    A large image is sampled in its stored colours, which is quick and needs no second copy in memory.
    """
    from PIL import Image, ImageFile, UnidentifiedImageError

    # Pillow's own bound warns on standard error; this function checks the sizes itself.
    Image.MAX_IMAGE_PIXELS = None
    # As browsers do, draw as much of an image as there is, whatever is wrong with its colour profile or comments.
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    try:
        if len(data) > BYTES_MOST:
            raise ValueError("it is too large")
        # Only these decoders read data from a server.
        image = Image.open(io.BytesIO(data), formats=FORMATS)
        is_reduced = image.format == "JPEG" and not image.info.get("progressive")
        if image.width * image.height > (_PIXELS_JPEG if is_reduced else _PIXELS):
            raise ValueError(f"it is too large: {image.width} x {image.height}")
        if image.format == "JPEG":
            image.draft("RGB", (1_024, 1_024))
        scale = min(_LARGEST if larger else 1.0, width / image.width, height * 2 / image.height)
        across, down = max(1, round(image.width * scale)), max(1, round(image.height * scale / 2))
        finer = (min(image.width, across * cell[0] * _FINER), min(image.height, down * cell[1] * _FINER))
        return across, down, (image if finer == image.size else image.resize(finer, 0)).convert("RGBA")
    except UnidentifiedImageError:
        raise ValueError("it is no image that can be drawn") from None
    except (OSError, ValueError, SyntaxError, MemoryError) as problem:
        raise ValueError(f"it cannot be drawn: {problem}") from None
