"""Files whose contents go into a field, and the path that finds them."""

from __future__ import annotations

import base64
import os
import sys
from pathlib import Path

import pytest

from mcp_studio.schema.field import Field, JsonField, Text
from mcp_studio.tui.aids import contents, typed_path
from mcp_studio.tui.aids.contents import NoContents, Shape

PLAIN = Text("body")


def test_text_goes_in_as_it_is_and_anything_as_base64(tmp_path: Path) -> None:
    file = tmp_path / "ä b.txt"
    file.write_bytes("zwölf\r\n".encode())
    assert contents.look(file) == contents.Found(8, "utf-8", "UTF-8 text")
    assert contents.take(file, "text") == "zwölf\r\n"
    assert base64.b64decode(contents.take(file, "base64")) == file.read_bytes()
    assert contents.take(file, "data") == "data:text/plain;base64," + contents.take(file, "base64")
    assert contents.take(file, "base16") == file.read_bytes().hex().upper()
    assert contents.length(8, "base64") == 10


def test_the_kind_is_seen_by_the_beginning(tmp_path: Path) -> None:
    def kind(data: bytes) -> str:
        (tmp_path / "f").write_bytes(data)
        return contents.look(tmp_path / "f").kind

    assert kind(b"\x89PNG\r\n\x1a\n") == "binary: PNG picture"
    assert kind(b"a\0b") == kind(b"\xff\xfe\xff") == "binary"
    assert kind("ö".encode("utf-16")) == "UTF-16 text"
    assert kind(b"") == "empty"
    assert kind(b"x" * (64 * 1024 - 1) + "ö".encode()) == "UTF-8 text"  # cut in the middle of a character
    assert kind(b"x" * 9 + "ö".encode()[:1]) == "binary"


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    for encoding in ("utf-8-sig", "utf-16"):
        (tmp_path / "f").write_text("hi ü", encoding=encoding)
        assert contents.take(tmp_path / "f", "text") == "hi ü"


def test_what_cannot_be_taken_is_told(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 101)
    (tmp_path / "binary").write_bytes(b"\xff\x00")
    for name, shape, words in (
        ("large", "text", "101 bytes; more than 100"),
        ("binary", "text", "no text in UTF-8"),
        ("none", "text", "no such file"),
        (".", "base64", "a folder"),
        ("a\0b", "text", "cannot be read"),
    ):
        shape_: Shape = "text" if shape == "text" else "base64"
        with pytest.raises(NoContents, match=words):
            contents.take(tmp_path / name, shape_, 100)


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes and devices in the file system")
def test_pipes_and_devices_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for file, words in ((tmp_path / "pipe", "a pipe"), (Path("/dev/zero"), "a device"), (Path("/dev/tty"), "a device")):
        with pytest.raises(NoContents, match=words):
            contents.look(file)


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
    assert contents.shapes(field)[0] == first
    assert "text" in contents.shapes(field) and contents.asks_for_code(field) is (first != "text")


def test_a_path_completes_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("data/inner", "Docs", "dates.csv", "data.json", ".hidden"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if "." in name:
            path.write_text("12345")
        else:
            path.mkdir()

    def names(typed: str, hidden: bool = False) -> list[str]:
        return [f"{one.name}{'/' * one.folder}" for one in typed_path.offers(typed, tmp_path, hidden=hidden).entries]

    assert names("") == ["data/", "Docs/", "data.json", "dates.csv"]
    assert names("d") == ["data/", "Docs/", "data.json", "dates.csv"]
    assert names("da") == ["data/", "data.json", "dates.csv"]
    (tmp_path / "data.json.d").mkdir()
    assert names("data.json") == ["data.json", "data.json.d/"]  # what is typed whole comes first
    (tmp_path / "data.json.d").rmdir()
    assert names(".") == names(".h") == [".hidden"] and ".hidden" in names("", hidden=True)
    assert names("~/data/") == ["inner/"] and names("~") == names("~/") == names(str(tmp_path) + "/")
    assert typed_path.offers("none/", tmp_path).problem == "The folder cannot be read: No such file or directory."
    assert typed_path.offers("a\0/", tmp_path).problem.startswith("The folder cannot be read")
    found = typed_path.offers("da", tmp_path).entries
    assert typed_path.completed("da", found) == "dat"
    assert typed_path.completed("~/Do", typed_path.offers("~/Do", tmp_path).entries) == "~/Docs/"
    assert typed_path.completed("x", ()) == "x"
    assert typed_path.taken("~/da", found[1]) == "~/data.json" and typed_path.taken("/", found[0]) == "/data/"
    assert typed_path.place("~/data.json", Path("/nowhere")).read_text() == "12345" and found[1].size == 5
    assert [one.name for one in typed_path.offers("/", tmp_path).entries if one.name in ("tmp", "usr")] != []
