"""The input of exports: entries by value, facts about the recording, and a thread beside the event loop."""

import asyncio
import re
import time
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property, lru_cache
from typing import NamedTuple

from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json, items_of, loads_or, mapping
from mcp_studio.protocol.versions import META_SERVER, MODERN_VERSIONS
from mcp_studio.redact import Redactor
from mcp_studio.threads import in_thread
from mcp_studio.trace import message as bits
from mcp_studio.trace.lint.rules import Finding
from mcp_studio.trace.message import Columns, Reader, Recording
from mcp_studio.trace.search import comments_of
from mcp_studio.trace.server_tap import redacted
from mcp_studio.trace.store import LARGE

_LARGEST = 1 << 20
_REQUEST, _HTTP, _RESULT = bits.KINDS.index("request"), bits.KINDS.index("http"), bits.KINDS.index("result")
_ADDRESS = re.compile(r"[A-Z]+ (\S+)")


class Item(NamedTuple):
    """The data of one entry, with texts and body redacted once more."""

    number: int
    time: float
    """Seconds since the epoch."""
    server: str
    direction: bits.Direction
    kind: bits.MessageKind
    body: bytes
    size: int
    """Bytes on the wire."""
    method: str = ""
    target: str = ""
    link: int = 0
    """The number of a request's answer, or of an answer's request."""
    outcome: str = ""
    """See `message.OUTCOMES`; empty for an entry without a span."""
    under: int = 0
    """The parent of a request."""
    follows: int = 0
    """The request of the earlier round."""
    exchange: int = 0
    flags: int = 0
    """Bits, see `message`."""
    ms: float | None = None
    """Milliseconds from request to answer."""
    findings: tuple[Finding, ...] = ()
    comment: str = ""


class Source:
    """The chosen entries, and facts about the recording; for one thread.

    Args:
        columns: the columns of the recording when the export began.
        numbers: the chosen entries, None for all; entries that are gone are left out.
        comments: the person's comments on entries.
        reader: reads bodies and findings, also of other entries.
        pace: called with the number of finished and of all entries; an exception ends the export.
    """

    def __init__(
        self,
        columns: Columns,
        numbers: Iterable[int] | None,
        comments: Mapping[int, str],
        reader: Reader,
        redactor: Redactor,
        *,
        title: str = "",
        pace: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        self.columns = columns
        self.numbers = _present(numbers, columns.first, columns.first + len(columns))
        """The chosen entries, ascending."""
        self.redactor = redactor
        self.clean = lru_cache(10_000)(redactor.text)
        self.title = redactor.text(title)
        self._comments, self._reader, self._pace = comments, reader, pace

    @cached_property
    def servers(self) -> Mapping[str, Json]:
        """The servers of the chosen entries: `transport`, protocol `version`, `info` from the server, and `url` for
        HTTP.

        Members that the recording lacks are missing.
        """
        columns = self.columns
        wanted = {columns.server[number - columns.first] for number in self.numbers} - {0}
        found: dict[int, dict[str, Json]] = {server: {} for server in wanted}
        greetings = {number for name in bits.GREETINGS if (number := columns.methods.get(name)) is not None}
        for row, kind in enumerate(columns.kind):
            server = columns.server[row]
            if server not in found:
                continue
            if kind & 15 == _HTTP and "url" not in found[server]:
                found[server].update(_address(self.body(columns.first + row), self.redactor))
            elif kind & 15 == _RESULT and columns.method[row] in greetings and columns.size[row] < _LARGEST:
                found[server].update(_greeting(self.body(columns.first + row)))
        names = columns.servers.texts
        return {self.clean(names[server]): {"transport": "stdio", **known} for server, known in found.items()}

    def paced(self, numbers: Sequence[int] | None = None) -> Iterator[int]:
        """These numbers, or those of the chosen entries, at the pace of the export."""
        numbers = self.numbers if numbers is None else numbers
        for done, number in enumerate(numbers, 1):
            yield number
            self._pace(done, len(numbers))

    def item(self, number: int) -> Item:
        """One entry of the recording."""
        columns, clean = self.columns, self.clean
        row = number - columns.first
        findings: tuple[Finding, ...] = ()
        if columns.flags[row] >> bits.SEVERITY & 3:
            findings = tuple(
                one._replace(text=clean(one.text), pointer=clean(one.pointer)) for one in self._reader.findings(number)
            )
        return Item(
            number,
            columns.time[row],
            clean(columns.servers.texts[columns.server[row]]),
            bits.DIRECTIONS[columns.kind[row] >> 4],
            bits.KINDS[columns.kind[row] & 15],
            self.body(number),
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
            findings,
            clean(self._comments.get(number, "")),
        )

    def body(self, number: int) -> bytes:
        """The body of an entry, without secrets."""
        data = self._reader.body(number)
        is_http = self.columns.kind[number - self.columns.first] & 15 == _HTTP
        return redacted(data, self.redactor) if is_http else self.redactor.bytes(data)

    def request_of(self, number: int) -> int:
        """The number of the request that an entry is or answers; 0 where there is none or it is gone."""
        columns = self.columns
        row = number - columns.first
        if columns.kind[row] & 15 == _REQUEST:
            return number
        return columns.link[row] if columns.outcome[row] and columns.link[row] >= columns.first else 0

    def answer_to(self, request: int) -> int:
        """The number of the answer to a request; 0 where there is none or it is gone."""
        columns = self.columns
        link = columns.link[request - columns.first]
        return link if columns.first <= link < columns.first + len(columns) else 0

    def requests(self) -> Sequence[int]:
        """The requests that were chosen, or whose answers were."""
        return sorted({request for number in self.numbers if (request := self.request_of(number))})


def _present(numbers: Iterable[int] | None, first: int, end: int) -> Sequence[int]:
    """The chosen numbers that exist, ascending, without duplicates."""
    if numbers is None:
        return range(first, end)
    known = array("I", sorted(set(numbers)))
    return known[bisect_left(known, first) : bisect_left(known, end)]


def _address(head: bytes, redactor: Redactor) -> dict[str, Json]:
    match = _ADDRESS.match(head.split(b"\n", 1)[0].decode("utf-8", "replace"))
    if match is None or "://" not in match[1]:
        return {}
    kind = "websocket" if match[1].startswith("ws") else "http"
    return {"transport": kind, "url": redactor.url(match[1])}


def _greeting(frame: bytes) -> dict[str, Json]:
    """Read the server's facts from its greeting (2025-11-25, lifecycle; 2026-07-28, server/discover)."""
    result = mapping(mapping(loads_or(frame)).get("result"))
    meta = mapping(result.get("_meta"))
    info = mapping(result.get("serverInfo") or meta.get(META_SERVER))
    offered = items_of(result.get("supportedVersions"))
    spoken = next((version for version in reversed(MODERN_VERSIONS) if version in offered), "")
    version = result.get("protocolVersion") or spoken
    known: dict[str, Json] = {"version": version} if isinstance(version, str) and version else {}
    return {**known, "info": info} if info else known


_CHUNK = 500
_FRESH = 10.0
"""Seconds after which a body has arrived for sure."""
Progress = Callable[[int, int], None]
"""Called with the number of finished entries and of all entries."""


async def run(
    recording: Recording,
    numbers: Iterable[int] | None,
    redactor: Redactor,
    consume: Callable[[Source], None],
    *,
    title: str = "",
    progress: Progress | None = None,
    leave: bool = False,
) -> int:
    """Pass these entries, or all, to `consume`, which runs in a thread; returns how many there were.

    Args:
        leave: when cancelled, do not wait for the thread, which ends at its next entry.

    Raises:
        UsageError: no entry is chosen, or `consume` finds none that it can use.
    """
    await _complete(recording)
    columns, comments, reader = recording.columns.snapshot(), comments_of(recording), recording.reader()
    loop = asyncio.get_running_loop()
    stopped = False

    def pace(done: int, total: int) -> None:
        if stopped:
            raise InterruptedError
        if progress is not None and (done % _CHUNK == 0 or done == total):
            loop.call_soon_threadsafe(progress, done, total)

    def work() -> int:
        with closing(reader):
            source = Source(columns, numbers, comments, reader, redactor, title=title, pace=pace)
            if not source.numbers:
                raise UsageError("There is nothing to export.", hint="No entry of the trace was chosen.")
            consume(source)
            return len(source.numbers)

    waiting = asyncio.wrap_future(in_thread(work))
    try:
        return await asyncio.shield(waiting)
    except asyncio.CancelledError:
        stopped = True
        waiting.add_done_callback(lambda over: over.cancelled() or over.exception())  # nobody waits for it any more
        if not leave:
            await asyncio.wait((waiting,))
        raise


async def _complete(recording: Recording) -> None:
    """Wait for large bodies that have just arrived, because another thread redacts them."""
    columns, since = recording.columns.snapshot(), time.time() - _FRESH
    for row in range(len(columns) - 1, -1, -1):
        if columns.time[row] < since:
            return
        if columns.size[row] > LARGE and (entry := recording.entry(columns.first + row)) is not None:
            await recording.body(entry)
