"""The list of options that a choice opens: moving, narrowing by typing, marking. No widget: the form draws it."""

from __future__ import annotations

from collections.abc import Sequence

HEIGHT = 8
"""Options on screen at a time."""
NOTHING = -1
"""The option that means not sent."""


class Picker:
    """What is open for one row. `options` are numbers into `labels`, or `NOTHING`.

    Args:
        labels: all options, as the server names them.
        marked: the numbers of the chosen ones.
        many: any number of them can be chosen.
        optional: nothing can be chosen, too.
    """

    def __init__(self, labels: Sequence[str], marked: set[int], *, many: bool, optional: bool) -> None:
        self.labels = labels
        self.many = many
        self.marked = marked
        self.words = ""
        """What was typed to narrow the list."""
        self._all = [*([NOTHING] if optional else []), *range(len(labels))]
        self.options = self._all
        self.at = next((index for index, option in enumerate(self._all) if option in marked), 0)
        self._top = 0

    def label(self, option: int) -> str:
        """How an option is named."""
        return "not sent" if option == NOTHING else self.labels[option]

    @property
    def option(self) -> int | None:
        """The option under the cursor; None when nothing fits what was typed."""
        return self.options[self.at] if self.at < len(self.options) else None

    def move(self, by: int) -> None:
        """Move the cursor, not beyond the ends."""
        self.at = max(0, min(self.at + by, len(self.options) - 1))

    def narrow(self, words: str) -> None:
        """Show only the options with these words in their names."""
        self.words = words
        wanted = words.casefold()
        if words:
            self.options = [option for option in self._all if option >= 0 and wanted in self.label(option).casefold()]
        else:
            self.options = self._all
        self.at = self._top = 0

    def window(self) -> range:
        """The part of the list that is on screen; it follows the cursor."""
        self._top = max(self.at - HEIGHT + 1, min(self._top, self.at), 0)
        return range(self._top, min(self._top + HEIGHT, len(self.options)))
