"""What a recording can be exported as, and doing it: some entries at a time, beside the event loop."""

from __future__ import annotations

import asyncio
import os
import time
from array import array
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import IO, NamedTuple

from mcp_studio.errors import UsageError
from mcp_studio.paths import file_stem
from mcp_studio.redact import Redactor
from mcp_studio.trace import message as bits
from mcp_studio.trace.export.har import Har
from mcp_studio.trace.export.item import Extra, Source, Writer, items, servers_in
from mcp_studio.trace.export.jsonl import Bundle, JsonLines
from mcp_studio.trace.export.markdown import Markdown
from mcp_studio.trace.export.spans import Otlp
from mcp_studio.trace.message import MARKED, Columns, Reader, Recording
from mcp_studio.trace.recorder import LARGE
from mcp_studio.trace.tree import tree, walk

_CHUNK = 500
_SLICE = 0.005
"""Seconds that gathering holds the event loop at a time."""
_RARE = bits.COMMENTED | 3 << bits.SEVERITY
_BUFFER = 1 << 20
_FRESH = 10.0
"""Seconds in which a body may still be waited for."""
Told = Callable[[int, int], None]
"""Told how many of how many entries are out."""


class Format(NamedTuple):
    """One of the formats."""

    name: str
    ending: str
    """Of file names."""
    words: str
    make: Callable[[], Writer]


FORMATS: Mapping[str, Format] = {
    one.name: one
    for one in (
        Format("bundle", "mcptrace", "everything, compressed: opens anywhere, and can be played", Bundle),
        Format("jsonl", "jsonl", "everything, one JSON object on each line", JsonLines),
        Format("otlp", "otlp.jsonl", "requests as OpenTelemetry spans, as a collector takes them", Otlp),
        Format("har", "har", "HTTP exchanges, for what reads HTTP archives", Har),
        Format("markdown", "md", "a report for people: numbers, failures, each request shortly", Markdown),
    )
}
"""By their names."""


class Written(NamedTuple):
    """What came of an export."""

    entries: int
    path: Path | None = None
    """Where it stands; None where it went to a stream."""


async def export(
    recording: Recording,
    numbers: Iterable[int] | None,
    format: str,
    target: Path | IO[bytes],
    redactor: Redactor,
    *,
    title: str = "",
    overwrite: bool = False,
    told: Told | None = None,
) -> Written:
    """Write the entries with these numbers, or all, to a file or stream; what is kept no longer is left out.

    A file appears when it is complete. Cancelling the caller leaves nothing behind. Everything goes through the
    redactor once more.

    Raises:
        UsageError: no such format, nothing chosen, or the file is there already, or cannot be written.
    """
    if format not in FORMATS:
        raise UsageError(f"There is no format {format!r} to export as.", hint=f"There are {', '.join(FORMATS)}.")
    run = partial(gathered, recording, numbers, redactor, FORMATS[format].make(), title=title, told=told)
    if not isinstance(target, Path):
        return Written(await run(target))
    if not overwrite and await asyncio.to_thread(target.exists):
        raise UsageError(f"{target} is there already.", hint="Name another file; nothing is overwritten.")
    try:
        return await _to_file(run, target, overwrite)
    except OSError as problem:
        raise UsageError(f"{target} cannot be written: {problem.strerror or problem}.") from None


async def gathered(
    recording: Recording,
    numbers: Iterable[int] | None,
    redactor: Redactor,
    writer: Writer,
    out: IO[bytes],
    *,
    title: str = "",
    told: Told | None = None,
    after: Callable[[], Awaitable[None]] | None = None,
) -> int:
    """Give a writer its entries; gives their number.

    Args:
        after: done on the event loop whenever the writer has had some, and once at the end.

    Raises:
        UsageError: nothing is chosen, or the format has nothing to say about it.
    """
    return await _Export(recording, numbers, redactor, title, told).run(writer, out, after)


async def _to_file(run: Callable[[IO[bytes]], Awaitable[int]], target: Path, overwrite: bool) -> Written:
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.urandom(6).hex()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(handle, "wb", buffering=_BUFFER) as out:
            count = await run(out)
        if overwrite:
            os.replace(draft, target)
        else:
            _put_new(draft, target)
        return Written(count, target)
    finally:
        draft.unlink(missing_ok=True)


def _put_new(draft: Path, target: Path) -> None:
    """Give the file its name, unless somebody has taken it meanwhile."""
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if target.exists():
            raise FileExistsError(17, "it is there already") from None
        os.replace(draft, target)


class _Export:
    """One export: gathers on the event loop what only the recording knows, and writes in a thread of its own."""

    def __init__(
        self, recording: Recording, numbers: Iterable[int] | None, redactor: Redactor, title: str, told: Told | None
    ) -> None:
        self._recording = recording
        self._columns = recording.columns.snapshot()
        self._redactor = redactor
        self._title = title
        self._told = told
        self._wanted = numbers
        self._numbers: Sequence[int] = ()

    async def run(self, writer: Writer, out: IO[bytes], after: Callable[[], Awaitable[None]] | None) -> int:
        """Write everything; gives the number of entries."""
        await self._complete()
        loop, reader = asyncio.get_running_loop(), self._recording.reader()
        thread = ThreadPoolExecutor(1, "export")
        try:
            await loop.run_in_executor(thread, self._begin, writer, out, reader)
            for at in range(0, len(self._numbers), _CHUNK):
                chunk = self._numbers[at : at + _CHUNK]
                extras = await self._extras(chunk)
                made = items(self._columns, chunk, reader.body, extras, self._redactor)
                await loop.run_in_executor(thread, writer.write, made)
                if after is not None:
                    await after()
                if self._told is not None:
                    self._told(at + len(chunk), len(self._numbers))
            await loop.run_in_executor(thread, _end, writer, out)
            if after is not None:
                await after()
            return len(self._numbers)
        finally:
            # What runs in the thread has to be over before the file is closed under it.
            closing = thread.submit(reader.close)
            await _patiently(asyncio.wrap_future(closing))
            thread.shutdown(wait=False)

    async def _complete(self) -> None:
        """Wait for bodies that have just come and are large: they are redacted beside the event loop."""
        columns, since = self._columns, time.time() - _FRESH
        for row in range(len(columns) - 1, -1, -1):
            if columns.time[row] < since:
                return
            if columns.size[row] > LARGE and (entry := self._recording.entry(columns.first + row)) is not None:
                await self._recording.body(entry)

    def _begin(self, writer: Writer, out: IO[bytes], reader: Reader) -> None:
        self._numbers = _kept(self._wanted, self._columns.first, self._columns.first + len(self._columns))
        if not self._numbers:
            raise UsageError("There is nothing to export.", hint="No entry of the trace was chosen.")
        known = servers_in(self._columns, self._numbers, reader.body, self._redactor)
        title = self._redactor.text(self._title)
        writer.begin(
            Source(self._columns, self._numbers, known, title, time.time(), self._redactor, reader),
            out,
        )

    async def _extras(self, numbers: Sequence[int]) -> dict[int, Extra]:
        """Findings and comments, which only the recording knows; most entries have none."""
        found: dict[int, Extra] = {}
        columns, began = self._columns, time.perf_counter()
        for number in numbers:
            flags = columns.flags[number - columns.first]
            if not flags & _RARE:
                continue
            entry = self._recording.entry(number)
            comment = self._recording.comment_on(number) if flags & bits.COMMENTED else ""
            found[number] = Extra(entry.findings if entry else (), comment)
            if time.perf_counter() - began > _SLICE:
                await asyncio.sleep(0)
                began = time.perf_counter()
        return found


def _kept(numbers: Iterable[int] | None, first: int, end: int) -> Sequence[int]:
    """The chosen ones, ascending, once each, as far as they are there."""
    if numbers is None:
        return range(first, end)
    if isinstance(numbers, range) and numbers.step == 1:
        return range(max(first, numbers.start), min(end, numbers.stop))
    known = array("I", numbers)
    if any(one >= other for one, other in pairwise(known)):
        known = array("I", sorted(set(known)))
    return known[bisect_left(known, first) : bisect_left(known, end)]


def _end(writer: Writer, out: IO[bytes]) -> None:
    writer.end()
    out.flush()


async def _patiently(waiting: asyncio.Future[None]) -> None:
    """Wait to the end of something short, even while cancelled."""
    try:
        await asyncio.shield(waiting)
    except asyncio.CancelledError:
        with suppress(asyncio.CancelledError):
            await asyncio.wait((waiting,))
        raise


_MARKED = bytes(bool(flags & MARKED) for flags in range(256))
_TRIES = 1_000


def exchange(recording: Recording, number: int) -> array[int]:
    """All that belongs to what an entry belongs to: requests and their answers, HTTP heads, notes."""
    columns = recording.columns
    found = tree(recording, number)
    numbers = {number} if found is None else {node.number for _, node in walk(found)}
    rows = (one - columns.first for one in tuple(numbers))
    numbers.update(columns.link[row] for row in rows if 0 <= row < len(columns) and columns.link[row])
    return array("I", sorted(numbers))


def marked(columns: Columns) -> array[int]:
    """The entries that a person has marked."""
    flags = columns.flags.tobytes().translate(_MARKED)
    found: array[int] = array("I")
    at = flags.find(1)
    while at >= 0:
        found.append(columns.first + at)
        at = flags.find(1, at + 1)
    return found


def new_file(folder: str, what: str, ending: str) -> Path:
    """A file that is not there yet: `trace-20260728-120107-marked.jsonl`; letters, digits and dashes alone are ours."""
    within = Path(folder.strip() or ".").expanduser()
    plain = file_stem(what, "")
    stem = f"trace-{time.strftime('%Y%m%d-%H%M%S')}{f'-{plain}' if plain else ''}"
    names = (f"{stem}{'' if number == 1 else f'-{number}'}.{ending}" for number in range(1, _TRIES))
    return next((path for name in names if not (path := within / name).exists()), within / f"{stem}.{ending}")
