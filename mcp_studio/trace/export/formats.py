"""The export formats of a recording, and exporting: a summary, an HTTP archive, a workflow, spans, the lines of
bundles.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import IO, NamedTuple
from urllib.parse import parse_qsl

from mcp_studio import __version__
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json, dumps, items_of, loads_or, mapping, pretty
from mcp_studio.paths import write_atomically
from mcp_studio.redact import Redactor
from mcp_studio.safetext import safe
from mcp_studio.trace import message as bits
from mcp_studio.trace.export import collector, jsonl
from mcp_studio.trace.export.item import Item, Progress, Source, run
from mcp_studio.trace.message import DIRECTIONS, KINDS, Columns, Recording
from mcp_studio.trace.server_tap import HttpEntry, read

_BACKTICKS = re.compile("`+")
_EXCHANGES = 2_000
"""The most rows of the table."""
_NOTED = 500
"""The most findings and comments that are listed."""
_FAILED = ("tool error", "error", "lost")


def code(text: object, limit: int = 200) -> str:
    """Text as Markdown code on one line, also for a table, so that nothing in it acts as Markdown."""
    shown = safe(text, limit).replace("|", "\u2502")
    if not shown.strip():
        return ""
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(shown)), default=0))
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def write_report(source: Source) -> Iterator[bytes]:
    """A summary: counts, a row for each exchange, findings and comments; of very many only the first."""
    requests = source.requests()
    for line in chain(_overview(source, requests), _exchanges(source, requests), _note_lines(source)):
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
        cells = (code(request.server, 60), "server" if request.direction == "in" else "us",
                 code(request.method, 80), code(request.target, 80), request.outcome)  # fmt: skip
        ms = "" if request.ms is None else f"{request.ms:,.1f}"
        yield f"| {request.number} | {_clock(request.time)} | {' | '.join(cells)} | {ms} |"
    if len(requests) > _EXCHANGES:
        yield f"\n{len(requests) - _EXCHANGES:,} more are left out."


def _note_lines(source: Source) -> Iterator[str]:
    columns, wanted = source.columns, bits.COMMENTED | 3 << bits.SEVERITY
    numbers = (number for number in source.paced() if columns.flags[number - columns.first] & wanted)
    lines = islice((line for number in numbers for line in _notes(source.item(number))), _NOTED)
    yield from (line if at else f"\n## Findings and comments\n\n{line}" for at, line in enumerate(lines))


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
    """An HTTP archive of each exchange with a chosen entry.

    Each frame of an event stream is an event in the response's text; members that HAR does not define start with an
    underscore, as HAR asks.

    Raises:
        UsageError: no chosen entry went over HTTP.
    """
    exchanges, done = _http_exchanges(source.columns), set[int]()
    if not any(number in exchanges for number in source.numbers):
        raise UsageError("None of it went over HTTP, and an HTTP archive has nothing else.")
    head = {"version": "1.2", "creator": {"name": "mcp-studio", "version": __version__}, "comment": source.title}
    yield b'{"log":%b,"entries":[' % dumps(head)[:-1]
    for number in source.paced():
        if (numbers := exchanges.get(number)) and numbers[0] not in done:
            yield (b",\n" if done else b"\n") + dumps(_entry([source.item(one) for one in numbers]))
            done.add(numbers[0])
    yield b"\n]}}\n"


def _http_exchanges(columns: Columns) -> dict[int, list[int]]:
    """For each entry of an exchange all entries of it, the head of its request first."""
    found, newest = dict[int, list[int]](), dict[tuple[int, int], list[int]]()
    for row, exchange in enumerate(columns.exchange):
        key, number = (columns.server[row], exchange), columns.first + row
        if exchange and columns.kind[row] == _HEAD:
            newest[key] = []  # each connection counts its exchanges from 1
        if (entries := newest.get(key)) is not None and len(entries) < _MOST:
            found[number] = entries
            entries.append(number)
    return found


def _entry(items: Sequence[Item]) -> Json:
    """One exchange in the form of HAR 1.2."""
    heads = [item for item in items if item.kind == "http" and item.direction == "in"]
    sent, came = ([one.body for one in items if one.kind != "http" and one.direction == way] for way in DIRECTIONS[:2])
    request, response = read(items[0].body), read(heads[0].body) if heads else HttpEntry("", [], b"")
    method, _, url = request.line.partition(" ")
    status, _, words = response.line.partition(" ")
    begin, answered, end = (one.time for one in (items[0], (heads or items[-1:])[0], items[-1]))
    wait, receive = (round(max(0.0, ms) * 1000, 3) for ms in (answered - begin, end - answered))
    posted, query = b"".join((request.body, *sent)), parse_qsl(url.partition("?")[2], keep_blank_values=True)
    joint = b"data: %b\n\n" if "text/event-stream" in response.header("content-type").lower() else b"%b"
    body = b"".join((response.body, *(joint % one for one in came)))
    out, text = (part.decode("utf-8", "backslashreplace") for part in (posted, body))
    sends = {"postData": {"mimeType": request.header("content-type"), "text": out}} if posted else {}
    content = {"size": len(body), "mimeType": response.header("content-type"), "text": text}
    common: dict[str, Json] = {"httpVersion": "HTTP/1.1", "cookies": [], "headersSize": -1}
    return {
        "startedDateTime": datetime.fromtimestamp(begin, UTC).isoformat(timespec="milliseconds"),
        "time": round(wait + receive, 3),
        "request": {"method": method, "url": url, "headers": _pairs(request.headers), "queryString": _pairs(query),
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


_TELLING = 4
"""Characters from which on a text hardly occurs twice by chance."""


def write_workflow(source: Source) -> Iterator[bytes]:
    """The calls of tools as the steps of a workflow.

    Raises:
        UsageError: no tool was called.
    """
    yield workflow_of(source.title, _tool_calls(source))


def _tool_calls(source: Source) -> Iterator[tuple[str, str, Json, Json, str]]:
    """The server, tool, arguments and structured result of each call of a tool."""
    for request in map(source.item, source.paced(source.requests())):
        if request.method == "tools/call" and request.direction == "out" and not request.follows:
            params = mapping(mapping(loads_or(request.body, exact=True)).get("params"))
            answer = source.answer_to(request.number)
            result = mapping(mapping(loads_or(source.body(answer))).get("result")) if answer else {}
            yield request.server, request.target, params.get("arguments"), result.get("structuredContent"), ""


def workflow_of(title: str, calls: Iterable[tuple[str, str, Json, Json, str]]) -> bytes:
    """The file of a workflow whose steps are calls: server, tool, arguments, the result where it is known, and the
    JMESPath expression whose value on the result becomes a variable; none if it is empty. A text that an earlier result
    gave first is a reference to it.

    Raises:
        UsageError: there is no call.
    """
    steps, known = list[Json](), dict[str, str]()
    for number, (server, tool, arguments, result, query) in enumerate(calls, 1):
        name = f"{re.sub('[^A-Za-z_]', '_', tool)}_{number}"
        call: Json = {"call": tool, "server": server} if "." in server else {"call": f"{server}.{tool}"}
        steps.append({"id": name, **call, "arguments": _argument(mapping(arguments), known)})
        steps += [{"set": {name: f"$query({name}, {query!r})"}}] if query else []
        for text, place in chain(_texts(arguments, ""), _texts(result, f"${name}")):
            known.setdefault(text, place if place[:1] == "$" else "")
    if not steps:
        raise UsageError("No tool is called in it, and a workflow has nothing else.")
    return pretty({"name": title or "calls", "steps": steps}).encode("utf-8", "backslashreplace") + b"\n"


def _argument(value: Json, known: Mapping[str, str]) -> Json:
    """A value in the form of a step's arguments."""
    if isinstance(value, dict):
        return {key: _argument(inner, known) for key, inner in value.items()}
    if isinstance(value, list):
        return [_argument(inner, known) for inner in value]
    if not isinstance(value, str):
        return value
    return known.get(value) or (f"${value}" if value.startswith("$") else value.replace("${", '${"$"}{'))


def _texts(value: Json, place: str) -> Iterator[tuple[str, str]]:
    """The longer texts of a value, each with the expression that refers to it."""
    if isinstance(value, str) and len(value) >= _TELLING:
        yield value, place
    for key, inner in value.items() if isinstance(value, dict) else enumerate(items_of(value)):
        plain = isinstance(key, str) and key.isascii() and key.isidentifier()
        yield from _texts(inner, f"{place}.{key}" if plain else f"{place}[{key!r}]")


class Format(NamedTuple):
    """An export format."""

    name: str
    ending: str
    """The ending of file names."""
    words: str
    write: Callable[[Source], Iterator[bytes]]


FORMATS: Mapping[str, Format] = {
    one.name: one
    for one in (
        Format("bundle", "mcptrace", "everything, compressed: opens anywhere, and can be played", jsonl.write_bundle),
        Format("jsonl", "jsonl", "everything, one JSON object on each line", jsonl.write),
        Format("otlp", "otlp.jsonl", "requests as OpenTelemetry spans, as a collector takes them", collector.write),
        Format("har", "har", "HTTP exchanges, for what reads HTTP archives", write_har),
        Format("markdown", "md", "a summary for people: requests, and what the lint found", write_report),
        Format("workflow", "json", "the calls of tools as the steps of a workflow", write_workflow),
    )
}
"""The formats by name."""


async def export(
    recording: Recording,
    numbers: Iterable[int] | None,
    format: str,
    target: Path | IO[bytes],
    redactor: Redactor,
    *,
    title: str = "",
    progress: Progress | None = None,
) -> int:
    """Write these entries, or all, to a new file or a stream; returns how many were written, without those that are
    gone.

    A file appears when it is complete. Cancelling the caller leaves nothing behind. All data is redacted once more.

    Raises:
        UsageError: the format does not exist, no entry is chosen, or the file exists already or cannot be written.
    """
    if format not in FORMATS:
        raise UsageError(f"There is no format {format!r} to export as.", hint=f"There are {', '.join(FORMATS)}.")
    write = FORMATS[format].write

    def consume(source: Source) -> None:
        if isinstance(target, Path):
            if target.exists():
                raise FileExistsError
            write_atomically(target, write(source))
        else:
            target.writelines(write(source))
            target.flush()

    try:
        return await run(recording, numbers, redactor, consume, title=title, progress=progress)
    except FileExistsError:
        raise UsageError(f"{target} is there already.", hint="Name another file; nothing is overwritten.") from None
    except OSError as problem:
        raise UsageError(f"{target} cannot be written: {problem.strerror or problem}.") from None
