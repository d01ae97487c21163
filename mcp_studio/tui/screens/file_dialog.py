"""Choosing a file whose contents go into a field: one path that completes itself."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from textual.content import Content
from textual.events import Key
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.safetext import safe
from mcp_studio.schema.field import Field
from mcp_studio.tui.aids import contents, typed_path
from mcp_studio.tui.aids.aside import Latest, aside
from mcp_studio.tui.aids.contents import Found, NoContents, Shape
from mcp_studio.tui.aids.typed_path import Offer, Offers
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.line import Line, size_text, spread
from mcp_studio.tui.views.virtual_list import VirtualList

_STEPS = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}
_NAMES: dict[Shape, str] = {"text": "text", "data": "a data: URI"}


class FileDialog(Dialog[str], scope="file"):
    """Answers the text that goes into the field.

    Args:
        most: bytes of a file that are put into a field.
    """

    last_folder: ClassVar[str] = ""
    """Where the last file was taken from."""

    def __init__(self, name: str, field: Field | None, most: int, base: Path | None = None) -> None:
        super().__init__()
        self._name = name
        self._most = most
        self._base = base or _here()
        self._shapes = contents.shapes(field)
        self._asked = contents.asks_for_code(field)
        self._shape: Shape | None = None
        self._hidden = False
        self._folders: Latest[Offers] = Latest()
        self._files: Latest[Found | NoContents] = Latest()
        self._listed: str | None = None
        self._found: Found | None = None
        self._problem = ""
        hint = "A path; ~ is your home folder"
        self._input = Input(self.last_folder, placeholder=hint, compact=True, select_on_focus=False)
        self._list: VirtualList[Offer] = VirtualList(self._draw, key=lambda offer: offer.name, empty="Nothing fits.")
        self._note = Static()

    def heading(self) -> Content:
        """What it is for."""
        return Content(f"{safe(self._name, 50)}: from a file")

    def body(self) -> Iterable[Widget]:
        """The path, what is there, and what the file is."""
        return self._input, self._list, self._note

    def on_mount(self) -> None:
        """Show the folder."""
        self._list.can_focus = False
        self._input.focus()
        self._look()

    def _draw(self, offer: Offer, width: int, selected: bool) -> Line:
        size = size_text(offer.size) if offer.size >= 0 else ""
        return spread([(f"{safe(offer.name, 200)}{'/' if offer.folder else ''}", "")], [(f" {size}", "dim")], width)

    # What is typed

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what it could go on with."""
        event.stop()
        self._look()

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Say what the file under the cursor is."""
        event.stop()
        self._look_at()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click takes it."""
        event.stop()
        self.action_take()

    def on_key(self, event: Key) -> None:
        """The arrows move in the list while the path has the focus."""
        if event.key in _STEPS:
            event.stop()
            self._list.action_move(_STEPS[event.key])

    def _look(self) -> None:
        typed, base, hidden = self._input.value, self._base, self._hidden

        def take(found: Offers) -> None:
            self._listed = typed
            self._list.empty = found.problem or "Nothing fits."
            self._list.set_rows(found.entries, keep=False)
            self._look_at("Only the first entries of the folder are listed." if found.more else "")

        self.run_worker(self._folders.ask(lambda: typed_path.offers(typed, base, hidden=hidden), take))

    @property
    def _offer(self) -> Offer | None:
        """What the cursor is on, unless the list is still that of what was typed before."""
        return self._list.row if self._listed == self._input.value else None

    def _path(self) -> Path:
        """The file that is typed, or else the one under the cursor."""
        typed, offer = self._input.value, self._offer
        return typed_path.place(typed if offer is None else typed_path.taken(typed, offer), self._base)

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

    def action_complete(self) -> None:
        """Complete the path as far as it is clear; with the cursor moved, to where it is."""
        self.run_worker(self._complete(self._input.value), group="complete", exclusive=True)

    async def _complete(self, typed: str) -> None:
        entries = tuple(self._list.rows)
        if self._listed != typed:
            entries = (await aside(lambda: typed_path.offers(typed, self._base, hidden=self._hidden))).entries
        completed = typed_path.completed(typed, entries)
        if completed == typed and self._offer is not None:
            completed = typed_path.taken(typed, self._offer)
        if self._input.value == typed:
            self._type(completed)

    def _type(self, path: str) -> None:
        self._input.value = path
        self._input.cursor_position = len(path)

    def action_take(self) -> None:
        """Take the file, or go into the folder."""
        if self._offer is not None and self._offer.folder:
            self._type(typed_path.taken(self._input.value, self._offer))
            return
        self.run_worker(self._take(self._path(), self._shape_now()), group="take", exclusive=True)

    async def _take(self, path: Path, shape: Shape) -> None:
        try:
            text = await aside(lambda: contents.take(path, shape, self._most))
        except NoContents as problem:
            self._problem = f"{problem.message} {problem.hint}".strip()
            self._show()
            return
        FileDialog.last_folder = f"{path.parent}/"
        self.dismiss(text)

    def action_close(self) -> None:
        """Leave it as it was."""
        self.dismiss(None)


def _looked(path: Path) -> Found | NoContents:
    try:
        return contents.look(path)
    except NoContents as problem:
        return problem


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError:
        return Path.home()  # the folder we were started in is gone
