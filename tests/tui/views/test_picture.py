"""Pictures are drawn in cells within bounds; what cannot be drawn says why."""

from __future__ import annotations

import io
import struct
import zlib

import pytest
from PIL import Image

from mcp_studio.tui.views.picture import NoPicture, draw


def png(width: int, height: int, colour: tuple[int, int, int] = (255, 0, 0)) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize(
    ("size", "room", "cells"),
    [
        ((4, 4), (80, 24), (4, 2)),
        ((800, 400), (40, 24), (40, 10)),
        ((10, 1000), (80, 20), (1, 20)),
        ((1, 1), (80, 24), (1, 1)),
    ],
)
def test_a_picture_keeps_its_proportions_and_is_never_enlarged(
    size: tuple[int, int], room: tuple[int, int], cells: tuple[int, int]
) -> None:
    rows = draw(png(*size), *room)
    assert len(rows) == cells[1]
    assert {sum(len(text) for text, _ in row) for row in rows} == {cells[0]}


def test_colours_are_those_of_the_picture() -> None:
    ((piece,),) = draw(png(2, 2, (10, 200, 30)), 80, 24)
    style = piece[1]
    assert not isinstance(style, str) and style.color and style.color.triplet == (10, 200, 30)


def test_with_plain_signs_brightness_becomes_letters() -> None:
    ((bright,),), ((dark,),) = (
        draw(png(1, 1, (255, 255, 255)), 9, 9, ascii=True),
        draw(png(1, 1, (0, 0, 0)), 9, 9, ascii=True),
    )
    assert (bright, dark) == (("@", ""), (" ", ""))


def bomb() -> bytes:
    """A head that promises 60,000 x 60,000 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    )


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("data", [b"", b"no picture", png(8, 8)[:40], b"%!PS-Adobe-3.0 EPSF-3.0\n", bomb()])
def test_what_cannot_be_drawn_says_why(data: bytes) -> None:
    with pytest.raises(NoPicture, match=r"[a-z]{3}"):
        draw(data, 80, 24)
