"""Which answer belongs to which request."""

from __future__ import annotations

from collections import deque

from mcp_studio.protocol.outgoing import RequestId

_REMEMBERED = 1_024


class Correlation:
    """Ids of requests: open, answered (the newest of them), and given up.

    Ids are whole numbers that count from 1; an answer's id is matched tolerantly, and whatever is wrong with it named.
    """

    def __init__(self) -> None:
        self._last = 0
        self._open: dict[RequestId, str] = {}
        self._over: deque[RequestId] = deque(maxlen=_REMEMBERED)
        self._dropped: set[RequestId] = set()
        self._taken: set[int] = set()

    def __contains__(self, identity: object) -> bool:
        return identity in self._open

    def method_of(self, identity: RequestId) -> str:
        """The method of an open request, or an empty string."""
        return self._open.get(identity, "")

    def open(self, method: str) -> int:
        """A new id for a request of this method."""
        identity = self.spare()
        self._open[identity] = method
        return identity

    def spare(self) -> int:
        """A new id that no request of ours will have, for one that is written by hand."""
        self._last += 1
        while self._last in self._taken:
            self._taken.discard(self._last)
            self._last += 1
        return self._last

    def avoid(self, identity: RequestId) -> None:
        """Somebody uses this id by hand: no later request of ours gets it."""
        if isinstance(identity, int) and self._last < identity and len(self._taken) < _REMEMBERED:
            self._taken.add(identity)

    def settle(self, identity: RequestId) -> None:
        """The request got its answer."""
        del self._open[identity]
        if len(self._over) == _REMEMBERED:
            self._dropped.discard(self._over[0])
        self._over.append(identity)

    def drop(self, identity: RequestId) -> str:
        """Nobody waits any more, and a late answer is no fault; the request's method, or an empty string."""
        method = self._open.get(identity, "")
        if method:
            self.settle(identity)
            self._dropped.add(identity)
        return method

    def match(self, identity: RequestId | None) -> tuple[RequestId | None, str]:
        """The open request that an answer is for, and what is wrong with its id."""
        if identity in self._open:
            return identity, ""
        if isinstance(identity, str) and identity.isdecimal() and len(identity) < 19 and int(identity) in self._open:
            return int(identity), f'answered request {identity} with the id "{identity}": a string, not the number'
        if identity in self._dropped:
            self._dropped.discard(identity)
            return None, ""
        if identity in self._over:
            return None, f"answered request {identity} twice"
        return None, f"answered request {str(identity)[:40]!r}, which was never sent"
