"""A line to type into, in a dialog of our own."""

from __future__ import annotations

from collections.abc import Callable

from textual.widgets import Input


class Typed(Input):
    """Its enter acts at once, and not by a message: the key typed after it belongs to the next line already."""

    def __init__(self, placeholder: str, entered: Callable[[Input], None], *, password: bool = False) -> None:
        super().__init__(placeholder=placeholder, password=password, compact=True, classes="frame")
        self._entered = entered

    async def action_submit(self) -> None:
        """Enter."""
        self._entered(self)
