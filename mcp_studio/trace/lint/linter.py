"""The lint of one connection: gets every message in either direction, synchronous and cheap."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, cast

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads, mapping
from mcp_studio.protocol.events import Outgoing, RequestId
from mcp_studio.protocol.message import Failure, Malformed, Message, Notification, Parsed, Request, Response
from mcp_studio.protocol.versions import META_CAPABILITIES, META_LOG_LEVEL, META_VERSION, MODERN_VERSIONS, VERSIONS
from mcp_studio.trace.lint.ledger import Ledger, attach
from mcp_studio.trace.lint.messages import (
    Exchanges,
    Requests,
    Sent,
    check_bytes,
    check_change,
    check_envelope,
    check_log,
    check_progress,
)
from mcp_studio.trace.lint.methods import check_notification, check_request, check_use
from mcp_studio.trace.lint.results import LISTS, Names, check_result
from mcp_studio.trace.lint.rules import Spot, found
from mcp_studio.trace.lint.typed import Job, check_all
from mcp_studio.trace.message import WireMessage

if TYPE_CHECKING:
    from mcp_studio.transport.base import HttpRequest, HttpResponse

_READ = 256 * 1024
"""Bytes of a frame of ours that is parsed again."""
_FINDINGS = 50
"""Findings of one message."""


class Linter:
    """Finds what is wrong with the messages of one connection, and puts it on them and into the ledger.

    Args:
        clean: takes secrets out of a text.
        changed: gets each message that findings were added to.
    """

    def __init__(self, ledger: Ledger, clean: Callable[[str], str], changed: Callable[[WireMessage], None]) -> None:
        self._ledger = ledger
        self._clean = clean
        self._changed = changed
        self.begins()

    def begins(self, first: int = 0) -> None:
        """Another connection, whose messages begin with this number."""
        self._ledger.begins(first)
        self._requests = Requests()
        self._exchanges = Exchanges()
        self._names = Names()
        self._subscribed: set[str] = set()
        self._version = ""
        self._modern = False
        self._server: Json = None
        self._client: Json = None
        self._discovered: dict[str, Json] | None = None
        """What the server said to `server/discover` once `initialize` was sent, whose answer settles the version."""
        self._spoiled = 0
        """Frames written by hand that are no messages: the right answer to them is an error without an id."""

    # ------------------------------------------------------------------ out

    def sent(self, entry: WireMessage, out: Outgoing, frame: bytes) -> None:
        """A message of ours goes out."""
        spots = self._exchanges.carries(entry.exchange, out) if entry.exchange else []
        if out.kind == "request" and out.id is not None:
            spots += self._request(out.id, out.method, out.version, frame, out.modern)
            if self._version:
                spots += check_use(out.method, self._version, self._server)
        self._attach(entry, spots)

    def sent_by_hand(self, entry: WireMessage, frame: bytes, parsed: Parsed) -> None:
        """A frame goes out that somebody wrote."""
        for message in parsed.messages:
            if isinstance(message, Request):
                self._request(message.id, message.method, self._version, frame, self._modern)
            elif isinstance(message, Malformed):
                self._spoiled += 1
        spots = check_bytes(frame)
        if len(frame) <= _READ:
            try:
                spots += check_envelope(loads(frame), self._modern)
            except (JsonProblem, LimitExceeded) as problem:
                spots.append(Spot("not-json", f"It is not JSON: {problem}"))
        self._attach(entry, spots)

    def _request(self, identity: RequestId, method: str, version: str, frame: bytes, modern: bool) -> list[Spot]:
        request = Sent(method, version)
        self._requests.add(identity, request)
        if len(frame) > _READ:
            self._requests.all_tokens_known = False
            return []
        params = mapping(mapping(loads(frame)).get("params"))
        meta = mapping(params.get("_meta"))
        token = meta.get("progressToken")
        if isinstance(token, (int, str)):
            request.token = token
            self._requests.add(identity, request)
        request.logs = META_LOG_LEVEL in meta
        if method in LISTS:
            self._names.begin(method, params.get("cursor"))
        elif method == "initialize":
            self._client, self._discovered = params.get("capabilities"), {}
        elif method == "server/discover":
            self._client = meta.get(META_CAPABILITIES)
        elif method == "resources/subscribe":
            # That it may end is not followed: an update that comes a little late is no fault.
            self._subscribed.add(str(params.get("uri")))
        elif method == "subscriptions/listen":
            request.filter = mapping(params.get("notifications"))
        missing = [key for key in (META_VERSION, META_CAPABILITIES) if modern and key not in meta]
        return [Spot("own-meta", f"Our request has no {key} in its _meta.", "/params/_meta") for key in missing]

    # ------------------------------------------------------------------ in

    def received(self, entry: WireMessage, frame: bytes) -> None:
        """A frame came in."""
        self._attach(entry, check_bytes(frame))

    def understood(self, entry: WireMessage, parsed: Parsed) -> None:
        """What the frame turned out to be."""
        if not parsed.batch:
            self._attach(entry, [spot for one in parsed.messages for spot in self._one(entry, one, parsed.value)])
            return
        spots: list[Spot] = []
        if self._version != "2025-03-26":
            spots.append(Spot("batch", f"It is a batch; version {self._version or 'unknown'} has none."))
        values = cast("list[Json]", parsed.value)
        for index, (message, value) in enumerate(zip(parsed.messages, values, strict=False)):
            spots += (one._replace(pointer=f"/{index}{one.pointer}") for one in self._one(entry, message, value))
        self._attach(entry, spots)

    def _one(self, entry: WireMessage, message: Message, value: Json) -> list[Spot]:
        if isinstance(message, Malformed) and message.unread:
            return [Spot("too-deep" if message.unread == "too deep" else "not-json", _sentence(message.reason))]
        spots = check_envelope(value, self._modern)
        if isinstance(message, Notification):
            spots += self._notification(*message)
        elif isinstance(message, Response):
            spots += self._response(entry, message)
        elif isinstance(message, Failure):
            spots += self._failure(entry, message)
        elif isinstance(message, Request):
            spots += self._requests.receive(message.id)
            spots += check_request(message.method, message.params, self._version, self._client)
        return spots

    def _notification(self, method: str, params: dict[str, Json]) -> list[Spot]:
        spots = check_notification(method, self._version, self._server)
        if method == "notifications/progress":
            return spots + check_progress(params, self._requests)
        if method == "notifications/message":
            return spots + check_log(params, self._requests, self._modern)
        return spots + check_change(method, params, self._requests, self._subscribed, self._modern)

    def _response(self, entry: WireMessage, message: Response) -> list[Spot]:
        request, spots = self._requests.answer(message.id)
        if request is None or not isinstance(message.result, dict):
            return spots
        result = cast("dict[str, Json]", message.result)
        if isinstance(result.get("task"), dict) or result.get("resultType") == "task":
            request.task = True
            if self._version == "2025-11-25":
                return spots  # the result comes with tasks/result
        version = self._negotiated(entry, request, result) or request.version or self._version
        return spots + check_result(request.method, result, version, self._client, self._names)

    def _failure(self, entry: WireMessage, message: Failure) -> list[Spot]:
        spots: list[Spot] = []
        if message.id is None and self._spoiled:
            self._spoiled -= 1
        else:
            request, spots = self._requests.answer(message.id)
            if request is not None and request.method == "initialize":
                discovered, self._discovered = self._discovered, None
                self._negotiated(entry, Sent("server/discover", MODERN_VERSIONS[-1]), discovered or {})
        return spots + self._exchanges.refused(entry.exchange, message.code)

    def _negotiated(self, entry: WireMessage, request: Sent, result: dict[str, Json]) -> str:
        """Take over what a handshake or a discovery settled; the version, or empty for any other request."""
        version: Json = None
        if request.method == "initialize":
            version = result.get("protocolVersion")
        elif request.method == "server/discover" and isinstance(result.get("capabilities"), dict):
            if self._discovered is None:
                version = request.version
            else:
                self._discovered = result
        if not isinstance(version, str) or version not in VERSIONS:
            return ""
        self._version, self._modern = version, version in MODERN_VERSIONS
        self._server = result.get("capabilities")
        self._exchanges.answered()
        self._ledger.speaks(entry.number, version)
        return version

    # ------------------------------------------------------------------ beside the messages

    def stray(self, entry: WireMessage) -> None:
        """A line on standard output that is no message."""
        self._attach(entry, (Spot("stdout-noise", "Standard output carries a line that is no message."),))

    def http_request(self, request: HttpRequest) -> None:
        """An HTTP request head goes out."""
        self._exchanges.request(request)

    def http_response(self, entry: WireMessage, response: HttpResponse) -> None:
        """An HTTP response head came in."""
        self._attach(entry, self._exchanges.response(response, self._requests))

    def leftover(self, entry: WireMessage, frame: bytes) -> None:
        """A frame that came in was not taken by anybody."""
        self._attach(entry, self._exchanges.leftover(entry.exchange, frame))

    def settled(self, identity: RequestId) -> None:
        """A request is over, although no response says so by its id."""
        self._requests.drop(identity)

    def judged(self, entry: WireMessage, problems: Sequence[tuple[str, str]]) -> None:
        """The structured content of this answer was checked against the tool's schema: pointers in it, and why."""
        where = "/result/structuredContent"
        self._attach(entry, [Spot("output-mismatch", _sentence(text), where + pointer) for pointer, text in problems])

    def _attach(self, entry: WireMessage, spots: Sequence[Spot]) -> None:
        if spots:
            findings = [found(spot, entry.number, self._modern) for spot in spots[:_FINDINGS]]
            attach(entry, self._ledger, [one._replace(text=self._clean(one.text)) for one in findings])
            self._changed(entry)


def _sentence(reason: str) -> str:
    return f"{reason[:1].upper()}{reason[1:]}" + ("" if reason.endswith((".", "?")) else ".")


# ---------------------------------------------------------------------- the closer look

SIZE = 256 * 1024
"""Bytes of a message that is looked at closely; larger ones would take too long."""
_REMEMBERED = 10_000
_LOOKED_AT = 4_000
_OF_A_KIND = 2
_TOGETHER = 100


class Examiner:
    """Checks whole messages against the SDK's types when somebody looks at them, and adds what it finds to them.

    Args:
        ledger: the ledger of a server.
        changed: gets each message that something was added to.
    """

    def __init__(self, ledger: Callable[[str], Ledger], changed: Callable[[WireMessage], None]) -> None:
        self._ledger = ledger
        self._changed = changed
        self._done: dict[int, None] = {}
        self._turn = asyncio.Lock()

    async def look(self, entries: Iterable[WireMessage]) -> None:
        """Check these messages, unless that was done before; what is found is on them afterwards."""
        async with self._turn:
            wanted = [entry for entry in entries if self._wanted(entry)][:_TOGETHER]
            if not wanted:
                return
            self._done.update(dict.fromkeys(entry.number for entry in wanted))
            while len(self._done) > _REMEMBERED:
                del self._done[next(iter(self._done))]
            versions = [self._ledger(entry.server).version_at(entry.number) for entry in wanted]
            jobs = [
                Job(entry.direction, entry.kind, entry.method, version, entry.body)
                for entry, version in zip(wanted, versions, strict=True)
            ]
            for entry, version, spots in zip(wanted, versions, await asyncio.to_thread(check_all, jobs), strict=True):
                known = {finding.pointer for finding in entry.findings}
                modern = version in MODERN_VERSIONS
                new = [found(spot, entry.number, modern) for spot in spots if not _covered(spot.pointer, known)]
                if attach(entry, self._ledger(entry.server), new):
                    self._changed(entry)

    def _wanted(self, entry: WireMessage) -> bool:
        kinds = ("request", "notification", "result")
        return entry.kind in kinds and entry.size <= SIZE and entry.number not in self._done and bool(entry.body)


def _covered(pointer: str, known: set[str]) -> bool:
    """Whether a rule has found something at this place, right above or right below it."""
    return any(pointer in (one, one.rpartition("/")[0]) or pointer.rpartition("/")[0] == one for one in known if one)


def typical(newest_first: Iterable[WireMessage], server: str) -> list[WireMessage]:
    """The newest messages of a server, some of each kind: what is worth checking to judge it."""
    chosen: list[WireMessage] = []
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for seen, entry in enumerate(newest_first):
        if seen >= _LOOKED_AT or len(chosen) >= _TOGETHER:
            break
        key = (entry.direction, entry.kind, entry.method, entry.target)
        if entry.server == server and counts[key] < _OF_A_KIND:
            counts[key] += 1
            chosen.append(entry)
    return chosen
