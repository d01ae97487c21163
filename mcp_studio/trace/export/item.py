"""One entry by value, as all exports take it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, NamedTuple, Protocol

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, items_of, loads, mapping
from mcp_studio.protocol.versions import META_SERVER, MODERN_VERSIONS
from mcp_studio.redact import Redactor
from mcp_studio.trace import message as bits
from mcp_studio.trace.lint.rules import Finding
from mcp_studio.trace.message import DIRECTIONS, GREETINGS, KINDS, OUTCOMES, Columns, Direction, MessageKind, Reader
from mcp_studio.trace.server_tap import cleaned

_OUTCOMES = ("", *OUTCOMES)


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
    """See `columns`."""
    ms: float | None = None
    """Milliseconds from request to answer."""
    extra: Extra = Extra()


def items(
    columns: Columns,
    numbers: Iterable[int],
    body: Callable[[int], bytes],
    extras: dict[int, Extra],
    redactor: Redactor,
) -> Iterator[Item]:
    """The entries with these numbers that are kept."""
    cleaned = _Cleaned(redactor)
    for number in numbers:
        row = number - columns.first
        if 0 <= row < len(columns.time):
            yield _item(columns, number, row, body(number), extras.get(number), cleaned)


class _Cleaned:
    """Texts that occur again and again, redacted once each."""

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
        self._known: dict[str, str] = {}

    def text(self, text: str) -> str:
        known = self._known.get(text)
        if known is None:
            if len(self._known) > 10_000:
                self._known.clear()
            known = self._known[text] = self.redactor.text(text)
        return known

    def body(self, body: bytes, kind: str) -> bytes:
        return cleaned(body, self.redactor) if kind == "http" else self.redactor.bytes(body)


def _item(columns: Columns, number: int, row: int, body: bytes, extra: Extra | None, cleaned: _Cleaned) -> Item:
    kind, direction = columns.kind[row] & 15, columns.kind[row] >> 4
    if extra is not None:
        told = tuple(
            finding._replace(text=cleaned.text(finding.text), pointer=cleaned.text(finding.pointer))
            for finding in extra.findings
        )
        extra = Extra(told, cleaned.text(extra.comment))
    return Item(
        number, columns.time[row], cleaned.text(columns.servers.texts[columns.server[row]]),
        DIRECTIONS[direction], KINDS[kind], cleaned.body(body, KINDS[kind]), columns.size[row],
        cleaned.text(columns.methods.texts[columns.method[row]]),
        cleaned.text(columns.targets.texts[columns.target[row]]),
        columns.link[row], _OUTCOMES[columns.outcome[row]],
        columns.parents.get(number, 0), columns.follows.get(number, 0),
        columns.exchange[row], columns.flags[row], columns.ms(row), extra or Extra(),
    )  # fmt: skip


PROBE, BY_HAND, ASKED, MARKED, COMMENTED = bits.PROBE, bits.BY_HAND, bits.ASKED, bits.MARKED, bits.COMMENTED


class Source(NamedTuple):
    """What a writer knows of the whole before it begins."""

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


class Writer(Protocol):
    """Writes one format; all is called by one thread, `write` with the entries in their order, some at a time."""

    def begin(self, source: Source, out: IO[bytes]) -> None:
        """What stands before the entries.

        Raises:
            StudioError: the format has nothing to say about what was chosen.
        """
        ...

    def write(self, items: Iterable[Item]) -> None:
        """Further entries."""
        ...

    def end(self) -> None:
        """What stands after them."""
        ...


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
