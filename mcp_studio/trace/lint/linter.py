"""The lint of one connection: gets every message in both directions, synchronously, and must be cheap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, items_of, loads, mapping
from mcp_studio.protocol.events import Outgoing, RequestId
from mcp_studio.protocol.message import Failure, Malformed, Message, Notification, Parsed, Request, Response
from mcp_studio.protocol.versions import META_CAPABILITIES, META_VERSION, MODERN_VERSIONS, VERSIONS
from mcp_studio.trace.lint import messages
from mcp_studio.trace.lint.ledger import Ledger, attach
from mcp_studio.trace.lint.methods import check_notification, check_request, check_use
from mcp_studio.trace.lint.results import LISTS, Pages, check_result
from mcp_studio.trace.lint.rules import Spot, found
from mcp_studio.trace.message import GREETINGS, WireMessage
from mcp_studio.transport.base import HttpRequest, HttpResponse

_READ = 256 * 1024
"""Bytes of the largest frame written by hand that is parsed."""
_FINDINGS = 50
"""The most findings of one message."""


class Linter:
    """Checks the messages of one connection, and attaches the findings to them and to the ledger.

    Args:
        clean: removes secrets from a text.
        changed: called with each message that got findings.
    """

    def __init__(self, ledger: Ledger, clean: Callable[[str], str], changed: Callable[[WireMessage], None]) -> None:
        self._ledger = ledger
        self._clean = clean
        self._changed = changed
        self.begins()

    def begins(self, first: int = 0) -> None:
        """Start a new connection, whose first message has this number."""
        self._ledger.begins(first)
        self._requests = messages.Requests()
        self._exchanges = messages.Exchanges()
        self._pages = Pages()
        self._subscribed: set[str] = set()
        self._usable: set[str] = set()
        """Methods that the server is known to support."""
        self._version = ""
        self._modern = False
        self._server: Json = None
        """The server's capabilities."""
        self._client: Json = None
        """Our capabilities."""
        self._discovered: dict[str, Json] | None = None
        """The answer to `server/discover` after `initialize` was sent, whose answer decides on the version."""
        self._spoiled = 0
        """Invalid frames written by hand, each of which is rightly answered by an error without an id."""

    # ------------------------------------------------------------------ out

    def sent(self, entry: WireMessage, out: Outgoing) -> None:
        """Check a message of ours that goes out."""
        if entry.exchange:
            self._attach(entry, self._exchanges.carries(entry.exchange, out))
        if out.kind != "request" or out.id is None:
            return
        params = out.params or {}
        self._request(out.id, out.method, out.version, params)
        if out.modern:
            missing = {META_VERSION, META_CAPABILITIES} - mapping(params.get("_meta")).keys()
            texts = [f"Our request has no {key} in its _meta." for key in sorted(missing)]
            self._attach(entry, [Spot("own-meta", text, "/params/_meta") for text in texts])
        if self._version and out.method not in self._usable:
            if spots := check_use(out.method, self._version, self._server):
                self._attach(entry, spots)
            else:
                self._usable.add(out.method)

    def sent_by_hand(self, entry: WireMessage, frame: bytes, parsed: Parsed) -> None:
        """Check a frame that a person wrote by hand."""
        for message in parsed.messages:
            if isinstance(message, Request):
                self._request(message.id, message.method, self._version, message.params)
            elif isinstance(message, Malformed):
                self._spoiled += 1
        spots = list(messages.check_bytes(frame))
        if len(frame) <= _READ:
            try:
                spots += messages.check_envelope(loads(frame), self._modern)
            except (JsonProblem, LimitExceeded) as problem:
                spots.append(Spot("not-json", f"It is not JSON: {problem}"))
        self._attach(entry, spots)

    def _request(self, identity: RequestId, method: str, version: str, params: dict[str, Json]) -> None:
        self._requests.add(identity, method, version, params)
        if method in LISTS:
            self._pages.begin(method, params.get("cursor"))
        elif method == "initialize":
            self._client, self._discovered = params.get("capabilities"), {}
        elif method == "server/discover":
            self._client = mapping(params.get("_meta")).get(META_CAPABILITIES)
        elif method == "resources/subscribe":
            # Unsubscribing is not tracked: a somewhat late update is not a fault.
            self._subscribed.add(str(params.get("uri")))

    # ------------------------------------------------------------------ in

    def received(self, entry: WireMessage, frame: bytes) -> None:
        """Check the bytes of an incoming frame that is not all ASCII."""
        self._attach(entry, messages.check_bytes(frame))

    def understood(self, entry: WireMessage, parsed: Parsed) -> None:
        """Check the messages of the last incoming frame."""
        one = None if parsed.batch else parsed.messages[0]
        self._attach(entry, self._batch(entry, parsed) if one is None else self._message(entry, one, parsed.value))

    def _batch(self, entry: WireMessage, parsed: Parsed) -> Iterator[Spot]:
        if self._version != "2025-03-26":
            yield Spot("batch", f"It is a batch; version {self._version or 'unknown'} has none.")
        for index, (message, value) in enumerate(zip(parsed.messages, items_of(parsed.value), strict=False)):
            for spot in self._message(entry, message, value):
                yield spot._replace(pointer=f"/{index}{spot.pointer}")

    def _message(self, entry: WireMessage, message: Message, value: Json) -> Iterator[Spot]:
        if isinstance(message, Malformed) and message.unread:
            if message.unread == "values":
                return  # a limit of ours, no fault of the server
            yield Spot("not-json" if message.unread == "no JSON" else "too-deep", _sentence(message.reason))
            return
        yield from messages.check_envelope(value, self._modern)
        if isinstance(message, Notification):
            yield from self._notification(message.method, message.params)
        elif isinstance(message, Response):
            yield from self._response(entry, message)
        elif isinstance(message, Failure):
            yield from self._failure(entry, message)
        elif isinstance(message, Request):
            yield from self._requests.receive(message.id)
            yield from check_request(message.method, message.params, self._version, self._client)

    def _notification(self, method: str, params: dict[str, Json]) -> Iterator[Spot]:
        yield from check_notification(method, self._version, self._server)
        if method == "notifications/progress":
            yield from messages.check_progress(params, self._requests)
        elif method == "notifications/message":
            yield from messages.check_log(params, self._requests, self._modern)
        else:
            yield from messages.check_change(method, params, self._requests, self._subscribed, self._modern)

    def _response(self, entry: WireMessage, message: Response) -> Iterator[Spot]:
        request, spots = self._requests.answer(message.id)
        yield from spots
        if request is None or not isinstance(message.result, dict):
            return
        result = mapping(message.result)
        if isinstance(result.get("task"), dict) or result.get("resultType") == "task":
            request.task = True
            if self._version == "2025-11-25":
                return  # the result comes with tasks/result
        version = request.version or self._version
        if request.method in GREETINGS:
            version = self._negotiated(entry, request.method, request.version, result) or version
        yield from check_result(request.method, result, version, self._client, self._pages)

    def _failure(self, entry: WireMessage, message: Failure) -> Iterator[Spot]:
        if message.id is None and self._spoiled:
            self._spoiled -= 1
        else:
            request, spots = self._requests.answer(message.id)
            yield from spots
            if request is not None and request.method == "initialize":
                discovered, self._discovered = self._discovered, None
                self._negotiated(entry, "server/discover", MODERN_VERSIONS[-1], discovered or {})
        yield from self._exchanges.refused(entry.exchange, message.code)

    def _negotiated(self, entry: WireMessage, method: str, requested: str, result: dict[str, Json]) -> str:
        """Record the outcome of a handshake or discovery; returns the version, or an empty text for other requests.

        Args:
            requested: the version of the request.
        """
        version: Json = None
        if method == "initialize":
            version = result.get("protocolVersion")
        elif method == "server/discover" and isinstance(result.get("capabilities"), dict):
            if self._discovered is None:
                version = requested
            else:
                self._discovered = result
        if not isinstance(version, str) or version not in VERSIONS:
            return ""
        self._version, self._modern = version, version in MODERN_VERSIONS
        self._server = result.get("capabilities")
        self._usable.clear()
        self._exchanges.answered = True
        self._ledger.speaks(entry.number, version)
        return version

    # ------------------------------------------------------------------ beside the messages

    def stray(self, entry: WireMessage) -> None:
        """Report a line on standard output that is not a message."""
        self._attach(entry, (Spot("stdout-noise", "Standard output carries a line that is no message."),))

    def http_request(self, request: HttpRequest) -> None:
        """Record the head of an outgoing HTTP request."""
        self._exchanges.request(request)

    def http_response(self, entry: WireMessage, response: HttpResponse) -> None:
        """Check the head of an HTTP response."""
        self._attach(entry, self._exchanges.response(response, self._requests))

    def leftover(self, entry: WireMessage, frame: bytes) -> None:
        """Check an incoming frame that nobody handled."""
        self._attach(entry, self._exchanges.leftover(entry.exchange, frame))

    def settled(self, identity: RequestId) -> None:
        """Record that a request has ended although no response has its id."""
        self._requests.drop(identity)

    def judged(self, entry: WireMessage, problems: Sequence[tuple[str, str]]) -> None:
        """Report the problems of an answer's structured content, each with a pointer and a reason."""
        where = "/result/structuredContent"
        self._attach(entry, [Spot("output-mismatch", _sentence(text), where + pointer) for pointer, text in problems])

    def _attach(self, entry: WireMessage, spots: Iterable[Spot]) -> None:
        listed = list(spots)
        if listed:
            findings = [found(spot, entry.number, self._modern) for spot in listed]
            attach(entry, self._ledger, [one._replace(text=self._clean(one.text)) for one in findings[:_FINDINGS]])
            self._changed(entry)


def _sentence(reason: str) -> str:
    return f"{reason[:1].upper()}{reason[1:]}" + ("" if reason.endswith((".", "?")) else ".")
