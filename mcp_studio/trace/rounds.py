"""What belongs together: conversations, and what is sent on behalf of what.

A conversation is requests that a server answers with a question, and the requests that bring it what it asked for.
Specification 2026-07-28, basic/patterns/mrtr: each round is a request of its own, with a new id. The same holds for a
call that is tried again after pages were opened (-32042, 2025-11-25, client/elicitation).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import cast

from mcp_studio.protocol.message import Failure, Response
from mcp_studio.protocol.outgoing import RequestId
from mcp_studio.protocol.versions import URL_ELICITATION_REQUIRED
from mcp_studio.trace.message import GREETINGS, Span, WireMessage

_CALLS = frozenset(("tools/call", "prompts/get", "resources/read", "tasks/result", "tasks/get", "completion/complete"))
"""Requests for which servers ask something."""
_ANSWERED = 100
_ASKING = 500


class Rounds:
    """The newest answered requests of one connection, for whoever comes back to them, and what is on whose behalf.

    Args:
        entry: finds an entry by its number.
    """

    def __init__(self, entry: Callable[[int], WireMessage | None]) -> None:
        self._entry = entry
        self._answered: dict[RequestId, Span] = {}
        self._asking: dict[RequestId, Span] = {}
        self._follows: dict[RequestId, RequestId] = {}
        self._under: dict[RequestId, Span] = {}
        self._given_up: dict[RequestId, Span] = {}
        self._greeting: Span | None = None

    def begins(self, again: bool) -> None:
        """Another connection is about to be opened; `again` where the one before has failed."""
        if not again:
            self._greeting = None

    def expect(self, identity: RequestId | None, follows: RequestId | None, under: int = 0) -> None:
        """The request with this id will come after another: as its next round, or as the same once more.

        Or it is sent on behalf of the one with the number `under`.
        """
        if identity is not None and follows is not None:
            self._follows[identity] = follows
        elif identity is not None and under:
            # Found now: looking for an entry takes all that there are into the columns, as they are then.
            entry = self._entry(under)
            if entry is not None and entry.span is not None:
                self._under[identity] = entry.span

    def opened(self, identity: RequestId, span: Span) -> None:
        """A request goes out: link it to the round before, or to what it is sent for."""
        if self._follows and (follows := self._follows.pop(identity, None)) is not None:
            earlier = self._asking.pop(follows, None)
            if earlier is not None:
                span.follows, earlier.followed, span.round = earlier, span, earlier.round + 1
            else:
                span.parent = self._answered.get(follows)
        elif self._under and (above := self._under.pop(identity, None)) is not None:
            span.parent = above
        elif span.method in GREETINGS:
            first = span.parent = self._greeting
            self._greeting = first or span
            if first is not None and first.outcome == "open":  # the probe is silent: this is part of finding the era
                span.request.probe |= first.request.probe

    def answered(self, identity: RequestId, span: Span, message: Response | Failure) -> None:
        """A request is answered."""
        kept, most = (self._asking, _ASKING) if _asks(message) else (self._answered, _ANSWERED)
        kept[identity] = span
        if len(kept) > most:
            del kept[next(iter(kept))]

    def get(self, identity: RequestId) -> Span | None:
        """The span of a request that was answered not long ago."""
        return self._answered.get(identity) or self._asking.get(identity)

    def given_up(self, identity: RequestId, span: Span) -> Span:
        """Nobody waits for the answer to this request any more: the span again."""
        self._given_up[identity] = span
        if len(self._given_up) > _ANSWERED:
            del self._given_up[next(iter(self._given_up))]
        return span

    def late(self, identity: RequestId, entry: WireMessage) -> None:
        """An answer that nobody waits for says what it answers, if that was given up not long ago."""
        if span := self._given_up.pop(identity, None):
            entry.method, entry.target, entry.probe = span.method, span.target, span.request.probe

    def clear(self) -> None:
        """The connection is over."""
        self._given_up.clear()
        self._answered.clear()
        self._asking.clear()
        self._follows.clear()
        self._under.clear()


def asker(open: Collection[Span], exchange: int) -> Span | None:
    """For which of our open requests a server asks something, as far as can be known.

    Over HTTP it is the one on whose exchange the question came; else the newest call, or the newest of all.
    """
    newest: Span | None = None
    for span in reversed(tuple(open)):
        if exchange and span.request.exchange == exchange:
            return span
        if newest is None or (newest.method not in _CALLS and span.method in _CALLS):
            newest = span
    return newest


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
