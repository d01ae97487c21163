"""The person's editor: found, given a private file, read back; and what it is told when it is none."""

from __future__ import annotations

import shutil
import stat
import sys
from pathlib import Path

import pytest

from mcp_studio.tui import external
from mcp_studio.tui.external import NoEditor, find_editor


def there(name: str) -> str | None:
    """A machine with a few programs."""
    return f"/bin/{name}" if name in ("vi", "code", "nano", "my editor") else None


def test_the_setting_comes_first_then_the_environment_then_what_is_there() -> None:
    environ = {"VISUAL": "code --wait", "EDITOR": "vi"}
    assert find_editor("'my editor' -x", environ, there) == ("my editor", "-x")
    assert find_editor("", environ, there) == ("code", "--wait")
    assert find_editor(" ", {"EDITOR": "vi"}, there) == ("vi",)
    assert find_editor("", {"VISUAL": ""}, there) == ("nano",)


@pytest.mark.parametrize(
    ("setting", "told"),
    [("", "There is no editor."), ("emacs -nw", "editor names `emacs`, which is not there."), ("vi 'x", "No closing")],
)
def test_none_is_told_in_a_sentence(setting: str, told: str) -> None:
    with pytest.raises(NoEditor) as problem:
        find_editor(setting, {}, there if setting else lambda name: None)
    assert told in problem.value.message and problem.value.hint


@pytest.mark.parametrize(
    ("media", "ending"),
    [("", ".txt"), ("text/markdown; charset=utf-8", ".md"), ("application/x+json", ".json"), ("../x", ".txt")],
)
def test_the_ending_says_what_is_in_it(media: str, ending: str) -> None:
    file = external.write_private("value", media, "")
    assert file.name == f"value{ending}"
    shutil.rmtree(file.parent)


def test_the_file_is_private_and_leaves_nothing_behind() -> None:
    file = external.write_private("../../q\x1buery", "text/markdown", "select 'ö\ud800'")
    try:
        assert file.name == "q-uery.md"
        if sys.platform != "win32":
            assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert external.read_back(file, 100) == "select 'ö\ud800'"
        (file.parent / "q-uery.md~").write_text("what editors leave")
    finally:
        shutil.rmtree(file.parent)
    assert not file.parent.exists()


def test_what_comes_back_is_bounded_text(tmp_path: Path) -> None:
    file = tmp_path / "f"
    with pytest.raises(NoEditor, match="cannot be read"):
        external.read_back(file, 10)
    file.write_bytes(b"x" * 11)
    with pytest.raises(NoEditor, match="larger than"):
        external.read_back(file, 10)
    file.write_bytes(b"\xff")
    with pytest.raises(NoEditor, match="UTF-8"):
        external.read_back(file, 10)


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [("a", "b\n", "b"), ("a", "b\r\n", "b"), ("a\n", "b\n", "b\n"), ("a", "b\n\n", "b\n\n"), ("", "\n", ""),
     ("a", "b", "b")],
)  # fmt: skip
def test_the_break_that_editors_add_is_no_edit(before: str, after: str, text: str) -> None:
    assert external.without_last_break(before, after) == text
