"""The mock of a recorded server: opens a recording, and plays it to each client with the client's ids and tokens."""

from __future__ import annotations

import asyncio
import itertools
import signal
import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

from mcp_studio.errors import UsageError, nearest
from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.events import RequestId
from mcp_studio.protocol.message import Failure, Message, Notification, Request, Response
from mcp_studio.protocol.versions import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    LISTS,
    META_CAPABILITIES,
    META_SUBSCRIPTION,
    META_VERSION,
    METHOD_NOT_FOUND,
)
from mcp_studio.redact import MARK
from mcp_studio.safetext import safe
from mcp_studio.servers import loopback
from mcp_studio.servers.mock.tape import Greeting, Take, Tape, asked_servers, client_features, unknown
from mcp_studio.servers.stdio import Put, nowhere
from mcp_studio.trace.export.bundle import open_recording
from mcp_studio.trace.message import GREETINGS, LISTEN, Reader, Recording

_NEEDS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
_LONGEST = 3_600.0
_MOST_HELD = 1_000
_SEARCHED = 64 << 20
"""Bytes of a recording in which secrets are looked for."""


def run(recording: str, sessions: Path, server: str, port: int | None, seconds: float | None, quiet: bool) -> int:
    """Serve until the client leaves, or the process is ended.

    Args:
        recording: a bundle, a file, or a session's name.
        sessions: the folder of sessions.
        server: the name of a server in the recording; empty if it has only one.
        port: a port of 127.0.0.1 for HTTP, 0 for any free one; None is standard input and output.
        seconds: the delay of each answer; None takes the recorded time.

    Raises:
        StudioError: there is no such recording or server, or the port is taken.
    """
    played = open_recording(recording, sessions)
    name = chosen(played, server)
    note = (lambda text: None) if quiet else _note
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # the files of a bundle are deleted
    reader = played.reader()
    try:
        tape = Tape(played.columns, reader.body, name)
        greeting = Greeting(tape, name)
        count = sum(map(len, tape.requests.values()))
        note(f"mock of {name}: {count:,} recorded requests, protocol {', '.join(greeting.versions)}")
        if greeting.made_up:
            note("the recording does not say how the server introduced itself: that is made up")
        if _has_secrets(reader, played.total + 1):
            note(f"secrets were taken out of the recording: {MARK} stands for them")
        peer = partial(Peer, tape, greeting, seconds, note)
        return loopback.run(peer, port, on_start=lambda url: note(f"serving at {url}"))
    finally:
        reader.close()


def chosen(recording: Recording, name: str) -> str:
    """The server to mock.

    Raises:
        UsageError: there is no such server, or there are several and none is named.
    """
    servers = asked_servers(recording.columns)
    if name and name not in servers:
        hint = nearest(name, servers) or f"It has {', '.join(sorted(servers)) or 'none'}."
        raise UsageError(f"The recording has no server `{name}`.", hint=hint)
    if not servers:
        raise UsageError("There is nothing in the recording that a server was asked.")
    if not name and len(servers) > 1:
        raise UsageError("The recording has several servers.", hint=f"--server {'|'.join(sorted(servers))}")
    return name or next(iter(servers))


def _has_secrets(reader: Reader, below: int) -> bool:
    mark, room = MARK.encode(), _SEARCHED
    for block in reader.blocks(below):
        data = b"".join(block.bodies)
        room -= len(data)
        if mark in data or room < 0:
            return room >= 0
    return False


def _note(text: str) -> None:
    sys.stderr.write(safe(text, 1_000) + "\n")
    sys.stderr.flush()


class Peer:
    """Plays a tape to one client.

    Args:
        delay: the seconds before each answer; None takes the recorded times.
        note: says something to the person who started the mock.
    """

    def __init__(self, tape: Tape, greeting: Greeting, delay: float | None, note: Callable[[str], None]) -> None:
        self._tape = tape
        self._greeting = greeting
        self._delay = delay
        self._note = note
        self._played: dict[int, int] = {}
        self._reached = 0
        """The newest recorded request that was played."""
        self._ids = itertools.count(1)
        self._running: dict[RequestId, asyncio.Task[None]] = {}
        self._questions: dict[RequestId, asyncio.Event] = {}
        self._later: set[asyncio.Task[None]] = set()
        self._features: frozenset[str] = frozenset()
        self._initialized = asyncio.Event()
        self._subscriptions: dict[RequestId, tuple[Json, Put]] = {}
        """The client's subscriptions (2026-07-28), with the ids that they have in the recording."""
        self._backlog: deque[dict[str, Json]] = deque(maxlen=_MOST_HELD)
        """Messages for subscriptions that the client has not made yet."""
        self.aside: Put = nowhere
        """Sends messages that belong to no open request."""

    # ------------------------------------------------------------------ in

    def take(self, message: Message, put: Put) -> asyncio.Task[None] | None:
        """Take a message; a request is answered in its own task, which is returned."""
        if isinstance(message, Request):
            task = asyncio.create_task(self._answer(message, put))
            self._running[message.id] = task
            task.add_done_callback(lambda _: self._running.pop(message.id, None))
            return task
        if isinstance(message, Notification):
            self._on_notification(message)
        elif isinstance(message, (Response, Failure)) and message.id in self._questions:
            self._questions[message.id].set()
        return None

    def close(self) -> None:
        """End all work, because the client has left."""
        for task in (*self._running.values(), *self._later):
            task.cancel()

    def _on_notification(self, message: Notification) -> None:
        if message.method == "notifications/initialized":
            self._initialized.set()
        elif message.method == "notifications/cancelled":
            identity = message.params.get("requestId")
            if isinstance(identity, (int, str)) and (task := self._running.get(identity)) is not None:
                task.cancel()

    # ------------------------------------------------------------------ answering

    async def _answer(self, request: Request, put: Put) -> None:
        params = request.params
        version = mapping(params.get("_meta")).get(META_VERSION)
        if isinstance(version, str):
            self._features = frozenset(mapping(mapping(params.get("_meta")).get(META_CAPABILITIES)))
        answer = self._find(request, version if isinstance(version, str) else "")
        if isinstance(answer, Take):
            try:
                await self._play(answer, request, put)
            finally:
                self._subscriptions.pop(request.id, None)
        elif answer is not None:
            await put({"jsonrpc": "2.0", "id": request.id, **answer})

    def _find(self, request: Request, version: str) -> Take | dict[str, Json] | None:
        """The take to play, or the answer itself; None if the recorded server never answered."""
        method, params, greeting = request.method, request.params, self._greeting
        if method == "initialize":
            self._features = client_features(params)
            return self._greeting_answer(greeting.initialize(params))
        if method == "server/discover" and (not version or version in greeting.modern or not greeting.modern):
            return self._greeting_answer(greeting.discover())
        if version and version not in greeting.modern:
            return greeting.unsupported(version)
        if method == "ping":
            return {"result": {}}
        takes = [one for one in self._tape.takes(method, params) if one.answer] or self._tape.takes(method, params)
        takes = [one for one in takes if one.modern == bool(version)] or takes
        if takes:
            return self._choose(method, takes)
        return greeting.listing(method) or self._improvise(request) or self._unknown(request)

    def _choose(self, method: str, takes: list[Take]) -> Take:
        """Choose a take: for a list its state at this point of the recording, for any other method the next one."""
        if method in LISTS:
            end = self._tape.next_move(self._reached)
            return next((take for take in reversed(takes) if take.number < end), takes[0])
        place = self._played.get(takes[0].number, 0)
        self._played[takes[0].number] = place + 1
        take = takes[min(place, len(takes) - 1)]
        self._reached = max(self._reached, take.number)
        return take

    def _greeting_answer(self, found: int | dict[str, Json]) -> Take | dict[str, Json]:
        return self._tape.take(found) if isinstance(found, int) else found

    def _improvise(self, request: Request) -> Take | dict[str, Json] | None:
        """Answer without a recording of the request: settings of the connection, and subscriptions."""
        method, requests, offers = request.method, self._tape.requests, self._greeting.offers
        if method == "logging/setLevel" and "logging" in offers:
            return {"result": {}}
        if method in ("resources/subscribe", "resources/unsubscribe") and mapping(offers.get("resources")):
            return {"result": {}}
        if method == "tasks/list" and "tasks" in offers:
            return {"result": {"tasks": []}}
        return self._tape.take(requests[LISTEN][0]) if method == LISTEN and LISTEN in requests else None

    def _unknown(self, request: Request) -> dict[str, Json]:
        method = request.method
        if method not in self._tape.requests:
            self._note(f"asked for {method}, which the recording does not have")
            return {"error": {"code": METHOD_NOT_FOUND, "message": f"The recording has no {method}"}}
        message, data = unknown(self._tape, method, request.params)
        self._note(message)
        return {"error": {"code": INVALID_PARAMS, "message": message, "data": data}}

    # ------------------------------------------------------------------ playing

    async def _play(self, take: Take, request: Request, put: Put) -> None:
        """Play the server's messages and requests, the answer, and the messages after it."""
        tape, listens = self._tape, request.method == LISTEN
        last = tape.time(take.number)
        events = tape.events.get(take.number, [])
        before = [one for one in events if listens or not take.answer or one < take.answer]
        for number in before:
            last = await self._play_message(number, last, request, put)
        if listens:
            self._subscriptions[request.id] = tape.message(take.number).get("id"), put
            backlog, self._backlog = self._backlog, deque(maxlen=_MOST_HELD)
            for message in backlog:
                await self._news(message)
        if not take.answer:
            if not listens:
                self._note(f"{request.method} had no answer in the recording, and has none here")
            await asyncio.Event().wait()
        await self._pause(tape.time(take.answer) - last, self._delay or 0.0)
        answer = {key: value for key, value in tape.message(take.answer).items() if key in ("result", "error")}
        if not answer:
            self._note(f"the recording does not have the answer to {request.method} {request.params.get('name', '')}")
            answer = {"error": {"code": INTERNAL_ERROR, "message": "The recording does not have this answer"}}
        if listens:
            answer = _subscribed(answer, request.id)
        if take.modern != (META_VERSION in mapping(request.params.get("_meta"))):
            answer = _of_era(answer, modern=not take.modern)
        await put({"jsonrpc": "2.0", "id": request.id, **answer})
        if rest := events[len(before) :]:
            task = asyncio.create_task(self._afterwards(rest, tape.time(take.answer), request))
            self._later.add(task)
            task.add_done_callback(self._later.discard)

    async def _pause(self, recorded: float, fixed: float = 0.0) -> None:
        """Wait as long as in the recording, or `fixed` seconds if the person has set the delay."""
        await asyncio.sleep(min(max(recorded, 0.0), _LONGEST) if self._delay is None else fixed)

    async def _play_message(self, number: int, last: float, request: Request, put: Put) -> float:
        """Play one message of the server; returns the time in the recording at which the play continues."""
        tape = self._tape
        await self._pause(tape.time(number) - last)
        message = tape.message(number)
        if not tape.asks(number):
            if (notification := self._rewritten(message, request)) is not None:
                await put(notification)
            return tape.time(number)
        need = _NEEDS.get(tape.method(number), "")
        if need and need not in self._features:
            self._note(f"{tape.method(number)} was left out: the client does not offer {need}")
        else:
            await self._ask(message, put)
        return tape.time(tape.link(number) or number)

    async def _ask(self, message: dict[str, Json], put: Put) -> None:
        identity = f"mock-{next(self._ids)}"
        answer = self._questions[identity] = asyncio.Event()
        try:
            await put({**message, "id": identity})
            await answer.wait()
        finally:
            del self._questions[identity]

    async def _afterwards(self, numbers: list[int], last: float, request: Request) -> None:
        if request.method == GREETINGS[0]:
            await self._initialized.wait()
        for number in numbers:
            last = await self._play_message(number, last, request, self._news)

    def _rewritten(self, message: dict[str, Json], request: Request) -> dict[str, Json] | None:
        """A notification for this client; None if the client does not want it."""
        if message.get("method") == "notifications/progress":
            token = mapping(request.params.get("_meta")).get("progressToken")
            params = mapping(message.get("params"))
            return None if token is None else {**message, "params": {**params, "progressToken": token}}
        return _subscribed(message, request.id) if request.method == LISTEN else message

    async def _news(self, message: dict[str, Json]) -> None:
        """Send a message that belongs to no open request; a subscription's goes to its subscribers."""
        meta = mapping(mapping(message.get("params")).get("_meta"))
        if META_SUBSCRIPTION not in meta:
            return await self.aside(message)
        subscribers = [one for one, (recorded, _) in self._subscriptions.items() if recorded == meta[META_SUBSCRIPTION]]
        if not subscribers:
            self._backlog.append(message)
        for identity in subscribers:
            await self._subscriptions[identity][1](_subscribed(message, identity))


def _subscribed(message: dict[str, Json], identity: RequestId) -> dict[str, Json]:
    """A message of a subscription with the client's subscription id."""
    for member in ("params", "result"):
        body = mapping(message.get(member))
        if META_SUBSCRIPTION in (meta := mapping(body.get("_meta"))):
            return {**message, member: {**body, "_meta": {**meta, META_SUBSCRIPTION: identity}}}
    return message


def _of_era(answer: dict[str, Json], *, modern: bool) -> dict[str, Json]:
    """A result in the form of its era."""
    if not isinstance(answer.get("result"), dict):
        return answer
    result = cast("dict[str, Json]", answer["result"])
    if modern:
        return {"result": {"resultType": "complete", **result}}
    return {"result": {key: value for key, value in result.items() if key != "resultType"}}
