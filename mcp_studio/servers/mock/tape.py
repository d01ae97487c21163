"""The recorded requests to one server, its answers, and its other messages."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import chain, islice
from math import inf
from typing import NamedTuple

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, dumps, loads, mapping
from mcp_studio.present.trace import difference_line
from mcp_studio.protocol.versions import (
    HANDSHAKE_VERSIONS,
    LATEST_HANDSHAKE,
    LISTS,
    META_VERSION,
    MODERN_VERSIONS,
    NAMED,
    UNSUPPORTED_VERSION,
    era_of,
)
from mcp_studio.redact import Redactor
from mcp_studio.trace.diff import Ignore, diff
from mcp_studio.trace.message import DIRECTIONS, KINDS, LISTEN, UNTIMED, Columns

_REQUEST, _NOTIFICATION = KINDS.index("request"), KINDS.index("notification")
_ANSWERS = (KINDS.index("result"), KINDS.index("error"))
_OUT, _IN = DIRECTIONS.index("out"), DIRECTIONS.index("in")
_OURS = _REQUEST | _OUT << 4
_MOVES_NOTHING = (*LISTS, *UNTIMED, "ping")
_ROUND = ("inputResponses",)
_EXACTLY = Ignore(usual=False)
_LARGE = 100_000
"""The most characters of params that are compared with others."""
_COMPARED = 500
"""The most recorded requests that an unknown request is compared with."""
_VALUES = 2_000_000
"""The most JSON values of a recorded message; one with more is not played."""


class Take(NamedTuple):
    """One request of the recording."""

    number: int
    answer: int
    """The number of its answer; 0 if there is none."""
    modern: bool
    version: str
    """The version in its metadata (2026-07-28)."""


class Tape:
    """The recording of one server; reads bodies when they are needed, in one thread.

    Args:
        body: returns the body of an entry.
    """

    def __init__(self, columns: Columns, body: Callable[[int], bytes], server: str) -> None:
        self._columns = columns
        self._body = body
        self._server = columns.servers.get(server)
        self._groups: dict[tuple[str, str], dict[str, list[Take]]] = {}
        self.requests: dict[str, list[int]] = {}
        """The numbers of the requests of each method."""
        self.events: dict[int, list[int]] = {}
        """The server's messages during a request, and between it and the next one."""
        self._index()
        moves = (numbers for method, numbers in self.requests.items() if method not in _MOVES_NOTHING)
        self._moves = sorted(chain.from_iterable(moves))

    # ------------------------------------------------------------------ finding

    def takes(self, method: str, params: dict[str, Json]) -> list[Take]:
        """The recorded requests that equal this one, in order; empty if there are none.

        A request that only differs in secrets counts as equal; if there is none, so does one that brings other answers
        to the recorded server's questions.
        """
        group = self._group(method, _target(method, params))
        key = _key(params)
        if (found := group.get(key)) is not None:
            return found
        own = plain(params)
        for text, takes in islice(group.items(), _COMPARED if len(key) <= 2 * _LARGE else 0):
            if len(text) <= _LARGE and not diff(json.loads(text), own, _EXACTLY):
                return takes
        if "inputResponses" not in params:
            return []
        state, bare = params.get("requestState"), _key(params, _ROUND)
        for takes in group.values():
            earlier = self.params(takes[0].number)
            if "inputResponses" in earlier and earlier.get("requestState") == state and _key(earlier, _ROUND) == bare:
                return takes
        return []

    def nearest(self, method: str, params: dict[str, Json]) -> Json:
        """The params of the most similar recorded request of the same method."""
        own = plain(params)
        target = _target(method, params)
        every = chain(self._group(method, target), self._group(method, ""))
        most = _COMPARED if len(_key(params)) <= 2 * _LARGE else 0
        near = (json.loads(key) for key in islice(every, most) if len(key) <= _LARGE)
        return min(near, key=lambda other: len(diff(other, own, _EXACTLY)), default=None)

    def all(self, method: str) -> list[Take]:
        """All recorded requests of a method."""
        return [self.take(number) for number in self.requests.get(method, ())]

    def take(self, number: int) -> Take:
        """A recorded request."""
        version = mapping(self.params(number).get("_meta")).get(META_VERSION)
        version = version if isinstance(version, str) else ""
        return Take(number, self._columns.link[number - self._columns.first], era_of(version) == "modern", version)

    def next_move(self, number: int) -> float:
        """The number of the next request that may change the server's lists."""
        place = bisect_right(self._moves, number)
        return self._moves[place] if place < len(self._moves) else inf

    # ------------------------------------------------------------------ reading

    def message(self, number: int) -> dict[str, Json]:
        """The message of an entry; empty if it cannot be read."""
        if not 0 <= number - self._columns.first < len(self._columns):
            return {}
        try:
            return mapping(loads(self._body(number), exact=True, values=_VALUES))
        except (JsonProblem, LimitExceeded):
            return {}

    def params(self, number: int) -> dict[str, Json]:
        """The params of a request or notification."""
        return mapping(self.message(number).get("params"))

    def result(self, take: Take) -> dict[str, Json]:
        """The result of a request; empty if it had none."""
        return mapping(self.message(take.answer).get("result")) if take.answer else {}

    def time(self, number: int) -> float:
        """When an entry was recorded, in seconds."""
        return self._columns.time[number - self._columns.first]

    def link(self, number: int) -> int:
        """The number of a request's answer; 0 if there is none."""
        return self._columns.link[number - self._columns.first]

    def asks(self, number: int) -> bool:
        """Whether an entry is a request of the server."""
        return self._columns.kind[number - self._columns.first] & 15 == _REQUEST

    def method(self, number: int) -> str:
        """The method of an entry."""
        return self._columns.methods.texts[self._columns.method[number - self._columns.first]]

    # ------------------------------------------------------------------ indexing

    def _index(self) -> None:
        columns = self._columns
        pending: dict[int, bool] = {}
        newest = 0
        for row in range(len(columns)):
            if columns.server[row] != self._server:
                continue
            number, kind = columns.first + row, columns.kind[row]
            if kind == _OURS:
                method = columns.methods.texts[columns.method[row]]
                self.requests.setdefault(method, []).append(number)
                # A request that never got an answer counts as finished when the next request is sent.
                pending = {one: has_answer for one, has_answer in pending.items() if has_answer}
                pending[number] = bool(columns.link[row])
                newest = newest if method == LISTEN and newest else number
            elif kind >> 4 == _IN and kind & 15 in _ANSWERS:
                pending.pop(columns.link[row], None)
            elif kind >> 4 == _IN and kind & 15 in (_REQUEST, _NOTIFICATION):
                if owner := self._owner(number, pending, newest):
                    self.events.setdefault(owner, []).append(number)

    def _owner(self, number: int, pending: Iterable[int], newest: int) -> int:
        """The request that a message belongs to."""
        columns, row = self._columns, number - self._columns.first
        if (parent := columns.parents.get(number, 0)) in pending:
            return parent
        method = columns.methods.texts[columns.method[row]]
        candidates = [one for one in pending if self.method(one) != LISTEN or method.endswith("/acknowledged")]
        if method == "notifications/progress" and len(candidates) > 1:
            token = self.params(number).get("progressToken")
            same = [one for one in candidates if mapping(self.params(one).get("_meta")).get("progressToken") == token]
            candidates = same or candidates
        elif columns.exchange[row]:
            same = [one for one in candidates if columns.exchange[one - columns.first] == columns.exchange[row]]
            candidates = same or candidates
        return candidates[-1] if candidates else newest

    def _group(self, method: str, target: str) -> dict[str, list[Take]]:
        """The recorded requests of a method and target, by their params; if the target is unknown, all of the method.

        So a target that is cut or redacted in the columns is still found.
        """
        group = self._groups.get((method, target))
        if group is not None:
            return group
        if not (numbers := self._numbers_of(method, target)):
            return self._group(method, "") if target else {}
        group = self._groups[method, target] = {}
        for number in numbers:
            group.setdefault(_key(self.params(number)), []).append(self.take(number))
        return group

    def _numbers_of(self, method: str, target: str) -> list[int]:
        columns, numbers = self._columns, self.requests.get(method, [])
        if not target:
            return numbers
        same = columns.targets.get(target)
        return [] if same is None else [one for one in numbers if columns.target[one - columns.first] == same]


def _target(method: str, params: dict[str, Json]) -> str:
    subject = params.get(NAMED.get(method, ""))
    return subject if isinstance(subject, str) else ""


def plain(params: dict[str, Json], drop: tuple[str, ...] = ()) -> dict[str, Json]:
    """Params without the parts that belong to a connection, and without empty members."""
    empty: tuple[Json, ...] = (None, {}, {"arguments": {}})
    return {
        key: value
        for key, value in params.items()
        if key not in ("_meta", *drop) and not (key in ("arguments", "cursor", "context") and value in empty)
    }


def _key(params: dict[str, Json], drop: tuple[str, ...] = ()) -> str:
    return json.dumps(plain(params, drop), sort_keys=True)


def asked_servers(columns: Columns) -> dict[str, int]:
    """The servers of a recording, and the number of requests that each got."""
    counts: dict[int, int] = {}
    for row in range(len(columns)):
        if columns.kind[row] == _OURS:
            counts[columns.server[row]] = counts.get(columns.server[row], 0) + 1
    texts = columns.servers.texts
    return {texts[number]: count for number, count in counts.items()}


_FEATURES = {
    "tools": ("tools/",), "resources": ("resources/",), "prompts": ("prompts/",), "completions": ("completion/",),
    "logging": ("logging/",),
}  # fmt: skip
_LISTED = {
    "tools/list": ("tools", "tools/call", "name"), "prompts/list": ("prompts", "prompts/get", "name"),
    "resources/list": ("resources", "resources/read", "uri"), "resources/templates/list": ("resourceTemplates", "", ""),
}  # fmt: skip
"""By list: the member that holds its items, and the requests and parameter from which items are made."""


class Greeting:
    """Answers the handshake and the discovery of one tape.

    Args:
        name: the name of the recorded server.
    """

    def __init__(self, tape: Tape, name: str) -> None:
        self._tape = tape
        self._name = name
        self.handshakes = {
            str(result.get("protocolVersion")): take.number
            for take in tape.all("initialize")
            if (result := tape.result(take)).get("protocolVersion")
        }
        """By version: the recorded handshake that agreed on it."""
        self.discovered = [take.number for take in tape.all("server/discover") if tape.result(take)]
        """The discovery requests that had a result."""
        modern = dict.fromkeys(version for method in tape.requests for version in _stamped(tape, method))
        self.made_up = not self.handshakes and not self.discovered
        """Whether the recording has no introduction of the server."""
        known = self.discovered or self.made_up
        self.modern = tuple(version for version in modern if version in MODERN_VERSIONS) if known else ()
        """The stateless versions that requests to the server used."""
        number = max((*self.handshakes.values(), *self.discovered), default=0)
        self.offers = mapping(tape.result(tape.take(number)).get("capabilities")) if number else {}
        """The capabilities that the server declared last."""

    @property
    def versions(self) -> tuple[str, ...]:
        """All versions that the server speaks."""
        return (*self.handshakes, *self.modern) or (LATEST_HANDSHAKE,)

    def initialize(self, params: dict[str, Json]) -> int | dict[str, Json]:
        """The number of the recorded handshake that fits best; else a message with the answer."""
        requested = str(params.get("protocolVersion", ""))
        if self.handshakes:
            return self.handshakes.get(requested) or self.handshakes[max(self.handshakes)]
        if self.modern:
            return self.unsupported(requested)
        version = requested if requested in HANDSHAKE_VERSIONS else LATEST_HANDSHAKE
        info: dict[str, Json] = {"name": self._name, "version": "recorded"}
        return {"result": {"protocolVersion": version, "capabilities": self._capabilities(), "serverInfo": info}}

    def discover(self) -> int | dict[str, Json]:
        """The number of the recorded discovery; else a message with the answer."""
        if self.discovered:
            return self.discovered[-1]
        if self.modern:
            return {"result": {
                "resultType": "complete", "supportedVersions": list(self.modern), "capabilities": self._capabilities(),
                "ttlMs": 0, "cacheScope": "private",
            }}  # fmt: skip
        return {"error": {"code": -32601, "message": "Method not found: server/discover"}}

    def unsupported(self, wanted: str) -> dict[str, Json]:
        """The answer to a version that was not recorded."""
        data: dict[str, Json] = {"supported": list(self.versions), "requested": wanted}
        return {"error": {"code": UNSUPPORTED_VERSION, "message": "Unsupported protocol version", "data": data}}

    def listing(self, method: str) -> dict[str, Json] | None:
        """A list that was not recorded, made from recorded requests; None if it was recorded, or is no list."""
        if method not in _LISTED or method in self._tape.requests or not self.made_up:
            return None
        member, request_method, key = _LISTED[method]
        names = dict.fromkeys(self._tape.params(take.number).get(key) for take in self._tape.all(request_method))
        items: list[Json] = [_item(name, member, key) for name in names if isinstance(name, str)]
        return {"result": {member: items}}

    def _capabilities(self) -> dict[str, Json]:
        methods = tuple(self._tape.requests)
        return {
            feature: {} for feature, starts in _FEATURES.items() if any(method.startswith(starts) for method in methods)
        }


def _item(name: str, member: str, key: str) -> dict[str, Json]:
    more: dict[str, Json] = {"tools": {"inputSchema": {"type": "object"}}, "resources": {"name": name}}
    return {key: name, **mapping(more.get(member))}


def _stamped(tape: Tape, method: str) -> list[str]:
    """The versions of a method's requests; the first and last few are enough."""
    numbers = tape.requests[method]
    return [version for number in (*numbers[:3], *numbers[-3:]) if (version := tape.take(number).version)]


def client_features(params: dict[str, Json]) -> frozenset[str]:
    """The features that a client declares."""
    return frozenset(mapping(params.get("capabilities")))


_LINES = 5


def unknown(tape: Tape, method: str, params: dict[str, Json]) -> tuple[str, Json]:
    """The message and the data of the error for a request that was not recorded."""
    subject = params.get(NAMED.get(method, ""))
    what = f"{method} {subject}" if isinstance(subject, str) else method
    near = tape.nearest(method, params)
    if near is None:
        return f"The recording has no {what}", None
    # The message appears on a terminal and in an answer: a client's params may contain secrets.
    redactor = Redactor()
    before, now = (loads(redactor.bytes(dumps(one))) for one in (near, plain(params)))
    changes = diff(before, now, _EXACTLY)
    lines = [difference_line(one, 60) for one in changes[:_LINES]]
    more = f" and {len(changes) - _LINES} more" if len(changes) > _LINES else ""
    text = f"The recording has no {what} like this; from the nearest it differs in: {'; '.join(lines)}{more}"
    return text, {"nearest": before}
