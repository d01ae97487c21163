"""Spans to an OpenTelemetry collector, by OpenTelemetry's exporter for OTLP over HTTP (the extra `otlp`)."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from mcp_studio.errors import StudioError, Unreachable, UsageError
from mcp_studio.limits import KB
from mcp_studio.redact import Redactor
from mcp_studio.trace.export.item import Progress, Source, run
from mcp_studio.trace.export.spans import spans_of
from mcp_studio.trace.message import Recording

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from requests import Response

PATH = "/v1/traces"
"""Where spans go at a collector whose address names no path (OTLP over HTTP)."""
_BATCH = 500
_TIME = 10.0
"""Seconds for one batch; within them a collector that is busy gets it once more, after some pauses."""
_ANSWER = 64 * KB
_EXCERPT = 300
_HINTS = {
    401: "A header that signs in is given with the address.",
    404: f"Spans usually go to the path {PATH}.",
    415: "It has to take OTLP in protobuf.",
}


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
    headers: Iterable[tuple[str, str]] = (),
    told: Progress | None = None,
) -> Sent:
    """Send the requests among the entries with these numbers, or all, as spans, some hundred at a time.

    Raises:
        UsageError: the address is none, there are no requests, or the extra is not installed.
        StudioError: the collector could not be reached, or did not take them; what it took before, it has.
    """
    place = address(url)
    sent = Sent(0)

    def consume(source: Source) -> None:
        nonlocal sent
        collector = _Collector(place, dict(headers), redactor)
        try:
            spans = spans_of(source)
            while batch := list(islice(spans, _BATCH)):
                collector.take(batch)
        finally:
            collector.close()
        sent = collector.sent

    await run(recording, numbers, redactor, consume, told=told, leave=True)
    return sent


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


class _Collector:
    """Gives spans to the exporter, and says what came of it; in a thread."""

    def __init__(self, place: str, headers: dict[str, str], redactor: Redactor) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from requests import Session
        except ImportError:
            raise UsageError(
                "Sending spans needs OpenTelemetry's exporter, which is not installed.",
                hint="Try: pip install 'mcp-studio[otlp]'",
            ) from None
        # It logs what fails; with a handler of its own nothing of that gets to the terminal.
        logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
        self._session = Session()
        self._session.stream = True
        self._session.hooks["response"] = [self._answered]
        self._exporter = OTLPSpanExporter(place, headers=headers, timeout=_TIME, session=self._session)
        self._place = place
        self._redactor = redactor
        self._answers: list[tuple[int, str, bytes]] = []
        self.sent = Sent(0)

    def take(self, spans: list[ReadableSpan]) -> None:
        """Send some spans; raises `StudioError` where they were not taken."""
        self._answers.clear()
        self._exporter.export(spans)
        if not self._answers:
            text = f"The collector at {self._place} cannot be reached, or did not answer within {_TIME:g} s."
            raise Unreachable(self._redactor.text(text), hint="Is it running, and does it take OTLP over HTTP there?")
        status, reason, body = self._answers[-1]
        if not 200 <= status < 300:
            raise self._refused(status, reason, self._redactor.bytes(body))
        rejected, message = _partial_success(body)
        message = self._redactor.text(message)[:500] or self.sent.message
        self.sent = Sent(self.sent.spans + len(spans), self.sent.rejected + rejected, message)

    def close(self) -> None:
        """No more spans."""
        self._exporter.shutdown()

    def _answered(self, response: Response, *_args: Any, **_more: Any) -> None:
        body = next(response.iter_content(_ANSWER), b"")
        self._answers.append((response.status_code, response.reason or "", body[:_ANSWER]))
        response.close()

    def _refused(self, status: int, reason: str, body: bytes) -> StudioError:
        text = (
            f"The collector {urlsplit(self._place).netloc.rpartition('@')[2]} did not take the spans: {status} {reason}"
        )
        if 300 <= status < 400:
            text += ", which leads to another place; it was not followed"
        elif answer := " ".join(body[:_EXCERPT].decode("utf-8", "replace").split()):
            text += f": {answer}"
        return StudioError(text.rstrip(".") + ".", hint=_HINTS.get(status, ""))


def _partial_success(body: bytes) -> tuple[int, str]:
    """How many spans a collector did not want, and why."""
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    try:
        partly = ExportTraceServiceResponse.FromString(body).partial_success
    except DecodeError:
        return 0, ""
    return max(0, partly.rejected_spans), partly.error_message
