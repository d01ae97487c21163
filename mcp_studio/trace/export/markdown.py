"""A report for people: what there was in numbers, what failed, and each request shortly."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import NamedTuple

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads, mapping, pretty
from mcp_studio.safetext import safe
from mcp_studio.trace.export.item import Item, Source
from mcp_studio.trace.message import KINDS, LISTEN

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


class _Kind(NamedTuple):
    """Requests that are counted together."""

    server: int
    method: int
    target: int


def write(source: Source, items: Iterator[Item]) -> Iterator[bytes]:
    """A report; bodies that are long are cut, and of very many requests only the first are shown."""
    report = _Report(source)
    report.begin()
    yield report.take()
    for item in items:
        report.add(item)
        yield report.take()
    report.end()
    yield report.take()


class _Report:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._text: list[str] = []
        self._requests = list(self._requests_in())
        self._shown: set[int] = set()
        self._lines = 0
        self._listing = False

    def take(self) -> bytes:
        """What is new."""
        text = "".join(self._text)
        self._text.clear()
        return text.encode("utf-8", "backslashreplace")

    def begin(self) -> None:
        """Summary, numbers and failures."""
        self._line(f"# {inline(self._source.title) or 'A trace'}", "")
        self._summary()
        self._table()
        self._failures()
        self._line("## What happened", "")

    def add(self, item: Item) -> None:
        """A request with its answer, or what else there was."""
        number = self._request_of(item)
        if number:
            if number not in self._shown and len(self._shown) < _SHOWN:
                self._shown.add(number)
                self._exchange(number, item)
        elif self._lines < _LINES:
            self._lines += 1
            self._other(item)

    def end(self) -> None:
        """What was left out."""
        if (left := len(self._requests) - len(self._shown)) > 0:
            self._line("", f"Requests that are not shown one by one: {left:,}.")
        if self._lines >= _LINES:
            self._line("", f"Of the other entries only the first {_LINES:,} are shown.")

    # ------------------------------------------------------------------ what stands before

    def _requests_in(self) -> Iterator[int]:
        """The requests that were chosen, or whose answer was."""
        columns = self._source.columns
        for number in self._source.numbers:
            row = number - columns.first
            if columns.kind[row] & 15 == _REQUEST:
                yield number
            elif columns.outcome[row] and columns.link[row] >= columns.first:
                if not self._source.chosen(columns.link[row]):
                    yield columns.link[row]

    def _summary(self) -> None:
        columns, source = self._source.columns, self._source
        first, last = (columns.time[source.numbers[at] - columns.first] for at in (0, -1))
        failed = sum(1 for number in self._requests if self._failed(number - columns.first))
        self._line(
            f"- {len(source.numbers):,} entries, {len(self._requests):,} requests, {failed:,} of which failed",
            f"- from {_clock(first)} to {_clock(last)} UTC, {last - first:,.1f} s",
        )
        for name, known in source.servers.items():
            self._line(f"- server {code(name)}{_about(mapping(known))}")
        self._line("")

    def _table(self) -> None:
        columns = self._source.columns
        found: dict[_Kind, list[int]] = {}
        for number in self._requests:
            row = number - columns.first
            found.setdefault(_Kind(columns.server[row], columns.method[row], columns.target[row]), []).append(row)
        if not found:
            return
        self._line("## Numbers", "")
        self._line("| server | method | target | count | failed | median ms | p95 ms | longest ms | bytes back |")
        self._line("|---|---|---|---:|---:|---:|---:|---:|---:|")
        ordered = sorted(found.items(), key=lambda one: -len(one[1]))
        for kind, rows in ordered[:_KINDS]:
            texts = (
                columns.servers.texts[kind.server], columns.methods.texts[kind.method],
                columns.targets.texts[kind.target],
            )  # fmt: skip
            cells = [*(code(self._clean(text), 80) for text in texts), *self._figures(rows)]
            self._line(f"| {' | '.join(cells)} |")
        if len(ordered) > _KINDS:
            self._line("", f"{len(ordered) - _KINDS:,} further rows are left out.")
        self._line("")

    def _figures(self, rows: list[int]) -> Iterator[str]:
        columns = self._source.columns
        took = sorted(ms for row in rows if (ms := columns.ms(row)) is not None)
        answers = (columns.link[row] - columns.first for row in rows if columns.link[row])
        size = sum(columns.size[answer] for answer in answers if 0 <= answer < len(columns))
        yield f"{len(rows):,}"
        yield f"{sum(1 for row in rows if self._failed(row)):,}"
        for share in (0.5, 0.95, 1.0):
            yield f"{took[min(len(took) - 1, int(share * len(took)))]:,.1f}" if took else ""
        yield f"{size:,}"

    def _failures(self) -> None:
        columns = self._source.columns
        failed = [number for number in self._requests if self._failed(number - columns.first)]
        if not failed:
            return
        self._line("## Failures", "")
        for number in failed[:_FAILURES]:
            row = number - columns.first
            self._line(f"- {self._name(row)}: {columns.outcome_of(row)} (entry {number:,})")
        if len(failed) > _FAILURES:
            self._line(f"- {len(failed) - _FAILURES:,} more")
        self._line("")

    # ------------------------------------------------------------------ what happened

    def _request_of(self, item: Item) -> int:
        if item.kind == "request":
            return item.number
        return item.link if item.outcome and item.link >= self._source.columns.first else 0

    def _exchange(self, number: int, item: Item) -> None:
        columns = self._source.columns
        row = number - columns.first
        ms = columns.ms(row)
        took = "" if ms is None else f", {ms:,.1f} ms"
        way = "" if columns.direction_of(row) == "out" else "the server asks: "
        under = columns.parents.get(number) or columns.follows.get(number)
        below = f", under entry {under:,}" if under else ""
        self._line("", f"### {number:,}. {way}{self._name(row)}", "")
        self._line(f"{_clock(columns.time[row])}, {columns.outcome_of(row) or 'no request'}{took}{below}", "")
        if item.extra.comment:
            self._line(f"> {inline(item.extra.comment, 2_000)}", "")
        for finding in item.extra.findings[:20]:
            self._line(f"- {finding.severity} {code(finding.rule)}: {inline(finding.text, 500)}")
        for entry in (number, columns.link[row]):
            if entry and 0 <= entry - columns.first < len(columns):
                body = item.body if entry == item.number else self._body(entry)
                self._line("", block(body) if body else "Its body is empty.")
        self._listing = False

    def _other(self, item: Item) -> None:
        if not self._listing:
            self._line("")
        self._listing = True
        what = _WORDS.get(item.kind, item.kind)
        text = item.body.split(b"\n", 1)[0][:400].decode("utf-8", "backslashreplace")
        said = f" · {inline(item.extra.comment)}" if item.extra.comment else ""
        what += f" ({inline(item.target)})" if item.target else ""  # what a request of signing in is for
        self._line(f"- {_clock(item.time)} {code(item.server, 60)} {what}: {code(text)}{said}")

    def _failed(self, row: int) -> bool:
        columns = self._source.columns
        outcome, lasting = columns.outcome_of(row), columns.methods.texts[columns.method[row]] == LISTEN
        return outcome in _FAILED and not (lasting and outcome == "lost")

    def _name(self, row: int) -> str:
        columns = self._source.columns
        texts = columns.methods.texts[columns.method[row]], columns.targets.texts[columns.target[row]]
        name = " ".join(code(self._clean(text), 80) for text in texts if text) or "a request"
        return f"{name} on {code(self._clean(columns.servers.texts[columns.server[row]]), 60)}"

    def _clean(self, text: str) -> str:
        return self._source.redactor.text(text)

    def _body(self, number: int) -> bytes:
        return self._source.redactor.bytes(self._source.reader.body(number))

    def _line(self, *lines: str) -> None:
        self._text += (f"{line}\n" for line in lines)


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
