"""Opening what was exported: bundles (`.mcptrace`, compressed) and JSONL files. They may come from anybody."""

from __future__ import annotations

import asyncio
import gzip
import stat
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import IO, NamedTuple

from mcp_studio.errors import LimitExceeded, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.limits import KB, MB
from mcp_studio.record import record
from mcp_studio.trace import message as bits
from mcp_studio.trace.capture import EntryMaker, findings_to_json
from mcp_studio.trace.disk.format import is_database
from mcp_studio.trace.disk.session import Session, open_session
from mcp_studio.trace.disk.sessions import NAMES, find
from mcp_studio.trace.export.item import Item
from mcp_studio.trace.export.jsonl import BadLine, read_head, read_line
from mcp_studio.trace.lint.rules import weight
from mcp_studio.trace.message import DIRECTIONS, KINDS, OUTCOMES, Block, Columns, WireMessage

_LARGE = 64 * 1024
"""Larger bodies are not read without being asked for."""


class Packed(NamedTuple):
    """A block of bodies as it is kept."""

    first: int
    ends: array[int]
    data: bytes
    """Compressed with zlib."""

    @property
    def last(self) -> int:
        """The number of the last body in it."""
        return self.first + len(self.ends) - 1


class Bodies:
    """Compressed bodies by their numbers, each block being unpacked when it is needed; for one thread."""

    def __init__(self, blocks: list[Packed]) -> None:
        self._blocks = blocks
        self._firsts = [block.first for block in blocks]
        self._open: tuple[int, bytes] = (-1, b"")

    def body(self, number: int) -> bytes:
        """One body; empty where there is none."""
        at = bisect_right(self._firsts, number) - 1
        if at < 0 or number > self._blocks[at].last:
            return b""
        packed = self._blocks[at]
        if self._open[0] != at:
            self._open = at, zlib.decompress(packed.data)
        place = number - packed.first
        return self._open[1][packed.ends[place - 1] if place else 0 : packed.ends[place]]

    def blocks(self, below: int) -> Iterator[Block]:
        """See `recording.Reader`."""
        for at in range(bisect_left(self._firsts, below) - 1, -1, -1):
            packed = self._blocks[at]
            ends = packed.ends[: below - packed.first]
            yield Block(packed.first, ends, zlib.decompress(packed.data)[: ends[-1] if ends else 0])

    def close(self) -> None:
        """No more reading."""
        self._open = (-1, b"")


class Opened:
    """Implements `recording.Recording`; marks and comments are for as long as it is open."""

    def __init__(
        self,
        columns: Columns,
        blocks: list[Packed],
        extras: dict[int, dict[str, Json]],
        head: Mapping[str, Json],
        problems: tuple[str, ...] = (),
    ) -> None:
        self.columns = columns
        self.total = columns.first + len(columns) - 1
        self.revision = 1
        self.head = head
        """What the first line of the file says: `made`, `by`, `title`, `servers`."""
        self.problems = problems
        """What is wrong with the file, though it could be opened; sentences."""
        self._blocks = blocks
        self._extras = extras
        self._bodies = Bodies(blocks)
        self._made = EntryMaker(lambda: self.columns, self._bodies.body, self._extra)

    @property
    def first_number(self) -> int:
        """The number of the oldest entry."""
        return self.columns.first

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, index: int) -> WireMessage:
        entry = self.entry(self.columns.first + index) if 0 <= index < len(self) else None
        if entry is None:
            raise IndexError(index)
        return entry

    def entry(self, number: int) -> WireMessage | None:
        """The entry with a number; None when there is none."""
        return self._made.entry(number)

    async def body(self, entry: WireMessage) -> bytes:
        """The whole body; a large one is unpacked beside the event loop."""
        if entry.size <= _LARGE:
            return entry.body
        bodies = Bodies(self._blocks)
        return await asyncio.to_thread(bodies.body, entry.number)

    def reader(self) -> Bodies:
        """For another thread."""
        return Bodies(self._blocks)

    def mark(self, number: int, on: bool) -> None:
        """Mark an entry, or no longer."""
        self._flag(number, bits.MARKED, on)

    def comment(self, number: int, text: str) -> None:
        """Keep a comment on an entry; empty removes it."""
        if 0 <= number - self.columns.first < len(self):
            self._extras.setdefault(number, {})["comment"] = text
            self._flag(number, bits.COMMENTED, bool(text))

    def comment_on(self, number: int) -> str:
        """The comment on an entry, or nothing."""
        text = self._extra(number, "comment")
        return text if isinstance(text, str) else ""

    def _flag(self, number: int, bit: int, on: bool) -> None:
        row = number - self.columns.first
        if 0 <= row < len(self):
            flags = self.columns.flags[row]
            self.columns.flags[row] = flags | bit if on else flags & ~bit
            self.columns.revise(number)
            self._made.forget()
            self.revision += 1

    def _extra(self, number: int, name: str) -> Json:
        return self._extras.get(number, {}).get(name)


_BLOCK = 256 * 1024
_ENTRIES = 512
_DEEP = 100
"""Requests under one another that are taken for such."""
_EXTRAS = 64 << 20
"""Bytes of all findings and comments, about as they are in memory; further ones are left out."""
_OVERHEAD = 400
"""What one of them costs besides its words."""


class Filling:
    """Numbers entries from 1; what they are linked to is found by the numbers that they had."""

    def __init__(self) -> None:
        self.columns = Columns()
        self.packed = 0
        """Bytes of all bodies together, as they are kept."""
        self.left_out = False
        """There were more findings and comments than fit."""
        self._room = _EXTRAS
        self._numbers: array[int] = array("I")
        self._blocks: list[Packed] = []
        self._extras: dict[int, dict[str, Json]] = {}
        self._parts: list[bytes] = []
        self._ends: array[int] = array("Q")
        self._size = 0

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def newest(self) -> int:
        """The number that the newest entry had in its own recording."""
        return self._numbers[-1] if self._numbers else 0

    def add(self, item: Item) -> None:
        """The next entry."""
        columns = self.columns
        self._numbers.append(item.number)
        number = columns.first + len(columns)
        # Readers judge by the size how a body is read, so it must not be much larger than it says.
        columns.size.append(item.size if 2 * item.size > len(item.body) else len(item.body))
        columns.server.append(columns.servers.number(item.server))
        columns.method.append(columns.methods.number(item.method))
        columns.target.append(columns.targets.number(item.target))
        columns.kind.append(KINDS.index(item.kind) | DIRECTIONS.index(item.direction) << 4)
        columns.flags.append(item.flags | self._take_extra(number, item))
        columns.outcome.append(OUTCOMES.index(item.outcome) + 1 if item.outcome else 0)  # type: ignore[arg-type]
        columns.link.append(item.link)
        columns.exchange.append(item.exchange)
        columns.time.append(item.time)
        if item.under:
            columns.parents[number] = item.under
        if item.follows:
            columns.follows[number] = item.follows
        self._put(item.body)

    def done(self, head: Mapping[str, Json], problems: tuple[str, ...] = ()) -> Opened:
        """The recording."""
        self._pack()
        columns = self.columns
        self._link()
        columns.follows = {
            number: known for number, was in columns.follows.items() if (known := self._earlier(number, was))
        }
        deep: dict[int, int] = {}
        parents: dict[int, int] = {}
        for number, was in columns.parents.items():
            parent = self._earlier(number, was)
            depth = deep.get(parent, 0) + 1
            if parent and depth <= _DEEP:
                parents[number], deep[number] = parent, depth
        columns.parents = parents
        return Opened(columns, self._blocks, self._extras, head, problems)

    def _take_extra(self, number: int, item: Item) -> int:
        """Keep findings and comment, and give the flags that say so."""
        findings, comment = item.extra
        if not findings and not comment:
            return 0
        self._room -= len(comment) + _OVERHEAD * (1 + len(findings))
        self._room -= sum(len(one.rule) + len(one.text) + len(one.section) + len(one.pointer) for one in findings)
        if self._room < 0:
            self.left_out = True
            return 0
        self._extras[number] = {"comment": comment, "findings": findings_to_json(findings)}
        return bits.COMMENTED * bool(comment) | weight(findings) << bits.SEVERITY

    def _put(self, body: bytes) -> None:
        self._size += len(body)
        self._parts.append(body)
        self._ends.append(self._size)
        if self._size >= _BLOCK or len(self._parts) >= _ENTRIES:
            self._pack()

    def _pack(self) -> None:
        if self._parts:
            data = zlib.compress(b"".join(self._parts), 1)
            first = self.columns.first + len(self.columns) - len(self._parts)
            self._blocks.append(Packed(first, self._ends, data))
            self.packed += len(data)
            self._parts, self._ends, self._size = [], array("Q"), 0

    def _now(self, was: int) -> int:
        """The number that an entry has here; 0 where it did not come along."""
        at = bisect_left(self._numbers, was)
        return self.columns.first + at if at < len(self._numbers) and self._numbers[at] == was else 0

    def _earlier(self, number: int, was: int) -> int:
        known = self._now(was)
        return known if known < number else 0

    def _link(self) -> None:
        """Links that two entries agree on stay."""
        columns = self.columns
        asked = KINDS.index("request")
        found = array("I", bytes(len(columns) * columns.link.itemsize))
        for row, was in enumerate(columns.link):
            if was and columns.kind[row] & 15 == asked and (answer := self._now(was)):
                other = answer - columns.first
                if columns.kind[other] & 15 != asked and columns.link[other] == self._numbers[row] and other > row:
                    found[row], found[other] = answer, columns.first + row
        for row, linked in enumerate(found):
            if not linked and columns.kind[row] & 15 != asked:
                columns.outcome[row] = 0
        columns.link = found


_GZIP = b"\x1f\x8b"


@record(frozen=True)
class Bounds:
    """How much of a file is taken; it is unpacked while it is read, and never written anywhere."""

    entries: int = 2_000_000
    line: int = 128 * MB
    """Bytes of one entry."""
    whole: int = 8 * 1024 * MB
    """Bytes of all lines."""
    kept: int = 1024 * MB
    """Bytes of all bodies in memory, compressed."""


BOUNDS = Bounds()
_HEAD = 1024 * KB
"""Bytes of the first line."""
Progress = Callable[[int], None]
"""Gets now and then how many entries have been read."""


def open_bundle(path: Path, *, bounds: Bounds = BOUNDS, told: Progress | None = None) -> Opened:
    """The recording in a bundle or JSONL file; may take long, so it is for a thread where a person waits.

    A file that ends too early is opened as far as it goes: see `Opened.problems`.

    Raises:
        UsageError: there is no such file, it is none of ours, or a line in it cannot be used.
        LimitExceeded: there is more in it than `bounds` allow.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UsageError(f"{path} is no file that can be opened.")
        with path.open("rb") as file:
            packed = file.read(2) == _GZIP
            file.seek(0)
            if packed:
                with gzip.GzipFile(fileobj=file) as stream:
                    return read(stream, path.name, bounds, told)
            return read(file, path.name, bounds, told)
    except OSError as problem:
        raise UsageError(f"{path} cannot be read: {problem.strerror or problem}.") from None


def read(
    stream: IO[bytes] | gzip.GzipFile, place: str, bounds: Bounds = BOUNDS, told: Progress | None = None
) -> Opened:
    """The same from a stream of lines; `place` is what it is called in errors.

    Raises:
        StudioError: as `open_bundle`.
    """
    filling, problems, cut = Filling(), list[str](), False
    head: dict[str, Json] = {}
    lines = _lines(stream, place, bounds)
    try:
        head = read_head(next(lines, b""), place)
        for number, line in enumerate(lines, 2):
            if line.isspace():
                continue
            try:
                item = read_line(line, head["version"])
                if item.number <= filling.newest:
                    raise BadLine("the numbers of entries have to grow")
            except BadLine as problem:
                if cut := not line.endswith(b"\n"):
                    break
                raise UsageError(f"{place}, line {number:,}: {problem}.") from None
            filling.add(item)
            if filling.packed > bounds.kept or len(filling) > bounds.entries:
                raise _too_much(place, f"{len(filling):,} entries are more than fit into memory here")
            if told is not None and not len(filling) % 10_000:
                told(len(filling))
    except _Cut:
        head = head or read_head(b"", place)
        cut = True
    if cut:
        problems.append(f"{place} ends too early: {len(filling):,} entries of it could be read.")
    if filling.left_out:
        problems.append(f"{place} has more findings and comments than fit into memory: the last ones were left out.")
    kinds = {"made": (int, float), "by": str, "title": str, "servers": dict}
    tidy = {name: head[name] for name, kind in kinds.items() if isinstance(head.get(name), kind)}
    return filling.done(tidy, tuple(problems))


class _Cut(Exception):
    """The compressed stream ends too early."""


def _lines(stream: IO[bytes] | gzip.GzipFile, place: str, bounds: Bounds) -> Iterator[bytes]:
    """The lines of a stream, bounded."""
    left = bounds.whole
    for number in count(1):
        most = bounds.line if number > 1 else _HEAD
        try:
            line = stream.readline(most + 1)
        except EOFError:
            raise _Cut from None
        except (gzip.BadGzipFile, zlib.error) as problem:
            why = str(problem) if isinstance(problem, gzip.BadGzipFile) else "its compressed part is damaged"
            raise UsageError(f"{place} cannot be read after line {number - 1:,}: {why}.") from None
        if not line:
            return
        left -= len(line)
        if len(line) > most:
            if number == 1:
                return
            raise _too_much(place, f"line {number:,} is longer than {most:,} bytes")
        if left < 0:
            raise _too_much(place, f"it has more than {bounds.whole:,} bytes")
        if number > 2 * bounds.entries + 2:
            raise _too_much(place, f"it has more than {number - 1:,} lines")
        yield line


def _too_much(place: str, why: str) -> LimitExceeded:
    hint = "Export less of it: a filter takes only what is looked for."
    return LimitExceeded(f"{place} is too large: {why}.", limit="trace", hint=hint)


def open_recording(name: str, folder: Path) -> Session | Opened:
    """The recording that is meant: a bundle, a JSONL file, a session's file, or what `find` takes.

    A large one takes a second: call it in a thread where somebody waits; it then belongs to the thread that uses it.

    Args:
        folder: where sessions are.

    Raises:
        StudioError: there is none, or it cannot be read.
    """
    path = Path(name).expanduser()
    try:
        if name not in NAMES and path.is_file():
            return open_session(path) if is_database(path) else open_bundle(path)
    except OSError as problem:
        raise UsageError(f"{name} cannot be read: {problem.strerror or problem}.") from None
    if path.is_dir():
        raise UsageError(f"{name} is a folder.", hint="Name a file in it, or a session.")
    if path.suffix or len(path.parts) > 1:
        raise UsageError(f"There is no file {name}.")
    return open_session(find(folder, name))
