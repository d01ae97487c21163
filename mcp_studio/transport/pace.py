"""Who goes first when a server floods: a person's keys do.

Each key goes through a dozen turns of the event loop before its effect is drawn. A server that sends without end would
have its slice of each of them.
"""

from __future__ import annotations

from time import monotonic

HEAD_START = 0.03
"""Seconds that a key has the loop to itself. What a server sends meanwhile waits in its pipe."""
_PAUSE = 0.03
"""Seconds that belong to servers afterwards, however fast keys come."""


class Pace:
    """One terminal, one person: there is one of it in a process."""

    def __init__(self) -> None:
        self._until = 0.0

    def key(self) -> None:
        """A person has done something; from any thread."""
        now = monotonic()
        if now > self._until + _PAUSE:
            self._until = now + HEAD_START

    def wait(self) -> float:
        """Seconds that a flood has to wait now, usually 0."""
        return max(0.0, self._until - monotonic()) if self._until else 0.0


PACE = Pace()
"""Told by whoever reads the terminal, asked by those who read from servers."""
