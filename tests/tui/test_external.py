"""The person's editor: found, given a private file, read back; and what it is told when it is none."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from mcp_studio.tui import external
from mcp_studio.tui.external import NoEditor, find_editor


def there(name: str) -> str | None:
    """A machine with a few programs."""
    return f"/bin/{name}" if name in ("vi", "code", "nano", "my editor") else None


def test_the_setting_comes_first_then_the_environment_then_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", there)
    for setting, visual, editor, found in (
        ("'my editor' -x", "code --wait", "vi", ("my editor", "-x")),
        ("", "code --wait", "vi", ("code", "--wait")),
        (" ", "", "vi", ("vi",)),
        ("", "", "", ("nano",)),
    ):
        monkeypatch.setenv("VISUAL", visual)
        monkeypatch.setenv("EDITOR", editor)
        assert find_editor(setting) == found
    for setting, told in (("emacs -nw", "editor names `emacs`, which is not there."), ("vi 'x", "No closing")):
        with pytest.raises(NoEditor) as problem:
            find_editor(setting)
        assert told in problem.value.message and problem.value.hint
    monkeypatch.setattr("shutil.which", lambda _name: None)
    with pytest.raises(NoEditor, match=r"There is no editor\."):
        find_editor("")


@pytest.mark.parametrize(
    ("media", "ending"),
    [("", ".txt"), ("text/markdown; charset=utf-8", ".md"), ("application/x+json", ".json"), ("../x", ".txt")],
)
def test_the_file_is_private_and_its_ending_says_what_is_in_it(media: str, ending: str) -> None:
    file = external.write_private("../../q\x1buery", media, "select 'ö\ud800'")
    try:
        assert file.name == f"q-uery{ending}"
        if sys.platform != "win32":
            assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert external.read_back(file, "", 100) == "select 'ö\ud800'"
    finally:
        file.unlink()
        file.parent.rmdir()


def test_what_comes_back_is_bounded_text(tmp_path: Path) -> None:
    file = tmp_path / "f"
    with pytest.raises(NoEditor, match="cannot be read"):
        external.read_back(file, "", 10)
    for data, told in ((b"x" * 11, "larger than"), (b"\xff", "UTF-8")):
        file.write_bytes(data)
        with pytest.raises(NoEditor, match=told):
            external.read_back(file, "", 10)


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [("a", "b\n", "b"), ("a", "b\r\n", "b"), ("a\n", "b\n", "b\n"), ("a", "b\n\n", "b\n\n"), ("", "\n", ""),
     ("a", "b", "b")],
)  # fmt: skip
def test_the_break_that_editors_add_is_no_edit(before: str, after: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(after.encode())
    assert external.read_back(tmp_path / "f", before, 10) == text
