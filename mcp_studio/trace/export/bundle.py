"""Opening what was exported: bundles (`.mcptrace`, compressed) and JSONL files. They may come from anybody."""

from __future__ import annotations

import gzip
import stat
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from mcp_studio.errors import LimitExceeded, StudioError, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.limits import KB, MB
from mcp_studio.record import record
from mcp_studio.trace.export.filling import Filling
from mcp_studio.trace.export.lines import BadLine, read_head, read_line
from mcp_studio.trace.export.opened import Opened

ENDING = ".mcptrace"
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


class Lines(Protocol):
    """A stream of bytes with lines in it."""

    def readline(self, limit: int, /) -> bytes:
        """The next line, or as much of it."""
        ...

    def read(self, size: int, /) -> bytes:
        """So many bytes, or fewer at the end."""
        ...


BOUNDS = Bounds()
Told = Callable[[int], None]
"""Told now and then how many entries have been read."""


def open_bundle(path: Path, *, bounds: Bounds = BOUNDS, told: Told | None = None) -> Opened:
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


def read(stream: Lines, place: str, bounds: Bounds = BOUNDS, told: Told | None = None) -> Opened:
    """The same from a stream of lines; `place` is what it is called in errors.

    Raises:
        StudioError: as `open_bundle`.
    """
    filling, problems = Filling(), list[str]()
    lines = _Counted(stream, place, bounds)
    head = read_head(lines.next(64 * KB * 16) or b"", place)
    version = head["version"]
    while (line := lines.next(bounds.line)) is not None:
        if line and not line.isspace():
            _add(filling, line, version, lines)
            if filling.packed > bounds.kept or len(filling) > bounds.entries:
                raise _too_much(place, f"{len(filling):,} entries are more than fit into memory here")
            if told is not None and not len(filling) % 10_000:
                told(len(filling))
    if lines.cut:
        problems.append(f"{place} ends too early: {len(filling):,} entries of it could be read.")
    if filling.left_out:
        problems.append(f"{place} has more findings and comments than fit into memory: the last ones were left out.")
    return filling.done(_tidy(head), tuple(problems))


def _add(filling: Filling, line: bytes, version: int, lines: _Counted) -> None:
    try:
        item = read_line(line, version)
        if item.number <= filling.newest:
            raise BadLine("the numbers of entries have to grow")
    except BadLine as problem:
        if lines.broken and lines.over():
            lines.cut = True  # the last line was not written to its end
            return
        raise UsageError(f"{lines.place}, line {lines.number:,}: {problem}.") from None
    filling.add(item)


def _tidy(head: dict[str, Json]) -> dict[str, Json]:
    """What the first line says, of the kinds that it should be."""
    kinds = {"made": (int, float), "by": str, "title": str, "servers": dict}
    return {name: head[name] for name, kind in kinds.items() if isinstance(head.get(name), kind)}


class _Counted:
    """Lines of a stream, bounded; `cut` says that it broke off."""

    def __init__(self, stream: Lines, place: str, bounds: Bounds) -> None:
        self._stream = stream
        self._bounds = bounds
        self._left = bounds.whole
        self.place = place
        self.number = 0
        self.cut = False
        self.broken = False
        """The newest line has no end."""

    def next(self, most: int) -> bytes | None:
        """The next line; None at the end."""
        try:
            line = self._stream.readline(most + 1)
        except EOFError:
            self.cut = True
            return None
        except gzip.BadGzipFile as problem:
            raise self._broken(str(problem)) from None
        except zlib.error:
            raise self._broken("its compressed part is damaged") from None
        self.number += 1
        self._left -= len(line)
        if len(line) > most:
            if self.number == 1:
                return b""
            raise _too_much(self.place, f"line {self.number:,} is longer than {most:,} bytes")
        if self._left < 0:
            raise _too_much(self.place, f"it has more than {self._bounds.whole:,} bytes")
        if self.number > 2 * self._bounds.entries + 2:
            raise _too_much(self.place, f"it has more than {self.number - 1:,} lines")
        self.broken = not line.endswith(b"\n")
        return line or None

    def over(self) -> bool:
        """Whether nothing comes after the newest line."""
        try:
            return not self._stream.read(1)
        except (EOFError, zlib.error, OSError):
            return True

    def _broken(self, why: str) -> StudioError:
        return UsageError(f"{self.place} cannot be read after line {self.number:,}: {why}.")


def _too_much(place: str, why: str) -> LimitExceeded:
    hint = "Export less of it: a filter takes only what is looked for."
    return LimitExceeded(f"{place} is too large: {why}.", limit="trace", hint=hint)
