"""When meaning is mixed in where nobody chose how to search, and what is said where it cannot be."""

from __future__ import annotations

import time
from concurrent import futures
from typing import TYPE_CHECKING, cast

from mcp_studio.search.methods import Methods

if TYPE_CHECKING:
    from mcp_studio.search.semantic import Semantic

MEANT = ("semantic", "hybrid")
"""The methods that need it."""
_ENOUGH = 0.8
"""The share of entries whose meaning has to be known."""


class Meaning:
    """What an index knows of meaning; everything but `progress` is for a thread.

    Args:
        wished: whether the settings want it; asked for by its name it serves all the same.
    """

    def __init__(self, methods: Methods, wished: bool) -> None:
        self._methods = methods
        self._wished = wished
        self._said = False

    def want(self) -> None:
        """Have it made, soon, where it can be."""
        if self._wished and not self._methods.meaningless:
            for name in MEANT:
                self._methods.want(name)

    def serves(self) -> bool:
        """Whether it is known well enough; where it is not, the model is loaded and more becomes known."""
        meant, hybrid = self._semantic(), self._methods.made("hybrid")
        if not self._wished or meant is None or hybrid is None or hybrid.method is None:
            return False
        done, everything = meant.progress
        return meant.ready() is not None and done >= _ENOUGH * everything > 0

    def learn(self, seconds: float) -> bool:
        """Wait until the meaning of all is known, bounded; True where there is nothing more to wait for. Blocks.

        Then the model is loaded too: what was kept is known without it, but no question is.
        """
        end = time.monotonic() + seconds
        if self._lack(seconds):
            return False
        if (meant := self._semantic()) is not None:
            if not meant.wait(max(0.0, end - time.monotonic())):
                return False
            meant.recall(0.0)
        return True

    def recall(self, seconds: float) -> None:
        """Read what is kept of earlier searches, where that is nearly everything; else nothing is begun. Blocks."""
        if self._wished and self._methods.kept() >= _ENOUGH:
            end = time.monotonic() + seconds
            self.want()
            if not self._lack(seconds) and (meant := self._semantic()) is not None:
                meant.recall(end - time.monotonic())

    def _lack(self, seconds: float) -> bool:
        """Wait until the methods have been given everything; whether they lack something by then."""
        made = [one for name in MEANT if (one := self._methods.made(name)) is not None]
        return bool(futures.wait([one.whenever() for one in made], seconds).not_done)

    def note(self) -> str:
        """How to get it where it is missing, said once."""
        if not self._wished or self._said:
            return ""
        self._said = bool(self._methods.meaningless)
        return f"Only words were compared. {self._methods.meaningless}." if self._said else ""

    @property
    def progress(self) -> tuple[int, int]:
        """Of how many entries it is known, and how many there are."""
        meant = self._semantic()
        return meant.progress if meant is not None else (0, 0)

    def _semantic(self) -> Semantic | None:
        made = self._methods.made("semantic")
        return cast("Semantic | None", made.method) if made is not None else None
