"""HTTP exchanges as HAR 1.2, JSON-RPC frames as their bodies.

What HAR has no place for begins with an underscore. Each frame of an event stream stands in the answer as an event.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from urllib.parse import parse_qsl, urlsplit

from mcp_studio import __version__
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json, dumps
from mcp_studio.limits import MB
from mcp_studio.trace.export.item import Item, Source
from mcp_studio.trace.message import DIRECTIONS, KINDS
from mcp_studio.trace.server_tap import HttpEntry, read, redacted

_HEAD_OUT = KINDS.index("http") | DIRECTIONS.index("out") << 4
_HEAD_IN = KINDS.index("http") | DIRECTIONS.index("in") << 4
_OUT = DIRECTIONS.index("out")
_CONTENT = 16 * MB
"""Bytes of one answer that are written: the stream of a connection may hold very many."""
_OPEN = 50_000
"""Exchanges that something can still come on."""
_EVENTS = "text/event-stream"


def write(source: Source, items: Iterator[Item]) -> Iterator[bytes]:
    """One HAR entry for each exchange that something chosen is of.

    Raises:
        UsageError: nothing that was chosen went over HTTP.
    """
    columns = source.columns
    if not any(columns.exchange[number - columns.first] for number in source.numbers):
        raise UsageError("None of it went over HTTP, and HAR has HTTP exchanges alone.")
    har, done = _Har(source), bytearray(len(columns))
    creator = dumps({"name": "mcp-studio", "version": __version__})
    comment = dumps(source.title or "A trace of mcp-studio")
    yield b'{"log":{"version":"1.2","creator":%b,"comment":%b,"entries":[' % (creator, comment)
    separator = b"\n"
    for item in items:
        head = har.head(item.number - columns.first) if item.exchange else None
        if head is not None and not done[head]:
            done[head] = 1
            yield separator + dumps(har.entry(head))
            separator = b",\n"
    yield b"\n]}}\n"


class _Har:
    """Which rows are of one exchange, and its entry. Each connection counts its exchanges from 1."""

    def __init__(self, source: Source) -> None:
        self._source = source
        columns = source.columns
        rows = len(columns)
        self._heads = array("I", bytes(4 * rows))
        """Of each row, 1 and the row that its exchange begins with; 0 where that is not there."""
        self._next = array("I", bytes(4 * rows))
        newest: dict[int, int] = {}
        for row, exchange in enumerate(islice(columns.exchange, rows)):  # more may come meanwhile
            if not exchange:
                continue
            key = columns.server[row] << 32 | exchange
            before = newest.pop(key, None)
            if columns.kind[row] == _HEAD_OUT:
                self._heads[row] = row + 1
            elif before is not None:
                self._heads[row], self._next[before] = self._heads[before], row
            newest[key] = row
            if len(newest) > _OPEN:
                del newest[next(iter(newest))]

    def head(self, row: int) -> int | None:
        """The row that an exchange begins with; None where that is not there."""
        return self._heads[row] - 1 if self._heads[row] else None

    def _rows(self, row: int) -> Iterator[int]:
        """All rows of the exchange that begins with this one."""
        yield row
        while following := self._next[row]:
            row = following
            yield row

    def entry(self, head: int) -> Json:
        """One exchange."""
        columns = self._source.columns
        rows = list(self._rows(head))
        sent = [row for row in rows if columns.kind[row] != _HEAD_OUT and columns.kind[row] >> 4 == _OUT]
        came = [row for row in rows if columns.kind[row] != _HEAD_IN and columns.kind[row] >> 4 != _OUT]
        answered = next((row for row in rows if columns.kind[row] == _HEAD_IN), None)
        begin, last = columns.time[head], columns.time[rows[-1]]
        waited = _ms(begin, columns.time[answered] if answered is not None else last)
        received = _ms(columns.time[answered], last) if answered is not None else 0.0
        request = self._head(head)
        response = self._head(answered) if answered is not None else HttpEntry("", [], b"")
        posted = b"".join(map(self._body, sent)) + request.body
        purpose = columns.targets.texts[columns.target[head]]
        names = columns.servers.texts
        return {
            "startedDateTime": datetime.fromtimestamp(begin, UTC).isoformat(timespec="milliseconds"),
            "time": round(waited + received, 3),
            "request": _request(request, posted, bool(sent or request.body)),
            "response": _response(response, *self._content(came, response)),
            "cache": {},
            "timings": {"send": 0, "wait": waited, "receive": received},
            "_server": self._source.redactor.text(names[columns.server[head]]),
            "_numbers": [columns.first + row for row in rows[:1_000]],
            **({"_purpose": self._source.redactor.text(purpose)} if purpose else {}),
        }

    def _content(self, rows: list[int], response: HttpEntry) -> tuple[str, int, str]:
        """The body of an answer as text, its size, and what is to be said of it."""
        events = _EVENTS in response.header("content-type").lower()
        parts = [response.body] if response.body else []
        size = kept = len(response.body)
        for row in rows:
            size += self._source.columns.size[row]
            if kept <= _CONTENT:
                body = self._body(row)
                kept += len(body)
                parts.append(b"data: %b\n\n" % body if events else body)
        text, note = _text((b"" if events else b"\n").join(parts))
        return text, size, f"The first {kept:,} bytes of it." if kept > _CONTENT else note

    def _head(self, row: int) -> HttpEntry:
        text = redacted(self._source.reader.body(self._source.columns.first + row), self._source.redactor)
        told = read(text.decode("utf-8", "replace").encode())
        return told._replace(headers=[line for line in told.headers if line[0]])

    def _body(self, row: int) -> bytes:
        return self._source.redactor.bytes(self._source.reader.body(self._source.columns.first + row))


def _request(head: HttpEntry, body: bytes, posted: bool) -> Json:
    method, _, url = head.line.partition(" ")
    text, note = _text(body)
    known: dict[str, Json] = {
        "method": method, "url": url, "httpVersion": "HTTP/1.1", "cookies": [], "headers": _pairs(head.headers),
        "queryString": _pairs(_query(url)), "headersSize": -1, "bodySize": len(body),
    }  # fmt: skip
    if posted:
        data: dict[str, Json] = {"mimeType": head.header("content-type") or "application/json", "text": text}
        known["postData"] = {**data, "comment": note} if note else data
    return known


def _response(head: HttpEntry, text: str, size: int, note: str) -> Json:
    status, _, words = head.line.partition(" ")
    known = status.isdecimal() and len(status) == 3
    content: dict[str, Json] = {"size": size, "mimeType": head.header("content-type") or "x-unknown"}
    if text:
        content["text"] = text
    if note:
        content["comment"] = note
    made: dict[str, Json] = {
        "status": int(status) if known else 0, "statusText": words if known else "", "httpVersion": "HTTP/1.1",
        "cookies": [], "headers": _pairs(head.headers), "content": content, "redirectURL": head.header("location"),
        "headersSize": -1, "bodySize": size,
    }  # fmt: skip
    return made if known else {**made, "_error": head.line or "There was no answer."}


def _pairs(pairs: Iterable[tuple[str, str]]) -> Json:
    return [{"name": name, "value": value} for name, value in pairs]


def _query(url: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(urlsplit(url).query, keep_blank_values=True, max_num_fields=500)
    except ValueError:
        return []


def _text(body: bytes) -> tuple[str, str]:
    """Bytes as text, and what is to be said of that."""
    try:
        return body.decode(), ""
    except UnicodeDecodeError:
        return body.decode("utf-8", "backslashreplace"), "Bytes that are no UTF-8 are written as \\x.."


def _ms(begin: float, end: float) -> float:
    return round(max(0.0, end - begin) * 1000, 3)
