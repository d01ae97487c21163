"""The base of dialogs in which a path is typed: it completes itself, and what is there stands below."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, TypeVar

from textual.events import Key
from textual.widget import Widget
from textual.widgets import Input

from mcp_studio.present.units import size_text
from mcp_studio.safetext import safe
from mcp_studio.tui.aids import typed_path
from mcp_studio.tui.aids.aside import Latest, aside
from mcp_studio.tui.aids.typed_path import Offer, Offers
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.line import Line, spread
from mcp_studio.tui.views.virtual_list import VirtualList

T = TypeVar("T")
_STEPS = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}


class PathTyping(Dialog[T]):
    """A subclass gives `heading` and `action_take`.

    Args:
        base: the folder from which paths are meant; the one we are in by default.
    """

    last_folder: ClassVar[str] = ""
    """Where the last file was taken from; each subclass has its own."""

    def __init__(self, base: Path | None = None) -> None:
        super().__init__()
        self._base = base or _here()
        self._hidden = False
        self._folders: Latest[Offers] = Latest()
        self._listed: str | None = None
        hint = "A path; ~ is your home folder"
        self._input = Input(self.last_folder, placeholder=hint, compact=True, select_on_focus=False)
        self._list: VirtualList[Offer] = VirtualList(self._draw, key=lambda offer: offer.name, empty="Nothing fits.")

    def body(self) -> Iterable[Widget]:
        """The path, and what is there."""
        return self._input, self._list

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
        """Keep it to this dialog."""
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

    def _look_at(self, remark: str = "") -> None:
        """Another path is typed, or another entry under the cursor."""

    @property
    def _offer(self) -> Offer | None:
        """What the cursor is on, unless the list is still that of what was typed before."""
        return self._list.row if self._listed == self._input.value else None

    def _path(self) -> Path:
        """The file that is typed, or else the one under the cursor."""
        typed, offer = self._input.value, self._offer
        return typed_path.place(typed if offer is None else typed_path.taken(typed, offer), self._base)

    def _type(self, path: str) -> None:
        self._input.value = path
        self._input.cursor_position = len(path)

    # Keys

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

    def action_take(self) -> None:
        """Take the file, or go into the folder."""
        if self._offer is not None and self._offer.folder:
            self._type(typed_path.taken(self._input.value, self._offer))
        elif self._offer is not None or self._input.value:
            self.take(self._path())

    def take(self, path: Path) -> None:
        """Answer with this file."""

    def action_close(self) -> None:
        """Leave it as it was."""
        self.dismiss(None)


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError:
        return Path.home()  # the folder we were started in is gone
