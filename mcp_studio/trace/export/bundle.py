"""Opening exported files, which may come from anybody: bundles (`.mcptrace`, compressed) and JSONL files.

Their entries are written into a temporary session's file, which is deleted after its last reader.
"""

from __future__ import annotations

import gzip
import math
import shutil
import stat
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import IO

from mcp_studio.errors import LimitExceeded, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.limits import KB, MB
from mcp_studio.trace import message as bits
from mcp_studio.trace.capture import Capture
from mcp_studio.trace.disk.format import ENDING, Batch
from mcp_studio.trace.disk.session import Bundle, Session
from mcp_studio.trace.disk.sessions import NAMES, find
from mcp_studio.trace.disk.writer import SessionFile
from mcp_studio.trace.export.item import Item
from mcp_studio.trace.export.jsonl import BadLine, read_head, read_line
from mcp_studio.trace.lint.rules import findings_to_json, weight
from mcp_studio.trace.message import KINDS, OUTCOMES, Columns, WireMessage

_BATCH = 256 * KB
_REQUEST = KINDS.index("request")


class _Importer:
    """Writes entries numbered from 1; their links are translated from the numbers in the exported file."""

    def __init__(self, file: SessionFile) -> None:
        self._file = file
        self._capture = Capture(Columns(), tracks_changes=True)
        self._numbers: array[int] = array("I")
        self._links: array[int] = array("I")
        self._above: dict[str, dict[int, int]] = {"parent": {}, "follows": {}}
        self._bodies: list[bytes] = []
        self._size = 0

    def add(self, item: Item) -> None:
        """Add the next entry."""
        columns, number = self._capture.columns, len(self._numbers) + 1
        self._numbers.append(item.number)
        self._links.append(item.link)
        # Readers choose by the size how to read a body, so it must not understate the body much.
        size = item.size if 2 * item.size > len(item.body) else len(item.body)
        self._capture.append(
            WireMessage(number, item.time, item.server, item.direction, item.kind, b"", size, exchange=item.exchange)
        )
        columns.method[-1] = columns.methods[item.method]
        columns.target[-1] = columns.targets[item.target]
        findings, comment = item.findings, item.comment
        columns.flags[-1] = item.flags | bits.COMMENTED * bool(comment) | weight(findings) << bits.SEVERITY
        columns.outcome[-1] = OUTCOMES.index(item.outcome) + 1 if item.outcome else 0  # type: ignore[arg-type]
        if comment:
            self._capture.note(number, "comment", comment)
        if findings:
            self._capture.note(number, "findings", findings_to_json(findings))
        if item.under:
            self._above["parent"][number] = item.under
        if item.follows:
            self._above["follows"][number] = item.follows
        self._bodies.append(item.body)
        self._size += len(item.body) + KB
        if self._size >= _BATCH:
            self._flush()

    def finish(self) -> None:
        """Write the remaining entries, and the links of all."""
        self._flush()
        columns, links = self._capture.columns, self._mutual_links()
        unlinked = (
            row + 1
            for row, kind in enumerate(columns.kind)
            if kind & 15 != _REQUEST and columns.outcome[row] and row + 1 not in links
        )
        above = {
            name: {number: self._now(was) for number, was in known.items() if 0 < self._now(was) < number}
            for name, known in self._above.items()
        }
        changes = {"link": links, "outcome": dict.fromkeys(unlinked, 0), **above}
        self._file.write(Batch(len(columns) + 1, {}, (), changes=changes))

    def _flush(self) -> None:
        if self._bodies:
            self._file.write(self._capture.news())
            self._file.write(self._capture.rows(self._bodies))
            self._bodies, self._size = [], 0

    def _now(self, was: int) -> int:
        """The number of an entry in the new recording; 0 where it was not exported."""
        at = bisect_left(self._numbers, was)
        return at + 1 if at < len(self._numbers) and self._numbers[at] == was else 0

    def _mutual_links(self) -> dict[int, int]:
        """The links that both entries confirm."""
        kinds, links = self._capture.columns.kind, self._links
        found: dict[int, int] = {}
        for row, was in enumerate(links):
            answer = self._now(was) - 1 if was and kinds[row] & 15 == _REQUEST else 0
            if answer > row and kinds[answer] & 15 != _REQUEST and links[answer] == self._numbers[row]:
                found[row + 1], found[answer + 1] = answer + 1, row + 1
        return found


def made_of(items: Iterable[Item], head: Mapping[str, Json] | None = None, problems: Sequence[str] = ()) -> Bundle:
    """A recording of these entries, numbered from 1; `problems` may be filled while the entries are read."""
    folder = Path(mkdtemp(prefix="mcp-studio-"))
    try:
        file = SessionFile(folder, {}, math.inf, math.inf)
        try:
            importer = _Importer(file)
            for item in items:
                importer.add(item)
            importer.finish()
        finally:
            file.finish()
        return Bundle(file.path, head or {}, " ".join(problems))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


_GZIP, _SQLITE = b"\x1f\x8b", b"SQLite format 3\0"


ENTRIES, LINE, WHOLE = 2_000_000, 128 * MB, 2048 * MB
"""The bounds on a file, which is unpacked while it is read: entries, bytes of one line, bytes of all."""
_HEAD = 1024 * KB
"""Bytes of the longest first line."""


def open_file(path: Path, clean: Callable[[str], str] = str) -> Session:
    """Open a session's file, a bundle or a JSONL file; may take long, so a thread should do it where a person waits.

    A file that ends too early is opened as far as it goes: see `Session.problem`.

    Args:
        clean: removes secrets from comments that are added.

    Raises:
        UsageError: there is no such file, it has another format, or a line of it is invalid.
        StudioError: the file cannot be read, or is too large.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UsageError(f"{path} is no file that can be opened.")
        if path.suffix == ENDING:  # it may be the running session, and closing it here would drop SQLite's locks on it
            return Session(path, clean)
        with path.open("rb") as file:
            begin = file.read(len(_SQLITE))
            file.seek(0)
            if begin.startswith(_GZIP):
                with gzip.GzipFile(fileobj=file) as stream:
                    return read(stream, path.name)
            if begin != _SQLITE:
                return read(file, path.name)
    except OSError as problem:
        raise UsageError(f"{path} cannot be read: {problem.strerror or problem}.") from None
    return Session(path, clean)


def read(stream: IO[bytes] | gzip.GzipFile, place: str) -> Bundle:
    """Read a recording from a stream of lines; `place` is its name in errors.

    Raises:
        StudioError: as `open_file`.
    """
    problems: list[str] = []
    lines = _lines(stream, place, problems)
    head = read_head(next(lines, b""), place)
    return made_of(_items(lines, place, problems), head, problems)


def _items(lines: Iterator[bytes], place: str, problems: list[str]) -> Iterator[Item]:
    newest = 0
    for number, line in enumerate(lines, 2):
        if line.isspace():
            continue
        try:
            item = read_line(line)
            if item.number <= newest:
                raise BadLine("the numbers of entries have to grow")
        except BadLine as problem:
            if not line.endswith(b"\n"):
                problems.append(_cut(place))
                return
            raise UsageError(f"{place}, line {number:,}: {problem}.") from None
        newest = item.number
        yield item


def _lines(stream: IO[bytes] | gzip.GzipFile, place: str, problems: list[str]) -> Iterator[bytes]:
    """The lines of a stream, within the bounds."""
    left = WHOLE
    for number in count(1):
        most = LINE if number > 1 else _HEAD
        try:
            line = stream.readline(most + 1)
        except EOFError:
            problems.append(_cut(place))
            return
        except (gzip.BadGzipFile, zlib.error):
            raise UsageError(f"{place} cannot be read after line {number - 1:,}: it is damaged.") from None
        if not line:
            return
        left -= len(line)
        if len(line) > most and number == 1:
            return
        if len(line) > most or left < 0 or number > ENTRIES + 1:
            hint = "Export less of it: a filter takes only what is looked for."
            raise LimitExceeded(f"{place} is too large, from line {number:,} on.", limit="trace", hint=hint)
        yield line


def _cut(place: str) -> str:
    return f"{place} ends too early: what came before that is shown."


def open_recording(name: str, folder: Path) -> Session:
    """Open the recording of a name: a bundle, a JSONL file, a session's file, or a word that `find` takes.

    A large one takes a second, so it should be opened in a thread; it belongs to the thread that uses it.

    Args:
        folder: the folder of sessions.

    Raises:
        StudioError: there is no such recording, or it cannot be read.
    """
    path = Path(name).expanduser()
    if name not in NAMES and path.is_file():
        return open_file(path)
    if path.is_dir():
        raise UsageError(f"{name} is a folder.", hint="Name a file in it, or a session.")
    if path.suffix or len(path.parts) > 1:
        raise UsageError(f"There is no file {name}.")
    return Session(find(folder, name))
