"""One entry of a recording, as a line and as JSON."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable, Sequence
from io import RawIOBase
from pathlib import Path
from typing import IO, cast

from mcp_studio import __version__
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output, table
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json
from mcp_studio.paths import Paths
from mcp_studio.safetext import safe
from mcp_studio.trace import message as bits
from mcp_studio.trace.diff import compare, shown
from mcp_studio.trace.disk.session import Session
from mcp_studio.trace.disk.sessions import SessionInfo, describe, sessions
from mcp_studio.trace.export.bundle import open_recording
from mcp_studio.trace.export.collector import address, send
from mcp_studio.trace.export.formats import FORMATS
from mcp_studio.trace.export.formats import export as exported
from mcp_studio.trace.export.item import items
from mcp_studio.trace.export.jsonl import head_line, line_of
from mcp_studio.trace.message import Columns, Reader, Recording
from mcp_studio.trace.query.terms import Query
from mcp_studio.trace.search import Search
from mcp_studio.trace.server_tap import beginning
from mcp_studio.trace.statistics import Numbers, Tally, numbers_of
from mcp_studio.trace.tree import Node, tree, walk

_WORDY = ("stderr", "stray", "note", "invalid")
"""Kinds of entries that say themselves what they are about."""
_SERVER, _METHOD, _TARGET = 20, 26, 60
_DAY = 86_400
_SEVERITIES = (None, "hint", "warning", "error")


class Lines:
    """Entries as lines of a table whose columns do not depend on what is in them."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        columns = recording.columns
        self._reader = recording.reader()
        names = columns.servers.texts[2:]
        self._server = min(_SERVER, max((len(safe(name, 80)) for name in names), default=0))
        self._server = max(self._server, len("server"))
        times = columns.time
        far = len(times) > 0 and _day(times[0]) != _day(times[-1])
        self._clock = "%Y-%m-%d %H:%M:%S" if far else "%H:%M:%S"

    def head(self) -> str:
        """The names of the columns."""
        clock = "time".ljust(23 if "%Y" in self._clock else 12)
        return (
            f"{'number':>8}  {clock}  {'server':<{self._server}}  dir  {'kind':<12}  {'method':<{_METHOD}}"
            f"  {'ms':>8}  {'bytes':>9}  {'status':<10}  target"
        )

    def line(self, number: int) -> str:
        """One entry."""
        columns = self._recording.columns
        row = number - columns.first
        ms, kind = columns.ms(row), columns.kind_of(row)
        server = safe(columns.servers.texts[columns.server[row]], self._server)
        method = safe(columns.methods.texts[columns.method[row]], 80)
        target = columns.targets.texts[columns.target[row]]
        if kind in _WORDY and not target:
            target = beginning(self._reader.body(number), _TARGET)
        stamp = columns.time[row]
        clock = time.strftime(self._clock, time.localtime(stamp)) + f".{int(stamp * 1000) % 1000:03}"
        return (
            f"{number:>8}  {clock}  {server:<{self._server}}  {columns.direction_of(row).replace('none', '-'):<3}"
            f"  {kind:<12}  {method:<{_METHOD}}  {'' if ms is None else f'{ms:.1f}':>8}  {columns.size[row]:>9}"
            f"  {status(columns, row):<10}  {safe(target, _TARGET)}"
        ).rstrip()

    def close(self) -> None:
        """No more lines."""
        self._reader.close()


def status(columns: Columns, row: int) -> str:
    """How it stands with an entry, in a word or two."""
    kind, outcome = columns.kind_of(row), columns.outcome_of(row)
    if outcome:
        return outcome
    return {"error": "error", "result": "unasked", "invalid": "no message", "stray": "stray"}.get(kind, "")


def facts(recording: Recording, number: int) -> dict[str, Json]:
    """One entry without its body."""
    columns = recording.columns
    row = number - columns.first
    flags, ms, link = columns.flags[row], columns.ms(row), columns.link[row]
    asks = columns.kind_of(row) == "request"
    return {
        "number": number, "time": round(columns.time[row], 6), "server": columns.servers.texts[columns.server[row]],
        "direction": columns.direction_of(row), "kind": columns.kind_of(row),
        "method": columns.methods.texts[columns.method[row]] or None,
        "target": columns.targets.texts[columns.target[row]] or None,
        "size": columns.size[row], "ms": None if ms is None else round(ms, 3), "status": status(columns, row) or None,
        "request": link or None if not asks else None, "answer": link or None if asks else None,
        "finding": _SEVERITIES[flags >> bits.SEVERITY & 3], "marked": bool(flags & bits.MARKED),
        "comment": recording.comment_on(number) or None if flags & bits.COMMENTED else None,
    }  # fmt: skip


def _day(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(moment))


_RELATIONS = {"root": "", "asked": "asked", "round": "next round", "task": "task", "retry": "again", "step": "step",
              "http": "http", "note": "note"}  # fmt: skip
_BAR = 30
_WORDS = 80


def show(recording: Recording, number: int, out: Output) -> int:
    """Print the tree that an entry belongs to; returns the exit code."""
    root = tree(recording, number)
    assert root is not None, "the number was checked"
    begin, end = _span(recording, root)
    reader = recording.reader()
    try:
        for depth, node in walk(root):
            out.data(_line(recording, reader, node, depth, begin, end))
    finally:
        reader.close()
    return out.done(_facts(recording, root, begin))


def _line(recording: Recording, reader: Reader, node: Node, depth: int, begin: float, end: float) -> str:
    columns = recording.columns
    row = node.number - columns.first
    method, target = columns.methods.texts[columns.method[row]], columns.targets.texts[columns.target[row]]
    kind, ms = columns.kind_of(row), columns.ms(row)
    if kind in ("note", "stderr", "stray", "invalid"):
        target = beginning(reader.body(node.number), _WORDS)
    what = " ".join(part for part in (_RELATIONS[node.relation], method or kind, target) if part)
    label = f"{'  ' * depth}{safe(what, _WORDS)}"
    if not depth:
        server = safe(columns.servers.texts[columns.server[row]], 40)
        clock = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(columns.time[row]))
        label = f"{label} · {server} · {clock}"
    starts = (columns.time[row] - begin) * 1000
    took = "" if ms is None else f"{ms:.1f} ms"
    bar = _bar(columns.time[row] - begin, (ms or 0) / 1000, end - begin) if kind == "request" else ""
    return f"{node.number:>8}  {starts:>9.1f}  {took:>11}  {status(columns, row):<10}  {bar:<{_BAR}}  {label}".rstrip()


def _bar(start: float, took: float, whole: float) -> str:
    if whole <= 0:
        return "=" * _BAR
    before = min(_BAR - 1, int(start / whole * _BAR))
    return " " * before + "=" * max(1, min(_BAR - before, round(took / whole * _BAR)))


def _span(recording: Recording, root: Node) -> tuple[float, float]:
    """When the first of the tree came, and the last answer."""
    columns = recording.columns
    rows = [node.number - columns.first for _, node in walk(root)]
    begin = min(columns.time[row] for row in rows)
    return begin, max(columns.time[row] + (columns.ms(row) or 0) / 1000 for row in rows)


def _facts(recording: Recording, node: Node, begin: float) -> dict[str, Json]:
    known = facts(recording, node.number)
    children = [_facts(recording, child, begin) for child in node.children]
    after = round((known["time"] - begin) * 1000, 3)
    return {"relation": node.relation, "after_ms": after, **known, "children": children}


_LISTED = 30
_MOST = 1_000_000
_SERVERS = 3
_HEADS = ("session", "state", "began", "messages", "size", "servers", "made by")


def folder() -> Path:
    """Where sessions are kept."""
    return Paths.default().state / "trace"


def listing(options: Options, out: Output) -> int:
    """A line for each session, the newest first."""
    limit = options.count("--limit", _MOST) or _LISTED
    found = sessions(folder(), limit + 1)
    rows = [_row(info) for info in found[:limit]]
    for line in table([_HEADS, *rows] if rows else []):
        out.data(line)
    if len(found) > limit:
        out.note(f"the newest {limit:,}; --limit N shows more")
    elif not found:
        out.note(f"no session is kept in {folder()}")
    return out.done([_sessions_facts(info) for info in found[:limit]])


def open_named(name: str, out: Output) -> Session:
    """Open a session by its name, or a file.

    Raises:
        StudioError: there is none, or it cannot be read.
    """
    try:
        recording = open_recording(name, folder())
    except UsageError as error:
        if ":" in name and not Path(name).exists():
            error.hint = f"The first word says which session: mcp-studio trace last {name}"
        raise
    if recording.problem:
        out.warn(recording.problem)
    return recording


def _row(info: SessionInfo) -> tuple[str, ...]:
    began = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(info.began)) if info.began else "-"
    servers = ", ".join(safe(name, 40) for name in info.servers[:_SERVERS])
    more = f" and {len(info.servers) - _SERVERS} more" if len(info.servers) > _SERVERS else ""
    what = info.problem or " ".join(filter(None, (info.origin, info.title and f"({info.title})")))
    return info.name, info.state, began, f"{info.entries:,}", recorded_size(info.bytes), servers + more, what


def recorded_size(size: float) -> str:
    """Bytes in a few characters."""
    for unit in ("B", "kB", "MB"):
        if size < 1_000:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 99.5 else f"{size:.1f} {unit}"
        size /= 1_000
    return f"{size:.1f} GB"


def _sessions_facts(info: SessionInfo) -> dict[str, Json]:
    return {
        "name": info.name, "state": info.state, "origin": info.origin or None, "title": info.title or None,
        "began": info.began or None, "ended": info.ended, "entries": info.entries, "bytes": info.bytes,
        "servers": list(info.servers), "file": str(info.path), "problem": info.problem or None,
    }  # fmt: skip


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
            place = search.place(last + 1)
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
        counted = numbers_of(recording, numbers)
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


def check(format: str, output: str, to: str) -> None:
    """Whether what `--to` goes with fits.

    Raises:
        UsageError: it does not, in words.
    """
    if format != "otlp":
        raise UsageError("--to names a collector, and that takes --export otlp alone.")
    if output:
        raise UsageError("--to and --output cannot both be given.")
    address(to)


async def to_collector(
    recording: Recording, numbers: Sequence[int] | None, to: str, headers: Iterable[tuple[str, str]], out: Output
) -> int:
    """Send the requests among these entries, or all, to the collector at an address; returns the exit code.

    Raises:
        StudioError: see `collector.send`.
    """
    sent = await send(recording, numbers, to, out.redactor, headers=headers)
    out.note(f"sent {_spans(sent.spans)} to the collector")
    if sent.rejected:
        out.note(f"it did not want {_spans(sent.rejected)}. {sent.message}".strip())
    return out.done({"sent": sent.spans, "rejected": sent.rejected, "message": sent.message or None})


def _spans(count: int) -> str:
    return f"{count:,} span{'' if count == 1 else 's'}"
