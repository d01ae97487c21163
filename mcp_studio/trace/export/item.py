"""What exports take: entries by value, what is known of the whole, and a thread beside the event loop."""

from __future__ import annotations

import asyncio
import re
import time
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import lru_cache
from threading import Thread
from typing import NamedTuple

from mcp_studio.errors import LimitExceeded, UsageError
from mcp_studio.jsontext import Json, JsonProblem, items_of, loads, mapping
from mcp_studio.protocol.versions import META_SERVER, MODERN_VERSIONS
from mcp_studio.redact import Redactor
from mcp_studio.trace import message as bits
from mcp_studio.trace.lint.rules import Finding
from mcp_studio.trace.message import DIRECTIONS, GREETINGS, KINDS, Columns, Direction, MessageKind, Reader, Recording
from mcp_studio.trace.server_tap import redacted
from mcp_studio.trace.store import LARGE


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


_CHUNK = 500
_WAIT = 60.0
"""Seconds that the thread waits for the event loop."""
_FRESH = 10.0
"""Seconds in which a body may still be waited for."""
Progress = Callable[[int, int], None]
"""Gets how many of how many entries are out."""


async def run(
    recording: Recording,
    numbers: Iterable[int] | None,
    redactor: Redactor,
    consume: Callable[[Source, Iterator[Item]], None],
    *,
    title: str = "",
    told: Progress | None = None,
    leave: bool = False,
) -> int:
    """Give the entries with these numbers, or all, to `consume`, which runs in a thread; how many there were.

    Args:
        leave: when cancelled, leave the thread alone at once: it ends by itself, with its next entry.

    Raises:
        UsageError: nothing is chosen, or `consume` has nothing to say about it.
    """
    one = _Export(recording, redactor, title, told)
    await one.complete()
    reader = recording.reader()
    done: Future[int] = Future()

    def run() -> None:
        try:
            done.set_result(one.run(numbers, reader, consume))
        except BaseException as problem:
            done.set_exception(problem)

    Thread(target=run, name="export", daemon=True).start()
    waiting = asyncio.wrap_future(done)
    try:
        return await asyncio.shield(waiting)
    except asyncio.CancelledError:
        one.stopped = True
        waiting.add_done_callback(lambda over: over.cancelled() or over.exception())  # nobody asks for it any more
        if not leave:
            await asyncio.wait((waiting,))
        raise


class _Stopped(Exception):
    """Nobody waits for the export any more."""


class _Export:
    """One export: what only the recording knows is asked for on the event loop, all else is done in a thread."""

    def __init__(self, recording: Recording, redactor: Redactor, title: str, told: Progress | None) -> None:
        self.stopped = False
        self._recording = recording
        self._columns = recording.columns.snapshot()
        self._redactor = redactor
        self._title = title
        self._told = told
        self._loop = asyncio.get_running_loop()

    async def complete(self) -> None:
        """Wait for bodies that have just come and are large: they are redacted beside the event loop."""
        columns, since = self._columns, time.time() - _FRESH
        for row in range(len(columns) - 1, -1, -1):
            if columns.time[row] < since:
                return
            if columns.size[row] > LARGE and (entry := self._recording.entry(columns.first + row)) is not None:
                await self._recording.body(entry)

    def run(
        self, wanted: Iterable[int] | None, reader: Reader, consume: Callable[[Source, Iterator[Item]], None]
    ) -> int:
        """All of it; in the thread."""
        columns, redactor = self._columns, self._redactor
        try:
            numbers = _present(wanted, columns.first, columns.first + len(columns))
            if not numbers:
                raise UsageError("There is nothing to export.", hint="No entry of the trace was chosen.")
            servers = servers_in(columns, numbers, reader.body, redactor)
            title = redactor.text(self._title)
            source = Source(columns, numbers, servers, title, time.time(), redactor, reader)
            consume(source, self._items(source))
            return len(numbers)
        finally:
            reader.close()

    def _items(self, source: Source) -> Iterator[Item]:
        numbers, body = source.numbers, source.reader.body
        for at in range(0, len(numbers), _CHUNK):
            chunk = numbers[at : at + _CHUNK]
            extras = asyncio.run_coroutine_threadsafe(self._extras(chunk), self._loop).result(_WAIT)
            for item in items(self._columns, chunk, body, extras, self._redactor):
                if self.stopped:
                    raise _Stopped
                yield item
            if self._told is not None:
                self._loop.call_soon_threadsafe(self._told, at + len(chunk), len(numbers))

    async def _extras(self, numbers: Sequence[int]) -> dict[int, Extra]:
        """Findings and comments, which only the recording knows; most entries have none."""
        found: dict[int, Extra] = {}
        for number in numbers:
            flags = self._columns.flags[number - self._columns.first]
            if flags & (bits.COMMENTED | 3 << bits.SEVERITY):
                entry = self._recording.entry(number)
                comment = self._recording.comment_on(number) if flags & bits.COMMENTED else ""
                found[number] = Extra(entry.findings if entry else (), comment)
                if not len(found) % 20:
                    await asyncio.sleep(0)
        return found


def _present(numbers: Iterable[int] | None, first: int, end: int) -> Sequence[int]:
    """The chosen ones, ascending, once each, as far as they are there."""
    if numbers is None:
        return range(first, end)
    if isinstance(numbers, range) and numbers.step == 1:
        return range(max(first, numbers.start), min(end, numbers.stop))
    known = array("I", sorted(set(numbers)))
    return known[bisect_left(known, first) : bisect_left(known, end)]
