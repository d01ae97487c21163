"""The newest call of each entry: those that run, and of the finished ones as many as there is room for."""

from __future__ import annotations

from collections import OrderedDict

from mcp_studio.call.call import Call

KEPT = 20
"""Finished calls whose results stay at hand."""
KEPT_BYTES = 64 * 1024 * 1024


class Kept:
    """Calls by the draft key of their entry."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, Call] = OrderedDict()

    def get(self, key: str) -> Call | None:
        """The newest call of an entry."""
        return self._calls.get(key)

    @property
    def newest_first(self) -> tuple[Call, ...]:
        """All that are kept."""
        return tuple(reversed(self._calls.values()))

    def put(self, key: str, call: Call) -> None:
        """Keep a call in the place of an older one; results that nobody has looked at for long go."""
        self._calls.pop(key, None)
        self._calls[key] = call
        done = [known for known, one in self._calls.items() if one.outcome is not None]
        size = sum(one.outcome.size for one in self._calls.values() if one.outcome)
        while done and (len(done) > KEPT or size > KEPT_BYTES):
            outcome = self._calls.pop(done.pop(0)).outcome
            size -= outcome.size if outcome else 0
