"""The list that opens below a value: options of a choice, or what a server offers. No widget: the form draws it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence, Set
from dataclasses import field

from mcp_studio.record import record
from mcp_studio.safetext import safe

PAUSE = 0.15
"""Seconds without a key after which a server is asked for completions."""
NOTHING = -1
"""The option that means not sent."""


@record(frozen=True)
class Offer:
    """One answer of a server (server/utilities/completion)."""

    values: Sequence[str] = field(default=())
    """Foreign text as it came."""
    count: str = ""
    """`20 of 120`, where these are not all."""


Complete = Callable[[str, str], Awaitable[Offer]]
"""Given a field's name and what is typed, what the server offers for it; it never raises."""


class DropDown:
    """An open list of labels, with a cursor.

    Args:
        labels: what can be chosen, as the server names it.
        marked: the numbers of what is chosen now, `NOTHING` among them.
        many: any number can be chosen.
        optional: nothing can be chosen, too.
        at: where the cursor begins; -1 while it is still in the text above the list.
        note: said below the list.
    """

    HEIGHT = 8
    """Labels on screen at a time."""

    def __init__(
        self,
        labels: Sequence[str],
        marked: Set[int] = frozenset(),
        *,
        many: bool = False,
        optional: bool = False,
        at: int | None = None,
        note: str = "",
    ) -> None:
        self.labels = labels
        self.marked = marked
        self.many = many
        self.note = note
        self.words = ""
        """What was typed to narrow the list."""
        self._all = [*([NOTHING] if optional else []), *range(len(labels))]
        self.options = self._all
        """The numbers of the labels that are listed."""
        first = next((index for index, option in enumerate(self._all) if option in marked), 0)
        self.at = first if at is None else at
        self._lowest = min(0, self.at)
        self._top = 0

    def label(self, option: int) -> str:
        """How an option is named."""
        return "not sent" if option == NOTHING else self.labels[option]

    @property
    def option(self) -> int | None:
        """The option under the cursor; None when there is none."""
        return self.options[self.at] if 0 <= self.at < len(self.options) else None

    def move(self, key: str) -> bool:
        """Move the cursor by a key, not beyond the ends; False when the key is for no list."""
        by = {"up": -1, "down": 1, "pageup": 1 - self.HEIGHT, "pagedown": self.HEIGHT - 1}.get(key, 0)
        if not by or (self.at < 0 and key != "down"):
            return False
        self.at = max(self._lowest, min(self.at + by, len(self.options) - 1))
        return True

    def narrow(self, words: str) -> None:
        """List only the options with these words in their names."""
        self.words = words
        wanted = words.casefold()
        fitting = [option for option in self._all if option >= 0 and wanted in self.label(option).casefold()]
        self.options = fitting if words else self._all
        self.at = self._top = 0

    def window(self) -> range:
        """The part of the list that is on screen; it follows the cursor."""
        self._top = max(self.at - self.HEIGHT + 1, min(self._top, self.at), 0)
        return range(self._top, min(self._top + self.HEIGHT, len(self.options)))


def offered(offer: Offer, text: str) -> DropDown | None:
    """The list of what a server offers for a text; None where it offers nothing else that can be shown as it is."""
    usable = [value for value in offer.values if safe(value) == value]
    left_out = len(offer.values) - len(usable)
    labels = [value for value in usable if value != text]
    if not labels:
        return None
    parts = [offer.count, f"{left_out} unsafe left out" if left_out else "", "↓ and enter take one"]
    return DropDown(labels, at=-1, note=" · ".join(filter(None, parts)))
