"""Typing the path of a file: it completes itself, and what is there stands below."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from textual.content import Content
from textual.events import Key
from textual.widget import Widget
from textual.widgets import Input

from mcp_studio.safetext import safe
from mcp_studio.tui.aids import typed_path
from mcp_studio.tui.aids.aside import Latest
from mcp_studio.tui.aids.typed_path import Offer, Offers
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.line import Line, size_text, spread
from mcp_studio.tui.views.virtual_list import VirtualList

_STEPS = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}


class PathDialog(Dialog[Path], scope="path"):
    """Answers the path of a file."""

    last_folder: ClassVar[str] = ""
    """Where the last file was taken from."""

    def __init__(self, heading: str, base: Path | None = None) -> None:
        super().__init__()
        self._heading = heading
        self._base = base or _here()
        self._folders: Latest[Offers] = Latest()
        self._listed: str | None = None
        self._input = Input(
            self.last_folder, placeholder="A path; ~ is your home folder", compact=True, select_on_focus=False
        )
        self._list: VirtualList[Offer] = VirtualList(self._draw, key=lambda offer: offer.name, empty="Nothing fits.")

    def heading(self) -> Content:
        """What it is for."""
        return Content(self._heading)

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

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what it could go on with."""
        event.stop()
        self._look()

    def _look(self) -> None:
        typed, base = self._input.value, self._base

        def take(found: Offers) -> None:
            self._listed = typed
            self._list.empty = found.problem or "Nothing fits."
            self._list.set_rows(found.entries, keep=False)

        self.run_worker(self._folders.ask(lambda: typed_path.offers(typed, base), take))

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Keep it to this dialog."""
        event.stop()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click takes it."""
        event.stop()
        self.action_take()

    def on_key(self, event: Key) -> None:
        """The arrows move in the list while the path has the focus."""
        if event.key in _STEPS:
            event.stop()
            self._list.action_move(_STEPS[event.key])

    @property
    def _offer(self) -> Offer | None:
        """What the cursor is on, unless the list is still that of what was typed before."""
        return self._list.row if self._listed == self._input.value else None

    def _type(self, path: str) -> None:
        self._input.value = path
        self._input.cursor_position = len(path)

    def action_complete(self) -> None:
        """Complete the path as far as it is clear, else to where the cursor is."""
        typed = self._input.value
        if self._listed == typed:
            completed = typed_path.completed(typed, tuple(self._list.rows))
            if completed == typed and self._offer is not None:
                completed = typed_path.taken(typed, self._offer)
            self._type(completed)

    def action_take(self) -> None:
        """Take the file, or go into the folder."""
        typed, offer = self._input.value, self._offer
        if offer is not None and offer.folder:
            self._type(typed_path.taken(typed, offer))
        elif typed or offer is not None:
            path = typed_path.place(typed if offer is None else typed_path.taken(typed, offer), self._base)
            PathDialog.last_folder = f"{path.parent}/"
            self.dismiss(path)

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError:
        return Path.home()  # the folder we were started in is gone
