"""The lint of one connection: told of every message in either direction, synchronous and cheap."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import cast

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads, mapping
from mcp_studio.protocol.events import Outgoing, RequestId
from mcp_studio.protocol.message import Failure, Malformed, Message, Notification, Parsed, Request, Response
from mcp_studio.protocol.versions import META_CAPABILITIES, META_LOG_LEVEL, META_VERSION, MODERN_VERSIONS, VERSIONS
from mcp_studio.trace import late
from mcp_studio.trace.lint.http import Exchanges
from mcp_studio.trace.lint.ledger import Ledger, Notes, attach
from mcp_studio.trace.lint.messages import (
    Requests,
    Running,
    Subscribed,
    check_bytes,
    check_change,
    check_envelope,
    check_log,
    check_progress,
)
from mcp_studio.trace.lint.methods import check_notification, check_request, check_use
from mcp_studio.trace.lint.results import LISTS, Names, check_result
from mcp_studio.trace.lint.rules import Finding, Spot, found
from mcp_studio.trace.message import WireMessage
from mcp_studio.transport.base import HttpRequest, HttpResponse

_AT_ONCE = 300
"""Items of a result that are looked at on the event loop; larger ones are in a thread."""
_METHODS = 200
_READ = 256 * 1024
"""Bytes of a frame of ours that is read again."""
_TOKEN = rb'"progressToken"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}")'
_VERSION, _CAPABILITIES, _LOGS = (f'"{key}"'.encode() for key in (META_VERSION, META_CAPABILITIES, META_LOG_LEVEL))
_READ_AGAIN = frozenset({"initialize", "server/discover", "resources/subscribe", "subscriptions/listen"})
"""Requests of ours whose params matter to what may follow."""


class Linter:
    """Finds what is wrong with the messages of one connection, and puts it on them and into the ledger.

    Args:
        clean: takes secrets out of a text.
        changed: told of each message that findings were added to.
    """

    def __init__(self, ledger: Ledger, clean: Callable[[str], str], changed: Callable[[WireMessage], None]) -> None:
        self._ledger = ledger
        self._notes = Notes(ledger, clean)
        self._changed = changed
        self.begins()

    def begins(self, first: int = 0) -> None:
        """Another connection, whose messages begin with this number."""
        self._ledger.begins(first)
        self._requests = Requests()
        self._exchanges = Exchanges()
        self._names = Names()
        self._subscribed = Subscribed()
        self._version = ""
        self._modern = False
        self._discovered: dict[str, Json] | None = None
        """What the server said to `server/discover` once `initialize` was sent, whose answer settles the version."""
        self._server: Json = None
        self._client: Json = None
        self._judged: dict[str, list[Spot]] = {}
        """What is wrong with methods by themselves, with this version and these capabilities."""
        self._spoiled = 0
        """Frames written by hand that are no messages: the right answer to them is an error without an id."""

    # ------------------------------------------------------------------ out

    def sent(self, entry: WireMessage, out: Outgoing, frame: bytes) -> None:
        """A message of ours goes out."""
        spots = self._exchanges.carries(entry.exchange, out) if entry.exchange else []
        if out.kind == "request" and out.id is not None:
            spots += self._asking(out, out.id, frame)
            if self._version:
                spots += self._judge(out.method, check_use)
        self._attach(entry, spots)

    def sent_by_hand(self, entry: WireMessage, frame: bytes, parsed: Parsed) -> None:
        """A frame goes out that somebody wrote."""
        for message in parsed.messages:
            if isinstance(message, Request):
                out = Outgoing(frame, "request", message.id, message.method, "", self._version, self._modern)
                self._asking(out, message.id, frame)
            elif isinstance(message, Malformed):
                self._spoiled += 1
        spots = check_bytes(frame)
        if len(frame) <= _READ:
            try:
                spots += check_envelope(loads(frame), self._modern)
            except (JsonProblem, LimitExceeded) as problem:
                spots.append(Spot("not-json", f"It is not JSON: {problem}"))
        self._attach(entry, spots)

    def _asking(self, out: Outgoing, identity: RequestId, frame: bytes) -> list[Spot]:
        running = Running(out.method, out.version)
        if out.method in LISTS:
            running.paged = b'"cursor"' in frame
            asked = mapping(loads(frame)) if running.paged and len(frame) <= _READ else {}
            self._names.begin(out.method, mapping(asked.get("params")).get("cursor"))
        elif tokens := re.findall(_TOKEN, frame[-_READ:]):
            running.token = loads(tokens[-1])
        if out.method in _READ_AGAIN and len(frame) <= _READ:
            self._learn(out.method, running, loads(frame))
        self._requests.opened(identity, running)
        if not out.modern:
            return []
        running.logs = _LOGS in frame
        missing = [
            key for key, text in ((META_VERSION, _VERSION), (META_CAPABILITIES, _CAPABILITIES)) if text not in frame
        ]
        return [Spot("own-meta", f"Our request has no {key} in its _meta.", "/params/_meta") for key in missing]

    def _judge(self, method: str, check: Callable[[str, str, Json], list[Spot]]) -> list[Spot]:
        """What is wrong with a method by itself."""
        known = self._judged.get(method)
        if known is None:
            if len(self._judged) >= _METHODS:
                self._judged.clear()
            known = self._judged[method] = check(method, self._version, self._server)
        return known

    def _learn(self, method: str, running: Running, message: Json) -> None:
        params = _inside(message, "params")
        if method == "initialize":
            self._client, self._discovered = params.get("capabilities"), {}
        elif method == "server/discover":
            self._client = _inside(params, "_meta").get(META_CAPABILITIES)
        elif method == "resources/subscribe":
            self._subscribed.add(str(params.get("uri")))
        else:
            running.filter = _inside(params, "notifications")

    # ------------------------------------------------------------------ in

    def received(self, entry: WireMessage, frame: bytes) -> None:
        """A frame came in."""
        if spots := check_bytes(frame):
            self._attach(entry, spots)

    def understood(self, entry: WireMessage, parsed: Parsed) -> None:
        """What the frame turned out to be."""
        spots: list[Spot] = []
        if not parsed.batch:
            for message in parsed.messages:
                self._one(entry, message, parsed.value, spots)
            self._attach(entry, spots)
            return
        if self._version != "2025-03-26":
            spots.append(Spot("batch", f"It is a batch; version {self._version or 'unknown'} has none."))
        values = cast("list[Json]", parsed.value)
        for index, (message, value) in enumerate(zip(parsed.messages, values, strict=False)):
            mine: list[Spot] = []
            self._one(entry, message, value, mine)
            spots += (spot._replace(pointer=f"/{index}{spot.pointer}") for spot in mine)
        self._attach(entry, spots)

    def _one(self, entry: WireMessage, message: Message, value: Json, spots: list[Spot]) -> None:
        if isinstance(message, Malformed) and message.unread:
            spots.append(Spot("too-deep" if message.unread == "too deep" else "not-json", _sentence(message.reason)))
            return
        spots += check_envelope(value, self._modern)
        if isinstance(message, Notification):
            self._notification(message, spots)
        elif isinstance(message, Response):
            self._response(entry, message, spots)
        elif isinstance(message, Failure):
            self._failure(entry, message, spots)
        elif isinstance(message, Request):
            spots += self._requests.asked(message.id)
            spots += check_request(message.method, message.params, self._version, self._client)

    def _notification(self, message: Notification, spots: list[Spot]) -> None:
        method, params = message
        spots += self._judge(method, check_notification)
        if method == "notifications/progress":
            spots += check_progress(params, self._requests)
        elif method == "notifications/message":
            spots += check_log(params, self._requests, self._modern)
        else:
            spots += check_change(method, params, self._requests, self._subscribed, self._modern)

    def _response(self, entry: WireMessage, message: Response, spots: list[Spot]) -> None:
        running, wrong = self._requests.answered(message.id)
        spots += wrong
        if running is None or not isinstance(message.result, dict):
            return
        result = cast("dict[str, Json]", message.result)
        if isinstance(result.get("task"), dict) or result.get("resultType") == "task":
            self._requests.lasts(running)
            if self._version == "2025-11-25":
                return  # the answer comes with tasks/result
        version = self._negotiated(entry, running, result) or running.version or self._version
        if _items(result) <= _AT_ONCE:
            spots += check_result(running.method, result, version, self._client, self._names)
        else:
            self._beside(entry, partial(check_result, running.method, result, version, self._client, self._names))

    def _failure(self, entry: WireMessage, message: Failure, spots: list[Spot]) -> None:
        if message.id is None and self._spoiled:
            self._spoiled -= 1
        else:
            running, wrong = self._requests.answered(message.id)
            spots += wrong
            if running is not None and running.method == "initialize":
                discovered, self._discovered = self._discovered, None
                self._negotiated(entry, Running("server/discover", MODERN_VERSIONS[-1]), discovered or {})
        if entry.exchange:
            spots += self._exchanges.refused(entry.exchange, message.code)

    def _negotiated(self, entry: WireMessage, running: Running, result: dict[str, Json]) -> str:
        """Take over what a handshake or a discovery settled; the version, or empty for any other request."""
        version: Json = None
        if running.method == "initialize":
            version = result.get("protocolVersion")
        elif running.method == "server/discover" and isinstance(result.get("capabilities"), dict):
            if self._discovered is None:
                version = running.version
            else:
                self._discovered = result
        if not isinstance(version, str) or version not in VERSIONS:
            return ""
        self._version, self._modern = version, version in MODERN_VERSIONS
        self._server = result.get("capabilities")
        self._judged.clear()
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
        self._requests.dropped(identity)

    def judged(self, entry: WireMessage, problems: Sequence[tuple[str, str]]) -> None:
        """The structured content of this answer was checked against the tool's schema: pointers in it, and words."""
        where = "/result/structuredContent"
        self._attach(entry, [Spot("output-mismatch", _sentence(text), where + pointer) for pointer, text in problems])

    # ------------------------------------------------------------------ helpers

    def _attach(self, entry: WireMessage, spots: Sequence[Spot]) -> None:
        if spots:
            self._notes.put(entry, spots, self._modern)
            self._changed(entry)

    def _beside(self, entry: WireMessage, check: Callable[[], list[Spot]]) -> None:
        """Run a long check in a thread; what it finds is added when it is done."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._attach(entry, check())
            return
        loop.run_in_executor(None, check).add_done_callback(partial(self._checked, entry, self._modern))

    def _checked(self, entry: WireMessage, modern: bool, done: asyncio.Future[list[Spot]]) -> None:
        if not done.cancelled() and (spots := done.result()):
            self._notes.put(entry, spots, modern)
            self._changed(entry)


def _inside(value: Json, key: str) -> dict[str, Json]:
    inner = mapping(value).get(key)
    return mapping(inner)


def _items(result: dict[str, Json]) -> int:
    most = 0
    for value in result.values():
        if isinstance(value, list) and len(value) > most:
            most = len(value)
    return most


def _sentence(reason: str) -> str:
    return f"{reason[:1].upper()}{reason[1:]}" + ("" if reason.endswith((".", "?")) else ".")


SIZE = 256 * 1024
"""Bytes of a message that is checked; larger ones would take too long."""
_REMEMBERED = 10_000
_LOOKED_AT = 4_000
_OF_A_KIND = 2
_TOGETHER = 100
_PRECISE = 3


class Examiner:
    """Adds what typed checks find to messages and ledgers.

    Args:
        ledger: the ledger of a server.
        changed: told of each message that something was added to.
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
            jobs = [(entry, self._ledger(entry.server).version_at(entry.number)) for entry in wanted]
            for entry in wanted:
                self._done[entry.number] = None
            while len(self._done) > _REMEMBERED:
                del self._done[next(iter(self._done))]
            for entry, spots in zip(wanted, await asyncio.to_thread(late.check_typed, jobs), strict=True):
                self._add(entry, spots)

    def _wanted(self, entry: WireMessage) -> bool:
        kinds = ("request", "notification", "result")
        if entry.kind not in kinds or entry.size > SIZE or entry.number in self._done:
            return False
        return len(entry.body) > 0

    def _add(self, entry: WireMessage, spots: Sequence[Spot]) -> None:
        ledger = self._ledger(entry.server)
        modern = ledger.version_at(entry.number) >= "2026"
        new = [found(spot, entry.number, modern) for spot in spots if not _said(spot.pointer, entry.findings)]
        if attach(entry, ledger, new):
            self._changed(entry)


def typical(newest_first: Iterable[WireMessage], server: str) -> list[WireMessage]:
    """The newest messages of a server, some of each kind: what is worth checking to judge it."""
    chosen: list[WireMessage] = []
    counts: dict[tuple[str, str, str, str], int] = {}
    for seen, entry in enumerate(newest_first):
        if seen >= _LOOKED_AT or len(chosen) >= _TOGETHER:
            break
        if entry.server != server:
            continue
        key = (entry.direction, entry.kind, entry.method, entry.target)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= _OF_A_KIND:
            chosen.append(entry)
    return chosen


def _said(pointer: str, findings: Sequence[Finding]) -> bool:
    """Whether a rule has said something about this place, about what it is a part of, or about a part of it."""
    return any(finding.pointer == pointer or _within(finding.pointer, pointer) for finding in findings)


def _within(one: str, other: str) -> bool:
    """Whether one of two places is inside the other, which is no mere top level of a message."""
    outer, inner = sorted((one, other), key=len)
    return inner.startswith(f"{outer}/") and outer.count("/") >= _PRECISE
