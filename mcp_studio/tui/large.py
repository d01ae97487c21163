"""Large lists that stay: garbage collections need not look at them time and again."""

from __future__ import annotations

import asyncio
import gc

MANY = 2_000
"""Entries from which on it matters: a collection looks at the objects of ten thousand tools for 0.2 s."""
QUIET = 1.0
"""Seconds without a change after which a list is whole."""
_GROWN = 1.25


class Large:
    """Takes what there is out of garbage collections once lists have become large, and again when they have grown.

    What is thrown away later is still let go by its references. Only circles of references that are garbage at that
    very moment stay, so it happens seldom.
    """

    def __init__(self) -> None:
        self._kept = MANY / _GROWN
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None

    def grown(self, count: int) -> None:
        """There are so many entries now; look when it is quiet. On the loop."""
        self.close()
        self._count = count
        if count >= self._kept * _GROWN:
            self._timer = asyncio.get_running_loop().call_later(QUIET, self._keep)

    def close(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _keep(self) -> None:
        self._timer = None
        self._kept = self._count
        gc.freeze()
