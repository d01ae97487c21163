"""Pictures as half blocks: two pixels a cell, in any terminal with colours."""

from __future__ import annotations

import io
from typing import Any

from rich.color import Color
from rich.style import Style

from mcp_studio.tui.views.line import Piece

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
_PIXELS = 25_000_000
"""Larger pictures are not decoded: a few hundred bytes can stand for gigabytes. Most decoders take 4 bytes a pixel."""
_PIXELS_WEBP = 10_000_000
"""The same where the decoder takes 14 bytes a pixel."""
_PIXELS_JPEG = 50_000_000
"""The same where the decoder gives an eighth of the size at once."""
_FINER = 4
"""Points taken of a picture for each pixel drawn, across and down."""
_RAMP = " .:-=+*#%@"
_UPPER = "▀"


class NoPicture(Exception):
    """Why there is nothing to draw, in words."""


def draw(data: bytes, width: int, height: int, *, ascii: bool = False) -> list[list[Piece]]:
    """The rows of a picture in at most `width` cells and `height` rows, never larger than it is; takes a while.

    Raises:
        NoPicture: it is none, is too large, or the library for pictures is not installed.
    """
    image = _opened(data)
    try:
        across, down = _fitting(image.size, width, height)
        small = _thinned(image, across, down * 2).convert("RGBA").resize((across, down * 2))
    except (OSError, ValueError, SyntaxError, MemoryError) as problem:
        raise NoPicture(f"it cannot be drawn: {problem}") from None
    pixels = small.load()
    row = _letters if ascii else _blocks
    return [row(pixels, across, y * 2) for y in range(down)]


def _opened(data: bytes) -> Any:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise NoPicture("pip install 'mcp-studio[images]' draws it here") from None
    # Its own bound warns on standard error and is not ours; the sizes are looked at below.
    Image.MAX_IMAGE_PIXELS = None
    try:
        # Only these decoders see what a server sends.
        image = Image.open(io.BytesIO(data), formats=FORMATS)
    except UnidentifiedImageError:
        raise NoPicture("it is no picture that can be drawn") from None
    except (OSError, ValueError, SyntaxError) as problem:
        raise NoPicture(f"it cannot be drawn: {problem}") from None
    if image.width * image.height > _most(image):
        raise NoPicture(f"it is too large to be drawn: {image.width} x {image.height}")
    if image.format == "JPEG":
        image.draft("RGB", (1_024, 1_024))
    return image


def _most(image: Any) -> int:
    if image.format == "JPEG" and not image.info.get("progressive"):
        return _PIXELS_JPEG
    return _PIXELS_WEBP if image.format == "WEBP" else _PIXELS


def _thinned(image: Any, across: int, down: int) -> Any:
    """Some points of a large picture, in the colours as they are stored: quick, and no second copy in memory."""
    finer = (min(image.width, across * _FINER), min(image.height, down * _FINER))
    return image if finer == image.size else image.resize(finer, 0)


def _fitting(size: tuple[int, int], width: int, height: int) -> tuple[int, int]:
    """Cells across and rows down that keep the proportions."""
    across, down = max(1, size[0]), max(1, size[1])
    scale = min(1.0, max(1, width) / across, max(1, height) * 2 / down)
    return max(1, round(across * scale)), max(1, round(down * scale / 2))


def _blocks(pixels: Any, across: int, y: int) -> list[Piece]:
    pieces: list[Piece] = []
    text, before = "", None
    for x in range(across):
        pair = (_over_black(pixels[x, y]), _over_black(pixels[x, y + 1]))
        if pair != before and before is not None:
            pieces.append((text, _style(*before)))
            text = ""
        text, before = text + _UPPER, pair
    return [*pieces, (text, _style(*before))] if before else pieces


def _letters(pixels: Any, across: int, y: int) -> list[Piece]:
    text = ""
    for x in range(across):
        red, green, blue = _over_black(pixels[x, y])
        text += _RAMP[(red * 3 + green * 6 + blue) * (len(_RAMP) - 1) // 2_550]
    return [(text, "")]


def _over_black(pixel: tuple[int, int, int, int]) -> tuple[int, int, int]:
    red, green, blue, alpha = pixel
    return red * alpha // 255, green * alpha // 255, blue * alpha // 255


def _style(upper: tuple[int, int, int], lower: tuple[int, int, int]) -> Style:
    return Style(color=Color.from_rgb(*upper), bgcolor=Color.from_rgb(*lower))
