"""What is copied is text that every clipboard takes."""

from __future__ import annotations

import pyperclip
import pytest

from mcp_studio.tui import external


@pytest.mark.parametrize("desktop", [True, False])
@pytest.mark.parametrize(
    ("text", "copied", "taken_out", "hidden"),
    [
        ("plain\ttext\r\nof lines\n", "plain\ttext\r\nof lines\n", False, False),
        ("a\ud800\udcffb", "a??b", False, False),
        ("a\x1b[201~rm -rf /\r", "arm -rf /\r", True, True),
        ("a\x9b201~b", "ab", True, False),
        ("a\x1b[20\x1b[201~1~b", "a[201~b", True, False),
        ("\x1b[20\x9b20\x1b[201~1~1~", "[20201~1~", True, False),
        ("a\x1b\x00[2\x7f01\x08~b", "ab", True, False),
        ("\x1b[200~\x1b[31m", "\x1b[200~\x1b[31m", False, True),
        ("a\u202eb", "a\u202eb", False, True),
    ],
)
def test_what_is_copied_cannot_end_a_paste_and_control_characters_are_told(
    monkeypatch: pytest.MonkeyPatch, desktop: bool, text: str, copied: str, taken_out: bool, hidden: bool
) -> None:
    came: list[str] = []
    monkeypatch.setattr(pyperclip, "copy", came.append)
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("DISPLAY", ":0") if desktop else monkeypatch.setenv("SSH_CONNECTION", "here")
    told = external.copied(text, came.append)
    assert came == [copied] and ("through the terminal" in told) is not desktop
    assert ("end a paste" in told) is taken_out and ("control or invisible" in told) is hidden


def test_a_nest_of_such_sequences_is_taken_apart_in_time() -> None:
    for text in ("\x1b[20" * 100_000 + "\x1b[201~" + "1~" * 100_000, "\x1b" * 1_000_000, "\x9b201" * 200_000):
        left = external.pasteable(text)
        assert "\x1b[201~" not in left and "\x9b201~" not in left


def test_more_than_terminals_take_is_not_copied_through_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "here")
    came: list[str] = []
    assert "Save it instead" in external.copied("x" * 80_000, came.append) and not came
    assert external.copied("one\ntwo", came.append, "the name") == "Copied the name through the terminal."
    assert external.copied("a,b\n1,2\n3,4\n", came.append) == "Copied 3 lines through the terminal."
