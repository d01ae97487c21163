"""Typing the path of a file."""

from __future__ import annotations

from pathlib import Path

from textual.content import Content

from mcp_studio.tui.screens.path_typing import PathTyping


class PathDialog(PathTyping[Path], scope="path"):
    """Answers the path of a file."""

    def __init__(self, heading: str, base: Path | None = None) -> None:
        super().__init__(base)
        self._heading = heading

    def heading(self) -> Content:
        """What it is for."""
        return Content(self._heading)

    def take(self, path: Path) -> None:
        """Answer it."""
        PathDialog.last_folder = f"{path.parent}/"
        self.dismiss(path)
