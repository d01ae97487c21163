"""Spans to an OpenTelemetry collector: OTLP over HTTP in JSON, to the address that a person names and nowhere else."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import LimitExceeded, StudioError, UsageError
from mcp_studio.jsontext import JsonProblem, loads, mapping
from mcp_studio.limits import DEFAULT, KB, Limits
from mcp_studio.redact import Redactor
from mcp_studio.trace.export.formats import Told, gathered
from mcp_studio.trace.export.spans import Otlp
from mcp_studio.trace.message import Recording
from mcp_studio.transport.base import HttpRequest, HttpResponse
from mcp_studio.transport.edge import Edge
from mcp_studio.transport.http_errors import excerpt
from mcp_studio.transport.http_response import Answer

PATH = "/v1/traces"
"""Where spans go at a collector whose address names no path (OTLP over HTTP)."""
_HEAD, _BODY = 30.0, 10.0
"""Seconds until the head of an answer is there, and the rest of it."""
_ANSWER = 64 * KB
_AGAIN = (429, 502, 503, 504)
"""What a collector says to have the same once more (OTLP over HTTP, failures)."""
_PAUSES = (1.0, 2.0, 4.0)
_LONGEST = 30.0
Headers = Iterable[tuple[str, str]]


class Sent(NamedTuple):
    """What a collector took."""

    spans: int
    rejected: int = 0
    """Of them, those that it did not want."""
    message: str = ""
    """What it said about that; foreign text."""


async def send(
    recording: Recording,
    numbers: Iterable[int] | None,
    url: str,
    redactor: Redactor,
    *,
    headers: Headers = (),
    limits: Limits = DEFAULT,
    told: Told | None = None,
) -> Sent:
    """Send the requests among the entries with these numbers, or all, as spans, some hundred at a time.

    Raises:
        UsageError: the address is none, or there are no requests.
        StudioError: the collector could not be reached, or did not take them; what it took before, it has.
    """
    place = address(url)
    edge = Edge(ServerConfig("collector", url=place, headers=dict(headers)), limits, _Deaf())
    writer, out = Otlp(), io.BytesIO()
    sent = Sent(0)

    async def post() -> None:
        nonlocal sent
        lines = out.getvalue().splitlines()
        out.seek(0)
        out.truncate()
        for line in lines:
            sent = await _post(edge, line, sent, redactor)

    try:
        await edge.open()
        await gathered(recording, numbers, redactor, writer, out, told=told, after=post)
        return sent._replace(spans=writer.count)
    finally:
        await edge.close(limits.close)


def address(url: str) -> str:
    """The whole address of a collector.

    Raises:
        UsageError: it is none that can be posted to.
    """
    try:
        parts = urlsplit(url.strip())
        fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        parts, fits = urlsplit(""), False
    if not fits:
        hint = "Such as http://localhost:4318, where a collector usually listens."
        raise UsageError("A collector is named by an address that begins with http:// or https://.", hint=hint)
    return urlunsplit(parts._replace(path=PATH)) if parts.path in ("", "/") else url.strip()


async def _post(edge: Edge, line: bytes, sent: Sent, redactor: Redactor) -> Sent:
    for pause in (*_PAUSES, None):
        async with edge.exchange("POST", [("Content-Type", "application/json")], line, head=_HEAD) as answer:
            body = await _read(answer)
            if 200 <= answer.status < 300:
                return _taken(body, sent)
            if answer.status not in _AGAIN or pause is None:
                raise _refused(edge, answer, redactor.bytes(body))
            wait = _wish(answer.header("retry-after"), pause)
        await asyncio.sleep(wait)
    raise AssertionError("the last one returns or raises")


async def _read(answer: Answer) -> bytes:
    """As much of an answer as is bearable: what counts is its status."""
    try:
        async with asyncio.timeout(_BODY):
            return await answer.read(_ANSWER)
    except (TimeoutError, StudioError):
        return b""


def _taken(body: bytes, sent: Sent) -> Sent:
    """What a collector says of spans that it took only in part."""
    try:
        partly = mapping(mapping(loads(body)).get("partialSuccess")) if body else {}
    except (JsonProblem, LimitExceeded):
        return sent
    count, message = str(partly.get("rejectedSpans", 0)), partly.get("errorMessage")
    rejected = int(count) if count.isdecimal() and len(count) < 12 else 0
    return Sent(0, sent.rejected + rejected, message[:500] if isinstance(message, str) and message else sent.message)


def _refused(edge: Edge, answer: Answer, body: bytes) -> StudioError:
    said = f": {excerpt(body)}" if body.strip() else ""
    hints = {
        401: "A header that signs in is given with the address.", 404: f"Spans usually go to the path {PATH}.",
        415: "It has to take OTLP in JSON.",
    }  # fmt: skip
    text = f"The collector {edge.place} did not take the spans: {answer.status} {answer.reason}{said}"
    return StudioError(text.rstrip(".") + ".", hint=hints.get(answer.status, ""))


def _wish(retry_after: str, pause: float) -> float:
    return min(float(retry_after), _LONGEST) if re.fullmatch(r"\d{1,6}", retry_after) else pause


class _Deaf:
    """A tap: what goes to a collector is no part of any trace."""

    def sent(self, frame: bytes, exchange: int = 0) -> None:
        """Nothing."""

    def received(self, frame: bytes, exchange: int = 0) -> None:
        """Nothing."""

    def stray(self, line: bytes) -> None:
        """Nothing."""

    def stderr(self, line: bytes) -> None:
        """Nothing."""

    def http_request(self, request: HttpRequest) -> None:
        """Nothing."""

    def http_response(self, response: HttpResponse) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""
