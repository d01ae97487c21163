"""What a recording can be exported as: a report for people, and the lines of bundles; and writing it."""

from __future__ import annotations

import os
import re
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, NamedTuple

from mcp_studio.errors import LimitExceeded, UsageError
from mcp_studio.jsontext import Json, JsonProblem, loads, mapping, pretty
from mcp_studio.redact import Redactor
from mcp_studio.safetext import safe
from mcp_studio.trace import message as bits
from mcp_studio.trace.export import jsonl
from mcp_studio.trace.export.item import Item, Progress, Source, run
from mcp_studio.trace.message import Columns, Recording
from mcp_studio.trace.statistics import Durations
from mcp_studio.trace.tree import tree, walk

_SIGNS = re.compile(r"[!-/:-@\[-`{-~]")
_SCANNED = 200_000
_BACKTICKS = re.compile("`+")
_TILL = 4_000
_ROWS = 80


def inline(text: object, limit: int = 200) -> str:
    """Text within a line or a table: every sign that Markdown could take for its own is escaped."""
    return _SIGNS.sub(r"\\\g<0>", safe(text, limit))


def code(text: object, limit: int = 200) -> str:
    """Text in the typeface of code, on one line, also within a table."""
    shown = safe(text, limit).replace("|", "\u2502")
    if not shown.strip():
        return ""
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(shown)), default=0))
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def block(body: bytes) -> str:
    """A body in a fence that nothing in it can end; JSON is indented, and what is long is cut."""
    text, kind = body[:_SCANNED].decode("utf-8", "backslashreplace"), "text"
    if len(body) <= _SCANNED and body[:1] in b"{[":
        try:
            text, kind = pretty(loads(text, exact=True)), "json"
        except (JsonProblem, LimitExceeded):
            kind = "text"
    shown = safe(text[:_TILL], _TILL * 12, lines=True)
    rows = shown.split("\n")
    left = len(text) - _TILL
    if left > 0 or len(rows) > _ROWS or len(body) > _SCANNED:
        rows = [*rows[:_ROWS], f"… cut; the whole has {len(body):,} bytes"]
    fence = "`" * max(3, 1 + max((len(run) for run in _BACKTICKS.findall(shown)), default=0))
    return "\n".join((fence + kind, *rows, fence))


_SHOWN = 500
"""Requests that are shown one by one."""
_LINES = 2_000
"""Other entries, in lines."""
_FAILURES = 100
_KINDS = 200
"""Rows of the table."""
_FAILED = ("tool error", "error", "lost")
_WORDS = {"stderr": "standard error", "stray": "standard output, no protocol", "note": "note", "http": "HTTP"}


def write_report(source: Source) -> Iterator[bytes]:
    """A report; bodies that are long are cut, and of very many requests only the first are shown."""
    report = _Report(source)
    for line in (*report.overview(), *report.table(), *report.failures()):
        yield f"{line}\n".encode("utf-8", "backslashreplace")
    for line in report.events():
        yield f"{line}\n".encode("utf-8", "backslashreplace")


class _Report:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._columns = source.columns
        self._rows = [number - source.columns.first for number in source.requests()]
        """Of the requests."""
        self._failed = [row for row in self._rows if self._has_failed(row)]

    def overview(self) -> Iterator[str]:
        """What it is about."""
        columns, source = self._columns, self._source
        first, last = (columns.time[source.numbers[at] - columns.first] for at in (0, -1))
        yield f"# {inline(source.title) or 'A trace'}\n"
        yield f"- {len(source.numbers):,} entries, {len(self._rows):,} requests, {len(self._failed):,} of which failed"
        yield f"- from {_clock(first)} to {_clock(last)} UTC, {last - first:,.1f} s"
        for name, known in source.servers.items():
            yield f"- server {code(name)}{_about(mapping(known))}"
        yield ""

    def table(self) -> Iterator[str]:
        """Numbers of each kind of request."""
        columns = self._columns
        found: dict[tuple[str, str, str], list[int]] = {}
        for row in self._rows:
            found.setdefault((columns.servers.texts[columns.server[row]], *self._texts(row)), []).append(row)
        if not found:
            return
        yield "## Numbers\n"
        yield "| server | method | target | count | failed | median ms | p95 ms | longest ms |"
        yield "|---|---|---|---:|---:|---:|---:|---:|"
        for texts, rows in sorted(found.items(), key=lambda one: -len(one[1]))[:_KINDS]:
            took = Durations()
            for row in rows:
                if (ms := columns.ms(row)) is not None:
                    took.add(ms)
            times = (took.percentile(0.5), took.percentile(0.95), took.most if took.count else None)
            figures = ("" if ms is None else f"{ms:,.1f}" for ms in times)
            failed = sum(map(self._has_failed, rows))
            yield f"| {' | '.join([*map(self._code, texts), f'{len(rows):,}', f'{failed:,}', *figures])} |"
        if len(found) > _KINDS:
            yield f"\n{len(found) - _KINDS:,} further rows are left out."
        yield ""

    def failures(self) -> Iterator[str]:
        """Requests that failed."""
        columns = self._columns
        if self._failed:
            yield "## Failures\n"
            for row in self._failed[:_FAILURES]:
                yield f"- {self._name(row)}: {columns.outcome_of(row)} (entry {columns.first + row:,})"
            if len(self._failed) > _FAILURES:
                yield f"- {len(self._failed) - _FAILURES:,} more"
            yield ""

    def events(self) -> Iterator[str]:
        """Each request with its answer, and what else there was."""
        source, shown, lines, listing = self._source, set[int](), 0, False
        yield "## What happened\n"
        for number in source.paced():
            if request := source.request_of(number):
                if request not in shown and len(shown) < _SHOWN:
                    shown.add(request)
                    yield from self._exchange(source.item(request))
                    listing = False
            elif lines < _LINES:
                lines += 1
                other = _other(source.item(number))
                yield other if listing else f"\n{other}"
                listing = True
        if (left := len(self._rows) - len(shown)) > 0:
            yield f"\nRequests that are not shown one by one: {left:,}."
        if lines >= _LINES:
            yield f"\nOf the other entries only the first {_LINES:,} are shown."

    def _exchange(self, request: Item) -> Iterator[str]:
        answer = self._source.answer_to(request.number)
        way = "" if request.direction == "out" else "the server asks: "
        yield f"\n### {request.number:,}. {way}{self._name(request.number - self._columns.first)}\n"
        took = "" if request.ms is None else f", {request.ms:,.1f} ms"
        under = request.under or request.follows
        below = f", under entry {under:,}" if under else ""
        yield f"{_clock(request.time)}, {request.outcome or 'no request'}{took}{below}\n"
        for item in (request, self._source.item(answer)) if answer else (request,):
            if item.comment:
                yield f"> {inline(item.comment, 2_000)}\n"
            for finding in item.findings[:20]:
                yield f"- {finding.severity} {code(finding.rule)}: {inline(finding.text, 500)}"
            yield f"\n{block(item.body) if item.body else 'Its body is empty.'}"

    def _has_failed(self, row: int) -> bool:
        return self._columns.outcome_of(row) in _FAILED

    def _texts(self, row: int) -> tuple[str, str]:
        """Method and target."""
        columns = self._columns
        return columns.methods.texts[columns.method[row]], columns.targets.texts[columns.target[row]]

    def _name(self, row: int) -> str:
        columns = self._columns
        name = " ".join(self._code(text) for text in self._texts(row) if text) or "a request"
        return f"{name} on {self._code(columns.servers.texts[columns.server[row]])}"

    def _code(self, text: str) -> str:
        return code(self._source.clean(text), 80)


def _other(item: Item) -> str:
    """An entry that is no request and no answer, as a line."""
    what = _WORDS.get(item.kind, item.kind)
    if item.target:  # what a request of signing in is for
        what += f" ({inline(item.target)})"
    text = item.body.split(b"\n", 1)[0][:400].decode("utf-8", "backslashreplace")
    comment = f" · {inline(item.comment)}" if item.comment else ""
    return f"- {_clock(item.time)} {code(item.server, 60)} {what}: {code(text)}{comment}"


def _about(known: dict[str, Json]) -> str:
    info = mapping(known.get("info"))
    named = " ".join(code(info[key], 60) for key in ("name", "version") if info.get(key))
    parts = [named, f"protocol {code(known['version'], 30)}" if known.get("version") else "",
             code(known.get("url") or "stdio", 120)]  # fmt: skip
    return ": " + ", ".join(filter(None, parts))


def _clock(seconds: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds)) + f".{int(seconds * 1000) % 1000:03}"
    except (OverflowError, OSError, ValueError):
        return "at no time"


_BUFFER = 1 << 20


class Format(NamedTuple):
    """One of the formats."""

    name: str
    ending: str
    """Of file names."""
    words: str
    write: Callable[[Source], Iterator[bytes]]


FORMATS: Mapping[str, Format] = {
    one.name: one
    for one in (
        Format("bundle", "mcptrace", "everything, compressed: opens anywhere, and can be played", jsonl.write_bundle),
        Format("jsonl", "jsonl", "everything, one JSON object on each line", jsonl.write),
        Format("markdown", "md", "a report for people: numbers, failures, each request shortly", write_report),
    )
}
"""By their names."""


async def export(
    recording: Recording,
    numbers: Iterable[int] | None,
    format: str,
    target: Path | IO[bytes],
    redactor: Redactor,
    *,
    title: str = "",
    told: Progress | None = None,
) -> int:
    """Write the entries with these numbers, or all, to a new file or a stream, and say how many there were; those that
    are gone are left out.

    A file appears when it is complete. Cancelling the caller leaves nothing behind. Everything goes through the
    redactor once more.

    Raises:
        UsageError: no such format, nothing chosen, or the file is there already, or cannot be written.
    """
    if format not in FORMATS:
        raise UsageError(f"There is no format {format!r} to export as.", hint=f"There are {', '.join(FORMATS)}.")
    write = FORMATS[format].write

    def consume(source: Source) -> None:
        if isinstance(target, Path):
            _to_file(write(source), target)
        else:
            _to_stream(write(source), target)

    try:
        return await run(recording, numbers, redactor, consume, title=title, told=told)
    except FileExistsError:
        raise UsageError(f"{target} is there already.", hint="Name another file; nothing is overwritten.") from None
    except OSError as problem:
        raise UsageError(f"{target} cannot be written: {problem.strerror or problem}.") from None


def _to_stream(parts: Iterator[bytes], out: IO[bytes]) -> None:
    for part in parts:
        out.write(part)
    out.flush()


def _to_file(parts: Iterator[bytes], target: Path) -> None:
    if target.exists():
        raise FileExistsError
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.urandom(6).hex()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(handle, "wb", buffering=_BUFFER) as out:
            _to_stream(parts, out)
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)


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
