"""What is copied is text that every clipboard takes."""

from __future__ import annotations

import pytest

from mcp_studio.tui import clipboard


def test_half_characters_of_servers_and_file_names_can_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clipboard, "_has_desktop", lambda: False)
    came: list[str] = []
    assert clipboard.copy("a\ud800\udcffb", came.append) == "Copied 4 characters through the terminal."
    assert came == ["a??b"]
