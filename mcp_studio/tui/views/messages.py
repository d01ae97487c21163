"""What viewers tell the panes around them."""

from __future__ import annotations

from textual.message import Message


class Copied(Message):
    """The person wants this text in the clipboard; `what` names it, as in `what copied`. It is raw: not made safe."""

    def __init__(self, text: str, what: str) -> None:
        super().__init__()
        self.text = text
        self.what = what


class Searched(Message):
    """A search has got further: the cursor is on hit `place` (from 1, 0 when on none) of `count` so far."""

    def __init__(self, text: str, place: int, count: int, done: bool, capped: bool) -> None:
        super().__init__()
        self.text = text
        self.place = place
        self.count = count
        self.done = done
        self.capped = capped

    @property
    def summary(self) -> str:
        """As in `3 of 17`."""
        if not self.count:
            return "not found" if self.done and self.text else "searching" if self.text else ""
        more = "+" if self.capped or not self.done else ""
        return f"{self.place} of {self.count:,}{more}" if self.place else f"{self.count:,}{more} found"
