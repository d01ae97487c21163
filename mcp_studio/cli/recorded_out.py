"""Entries of a recording going out: exported, followed while they come, counted, compared."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from io import RawIOBase
from pathlib import Path
from typing import IO, cast

from mcp_studio import __version__
from mcp_studio.cli.output import Output
from mcp_studio.cli.recorded import Lines, facts
from mcp_studio.cli.rows import table
from mcp_studio.cli.sessions import recorded_size
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json
from mcp_studio.safetext import safe
from mcp_studio.trace.diff import compare
from mcp_studio.trace.diff_text import shown
from mcp_studio.trace.disk.session import Session
from mcp_studio.trace.disk.sessions import describe
from mcp_studio.trace.export.formats import FORMATS
from mcp_studio.trace.export.formats import export as exported
from mcp_studio.trace.export.item import items
from mcp_studio.trace.export.lines import head_line, line_of
from mcp_studio.trace.numbers.numbers import Numbers
from mcp_studio.trace.numbers.select import numbers_of
from mcp_studio.trace.numbers.tally import Tally
from mcp_studio.trace.query.parser import Query
from mcp_studio.trace.recording import Recording
from mcp_studio.trace.search import Search

_POLL = 0.1
"""Seconds between two looks at what a running studio writes."""
_ALIVE = 10
"""Looks without anything new between two looks at whether it is running still."""
_WIDE = 100


class _Safe(RawIOBase):
    """Standard output where it is a terminal: what is live there is made visible."""

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        text = bytes(data).decode("utf-8", "replace")
        sys.stdout.write(safe(text, max(len(text), 1), lines=True))
        return len(data)


def _standard_output(format: str) -> IO[bytes]:
    if not sys.stdout.isatty():
        sys.stdout.flush()
        return sys.stdout.buffer
    if format == "bundle":
        raise UsageError("A bundle is no text.", hint="--output FILE")
    return cast("IO[bytes]", _Safe())


async def export(
    recording: Recording, numbers: Sequence[int] | None, format: str, target: Path | None, title: str, out: Output
) -> int:
    """Write entries in a format, to a new file or to standard output; gives their number.

    Raises:
        UsageError: no such format, nothing to export, or the file is there already.
    """
    stream = _standard_output(format) if target is None and format in FORMATS else None
    written = await exported(recording, numbers, format, target or stream or Path(), out.redactor, title=title)
    out.flush()
    if stream is not None:
        stream.flush()
    return written.entries


async def follow(session: Session, query: Query, limit: int, raw: bool, out: Output) -> int:
    """Print the newest entries, and then what comes, until the studio that writes it ends."""
    out.lines = True
    search = Search(session, query)
    await _through(search)
    lines, last, idle = Lines(session), session.total, 0
    start = max(0, len(search.found) - limit)
    if raw:
        head = head_line({}, session.path.stem, time.time(), f"mcp-studio {__version__}")
        _standard_output("jsonl").write(head)
    elif not out.json:
        out.data(lines.head())
    _print(session, [search.found[index] for index in range(start, len(search.found))], lines, raw, out)
    running = session.info.state == "running"
    while running:
        await asyncio.sleep(_POLL)
        if session.refresh():
            idle = 0
            await _through(search)
            place = search.found.place(last + 1)
            _print(session, [search.found[index] for index in range(place, len(search.found))], lines, raw, out)
            last = session.total
        idle += 1
        if session.info.state != "running" or not idle % _ALIVE:
            running = describe(session.path).state == "running" or session.refresh()
    lines.close()
    out.note("the session has ended")
    return 0


async def _through(search: Search) -> None:
    while not search.pull():
        await asyncio.to_thread(search.wait, 1.0)
    if search.error:
        raise UsageError(search.error)


def _print(session: Session, numbers: list[int], lines: Lines, raw: bool, out: Output) -> None:
    if not numbers:
        return
    if raw:
        reader = session.reader()
        stream = _standard_output("jsonl")
        for item in items(session.columns, numbers, reader.body, {}, out.redactor):
            stream.write(line_of(item))
        stream.flush()
        reader.close()
    else:
        for number in numbers:
            out.line(lines.line(number), facts(session, number))
    out.flush()


def statistics(recording: Recording, numbers: Sequence[int] | None, out: Output) -> int:
    """Print the figures of entries, of all where none are given; returns the exit code."""
    if numbers is None:
        counted = Numbers(recording)
        while not counted.look(1.0):
            continue
    else:
        counted = numbers_of(recording.columns, numbers)
    rows = [("", "", "", counted.total), *((name, "", "", tally) for name, tally in sorted(counted.servers.items()))]
    rows += [(one.server, one.method, "", tally) for one, tally in sorted(counted.methods.items())]
    rows += [(one.server, one.method, one.target, tally) for one, tally in sorted(counted.targets.items())]
    if not out.json:
        lines: list[tuple[str, ...]] = [
            ("server", "what", "count", "errors", "p50 ms", "p95 ms", "p99 ms", "max ms", "bytes")
        ]
        for server, method, target, tally in rows:
            lines.append((server or "all", f"{method} {target}".strip() or "requests", *_figures(tally)))
        for line in table(lines):
            out.data(line)
    return out.done(
        [
            {"server": server or None, "method": method or None, "target": target or None, **_json(tally)}
            for server, method, target, tally in rows
        ]
    )


def _figures(tally: Tally) -> tuple[str, ...]:
    times = ("-" if ms is None else f"{ms:,.1f}" for ms in (tally.p50, tally.p95, tally.p99, tally.most))
    wrong = f"{tally.errors:,} ({tally.error_rate:.0%})" if tally.errors else "0"
    return f"{tally.count:,}", wrong, *times, recorded_size(tally.bytes)


def _json(tally: Tally) -> dict[str, Json]:
    times = {"p50": tally.p50, "p95": tally.p95, "p99": tally.p99, "max": tally.most}
    return {
        "count": tally.count, "errors": tally.errors, "refused": tally.refused, "tool_errors": tally.failed,
        "lost": tally.lost, "cancelled": tally.cancelled, **{name: ms and round(ms, 3) for name, ms in times.items()},
        "bytes_in": tally.bytes_in, "bytes_out": tally.bytes_out,
    }  # fmt: skip


async def differences(before: bytes, after: bytes) -> list[str]:
    """How two bodies differ, a line each."""
    return [shown(one, _WIDE).line for one in await compare(before, after)]
