"""Batches as the running trace hands them over, made by hand."""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mcp_studio.trace.disk.format import Batch
from mcp_studio.trace.disk.writer import Writer
from mcp_studio.trace.message import CODES, DIRECTIONS, KINDS

NAMES = (("server", 2, "files"), ("method", 2, "tools/call"), ("target", 2, "search"))


def kind(name: str, direction: str = "out") -> int:
    return DIRECTIONS.index(direction) << 4 | KINDS.index(name)  # type: ignore[arg-type]


def batch(first: int, bodies: Sequence[bytes], *, names: Any = None, **more: Any) -> Batch:
    """Entries from `first` on; `names` are those of the first batch unless given; columns by their names."""
    columns: dict[str, bytes] = {}
    count = len(bodies)
    usual: dict[str, Sequence[float]] = {
        "time": [1_700_000_000 + (first + n) / 10 for n in range(count)],
        "size": [len(body) for body in bodies],
        "server": [2] * count,
        "method": [2] * count,
        "target": [2] * count,
        "kind": [kind("notification")] * count,
    }
    for name, code in CODES.items():
        columns[name] = array(code, more.pop(name, usual.get(name, [0] * count))).tobytes()
    return Batch(first, columns, tuple(bodies), NAMES if names is None else names, **more)


def body(number: int) -> bytes:
    return b'{"jsonrpc":"2.0","method":"tools/call","params":{"number":%d}}' % number


def bodies(first: int, count: int) -> list[bytes]:
    return [body(number) for number in range(first, first + count)]


def write(folder: Path, *batches: Batch, close: bool = True, **options: Any) -> Writer:
    """A writer that has these on disk, closed unless told otherwise."""
    writer = Writer(folder, "test", **options)
    for one in batches:
        writer.put(one)
        assert wait(writer, one.first + len(one.bodies) - 1)
    if close:
        assert writer.close(20), writer.failed
    assert writer.path is not None, writer.failed
    return writer


def wait(writer: Writer, number: int) -> bool:
    """Wait until the entries up to this number are on disk, or nothing is written any more; whether they are."""
    end = time.monotonic() + 20
    while writer.written < number and not writer.failed and time.monotonic() < end:
        threading.Event().wait(0.001)
    return writer.written >= number
