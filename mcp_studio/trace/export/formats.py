"""What a recording can be exported as, and doing it in a thread, beside the event loop."""

from __future__ import annotations

import asyncio
import os
import time
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import IO, NamedTuple

from mcp_studio.errors import UsageError
from mcp_studio.paths import file_stem
from mcp_studio.redact import Redactor
from mcp_studio.trace import message as bits
from mcp_studio.trace.export import har, jsonl, markdown, spans
from mcp_studio.trace.export.item import Extra, Item, Source, Write, items, servers_in
from mcp_studio.trace.message import Columns, Reader, Recording
from mcp_studio.trace.recorder import LARGE
from mcp_studio.trace.tree import tree, walk

_CHUNK = 500
_WAIT = 60.0
"""Seconds that the thread waits for the event loop."""
_BUFFER = 1 << 20
_FRESH = 10.0
"""Seconds in which a body may still be waited for."""
Progress = Callable[[int, int], None]
"""Gets how many of how many entries are out."""


class Format(NamedTuple):
    """One of the formats."""

    name: str
    ending: str
    """Of file names."""
    words: str
    write: Write


FORMATS: Mapping[str, Format] = {
    one.name: one
    for one in (
        Format("bundle", "mcptrace", "everything, compressed: opens anywhere, and can be played", jsonl.write_bundle),
        Format("jsonl", "jsonl", "everything, one JSON object on each line", jsonl.write),
        Format("otlp", "otlp.jsonl", "requests as OpenTelemetry spans, as a collector takes them", spans.write),
        Format("har", "har", "HTTP exchanges, for what reads HTTP archives", har.write),
        Format("markdown", "md", "a report for people: numbers, failures, each request shortly", markdown.write),
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
    told: Progress | None = None,
) -> Written:
    """Write the entries with these numbers, or all, to a file or stream; those that are gone are left out.

    A file appears when it is complete. Cancelling the caller leaves nothing behind. Everything goes through the
    redactor once more.

    Raises:
        UsageError: no such format, nothing chosen, or the file is there already, or cannot be written.
    """
    if format not in FORMATS:
        raise UsageError(f"There is no format {format!r} to export as.", hint=f"There are {', '.join(FORMATS)}.")
    write = FORMATS[format].write

    def consume(source: Source, chosen: Iterator[Item]) -> None:
        if isinstance(target, Path):
            _to_file(write(source, chosen), target, overwrite)
        else:
            _to_stream(write(source, chosen), target)

    try:
        count = await gathered(recording, numbers, redactor, consume, title=title, told=told)
    except FileExistsError:
        raise UsageError(f"{target} is there already.", hint="Name another file; nothing is overwritten.") from None
    except OSError as problem:
        raise UsageError(f"{target} cannot be written: {problem.strerror or problem}.") from None
    return Written(count, target if isinstance(target, Path) else None)


def _to_stream(parts: Iterator[bytes], out: IO[bytes]) -> None:
    for part in parts:
        out.write(part)
    out.flush()


def _to_file(parts: Iterator[bytes], target: Path, overwrite: bool) -> None:
    if not overwrite and target.exists():
        raise FileExistsError
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.urandom(6).hex()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(handle, "wb", buffering=_BUFFER) as out:
            _to_stream(parts, out)
        if overwrite:
            os.replace(draft, target)
        else:
            _put_new(draft, target)
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
            raise FileExistsError from None
        os.replace(draft, target)


async def gathered(
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
    return array("I", (number for number, flags in enumerate(columns.flags, columns.first) if flags & bits.MARKED))


def new_file(folder: str, what: str, ending: str) -> Path:
    """A file that is not there yet: `trace-20260728-120107-marked.jsonl`; letters, digits and dashes alone are ours."""
    within = Path(folder.strip() or ".").expanduser()
    plain = file_stem(what, "")
    stem = f"trace-{time.strftime('%Y%m%d-%H%M%S')}{f'-{plain}' if plain else ''}"
    names = (f"{stem}{'' if number == 1 else f'-{number}'}.{ending}" for number in range(1, _TRIES))
    return next((path for name in names if not (path := within / name).exists()), within / f"{stem}.{ending}")
