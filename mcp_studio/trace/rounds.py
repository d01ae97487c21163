"""Conversations: requests that a server answers with a question, and the requests that bring it what it asked for.

Specification 2026-07-28, basic/patterns/mrtr: each round is a request of its own, with a new id. The same holds for a
call that is tried again after pages were opened (-32042, 2025-11-25, client/elicitation).
"""

from __future__ import annotations

from typing import cast

from mcp_studio.protocol.message import Failure, Response
from mcp_studio.protocol.outgoing import RequestId
from mcp_studio.protocol.versions import URL_ELICITATION_REQUIRED
from mcp_studio.trace.message import Span

_ANSWERED = 100
_ASKING = 500


class Rounds:
    """The newest answered requests of one connection, for whoever comes back to them."""

    def __init__(self) -> None:
        self._answered: dict[RequestId, Span] = {}
        self._asking: dict[RequestId, Span] = {}
        self._follows: dict[RequestId, RequestId] = {}

    def expect(self, identity: RequestId | None, follows: RequestId | None) -> None:
        """The request with this id will be the next round after another."""
        if identity is not None and follows is not None:
            self._follows[identity] = follows

    def opened(self, identity: RequestId, span: Span) -> None:
        """A request goes out: link it to the round before."""
        earlier = self._asking.pop(self._follows.pop(identity, ""), None) if self._follows else None
        if earlier is not None:
            span.follows, earlier.followed, span.round = earlier, span, earlier.round + 1

    def answered(self, identity: RequestId, span: Span, message: Response | Failure) -> None:
        """A request is answered."""
        kept, most = (self._asking, _ASKING) if _asks(message) else (self._answered, _ANSWERED)
        kept[identity] = span
        if len(kept) > most:
            del kept[next(iter(kept))]

    def get(self, identity: RequestId) -> Span | None:
        """The span of a request that was answered not long ago."""
        return self._answered.get(identity) or self._asking.get(identity)

    def clear(self) -> None:
        """The connection is over."""
        self._answered.clear()
        self._asking.clear()
        self._follows.clear()


def conversation(span: Span) -> tuple[Span, ...]:
    """All rounds of the conversation that a request belongs to, in their order; the request alone where it has none."""
    while span.follows is not None:
        span = span.follows
    rounds = [span]
    while (following := rounds[-1].followed) is not None:
        rounds.append(following)
    return tuple(rounds)


def _asks(message: Response | Failure) -> bool:
    if isinstance(message, Failure):
        return message.code == URL_ELICITATION_REQUIRED
    if not isinstance(message.result, dict):
        return False
    return cast("dict[str, object]", message.result).get("resultType") == "input_required"
