"""Images are drawn in cells within bounds; what cannot be drawn says why."""

from __future__ import annotations

import io
import random
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from PIL import Image

from mcp_studio.tui.views.image import ImageProblem, ImageView, draw
from tests.support import ROOT, wait_until
from tests.tui.views.stage import staged


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
def test_an_image_keeps_its_proportions_and_is_never_enlarged(
    size: tuple[int, int], room: tuple[int, int], cells: tuple[int, int]
) -> None:
    rows = draw(png(*size), *room)
    assert len(rows) == cells[1]
    assert {row.cell_length for row in rows} == {cells[0]}


def test_colours_are_those_of_the_image() -> None:
    (row,) = draw(png(2, 2, (10, 200, 30)), 80, 24)
    style = next(iter(row)).style
    assert style and style.color and style.color.triplet == (10, 200, 30)


def test_with_plain_signs_brightness_becomes_letters() -> None:
    (bright,), (dark,) = (
        draw(png(1, 1, (255, 255, 255)), 9, 9, ascii=True),
        draw(png(1, 1, (0, 0, 0)), 9, 9, ascii=True),
    )
    assert (bright.text, dark.text) == ("@", " ")


def bomb(width: int = 60_000, height: int = 60_000, rows: bytes = zlib.compress(b"\0" * 100)) -> bytes:
    """A head that promises many pixels, and the rows that come."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize("data", [b"", b"no image", png(8, 8)[:40], b"%!PS-Adobe-3.0 EPSF-3.0\n", bomb()])
def test_what_cannot_be_drawn_says_why(data: bytes) -> None:
    with pytest.raises(ImageProblem, match=r"[a-z]{3}"):
        draw(data, 80, 24)


def test_a_few_bytes_that_stand_for_many_pixels_take_bounded_memory(tmp_path: Path) -> None:
    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(b"\0" * (1 + 4_990 * 3)) for _ in range(4_990)) + packer.flush()
    (tmp_path / "bomb.png").write_bytes(bomb(4_990, 4_990, rows))
    program = (
        "import re, sys; from pathlib import Path; from mcp_studio.tui.views.image import draw\n"
        "assert len(draw(Path(sys.argv[1]).read_bytes(), 80, 40)) == 40\n"
        # Not ru_maxrss, which begins with what the process had that started this one.
        "print(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])"
    )
    argv = [sys.executable, "-W", "error", "-c", program, str(tmp_path / "bomb.png")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert int(done.stdout) // 1024 < 200, "megabytes at most"


def test_damaged_images_raise_nothing_else() -> None:
    chance = random.Random(7)
    seeds: list[bytes] = []
    for kind, mode in (("PNG", "P"), ("PNG", "I;16"), ("JPEG", "CMYK"), ("GIF", "P"), ("WEBP", "RGBA"), ("BMP", "1")):
        out = io.BytesIO()
        Image.radial_gradient("L").resize((40, 30)).convert(mode).save(out, kind)
        seeds.append(out.getvalue())
    for _ in range(600):
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.choice((1, 2, 20))):
            data[chance.randrange(min(len(data), chance.choice((40, 4_000))))] = chance.randrange(256)
        try:
            assert draw(bytes(data), 20, 10)
        except ImageProblem as problem:
            assert str(problem)


async def test_the_widget_is_as_high_as_its_image_and_says_what_is_wrong() -> None:
    view = ImageView(lambda: png(40, 20), rows_most=8)
    async with staged(view, (60, 12)) as (stage, _):
        await wait_until(lambda: view.size.height == 8)
        assert stage.lines()[0] == "▀" * 32

    def bad() -> bytes:
        raise ValueError("its data is not base64")

    view = ImageView(bad)
    async with staged(view, (60, 12)) as (stage, _):
        await wait_until(lambda: "its data is not base64" in "".join(stage.lines()))
