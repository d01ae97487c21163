"""Columns and bodies as they stand in a block: what the writer makes and the readers take apart."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from mcp_studio.trace.columns import CODES

WIDTHS = {name: array(code).itemsize for name, code in CODES.items()}
"""Bytes of one value of each column."""
WIDTH = sum(WIDTHS.values())
MOST_ENTRIES = 4_096
MOST_BYTES = 1 << 20
"""Of one block, unless one body is larger."""


class Piece(NamedTuple):
    """One block."""

    first: int
    entries: int
    columns: bytes
    ends: bytes
    data: bytes


def cut(first: int, columns: Mapping[str, bytes], bodies: Sequence[bytes]) -> Iterator[Piece]:
    """Entries from `first` on as blocks of bounded size. The columns are of the machine's byte order."""
    ends = list(accumulate(map(len, bodies)))
    start = 0
    while start < len(bodies):
        before = ends[start - 1] if start else 0
        end = max(start + 1, min(start + MOST_ENTRIES, bisect_right(ends, before + MOST_BYTES)))
        kept = packed(ends[start:end] if not before else [one - before for one in ends[start:end]])
        parts = (_little(columns[name][start * width : end * width], code) for name, code, width in _layout())
        yield Piece(first + start, end - start, b"".join(parts), kept, b"".join(bodies[start:end]))
        start = end


def join(pieces: Sequence[Piece]) -> Piece:
    """Blocks that follow each other as one."""
    columns = [split(piece.columns, piece.entries) for piece in pieces]
    ends, data = join_bodies([(unpacked(piece.ends), piece.data) for piece in pieces])
    parts = (b"".join([one[name] for one in columns]) for name in CODES)
    count = sum(piece.entries for piece in pieces)
    return Piece(pieces[0].first, count, b"".join(parts), packed(ends), data)


def join_bodies(parts: Iterable[tuple[array[int], bytes]]) -> tuple[array[int], bytes]:
    """The ends and bytes of neighbouring blocks as those of one."""
    ends, texts, size = array("I"), list[bytes](), 0
    for some, data in parts:
        ends.extend([end + size for end in some] if size else some)
        texts.append(data)
        size += len(data)
    return ends, b"".join(texts)


def split(columns: bytes, count: int) -> dict[str, memoryview]:
    """The columns of a block by their names, little-endian."""
    view, at = memoryview(columns), 0
    found: dict[str, memoryview] = {}
    for name, width in WIDTHS.items():
        found[name] = view[at : at + count * width]
        at += count * width
    return found


def ends_of(raw: object, size: int) -> array[int] | None:
    """Where bodies end in `size` bytes; None for what is damaged."""
    if not isinstance(raw, bytes) or len(raw) % 4:
        return None
    ends = unpacked(raw)
    values = ends.tolist()
    return ends if values and values[-1] == size and values == sorted(values) else None


def native(values: array[int] | array[float]) -> None:
    """Values that were read as they stand in a file, in the order of this machine."""
    if sys.byteorder == "big":
        values.byteswap()


def packed(values: Iterable[int]) -> bytes:
    """Numbers below 2 to the 32nd, little-endian."""
    return _little(array("I", values).tobytes(), "I")


def unpacked(raw: bytes) -> array[int]:
    """What `packed` has packed.

    Raises:
        ValueError: there is half a number in it.
    """
    values = array("I", raw)
    native(values)
    return values


def _little(raw: bytes, code: str) -> bytes:
    if sys.byteorder == "little":
        return raw
    values: array[int] | array[float] = array(code, raw)
    values.byteswap()
    return values.tobytes()


def _layout() -> Iterator[tuple[str, str, int]]:
    for name, code in CODES.items():
        yield name, code, WIDTHS[name]
