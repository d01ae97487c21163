"""One entry by value, as all exports take it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, items_of, loads, mapping
from mcp_studio.protocol.versions import META_SERVER, MODERN_VERSIONS
from mcp_studio.redact import Redactor
from mcp_studio.trace.lint.rules import Finding
from mcp_studio.trace.message import DIRECTIONS, GREETINGS, KINDS, Columns, Direction, MessageKind, Reader
from mcp_studio.trace.server_tap import redacted


class Extra(NamedTuple):
    """What only few entries have."""

    findings: tuple[Finding, ...] = ()
    comment: str = ""


class Item(NamedTuple):
    """What is known of an entry; texts and body redacted once more."""

    number: int
    time: float
    """Seconds since the epoch."""
    server: str
    direction: Direction
    kind: MessageKind
    body: bytes
    size: int
    """Bytes on the wire."""
    method: str = ""
    target: str = ""
    link: int = 0
    """Of a request the number of its answer, of an answer that of its request."""
    outcome: str = ""
    """See `message.OUTCOMES`; empty for what is no end of a span."""
    under: int = 0
    """The request that a request came under."""
    follows: int = 0
    """The earlier round of its conversation."""
    exchange: int = 0
    flags: int = 0
    """Bits, see `message`."""
    ms: float | None = None
    """Milliseconds from request to answer."""
    extra: Extra = Extra()


def items(
    columns: Columns,
    numbers: Iterable[int],
    body: Callable[[int], bytes],
    extras: Mapping[int, Extra],
    redactor: Redactor,
) -> Iterator[Item]:
    """The entries with these numbers that are still there."""
    clean = lru_cache(10_000)(redactor.text)
    for number in numbers:
        row = number - columns.first
        if not 0 <= row < len(columns.time):
            continue
        kind, extra = KINDS[columns.kind[row] & 15], extras.get(number, Extra())
        findings = (one._replace(text=clean(one.text), pointer=clean(one.pointer)) for one in extra.findings)
        data = body(number)
        yield Item(
            number,
            columns.time[row],
            clean(columns.servers.texts[columns.server[row]]),
            DIRECTIONS[columns.kind[row] >> 4],
            kind,
            redacted(data, redactor) if kind == "http" else redactor.bytes(data),
            columns.size[row],
            clean(columns.methods.texts[columns.method[row]]),
            clean(columns.targets.texts[columns.target[row]]),
            columns.link[row],
            columns.outcome_of(row),
            columns.parents.get(number, 0),
            columns.follows.get(number, 0),
            columns.exchange[row],
            columns.flags[row],
            columns.ms(row),
            Extra(tuple(findings), clean(extra.comment)),
        )


class Source(NamedTuple):
    """What a format knows of the whole before it begins."""

    columns: Columns
    """Of the recording, as they were when the export began."""
    numbers: Sequence[int]
    """The entries that were chosen, ascending."""
    servers: Mapping[str, Json]
    """What is known of each server that is in it, see `servers`."""
    title: str
    made: float
    """Seconds since the epoch."""
    redactor: Redactor
    reader: Reader
    """For bodies of entries that were not chosen; those of the chosen come with them."""

    def chosen(self, number: int) -> bool:
        """Whether an entry is one of those that were chosen."""
        at = bisect_left(self.numbers, number)
        return at < len(self.numbers) and self.numbers[at] == number


Write = Callable[[Source, Iterator[Item]], Iterator[bytes]]
"""Makes the bytes of a format; a `StudioError` says that the format has nothing to say about what was chosen."""

_LARGEST = 1 << 20
_HTTP, _RESULT = KINDS.index("http"), KINDS.index("result")
_ADDRESS = re.compile(r"[A-Z]+ (\S+)")


def servers_in(
    columns: Columns, numbers: Sequence[int], body: Callable[[int], bytes], redactor: Redactor
) -> Mapping[str, Json]:
    """For each server that entries with these numbers are of: `transport`, `version` of the protocol, `info` as the
    server gave it, and over HTTP its `url`; as far as the recording has it, redacted.
    """
    wanted = {columns.server[number - columns.first] for number in numbers}
    found: dict[int, dict[str, Json]] = {server: {} for server in wanted}
    greetings = {number for name in GREETINGS if (number := columns.methods.known(name)) is not None}
    for row, kind in enumerate(columns.kind):
        server = columns.server[row]
        if server not in found:
            continue
        if kind & 15 == _HTTP and "url" not in found[server]:
            found[server].update(_address(redactor.bytes(body(columns.first + row)), redactor))
        elif kind & 15 == _RESULT and columns.method[row] in greetings and columns.size[row] < _LARGEST:
            found[server].update(_greeting(redactor.bytes(body(columns.first + row))))
    names = columns.servers.texts
    return {redactor.text(names[server]): {"transport": "stdio", **known} for server, known in found.items()}


def _address(head: bytes, redactor: Redactor) -> dict[str, Json]:
    match = _ADDRESS.match(head.split(b"\n", 1)[0].decode("utf-8", "replace"))
    if match is None or "://" not in match[1]:
        return {}
    kind = "websocket" if match[1].startswith("ws") else "http"
    return {"transport": kind, "url": redactor.url(match[1])}


def _greeting(frame: bytes) -> dict[str, Json]:
    """Specification 2025-11-25, lifecycle, and 2026-07-28, server/discover."""
    try:
        result = mapping(mapping(loads(frame)).get("result"))
    except (JsonProblem, LimitExceeded):
        return {}
    meta = mapping(result.get("_meta"))
    info = mapping(result.get("serverInfo") or meta.get(META_SERVER))
    offered = items_of(result.get("supportedVersions"))
    spoken = next((version for version in reversed(MODERN_VERSIONS) if version in offered), "")
    version = result.get("protocolVersion") or spoken
    known: dict[str, Json] = {"version": version} if isinstance(version, str) and version else {}
    return {**known, "info": info} if info else known
