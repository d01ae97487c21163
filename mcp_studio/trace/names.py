"""Texts that occur again and again, as small numbers."""

from __future__ import annotations

OTHER = "…"
"""Stands for every text that came when there were too many different ones."""


class Names:
    """Gives texts numbers from 0, which is the empty one; bounded in number and in size.

    Args:
        most: different texts; further ones are `OTHER`.
        size: characters of all of them together.
    """

    def __init__(self, most: int = 60_000, size: int = 4_000_000) -> None:
        self._most = most
        self._room = size
        self._numbers: dict[str, int] = {"": 0, OTHER: 1}
        self.texts: list[str] = ["", OTHER]

    def number(self, text: str) -> int:
        """The number of a text, a new one where it is new."""
        known = self._numbers.get(text)
        if known is not None:
            return known
        return len(self.texts) - 1 if self.append(text) else 1

    def append(self, text: str) -> bool:
        """Give a text the next number, although it may have one; False where there are too many."""
        if len(self.texts) >= self._most or len(text) > self._room:
            return False
        self._room -= len(text)
        self._numbers.setdefault(text, len(self.texts))
        self.texts.append(text)
        return True

    def known(self, text: str) -> int | None:
        """The number of a text that has one."""
        return self._numbers.get(text)
