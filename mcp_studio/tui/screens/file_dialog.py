"""Choosing a file whose contents go into a field: one path that completes itself."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.present.units import size_text
from mcp_studio.safetext import safe
from mcp_studio.schema.field import Field
from mcp_studio.tui.aids import contents
from mcp_studio.tui.aids.aside import Latest, aside
from mcp_studio.tui.aids.contents import Found, NoContents, Shape
from mcp_studio.tui.screens.path_typing import PathTyping

_NAMES: dict[Shape, str] = {"text": "text", "data": "a data: URI"}


class FileDialog(PathTyping[str], scope="file"):
    """Answers the text that goes into the field.

    Args:
        most: bytes of a file that are put into a field.
    """

    def __init__(self, name: str, field: Field | None, most: int, base: Path | None = None) -> None:
        super().__init__(base)
        self._name = name
        self._most = most
        self._shapes = contents.shapes(field)
        self._asked = contents.asks_for_code(field)
        self._shape: Shape | None = None
        self._files: Latest[Found | NoContents] = Latest()
        self._found: Found | None = None
        self._problem = ""
        self._note = Static()

    def heading(self) -> Content:
        """What it is for."""
        return Content(f"{safe(self._name, 50)}: from a file")

    def body(self) -> Iterable[Widget]:
        """The path, what is there, and what the file is."""
        return *super().body(), self._note

    def _look_at(self, remark: str = "") -> None:
        self._found, self._problem = None, ""
        if self._offer is not None and self._offer.folder:
            self._show(remark)
            return
        path = self._path()
        told = self._offer is not None or bool(self._input.value)

        def take(found: Found | NoContents) -> None:
            self._found = found if isinstance(found, Found) else None
            self._problem = found.message if isinstance(found, NoContents) and told else ""
            self._show(remark)

        self.run_worker(self._files.ask(lambda: _looked(path), take))

    def _shape_now(self) -> Shape:
        if self._shape is not None:
            return self._shape
        is_text = self._found is None or bool(self._found.encoding)
        return self._shapes[0] if self._asked or is_text else "base64"

    def _show(self, remark: str = "") -> None:
        if self._problem:
            self._note.update(Content.styled(safe(self._problem, 300), "$state-failed"))
            return
        if self._found is None:
            self._note.update(Content.styled(remark or "enter goes into the folder", "$quiet"))
            return
        shape = self._shape_now()
        size = self._found.size
        words = f"{size_text(size)}, {self._found.kind} · goes in as "
        after = "" if shape == "text" else f", about {contents.length(size, shape):,} characters"
        self._note.update(Content.assemble((words, "$quiet"), (_NAMES.get(shape, shape), "b"), (after, "$quiet")))

    # Keys

    def action_shape(self) -> None:
        """As text, base64, or what else the schema asks for."""
        now = self._shapes.index(self._shape_now())
        self._shape = self._shapes[(now + 1) % len(self._shapes)]
        self._show()

    def action_hidden(self) -> None:
        """Show hidden files, or no longer."""
        self._hidden = not self._hidden
        self._look()

    def take(self, path: Path) -> None:
        """Read it, and answer what it has in this form."""
        self.run_worker(self._take(path, self._shape_now()), group="take", exclusive=True)

    async def _take(self, path: Path, shape: Shape) -> None:
        try:
            text = await aside(lambda: contents.take(path, shape, self._most))
        except NoContents as problem:
            self._problem = f"{problem.message} {problem.hint}".strip()
            self._show()
            return
        FileDialog.last_folder = f"{path.parent}/"
        self.dismiss(text)


def _looked(path: Path) -> Found | NoContents:
    try:
        return contents.look(path)
    except NoContents as problem:
        return problem
