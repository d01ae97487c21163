"""Numbers of entries in order, which are found from the newest back, and later at the other end."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from operator import neg


class Found:
    """Ascending numbers, each once. Quick at both ends; elsewhere it costs a copy of what is behind."""

    def __init__(self) -> None:
        self._older: array[int] = array("Q")
        """Descending."""
        self._newer: array[int] = array("Q")

    def __len__(self) -> int:
        return len(self._older) + len(self._newer)

    def __getitem__(self, index: int) -> int:
        older = len(self._older)
        if not 0 <= index < older + len(self._newer):
            raise IndexError(index)
        return self._older[older - 1 - index] if index < older else self._newer[index - older]

    def all(self) -> array[int]:
        """All numbers, ascending, as they are now."""
        return array("Q", reversed(self._older)) + self._newer

    def place(self, number: int) -> int:
        """How many are lower: where a number is, or would be."""
        below = len(self._older) - bisect_left(self._older, 1 - number, key=neg)
        return below + bisect_left(self._newer, number)

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int):
            return False
        place = self.place(number)
        return place < len(self) and self[place] == number

    def put_before(self, numbers: array[int]) -> None:
        """Take ascending numbers that are all lower than those there are."""
        self._older.extend(reversed(numbers))

    def put_behind(self, numbers: array[int]) -> None:
        """Take ascending numbers that are all higher than those there are."""
        self._newer.extend(numbers)

    def add(self, number: int) -> None:
        """Take one number."""
        if number in self:
            return
        if self._older and number < self._older[0]:
            self._older.insert(bisect_left(self._older, -number, key=neg), number)
        else:
            self._newer.insert(bisect_left(self._newer, number), number)

    def discard(self, number: int) -> None:
        """Forget one number, if it is there."""
        if number not in self:
            return
        place, older = self.place(number), len(self._older)
        if place < older:
            del self._older[older - 1 - place]
        else:
            del self._newer[place - older]

    def forget(self, first: int) -> None:
        """Forget all numbers under this one."""
        gone = self.place(first)
        if not gone:
            return
        older = min(gone, len(self._older))
        if older:
            del self._older[-older:]
        if gone > older:
            del self._newer[: gone - older]
