"""What has come to a trace since the person last looked."""

from __future__ import annotations


class Seen:
    """Which entries are new to the person; nothing is, until they have looked once and gone away."""

    def __init__(self) -> None:
        self._here = False
        self._seen: int | None = None
        self._back = 0

    def look(self, total: int, looking: bool) -> None:
        """The person is looking at the newest entries, or is not; `total` is the number of the newest one."""
        if looking and not self._here:
            self._back = total
        elif self._here and not looking:
            self._seen = total
        self._here = looking

    def is_new(self, number: int) -> bool:
        """Whether an entry came while the person was away; until they go away again."""
        return self._seen is not None and number > self._seen and (not self._here or number <= self._back)

    def first(self, total: int) -> int:
        """The number of the first new entry, 0 where there is none."""
        newest = self._back if self._here else total
        return 0 if self._seen is None or newest <= self._seen else self._seen + 1

    @property
    def waiting(self) -> bool:
        """Whether new entries are counted: the person is away, and has been here."""
        return not self._here and self._seen is not None
