"""What a recording can be exported as: a report for people, and the lines of bundles; and writing it."""

from __future__ import annotations

import os
import re
import time
from array import array
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, NamedTuple

from mcp_studio.errors import LimitExceeded, UsageError
from mcp_studio.jsontext import Json, JsonProblem, loads, mapping, pretty
from mcp_studio.paths import file_stem
from mcp_studio.redact import Redactor
from mcp_studio.safetext import safe
from mcp_studio.trace import message as bits
from mcp_studio.trace.export import jsonl
from mcp_studio.trace.export.item import Item, Progress, Source, Write, run
from mcp_studio.trace.message import KINDS, LISTEN, Columns, Recording
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
_REQUEST = KINDS.index("request")
_FAILED = ("tool error", "error", "lost")
_WORDS = {"stderr": "standard error", "stray": "standard output, no protocol", "note": "note", "http": "HTTP"}


def write_report(source: Source, items: Iterator[Item]) -> Iterator[bytes]:
    """A report; bodies that are long are cut, and of very many requests only the first are shown."""
    report = _Report(source)
    for part in (report.overview(), report.events(items)):
        for line in part:
            yield f"{line}\n".encode("utf-8", "backslashreplace")


class _Report:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._columns = source.columns
        self._requests = list(self._find_requests())
        """The rows of the requests that were chosen, or whose answer was."""
        self._failed = [row for row in self._requests if self._has_failed(row)]

    def overview(self) -> Iterator[str]:
        """Summary, numbers and failures."""
        columns, source = self._columns, self._source
        first, last = (columns.time[source.numbers[at] - columns.first] for at in (0, -1))
        yield f"# {inline(source.title) or 'A trace'}\n"
        entries, requests, failed = len(source.numbers), len(self._requests), len(self._failed)
        yield f"- {entries:,} entries, {requests:,} requests, {failed:,} of which failed"
        yield f"- from {_clock(first)} to {_clock(last)} UTC, {last - first:,.1f} s"
        for name, known in source.servers.items():
            yield f"- server {code(name)}{_about(mapping(known))}"
        yield ""
        if self._requests:
            yield from self._table()
        if self._failed:
            yield "## Failures\n"
            for row in self._failed[:_FAILURES]:
                yield f"- {self._name(row)}: {columns.outcome_of(row)} (entry {columns.first + row:,})"
            if failed > _FAILURES:
                yield f"- {failed - _FAILURES:,} more"
            yield ""
        yield "## What happened\n"

    def _table(self) -> Iterator[str]:
        columns = self._columns
        found: dict[tuple[int, int, int], list[int]] = {}
        for row in self._requests:
            found.setdefault((columns.server[row], columns.method[row], columns.target[row]), []).append(row)
        yield "## Numbers\n"
        yield "| server | method | target | count | failed | median ms | p95 ms | longest ms | bytes back |"
        yield "|---|---|---|---:|---:|---:|---:|---:|---:|"
        for (server, method, target), rows in sorted(found.items(), key=lambda one: -len(one[1]))[:_KINDS]:
            texts = columns.servers.texts[server], columns.methods.texts[method], columns.targets.texts[target]
            yield f"| {' | '.join([*(self._code(text) for text in texts), *self._figures(rows)])} |"
        if len(found) > _KINDS:
            yield f"\n{len(found) - _KINDS:,} further rows are left out."
        yield ""

    def _figures(self, rows: list[int]) -> Iterator[str]:
        columns = self._columns
        took = sorted(ms for row in rows if (ms := columns.ms(row)) is not None)
        answers = (columns.link[row] - columns.first for row in rows if columns.link[row])
        yield f"{len(rows):,}"
        yield f"{sum(map(self._has_failed, rows)):,}"
        for share in (0.5, 0.95, 1.0):
            yield f"{took[min(len(took) - 1, int(share * len(took)))]:,.1f}" if took else ""
        yield f"{sum(columns.size[answer] for answer in answers if 0 <= answer < len(columns)):,}"

    def events(self, items: Iterator[Item]) -> Iterator[str]:
        """Each request with its answer, and what else there was."""
        shown, lines, listing = set[int](), 0, False
        for item in items:
            number = item.number if item.kind == "request" else item.link if item.outcome else 0
            if number >= max(1, self._columns.first):
                if number not in shown and len(shown) < _SHOWN:
                    shown.add(number)
                    yield from self._exchange(number - self._columns.first, item)
                    listing = False
            elif lines < _LINES:
                lines += 1
                yield self._other(item) if listing else f"\n{self._other(item)}"
                listing = True
        if (left := len(self._requests) - len(shown)) > 0:
            yield f"\nRequests that are not shown one by one: {left:,}."
        if lines >= _LINES:
            yield f"\nOf the other entries only the first {_LINES:,} are shown."

    def _exchange(self, row: int, item: Item) -> Iterator[str]:
        columns, number = self._columns, self._columns.first + row
        ms, under = columns.ms(row), columns.parents.get(number) or columns.follows.get(number)
        way = "" if columns.direction_of(row) == "out" else "the server asks: "
        yield f"\n### {number:,}. {way}{self._name(row)}\n"
        took = "" if ms is None else f", {ms:,.1f} ms"
        below = f", under entry {under:,}" if under else ""
        yield f"{_clock(columns.time[row])}, {columns.outcome_of(row) or 'no request'}{took}{below}\n"
        if item.extra.comment:
            yield f"> {inline(item.extra.comment, 2_000)}\n"
        for finding in item.extra.findings[:20]:
            yield f"- {finding.severity} {code(finding.rule)}: {inline(finding.text, 500)}"
        for entry in (number, columns.link[row]):
            if entry and 0 <= entry - columns.first < len(columns):
                body = item.body
                if entry != item.number:
                    body = self._source.redactor.bytes(self._source.reader.body(entry))
                yield f"\n{block(body) if body else 'Its body is empty.'}"

    def _other(self, item: Item) -> str:
        what = _WORDS.get(item.kind, item.kind)
        if item.target:  # what a request of signing in is for
            what += f" ({inline(item.target)})"
        text = item.body.split(b"\n", 1)[0][:400].decode("utf-8", "backslashreplace")
        comment = f" · {inline(item.extra.comment)}" if item.extra.comment else ""
        return f"- {_clock(item.time)} {code(item.server, 60)} {what}: {code(text)}{comment}"

    def _find_requests(self) -> Iterator[int]:
        columns = self._columns
        for number in self._source.numbers:
            row = number - columns.first
            link = columns.link[row]
            if columns.kind[row] & 15 == _REQUEST:
                yield row
            elif columns.outcome[row] and link >= columns.first and not self._source.chosen(link):
                yield link - columns.first

    def _has_failed(self, row: int) -> bool:
        columns = self._columns
        outcome, lasting = columns.outcome_of(row), columns.methods.texts[columns.method[row]] == LISTEN
        return outcome in _FAILED and not (lasting and outcome == "lost")

    def _name(self, row: int) -> str:
        columns = self._columns
        texts = columns.methods.texts[columns.method[row]], columns.targets.texts[columns.target[row]]
        name = " ".join(self._code(text) for text in texts if text) or "a request"
        return f"{name} on {self._code(columns.servers.texts[columns.server[row]])}"

    def _code(self, text: str) -> str:
        return code(self._source.redactor.text(text), 80)


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
    write: Write


FORMATS: Mapping[str, Format] = {
    one.name: one
    for one in (
        Format("bundle", "mcptrace", "everything, compressed: opens anywhere, and can be played", jsonl.write_bundle),
        Format("jsonl", "jsonl", "everything, one JSON object on each line", jsonl.write),
        Format("markdown", "md", "a report for people: numbers, failures, each request shortly", write_report),
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
        count = await run(recording, numbers, redactor, consume, title=title, told=told)
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
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)


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
