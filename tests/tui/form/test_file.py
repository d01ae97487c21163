"""Files whose contents go into a field."""

from __future__ import annotations

import base64
import os
import sys
from pathlib import Path

import pytest

from mcp_studio.schema.field import Field, JsonField, Text
from mcp_studio.tui.screens.file import NoContents, Shape, contents, shapes

PLAIN = Text("body")


def test_text_goes_in_as_it_is_and_anything_as_base64(tmp_path: Path) -> None:
    file = tmp_path / "ä b.txt"
    file.write_bytes("zwölf\r\n".encode())
    assert contents(file, "text", 100) == "zwölf\r\n"
    assert base64.b64decode(contents(file, "base64", 100)) == file.read_bytes()
    assert contents(file, "data", 100) == "data:text/plain;base64," + contents(file, "base64", 100)


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    for encoding in ("utf-8-sig", "utf-16"):
        (tmp_path / "f").write_text("hi ü", encoding=encoding)
        assert contents(tmp_path / "f", "text", 100) == "hi ü"


def test_what_cannot_be_taken_is_told(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 101)
    (tmp_path / "binary").write_bytes(b"\xff\x00")
    for name, shape, words in (
        ("large", "text", "larger than the 100 bytes"),
        ("binary", "text", "no text in UTF-8"),
        ("none", "text", "no such file"),
        (".", "base64", "a folder"),
        ("a\0b", "text", "cannot be read"),
    ):
        shape_: Shape = "text" if shape == "text" else "base64"
        with pytest.raises(NoContents, match=words):
            contents(tmp_path / name, shape_, 100)


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes and devices in the file system")
def test_pipes_and_devices_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for file, words in ((tmp_path / "pipe", "a pipe"), (Path("/dev/zero"), "a device")):
        with pytest.raises(NoContents, match=words):
            contents(file, "text", 100)


@pytest.mark.parametrize(
    ("field", "first"),
    [
        (PLAIN, "text"),
        (None, "text"),
        (Text("b", schema={"contentEncoding": "base64"}), "base64"),
        (Text("b", schema={"contentEncoding": "base64url"}), "base64url"),
        (Text("b", format="byte"), "base64"),
        (Text("b", format="uri"), "data"),
        (JsonField("j", schema={"format": "binary"}), "base64"),
        (JsonField("j", schema=True), "text"),
    ],
)
def test_the_schema_says_how_bytes_are_written(field: Field | None, first: str) -> None:
    assert shapes(field)[0] == first
    assert "text" in shapes(field)
