"""What crossed the wire, as it is kept: redacted, numbered, timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

from mcp_studio.record import record
from mcp_studio.trace.lint.finding import Finding

Direction = Literal["out", "in", "none"]
MessageKind = Literal["request", "notification", "result", "error", "invalid", "http", "stderr", "stray", "note"]
Outcome = Literal["open", "ok", "tool error", "error", "cancelled", "lost"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
KINDS: tuple[MessageKind, ...] = get_args(MessageKind)
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
GREETINGS = ("initialize", "server/discover")
"""Requests that open a connection: the first of them may be tried in vain."""
LISTEN = "subscriptions/listen"
"""A request that is open as long as the connection: that it ends with it is no error."""
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
"""What comes first on it."""
UNTIMED = frozenset((*GREETINGS, LISTEN))
"""Requests whose time says how long a server takes to start, or stays open, not how long it takes to answer."""


@record()
class WireMessage:
    """One entry of the trace. `body` is redacted on entry and otherwise exactly what crossed the wire."""

    number: int
    """Counts from 1 over all servers, without gaps."""
    time: float
    """Seconds since the epoch."""
    server: str
    direction: Direction
    kind: MessageKind
    held: bytes | Callable[[], bytes]
    """The body, or what gets it from where it is kept."""
    size: int
    """Bytes on the wire, before redaction."""
    method: str = ""
    target: str = ""
    """Tool, prompt or URI that a request is about."""
    id: int | str | None = None
    exchange: int = 0
    """The HTTP exchange it belongs to, 0 on stdio."""
    probe: bool = False
    """Part of finding out which era the server speaks."""
    by_hand: bool = False
    """A person wrote the frame, or it answers one of those; whatever is wrong with it is meant."""
    span: Span | None = None
    findings: tuple[Finding, ...] = ()
    """What the lint says about it."""

    @property
    def body(self) -> bytes:
        """Redacted and otherwise what crossed the wire; of an earlier entry it is read from disk, each time."""
        return self.held if isinstance(self.held, bytes) else self.held()

    @body.setter
    def body(self, body: bytes) -> None:
        self.held = body


@record()
class Span:
    """A request and what answered it."""

    number: int
    server: str
    direction: Direction
    """Who asked: `out` is us."""
    method: str
    target: str
    request: WireMessage
    response: WireMessage | None = None
    parent: Span | None = None
    """For a request of the server: our call that was open at that time."""
    asked: bool = False
    """The server asked something meanwhile, so that a person's time may be in its own."""
    outcome: Outcome = "open"
    follows: Span | None = None
    """The earlier round of the same conversation: the server wanted input before it went on."""
    followed: Span | None = None
    """The next round."""
    round: int = 1
    """Which round of its conversation it is."""

    @property
    def ms(self) -> float | None:
        """Milliseconds from request to response, None while open; the clock may have been set back meanwhile."""
        return abs(self.response.time - self.request.time) * 1000 if self.response else None
