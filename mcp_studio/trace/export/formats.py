"""What a recording can be exported as: a summary for people, an HTTP archive, spans, and the lines of bundles; and
writing it.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, NamedTuple
from urllib.parse import parse_qsl

from mcp_studio import __version__
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json, dumps, mapping
from mcp_studio.redact import Redactor
from mcp_studio.safetext import safe
from mcp_studio.trace import message as bits
from mcp_studio.trace.export import collector, jsonl
from mcp_studio.trace.export.item import Item, Progress, Source, run
from mcp_studio.trace.message import DIRECTIONS, KINDS, Columns, Recording
from mcp_studio.trace.server_tap import HttpEntry, read

_BACKTICKS = re.compile("`+")
_EXCHANGES = 2_000
"""Rows of the table."""
_NOTED = 500
"""Findings and comments that are listed."""
_FAILED = ("tool error", "error", "lost")


def code(text: object, limit: int = 200) -> str:
    """Text in the typeface of code, on one line, also within a table: nothing in it is Markdown."""
    shown = safe(text, limit).replace("|", "\u2502")
    if not shown.strip():
        return ""
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(shown)), default=0))
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def write_report(source: Source) -> Iterator[bytes]:
    """A summary: counts, a row for each exchange, findings and comments; of very many only the first."""
    requests = source.requests()
    for lines in (_overview(source, requests), _exchanges(source, requests), _noted(source)):
        for line in lines:
            yield f"{line}\n".encode("utf-8", "backslashreplace")


def _overview(source: Source, requests: Sequence[int]) -> Iterator[str]:
    columns, numbers = source.columns, source.numbers
    failed = sum(columns.outcome_of(number - columns.first) in _FAILED for number in requests)
    yield f"# {code(source.title) or 'A trace'}\n"
    yield f"- {len(numbers):,} entries, {len(requests):,} requests, {failed:,} of which failed"
    first, last = (columns.time[numbers[at] - columns.first] for at in (0, -1))
    yield f"- from {_clock(first)} to {_clock(last)} UTC"
    for name, known in source.servers.items():
        about = mapping(known)
        facts = (code(about.get("url") or "stdio"), code(about.get("version", ""), 30))
        yield f"- server {code(name)}: {', '.join(filter(None, facts))}"


def _exchanges(source: Source, requests: Sequence[int]) -> Iterator[str]:
    if requests:
        yield "\n## Exchanges\n"
        yield "| entry | time | server | from | method | target | outcome | ms |"
        yield "|---:|---|---|---|---|---|---|---:|"
    for request in map(source.item, requests[:_EXCHANGES]):
        cells = (code(request.server, 60), "us" if request.direction == "out" else "server",
                 code(request.method, 80), code(request.target, 80), request.outcome)  # fmt: skip
        ms = "" if request.ms is None else f"{request.ms:,.1f}"
        yield f"| {request.number} | {_clock(request.time)} | {' | '.join(cells)} | {ms} |"
    if len(requests) > _EXCHANGES:
        yield f"\n{len(requests) - _EXCHANGES:,} more are left out."


def _noted(source: Source) -> Iterator[str]:
    columns, lines = source.columns, 0
    for number in source.paced():
        flags = columns.flags[number - columns.first]
        if lines < _NOTED and (flags & bits.COMMENTED or flags >> bits.SEVERITY & 3):
            for line in _notes(source.item(number)):
                yield line if lines else f"\n## Findings and comments\n\n{line}"
                lines += 1


def _notes(item: Item) -> Iterator[str]:
    if item.comment:
        yield f"- entry {item.number}: {code(item.comment, 2_000)}"
    for finding in item.findings:
        yield f"- entry {item.number}: {finding.severity} {code(finding.rule)}: {code(finding.text, 500)}"


def _clock(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds)) + f".{int(seconds * 1000) % 1000:03}"


_HEAD = KINDS.index("http") | DIRECTIONS.index("out") << 4
_MOST = 1_000
"""Entries of one exchange: the stream of a connection may carry any number."""


def write_har(source: Source) -> Iterator[bytes]:
    """One entry of an archive for each exchange that something chosen is of. Each frame of an event stream stands in
    the answer as an event; what HAR has no place for begins with an underscore, as it wants it.

    Raises:
        UsageError: nothing that was chosen went over HTTP.
    """
    exchanges, done = _http_exchanges(source.columns), set[int]()
    if not any(number in exchanges for number in source.numbers):
        raise UsageError("None of it went over HTTP, and an HTTP archive has nothing else.")
    head = {"version": "1.2", "creator": {"name": "mcp-studio", "version": __version__}, "comment": source.title}
    yield b'{"log":%b,"entries":[' % dumps(head)[:-1]
    for number in source.paced():
        numbers = exchanges.get(number, [0])
        if numbers[0] and numbers[0] not in done:
            yield (b",\n" if done else b"\n") + dumps(_entry([source.item(one) for one in numbers]))
            done.add(numbers[0])
    yield b"\n]}}\n"


def _http_exchanges(columns: Columns) -> dict[int, list[int]]:
    """For each entry of an exchange all entries of it, the head of its request first."""
    found: dict[int, list[int]] = {}
    newest: dict[tuple[int, int], list[int]] = {}
    for row, exchange in enumerate(columns.exchange):
        key, number = (columns.server[row], exchange), columns.first + row
        if exchange and columns.kind[row] == _HEAD:
            newest[key] = []  # each connection counts its exchanges from 1
        if (entries := newest.get(key)) is not None and len(entries) < _MOST:
            found[number] = entries
            entries.append(number)
    return found


def _entry(items: Sequence[Item]) -> Json:
    """One exchange, by the specification of HAR 1.2."""
    heads = [item for item in items if item.kind == "http" and item.direction == "in"]
    sent, came = ([one.body for one in items if one.kind != "http" and one.direction == way] for way in DIRECTIONS[:2])
    request, response = read(items[0].body), read(heads[0].body) if heads else HttpEntry("", [], b"")
    method, _, url = request.line.partition(" ")
    status, _, words = response.line.partition(" ")
    begin, answered, end = (one.time for one in (items[0], (heads or items[-1:])[0], items[-1]))
    wait, receive = (round(max(0.0, ms) * 1000, 3) for ms in (answered - begin, end - answered))
    posted, asked = b"".join((request.body, *sent)), parse_qsl(url.partition("?")[2], keep_blank_values=True)
    joint = b"data: %b\n\n" if "text/event-stream" in response.header("content-type").lower() else b"%b"
    body = b"".join((response.body, *(joint % one for one in came)))
    out, text = (part.decode("utf-8", "backslashreplace") for part in (posted, body))
    sends = {"postData": {"mimeType": request.header("content-type"), "text": out}} if posted else {}
    content = {"size": len(body), "mimeType": response.header("content-type"), "text": text}
    common: dict[str, Json] = {"httpVersion": "HTTP/1.1", "cookies": [], "headersSize": -1}
    return {
        "startedDateTime": datetime.fromtimestamp(begin, UTC).isoformat(timespec="milliseconds"),
        "time": round(wait + receive, 3),
        "request": {"method": method, "url": url, "headers": _pairs(request.headers), "queryString": _pairs(asked),
                    "bodySize": len(posted), **sends, **common},
        "response": {"status": int(status) if status.isdecimal() else 0,
                     "statusText": words if status.isdecimal() else response.line or "There was no answer.",
                     "headers": _pairs(response.headers), "content": content, "bodySize": len(body),
                     "redirectURL": response.header("location"), **common},
        "cache": {},
        "timings": {"send": 0, "wait": wait, "receive": receive},
        "_server": items[0].server,
        "_numbers": [item.number for item in items],
    }  # fmt: skip


def _pairs(pairs: Iterable[tuple[str, str]]) -> Json:
    return [{"name": name, "value": value} for name, value in pairs]


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
        Format("otlp", "otlp.jsonl", "requests as OpenTelemetry spans, as a collector takes them", collector.write),
        Format("har", "har", "HTTP exchanges, for what reads HTTP archives", write_har),
        Format("markdown", "md", "a summary for people: a row for each request, what the lint found", write_report),
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
            target.writelines(write(source))
            target.flush()

    try:
        return await run(recording, numbers, redactor, consume, title=title, told=told)
    except FileExistsError:
        raise UsageError(f"{target} is there already.", hint="Name another file; nothing is overwritten.") from None
    except OSError as problem:
        raise UsageError(f"{target} cannot be written: {problem.strerror or problem}.") from None


def _to_file(parts: Iterator[bytes], target: Path) -> None:
    if target.exists():
        raise FileExistsError
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.urandom(6).hex()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(handle, "wb", buffering=_BUFFER) as out:
            out.writelines(parts)
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
