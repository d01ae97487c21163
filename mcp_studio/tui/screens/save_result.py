"""Where to save a result; shows which files it makes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

from textual import on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.catalog.listing import Ref
from mcp_studio.jsontext import Json
from mcp_studio.paths import file_stem
from mcp_studio.safetext import safe
from mcp_studio.tui import saving
from mcp_studio.tui.screens.dialog import Choice, Dialog


class SaveResult(Dialog[None]):
    """One folder, several files."""

    choices = (Choice("submit", "Save", "primary"), Choice("back", "Cancel"))

    def __init__(self, ref: Ref, result: Json) -> None:
        super().__init__()
        self._parts = saving.parts_of(result, file_stem(f"{ref.server}-{ref.name}", "result"))

    def heading(self) -> str:
        return "Save the result"

    def body(self) -> Iterable[Widget]:
        yield Static("Folder", classes="label")
        yield Input(str(Path.cwd()), compact=True)
        lines: list[str | tuple[str, str]] = [("\nFiles\n", "$quiet")]
        for part in self._parts:
            lines += [f"  {part.name}", (f"  {part.what}\n", "$quiet")]
        yield Static(Content.assemble(*lines))
        yield Static(id="problem", classes="bad")

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    @on(Input.Submitted)
    def action_submit(self) -> None:
        self.run_worker(self._write(), exclusive=True)

    async def _write(self) -> None:
        folder = self.query_one(Input).value.strip() or "."
        try:
            written = await asyncio.to_thread(lambda: saving.write(self._parts, Path(folder).expanduser()))
        except (OSError, ValueError) as problem:
            self.query_one("#problem", Static).update(Content(safe(f"Not saved: {problem}", 600)))
            return
        self.app.say(f"Saved {', '.join(file.name for file in written)} in {folder}.")
        self.dismiss(None)
