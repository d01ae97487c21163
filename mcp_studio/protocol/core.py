"""The protocol state of one connection: ids, correlation, stamping, negotiation. Frames in, events and frames out."""

from __future__ import annotations

import math
from collections import deque
from typing import cast

from mcp_studio.errors import ConnectionLost, LimitExceeded, ProtocolError, StudioError
from mcp_studio.jsontext import Json, dumps
from mcp_studio.protocol import events as ev
from mcp_studio.protocol.events import Outgoing, RequestId, request_out
from mcp_studio.protocol.message import Failure, Malformed, Notification, Parsed, Request, Response
from mcp_studio.protocol.negotiation import Era, Negotiation
from mcp_studio.protocol.tasks import has
from mcp_studio.protocol.versions import (
    EXTENSION_TASKS,
    META_CAPABILITIES,
    META_CLIENT,
    META_LOG_LEVEL,
    META_VERSION,
    RESULT_TYPES,
    TASK_RESULT,
    era_of,
)

_REMEMBERED = 1_024


class Correlation:
    """The ids of our requests: open, answered (only the newest are remembered), and dropped.

    Ids are integers that count from 1. An answer's id is matched tolerantly; `match` says what is wrong with it.
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
        """Take a new id for a request of this method."""
        self._last += 1
        while self._last in self._taken:
            self._taken.discard(self._last)
            self._last += 1
        self._open[self._last] = method
        return self._last

    def spare(self) -> int:
        """Take an id for a message that a person writes by hand; no request of ours will use it."""
        identity = self.open("")
        del self._open[identity]
        return identity

    def avoid(self, identity: RequestId) -> None:
        """Keep later requests of ours from using an id that a person uses by hand."""
        if isinstance(identity, int) and self._last < identity and len(self._taken) < _REMEMBERED:
            self._taken.add(identity)

    def settle(self, identity: RequestId) -> str:
        """Record that a request got its answer; returns its method."""
        if len(self._over) == _REMEMBERED:
            self._dropped.discard(self._over[0])
        self._over.append(identity)
        return self._open.pop(identity)

    def drop(self, identity: RequestId) -> str:
        """Stop waiting for a request, so that a late answer is not a fault; returns its method, or an empty string."""
        if identity not in self._open:
            return ""
        self._dropped.add(identity)
        return self.settle(identity)

    def match(self, identity: RequestId | None) -> tuple[RequestId | None, str]:
        """The open request that an answer is for, or None; and what is wrong with the answer's id."""
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


_ROUNDS = ("tools/call", "prompts/get", "resources/read")
"""The requests for which a server may ask for input before it answers (2026-07-28, multi-round requests)."""


def judge(method: str, result: Json, *, modern: bool, declared: Json) -> tuple[str, ...]:
    """The reasons that make a result invalid, as sentences.

    Specification 2026-07-28, basic: an unknown `resultType` is invalid. `task` is known only for `tools/call`, and only
    where we have declared the extension.

    Args:
        declared: our capabilities.
    """
    if not isinstance(result, dict):
        return ("The result is not an object.",)
    kind = cast("dict[str, Json]", result).get("resultType") if modern else None
    if kind == "input_required" and method not in _ROUNDS:
        return (f"The server requests input for {method}, which it may want for {', '.join(_ROUNDS)} only.",)
    if kind is None or kind in RESULT_TYPES:
        return ()
    if kind == TASK_RESULT and has(declared, "extensions", EXTENSION_TASKS):
        wrong = f"The server made {method} a task, which only tools/call can become."
        return () if method == "tools/call" else (wrong,)
    return (f"The result has the unknown resultType {str(kind)[:40]!r}, which makes it invalid (2026-07-28).",)


def read_progress(params: dict[str, Json]) -> tuple[float, float | None, str] | None:
    """Progress, total and message; None where the progress is not a usable number. The total may be unusable."""
    done, total, text = _number(params.get("progress")), _number(params.get("total")), params.get("message")
    return None if done is None else (done, total, text if isinstance(text, str) else "")


def progress_text(done: float, total: float | None) -> str:
    """Progress for people: `17,861 of 1,000,000`; an unusable total is left out."""
    return f"{_digits(done)} of {_digits(total)}" if total and total > 0 else _digits(done)


def _digits(number: float) -> str:
    if abs(number) >= 1e15 or 0 < abs(number) < 0.01:
        return f"{number:.4g}"
    return f"{number:,.2f}".rstrip("0").rstrip(".")


def _number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        known = float(value)
    except OverflowError:
        return None
    return known if math.isfinite(known) else None


_OUTBOX = 2_000
"""Answers that may wait for sending: a server that asks faster than it reads gets no further answers."""
_ID = 1_000
"""Characters of a request id that a server may choose."""
_QUOTE = 200
"""Characters of a foreign method or error that a message of ours quotes."""


class ClientCore:
    """Takes parsed frames and returns events; the frames to send wait in `take()`.

    Args:
        info: our `Implementation` object (name, version).
        capabilities: what the running front end can answer; the handshake declares them.
        stateless: the capabilities for the stateless era, stamped into every request; None where they are the same.
        era: which era to speak; `remembered` is the one that worked last time, or an empty string.
        pin: the only protocol version to offer, which also decides the era; empty for the newest.
        streams: the transport cancels a modern request by closing its stream (HTTP) instead of by a notification.
    """

    def __init__(
        self,
        info: Json,
        capabilities: Json,
        *,
        era: Era = "auto",
        remembered: str = "",
        streams: bool = False,
        pin: str = "",
        stateless: Json = None,
    ) -> None:
        self.info = info
        """Our `Implementation` object."""
        self.capabilities = capabilities
        """The capabilities that we declare."""
        self._stateless = capabilities if stateless is None else stateless
        self.lasting: set[RequestId] = set()
        """Answered requests whose progress still counts: a task's progress continues under the token of its call."""
        self.streams = streams
        self.requests = Correlation()
        """Our own requests."""
        self._server_requests: set[RequestId] = set()
        self.outbox: list[Outgoing] = []
        """The frames that `take` will return."""
        self._negotiation = Negotiation(self._send_negotiation, era, remembered, pin)
        self.version = ""
        self.modern = False
        self.log_level = ""
        """The level of log messages to ask for with every request of the stateless era; empty asks for none."""
        self.traced = False
        """Whether every request says which trace it belongs to, see `begun`."""

    @property
    def probing(self) -> bool:
        """Whether only `server/discover` is open and the handshake may still follow."""
        return self._negotiation.probing

    @property
    def discovered(self) -> bool:
        """Whether the server speaks the modern era too, but said so only after the handshake had begun."""
        return self._negotiation.discovered

    def take(self) -> list[Outgoing]:
        """Return the frames to send, in this order, and forget them."""
        frames, self.outbox = self.outbox, []
        return frames

    def put(self, out: Outgoing | None) -> None:
        """Add a notification or an answer to the frames that `take` returns."""
        if out is not None:
            self.outbox.append(out)

    def start(self) -> None:
        """Begin negotiating."""
        self._negotiation.start()

    def fall_back(self) -> None:
        """Begin the handshake, because the server did not answer the probe in time."""
        self._negotiation.fall_back()

    # ------------------------------------------------------------------ out

    def request(
        self,
        method: str,
        params: dict[str, Json] | None = None,
        *,
        progress: bool = False,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> Outgoing:
        """Make a request with a new id; with `progress` its id is also its progress token."""
        identity = self.requests.open(method)
        body: dict[str, Json] = dict(params or {})
        meta: dict[str, Json] = dict(cast("dict[str, Json]", body.get("_meta") or {}))
        if progress:
            meta["progressToken"] = identity
        if self.modern:
            self._stamp(meta, self.version)
        if meta:
            body["_meta"] = meta
        return request_out(identity, method, body, self.version, self.modern, headers, self.traced)

    def notify(self, method: str, params: dict[str, Json] | None = None) -> Outgoing:
        message: dict[str, Json] = {"jsonrpc": "2.0", "method": method}
        if params:
            message["params"] = params
        return Outgoing(dumps(message), "notification", None, method, "", self.version, self.modern)

    def respond(self, identity: RequestId, result: Json) -> Outgoing | None:
        """Answer a request of the server; None if the server has withdrawn the request."""
        return self._respond(identity, {"result": result})

    def refuse(self, identity: RequestId, code: int, message: str) -> Outgoing | None:
        """Answer a request of the server with an error; None if the server has withdrawn the request."""
        return self._respond(identity, {"error": {"code": code, "message": message}})

    def cancel(self, identity: RequestId, reason: str) -> Outgoing | None:
        """Stop waiting for a request; returns the notification to send, or None where closing the stream is enough.

        Specification, basic/utilities/cancellation: `initialize` must not be cancelled; a modern request over HTTP
        is cancelled by closing its response stream.
        """
        method = self.requests.drop(identity)
        if method in ("", "initialize") or (self.modern and self.streams):
            return None
        return self.notify("notifications/cancelled", {"requestId": identity, "reason": reason})

    def stamp(self, version: str = "") -> dict[str, Json]:
        """The `_meta` members of a request in a version, or in the agreed version; empty in the handshake era."""
        return self._stamp({}, version or self.version) if era_of(version or self.version) == "modern" else {}

    def ignore(self, identity: RequestId | None) -> list[ev.Event]:
        """Give no answer to a request of the server: a person answers by hand, or nobody does."""
        if identity is not None and identity in self._server_requests:
            self._server_requests.discard(identity)
            return [ev.Withdrawn(identity)]
        return []

    # ------------------------------------------------------------------ in

    def receive(self, parsed: Parsed) -> list[ev.Event]:
        """Handle one parsed frame."""
        found: list[ev.Event] = []
        if parsed.batch and self.version != "2025-03-26":
            found.append(ev.Violation("sent a JSON-RPC batch, which only protocol version 2025-03-26 knows"))
        for message in parsed.messages:
            if isinstance(message, (Response, Failure)):
                found += self._on_answer(message)
            elif isinstance(message, Notification):
                found += self._on_notification(message)
            elif isinstance(message, Request):
                found += self._on_request(message)
            else:
                found += self._on_malformed(message)
        return found

    def undelivered(self, identity: RequestId | None, error: StudioError) -> list[ev.Event]:
        """Handle that the transport could not deliver a message or get its answer."""
        if identity is None or identity not in self.requests:
            return []
        self.requests.settle(identity)
        return self._settle(ev.Broken(identity, error))

    def _on_answer(self, message: Response | Failure) -> list[ev.Event]:
        if message.id is None and isinstance(message, Failure):
            # Nobody knows whether the error is about an open request, so the request waits for its own answer.
            text = f"{message.message[:_QUOTE]} ({message.code})"
            return [ev.Violation(f"sent an error without an id, so no request can be told about it: {text}")]
        identity, fault = self.requests.match(message.id)
        faults: list[ev.Event] = [ev.Violation(fault)] if fault else []
        if identity is None:
            if isinstance(message, Response) and message.id and message.id == self._negotiation.unanswered:
                return self._negotiation.settle(ev.Answered(message.id, message.result))
            return faults
        method = self.requests.settle(identity)
        if isinstance(message, Response):
            problems = judge(method, message.result, modern=self.modern, declared=self.capabilities)
            return faults + self._settle(ev.Answered(identity, message.result, problems))
        problems = (message.problem,) if message.problem else ()
        return faults + self._settle(ev.Refused(identity, message.code, message.message, message.data, problems))

    def _settle(self, answer: ev.Answered | ev.Refused | ev.Broken) -> list[ev.Event]:
        if answer.id not in self._negotiation.requests:
            return [answer]
        found = self._negotiation.settle(answer)
        for event in found:
            if isinstance(event, ev.Ready):
                self.version, self.modern = event.version, event.modern
                self.capabilities = self._stateless if event.modern else self.capabilities
                self.requests.drop(self._negotiation.unanswered)
                if not event.modern:
                    self.outbox.append(self.notify("notifications/initialized"))
        return found

    def _on_notification(self, message: Notification) -> list[ev.Event]:
        if message.method == "notifications/progress":
            return self._on_progress(message.params)
        if message.method == "notifications/cancelled":
            identity = message.params.get("requestId")
            if isinstance(identity, (int, str)) and identity in self._server_requests:
                self._server_requests.discard(identity)
                return [ev.Withdrawn(identity)]
            if isinstance(identity, (int, str)) and self.requests.method_of(identity) == "subscriptions/listen":
                # 2026-07-28, basic/utilities/cancellation: how a server ends a subscription on stdio.
                self.requests.settle(identity)
                return self._settle(ev.Broken(identity, ConnectionLost("The server ended the subscription.")))
        return [ev.Notified(message.method, message.params)]

    def _on_progress(self, params: dict[str, Json]) -> list[ev.Event]:
        token = params.get("progressToken")
        if not isinstance(token, (int, str)) or (token not in self.requests and token not in self.lasting):
            return []
        progress = read_progress(params)
        return [ev.Progressed(token, *progress) if progress else ev.Violation("sent progress that is no usable number")]

    def _on_request(self, message: Request) -> list[ev.Event]:
        if message.id in self._server_requests:
            return [ev.Violation(f"used the request id {str(message.id)[:40]!r} twice")]
        if isinstance(message.id, str) and len(message.id) > _ID:
            return [ev.Violation(f"sent a request whose id is longer than {_ID:,} characters")]
        if len(self.outbox) >= _OUTBOX:
            return [ev.Violation("asks faster than it reads the answers, so some of its requests get none")]
        self._server_requests.add(message.id)
        if message.method == "ping" and not self.modern:
            self.put(self.respond(message.id, {}))
            return []
        if self.modern:
            fault = f"sent the request {message.method[:_QUOTE]}, which protocol version {self.version} does not allow"
            return [ev.Violation(fault), ev.Asked(*message, "Servers do not send requests in 2026-07-28")]
        return [ev.Asked(*message)]

    def _on_malformed(self, message: Malformed) -> list[ev.Event]:
        identity = None if message.id is None else self.requests.match(message.id)[0]
        if identity is None:
            return [ev.Violation(f"sent something that is not a message: {message.reason}")]
        self.requests.settle(identity)
        if message.unread in ("depth", "values"):
            reason = f"The answer is beyond a limit of the studio: {message.reason}"
            return self._settle(ev.Broken(identity, LimitExceeded(reason, limit=message.unread)))
        fault = ev.Violation(f"sent an answer that cannot be read: {message.reason}")
        error = ProtocolError(f"The answer cannot be read: {message.reason}.")
        return [fault, *self._settle(ev.Broken(identity, error))]

    # ------------------------------------------------------------------ helpers

    def _send_negotiation(self, method: str, version: str) -> RequestId:
        identity, modern = self.requests.open(method), method == "server/discover"
        params: dict[str, Json] = {}
        if modern:
            params["_meta"] = self._stamp({}, version)
        else:
            params = {"protocolVersion": version, "capabilities": self.capabilities, "clientInfo": self.info}
        out = request_out(identity, method, params, version if modern else "", modern, traced=self.traced)
        self.outbox.append(out)
        return identity

    def _stamp(self, meta: dict[str, Json], version: str) -> dict[str, Json]:
        """Specification 2026-07-28, basic: every request names the version, the client and its capabilities."""
        meta[META_VERSION] = version
        meta[META_CLIENT] = self.info
        meta[META_CAPABILITIES] = self._stateless
        if self.log_level:
            meta[META_LOG_LEVEL] = self.log_level
        return meta

    def _respond(self, identity: RequestId, body: dict[str, Json]) -> Outgoing | None:
        if identity not in self._server_requests:
            return None
        self._server_requests.discard(identity)
        return Outgoing(
            dumps({"jsonrpc": "2.0", "id": identity, **body}), "response", identity, "", "", self.version, self.modern
        )
