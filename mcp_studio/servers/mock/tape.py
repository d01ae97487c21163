"""What one recorded server was asked, what it answered, and what it said meanwhile."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import chain, islice
from math import inf
from typing import NamedTuple

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, dumps, loads, mapping
from mcp_studio.present.differences import difference_line
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
"""Characters of params that are compared with others."""
_COMPARED = 500
"""Recorded requests that are compared with one that is not quite as they were."""
_VALUES = 2_000_000
"""JSON values of one recorded message; one with more is not played."""


class Take(NamedTuple):
    """One request of the recording."""

    number: int
    answer: int
    """The number of its answer; 0 where it had none."""
    modern: bool
    version: str
    """The version that it was stamped with (2026-07-28)."""


class Near(NamedTuple):
    """The recorded request that is most like one that was never made."""

    params: Json
    differences: int


class Tape:
    """The recording of one server; reads bodies when they are needed, in one thread.

    Args:
        body: gives the body of an entry.
    """

    def __init__(self, columns: Columns, body: Callable[[int], bytes], server: str) -> None:
        self._columns = columns
        self._body = body
        self._server = columns.servers.get(server)
        self._groups: dict[tuple[str, str], dict[str, list[Take]]] = {}
        self.requests: dict[str, list[int]] = {}
        """The numbers of the requests of each method."""
        self.events: dict[int, list[int]] = {}
        """What the server said or asked during a request, and between it and the next one."""
        self._index()
        moves = (numbers for method, numbers in self.requests.items() if method not in _MOVES_NOTHING)
        self._moves = sorted(chain.from_iterable(moves))

    # ------------------------------------------------------------------ finding

    def takes(self, method: str, params: dict[str, Json]) -> list[Take]:
        """The recorded requests that are this one, in their order; empty where it was never made.

        One that is the same but for its secrets counts, and after those one that brings other answers to what the
        recorded server asked for.
        """
        group = self._group(method, _target(method, params))
        key = _key(params)
        if (found := group.get(key)) is not None:
            return found
        wanted = plain(params)
        for known, takes in islice(group.items(), _COMPARED if len(key) <= 2 * _LARGE else 0):
            if len(known) <= _LARGE and not diff(json.loads(known), wanted, _EXACTLY):
                return takes
        if "inputResponses" not in params:
            return []
        state, bare = params.get("requestState"), _key(params, _ROUND)
        for takes in group.values():
            earlier = self.params(takes[0].number)
            if "inputResponses" in earlier and earlier.get("requestState") == state and _key(earlier, _ROUND) == bare:
                return takes
        return []

    def nearest(self, method: str, params: dict[str, Json]) -> Near | None:
        """The recorded request of a method that is most like one."""
        wanted = plain(params)
        target = _target(method, params)
        every = chain(self._group(method, target), self._group(method, ""))
        most = _COMPARED if len(_key(params)) <= 2 * _LARGE else 0
        keys = [key for key in islice(every, most) if len(key) <= _LARGE]
        found = [Near(known, len(diff(known, wanted, _EXACTLY))) for known in map(json.loads, keys)]
        return min(found, key=lambda near: near.differences, default=None)

    def all(self, method: str) -> list[Take]:
        """All recorded requests of a method."""
        return [self.take(number) for number in self.requests.get(method, ())]

    def take(self, number: int) -> Take:
        """A recorded request."""
        version = mapping(self.params(number).get("_meta")).get(META_VERSION)
        version = version if isinstance(version, str) else ""
        return Take(number, self._columns.link[number - self._columns.first], era_of(version) == "modern", version)

    def next_move(self, number: int) -> float:
        """The first request after another that may change what the server lists."""
        place = bisect_right(self._moves, number)
        return self._moves[place] if place < len(self._moves) else inf

    # ------------------------------------------------------------------ reading

    def message(self, number: int) -> dict[str, Json]:
        """The message that an entry is; empty where it cannot be read."""
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
        """The result that a request had; empty where it had none."""
        return mapping(self.message(take.answer).get("result")) if take.answer else {}

    def time(self, number: int) -> float:
        """When an entry was recorded, in seconds."""
        return self._columns.time[number - self._columns.first]

    def link(self, number: int) -> int:
        """What answers a request; 0 where nothing does."""
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
        waiting: dict[int, bool] = {}
        newest = 0
        for row in range(len(columns)):
            if columns.server[row] != self._server:
                continue
            number, kind = columns.first + row, columns.kind[row]
            if kind == _OURS:
                method = columns.methods.texts[columns.method[row]]
                self.requests.setdefault(method, []).append(number)
                # What never had an answer is taken to be over when the next request goes out.
                waiting = {one: answered for one, answered in waiting.items() if answered}
                waiting[number] = bool(columns.link[row])
                newest = newest if method == LISTEN and newest else number
            elif kind >> 4 == _IN and kind & 15 in _ANSWERS:
                waiting.pop(columns.link[row], None)
            elif kind >> 4 == _IN and kind & 15 in (_REQUEST, _NOTIFICATION):
                if owner := self._owner(number, waiting, newest):
                    self.events.setdefault(owner, []).append(number)

    def _owner(self, number: int, waiting: Iterable[int], newest: int) -> int:
        """The request that something came with."""
        columns, row = self._columns, number - self._columns.first
        if (parent := columns.parents.get(number, 0)) in waiting:
            return parent
        method = columns.methods.texts[columns.method[row]]
        there = [one for one in waiting if self.method(one) != LISTEN or method.endswith("/acknowledged")]
        if method == "notifications/progress" and len(there) > 1:
            token = self.params(number).get("progressToken")
            same = [one for one in there if mapping(self.params(one).get("_meta")).get("progressToken") == token]
            there = same or there
        elif columns.exchange[row]:
            same = [one for one in there if columns.exchange[one - columns.first] == columns.exchange[row]]
            there = same or there
        return there[-1] if there else newest

    def _group(self, method: str, target: str) -> dict[str, list[Take]]:
        """The recorded requests of a method about a target, by what they were; all of the method where none is.

        A target that is cut or redacted in the columns is so still found among all others.
        """
        known = self._groups.get((method, target))
        if known is not None:
            return known
        if not (numbers := self._about(method, target)):
            return self._group(method, "") if target else {}
        known = self._groups[method, target] = {}
        for number in numbers:
            known.setdefault(_key(self.params(number)), []).append(self.take(number))
        return known

    def _about(self, method: str, target: str) -> list[int]:
        columns, numbers = self._columns, self.requests.get(method, [])
        if not target:
            return numbers
        same = columns.targets.get(target)
        return [] if same is None else [one for one in numbers if columns.target[one - columns.first] == same]


def _target(method: str, params: dict[str, Json]) -> str:
    subject = params.get(NAMED.get(method, ""))
    return subject if isinstance(subject, str) else ""


def plain(params: dict[str, Json], drop: tuple[str, ...] = ()) -> dict[str, Json]:
    """Params without what belongs to a connection, and without members that say nothing."""
    empty: tuple[Json, ...] = (None, {}, {"arguments": {}})
    return {
        key: value
        for key, value in params.items()
        if key not in ("_meta", *drop) and not (key in ("arguments", "cursor", "context") and value in empty)
    }


def _key(params: dict[str, Json], drop: tuple[str, ...] = ()) -> str:
    return json.dumps(plain(params, drop), sort_keys=True)


def asked_servers(columns: Columns) -> dict[str, int]:
    """The servers of a recording, and how many requests each was sent."""
    found: dict[int, int] = {}
    for row in range(len(columns)):
        if columns.kind[row] == _OURS:
            found[columns.server[row]] = found.get(columns.server[row], 0) + 1
    texts = columns.servers.texts
    return {texts[number]: count for number, count in found.items()}


_FEATURES = {
    "tools": ("tools/",), "resources": ("resources/",), "prompts": ("prompts/",), "completions": ("completion/",),
    "logging": ("logging/",),
}  # fmt: skip
_LISTED = {
    "tools/list": ("tools", "tools/call", "name"), "prompts/list": ("prompts", "prompts/get", "name"),
    "resources/list": ("resources", "resources/read", "uri"), "resources/templates/list": ("resourceTemplates", "", ""),
}  # fmt: skip
"""Lists, the member that holds their items, and the requests and their parameter that items are made of."""


class Greeting:
    """Answers the handshake and the discovery of one tape.

    Args:
        name: what the server was called.
    """

    def __init__(self, tape: Tape, name: str) -> None:
        self._tape = tape
        self._name = name
        self.handshakes = {
            str(result.get("protocolVersion")): take.number
            for take in tape.all("initialize")
            if (result := tape.result(take)).get("protocolVersion")
        }
        """The versions that were agreed on by handshake, and the request that did."""
        self.discovered = [take.number for take in tape.all("server/discover") if tape.result(take)]
        """The requests for discovery that had a result."""
        modern = dict.fromkeys(version for method in tape.requests for version in _stamped(tape, method))
        self.modern = tuple(version for version in modern if version in MODERN_VERSIONS) if self.discovered else ()
        """The stateless versions that it was spoken to in."""
        self.made_up = not self.handshakes and not self.discovered
        """The recording does not say how the server introduced itself."""
        known = max((*self.handshakes.values(), *self.discovered), default=0)
        self.offers = mapping(tape.result(tape.take(known)).get("capabilities")) if known else {}
        """The capabilities that it last told of."""
        if self.made_up:
            self.modern = tuple(version for version in modern if version in MODERN_VERSIONS)

    @property
    def versions(self) -> tuple[str, ...]:
        """All versions that it speaks."""
        return (*self.handshakes, *self.modern) or (LATEST_HANDSHAKE,)

    def initialize(self, params: dict[str, Json]) -> int | dict[str, Json]:
        """The recorded handshake that fits best, by its number; else the message with the answer."""
        wanted = str(params.get("protocolVersion", ""))
        if self.handshakes:
            return self.handshakes.get(wanted) or self.handshakes[max(self.handshakes)]
        if self.modern:
            return self.unsupported(wanted)
        version = wanted if wanted in HANDSHAKE_VERSIONS else LATEST_HANDSHAKE
        info: dict[str, Json] = {"name": self._name, "version": "recorded"}
        return {"result": {"protocolVersion": version, "capabilities": self._capabilities(), "serverInfo": info}}

    def discover(self) -> int | dict[str, Json]:
        """The recorded discovery by its number; else the message with the answer."""
        if self.discovered:
            return self.discovered[-1]
        if self.modern:
            return {"result": {
                "resultType": "complete", "supportedVersions": list(self.modern), "capabilities": self._capabilities(),
                "ttlMs": 0, "cacheScope": "private",
            }}  # fmt: skip
        return {"error": {"code": -32601, "message": "Method not found: server/discover"}}

    def unsupported(self, wanted: str) -> dict[str, Json]:
        """What a version is answered with that was not recorded."""
        data: dict[str, Json] = {"supported": list(self.versions), "requested": wanted}
        return {"error": {"code": UNSUPPORTED_VERSION, "message": "Unsupported protocol version", "data": data}}

    def listing(self, method: str) -> dict[str, Json] | None:
        """A list that was not recorded, made of what was asked for; None where it was recorded, or is no list."""
        if method not in _LISTED or method in self._tape.requests or not self.made_up:
            return None
        member, asked, key = _LISTED[method]
        names = dict.fromkeys(self._tape.params(take.number).get(key) for take in self._tape.all(asked))
        items: list[Json] = [_item(name, member, key) for name in names if isinstance(name, str)]
        return {"result": {member: items}}

    def _capabilities(self) -> dict[str, Json]:
        asked = tuple(self._tape.requests)
        return {
            feature: {} for feature, starts in _FEATURES.items() if any(method.startswith(starts) for method in asked)
        }


def _item(name: str, member: str, key: str) -> dict[str, Json]:
    more: dict[str, Json] = {"tools": {"inputSchema": {"type": "object"}}, "resources": {"name": name}}
    return {key: name, **mapping(more.get(member))}


def _stamped(tape: Tape, method: str) -> list[str]:
    """The versions that requests of a method were stamped with; the first and the last few are enough to know."""
    numbers = tape.requests[method]
    return [version for number in (*numbers[:3], *numbers[-3:]) if (version := tape.take(number).version)]


def client_features(params: dict[str, Json]) -> frozenset[str]:
    """What a client says that it can be asked for."""
    return frozenset(mapping(params.get("capabilities")))


_LINES = 5


def unknown(tape: Tape, method: str, params: dict[str, Json]) -> tuple[str, Json]:
    """The message and the data of the error."""
    subject = params.get(NAMED.get(method, ""))
    what = f"{method} {subject}" if isinstance(subject, str) else method
    near = tape.nearest(method, params)
    if near is None:
        return f"The recording has no {what}", None
    # It is told on a terminal and in an answer: what a client sends may be secret.
    redactor = Redactor()
    before, now = (loads(redactor.bytes(dumps(one))) for one in (near.params, plain(params)))
    found = diff(before, now, Ignore(usual=False))
    lines = [difference_line(one, 60) for one in found[:_LINES]]
    more = f" and {len(found) - _LINES} more" if len(found) > _LINES else ""
    text = f"The recording has no {what} like this; from the nearest it differs in: {'; '.join(lines)}{more}"
    return text, {"nearest": before}
