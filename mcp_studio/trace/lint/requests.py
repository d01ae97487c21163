"""The requests of one connection, as the lint sees them: open, answered, given up."""

from __future__ import annotations

from mcp_studio.jsontext import Json
from mcp_studio.protocol.outgoing import RequestId
from mcp_studio.trace.lint.finding import Spot

_REMEMBERED = 2_000


class Running:
    """A request of ours without an answer."""

    __slots__ = ("acknowledged", "filter", "logs", "method", "paged", "progress", "token", "version")

    def __init__(self, method: str, version: str = "") -> None:
        self.method = method
        self.version = version
        self.token: RequestId | None = None
        self.progress: float | None = None
        """The newest progress that was told."""
        self.paged = False
        """It carries a cursor."""
        self.logs = False
        """It carries a log level (2026-07-28)."""
        self.filter: dict[str, Json] = {}
        """What a `subscriptions/listen` wants to hear."""
        self.acknowledged = False


class Requests:
    """Bounded: of what is over, the newest are remembered."""

    def __init__(self) -> None:
        self._open: dict[RequestId, Running] = {}
        self._over: dict[RequestId, str] = {}
        self._dropped: set[RequestId] = set()
        self._tokens: dict[RequestId, RequestId] = {}
        self._lasting: dict[RequestId, Running] = {}
        self._asked: dict[RequestId, bool] = {}

    def opened(self, identity: RequestId, running: Running) -> None:
        """A request of ours went out."""
        self._open[identity] = running
        if running.token is not None:
            self._tokens[running.token] = identity
        while len(self._tokens) > _REMEMBERED:
            del self._tokens[next(iter(self._tokens))]

    def get(self, identity: RequestId | None) -> Running | None:
        """The open request with this id."""
        return self._open.get(identity) if identity is not None else None

    def knows(self, identity: RequestId) -> bool:
        """Whether a request with this id is open, or was not long ago."""
        return identity in self._open or identity in self._over

    def listening(self) -> dict[RequestId, Running]:
        """The open subscriptions of the stateless era."""
        return {key: item for key, item in self._open.items() if item.method == "subscriptions/listen"}

    def wants_logs(self) -> bool:
        """Whether an open request carries a log level."""
        return any(running.logs for running in self._open.values())

    def with_token(self, token: RequestId) -> Running | None:
        """The open request that carries a progress token."""
        return self._open.get(self._tokens.get(token, "")) or self._lasting.get(token)

    def lasts(self, running: Running) -> None:
        """The answer is a task: progress goes on under the same token (basic/utilities/tasks)."""
        if running.token is not None:
            self._lasting[running.token] = running
            if len(self._lasting) > _REMEMBERED:
                del self._lasting[next(iter(self._lasting))]

    def ended_with_token(self, token: RequestId) -> str | None:
        """The method of an answered request with this token, empty if it was given up, None if there was none."""
        identity = self._tokens.get(token)
        if identity is None:
            return None
        return "" if identity in self._dropped else self._over.get(identity, "")

    def dropped(self, identity: RequestId) -> None:
        """Nobody waits for an answer any more; one that comes late is no fault."""
        if running := self._open.pop(identity, None):
            self._settle(identity, running.method)
            self._dropped.add(identity)

    def answered(self, identity: RequestId | None) -> tuple[Running | None, list[Spot]]:
        """The request that a response is for, which is over then; and what is wrong with the response's id."""
        if identity is None:
            return None, [Spot("response-without-id", "The response does not say which request it answers.", "/id")]
        if (running := self._open.pop(identity, None)) is not None:
            self._settle(identity, running.method)
            return running, []
        if isinstance(identity, str) and identity.isdecimal() and len(identity) < 19 and int(identity) in self._open:
            running, _ = self.answered(int(identity))
            text = "The id of the response is a string; that of the request is the same number."
            return running, [Spot("response-id-type", text, "/id")]
        if identity in self._dropped:
            self._dropped.discard(identity)
            return None, []
        if identity in self._over:
            method = self._over[identity]
            return None, [Spot("duplicate-response", f"A request ({method[:80]}) is answered a second time.", "/id")]
        return None, [Spot("orphan-response", "No request of ours has the id of this response.", "/id")]

    def asked(self, identity: RequestId) -> list[Spot]:
        """The server asks something."""
        reused = identity in self._asked
        self._asked[identity] = True
        if len(self._asked) > _REMEMBERED:
            del self._asked[next(iter(self._asked))]
        return [Spot("request-id-reused", "The id was used by an earlier request.", "/id")] if reused else []

    def _settle(self, identity: RequestId, method: str) -> None:
        self._over[identity] = method
        if len(self._over) > _REMEMBERED:
            gone = next(iter(self._over))
            del self._over[gone]
            self._dropped.discard(gone)
