"""Where to save a result; shows which files it makes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.catalog.listing import Ref
from mcp_studio.jsontext import Json
from mcp_studio.paths import file_stem
from mcp_studio.safetext import safe
from mcp_studio.tui import saving
from mcp_studio.tui.screens.dialog import Dialog

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp


class SaveDialog(Dialog[None], scope="save"):
    """One folder, several files."""

    def __init__(self, ref: Ref, result: Json) -> None:
        super().__init__()
        self._parts = saving.parts_of(result, file_stem(f"{ref.server}-{ref.name}", "result"))
        self._folder = Input(str(Path.cwd()), compact=True)
        self._note = Static(classes="bad")

    def heading(self) -> Content:
        """What it is."""
        return Content("Save the result")

    def body(self) -> Iterable[Widget]:
        """The folder, and the files."""
        yield Static(Content("Folder"), classes="quiet")
        yield self._folder
        lines: list[str | tuple[str, str]] = [("\nWrites\n", "$quiet")]
        for part in self._parts:
            lines += [f"  {part.name}", (f"  {part.what}\n", "$quiet")]
        yield Static(Content.assemble(*lines))
        yield self._note

    def action_write(self) -> None:
        """Write the files."""
        self.run_worker(self._write(), exclusive=True)

    async def _write(self) -> None:
        folder = self._folder.value.strip() or "."
        try:
            written = await asyncio.to_thread(lambda: saving.write(self._parts, Path(folder).expanduser()))
        except (OSError, ValueError) as problem:
            self._note.update(Content(safe(f"Not saved: {problem}")))
            return
        names = ", ".join(file.name for file in written)
        cast("StudioApp", self.app).say(f"Saved {names} in {folder}.")
        self.dismiss(None)

    def action_close(self) -> None:
        """Leave without saving."""
        self.dismiss(None)
