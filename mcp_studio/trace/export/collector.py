"""Requests as OpenTelemetry spans, and figures as metrics, sent to a collector by OpenTelemetry's exporters for OTLP.

Spans can also be written to a file in the exporters' encoding (extra `otlp`). A request with a `traceparent` keeps its
ids; the ids of all others are the same at each export of a recording, so that a collector counts nothing twice.
"""

from __future__ import annotations

import logging
import time
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from mcp_studio import __version__
from mcp_studio.config.servers import wrong_address
from mcp_studio.errors import StudioError, Unreachable, UsageError
from mcp_studio.jsontext import Json, dumps, loads_or, mapping
from mcp_studio.limits import KB
from mcp_studio.protocol import versions
from mcp_studio.protocol.versions import Context
from mcp_studio.redact import Redactor
from mcp_studio.trace.export.item import Item, Progress, Source, run
from mcp_studio.trace.lint.rules import Finding
from mcp_studio.trace.message import BY_HAND, LISTEN, Recording
from mcp_studio.trace.statistics import BOUNDS, Durations, Meter
from mcp_studio.trace.tree import parent_of

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricsData
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, Status
    from requests import Response

PATH = "/v1/traces"
METRICS_PATH = "/v1/metrics"
"""The paths of spans and metrics at a collector whose address has no path (OTLP over HTTP)."""
_BATCH = 500
TIME = 10.0
"""Seconds for one batch, with pauses and another attempt if the collector is busy."""
_ANSWER = 64 * KB
_IDS = ("traceId", "spanId", "parentSpanId")
_EXCERPT = 300


class Sent(NamedTuple):
    """The result of sending to a collector."""

    taken: int
    """The number of spans, or of points of metrics."""
    rejected: int = 0
    """How many of them the collector rejected."""
    message: str = ""
    """The collector's reason; foreign text."""


async def send(
    recording: Recording,
    numbers: Iterable[int] | None,
    url: str,
    redactor: Redactor,
    *,
    headers: Iterable[tuple[str, str]] = (),
    progress: Progress | None = None,
) -> Sent:
    """Send the requests among these entries, or all requests, as spans, in batches of some hundred.

    Raises:
        UsageError: the address is invalid, there are no requests, or the extra is not installed.
        StudioError: the collector was not reached or refused; it keeps the batches that it took before.
    """
    place = address(url, PATH)
    sent = Sent(0)

    def consume(source: Source) -> None:
        nonlocal sent
        with closing(_Collector("spans", place, dict(headers), redactor)) as collector:
            spans = spans_of(source)
            while batch := list(islice(spans, _BATCH)):
                collector.take(batch, len(batch))
        sent = collector.sent

    await run(recording, numbers, redactor, consume, progress=progress, leave=True)
    return sent


def send_metrics(
    meters: Sequence[Meter], since: float, url: str, redactor: Redactor, *, headers: Iterable[tuple[str, str]] = ()
) -> Sent:
    """Send the present metrics, counted since a moment; blocks for some seconds at most.

    Raises:
        StudioError: as `send`.
    """
    with closing(_Collector("metrics", address(url, METRICS_PATH), dict(headers), redactor)) as collector:
        collector.take(_metrics(meters, _nanos(since), _nanos(time.time())), sum(len(one.points) for one in meters))
    return collector.sent


def address(url: str, path: str) -> str:
    """The complete address of a collector; `path` is used where the address has none.

    Raises:
        UsageError: the address is not one of HTTP.
    """
    place = url.strip()
    if wrong_address(place) or not place.startswith("http"):
        hint = "Such as http://localhost:4318, where a collector usually listens."
        raise UsageError("A collector is named by an address that begins with http:// or https://.", hint=hint)
    parts = urlsplit(place)
    return urlunsplit(parts._replace(path=path)) if parts.path in ("", "/") else place


class _Collector:
    """Sends spans or metrics through the exporter, and reports the result; for one thread."""

    def __init__(
        self, what: Literal["spans", "metrics"], place: str, headers: dict[str, str], redactor: Redactor
    ) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from requests import Session
        except ImportError:
            raise _missing() from None
        # The exporter logs failures; with this handler the messages do not reach the terminal.
        logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
        self._session = Session()
        self._session.stream = True
        self._session.hooks["response"] = [self._keep_answer]
        exporter = OTLPSpanExporter if what == "spans" else OTLPMetricExporter
        self._exporter: Any = exporter(place, headers=headers, timeout=TIME, session=self._session)
        self._what, self._place = what, place
        self._redactor = redactor
        self._answers: list[tuple[int, str, bytes]] = []
        self.sent = Sent(0)

    def take(self, batch: list[ReadableSpan] | MetricsData, count: int) -> None:
        """Send a batch; raises `StudioError` where the collector does not take it."""
        self._answers.clear()
        self._exporter.export(batch)
        if not self._answers:
            text = f"The collector at {self._place} cannot be reached, or did not answer within {TIME:g} s."
            raise Unreachable(self._redactor.text(text), hint="Is it running, and does it take OTLP over HTTP there?")
        status, reason, body = self._answers[-1]
        if not 200 <= status < 300:
            answer = " ".join(self._redactor.bytes(body)[:_EXCERPT].decode("utf-8", "replace").split())
            text = f"The collector {urlsplit(self._place).netloc.rpartition('@')[2]} did not take the {self._what}"
            raise StudioError(f"{text}: {status} {reason}{f': {answer}' * bool(answer)}".rstrip(".") + ".")
        rejected, message = _partial_success(body)
        message = self._redactor.text(message)[:500] or self.sent.message
        self.sent = Sent(self.sent.taken + count, self.sent.rejected + rejected, message)

    def close(self) -> None:
        """Shut the exporter down."""
        self._exporter.shutdown()

    def _keep_answer(self, response: Response, *_args: Any, **_more: Any) -> None:
        body = next(response.iter_content(_ANSWER), b"")
        self._answers.append((response.status_code, response.reason or "", body[:_ANSWER]))
        response.close()


def _partial_success(body: bytes) -> tuple[int, str]:
    """The number of rejected spans or points, and the reason: both kinds of answers have the same form."""
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    try:
        partly = ExportTraceServiceResponse.FromString(body).partial_success
    except DecodeError:
        return 0, ""
    return max(0, partly.rejected_spans), partly.error_message


def write(source: Source) -> Iterator[bytes]:
    """The spans for a file: OTLP as JSON, some hundred per line."""
    try:
        from google.protobuf.json_format import MessageToDict
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    except ImportError:
        raise _missing() from None
    spans = spans_of(source)
    while batch := list(islice(spans, _BATCH)):
        made = MessageToDict(encode_spans(batch), use_integers_for_enums=True)
        for group in (scope for resource in made["resourceSpans"] for scope in resource["scopeSpans"]):
            for one in (place for span in group["spans"] for place in (span, *span.get("links", ()))):
                # Protobuf's JSON has bytes as base64, but OTLP's has ids as hexadecimal digits.
                one.update((name, b64decode(one[name]).hex()) for name in _IDS if name in one)
        yield dumps(made) + b"\n"


def _missing() -> UsageError:
    hint = "Try: pip install 'mcp-studio[otlp]'"
    return UsageError("This needs OpenTelemetry's exporter, which is not installed.", hint=hint)


def _metrics(meters: Sequence[Meter], since: int, now: int) -> MetricsData:
    """The metrics as objects of OpenTelemetry."""
    from opentelemetry.sdk.metrics import export as sdk

    bounds = [bound / 1000 for bound in BOUNDS]

    def metric(one: Meter) -> sdk.Metric:
        numbers: list[sdk.NumberDataPoint] = []
        times: list[sdk.HistogramDataPoint] = []
        for target, value in one.points:
            labels: Attributes = {"mcp_studio.server": target.server}
            if target.method:
                labels |= {"mcp.method.name": target.method, _TARGETS[target.method]: target.target}
            if isinstance(value, Durations):
                least, most, total = (ms / 1000 for ms in (value.least if value.count else 0, value.most, value.total))
                found = value.count, total, value.buckets, bounds, least, most
                times.append(sdk.HistogramDataPoint(labels, since, now, *found))
            else:
                numbers.append(sdk.NumberDataPoint(labels, since, now, value))
        kind = sdk.AggregationTemporality.CUMULATIVE
        data = sdk.Histogram(times, kind) if times else sdk.Sum(numbers, kind, True) if one.counter else None
        return sdk.Metric(one.name, one.about, one.unit, data or sdk.Gauge(numbers))

    resource, scope = _origin()
    scoped = sdk.ScopeMetrics(scope, [metric(one) for one in meters if one.points], "")
    return sdk.MetricsData([sdk.ResourceMetrics(resource, [scoped], "")])


def _origin() -> tuple[Resource, InstrumentationScope]:
    """The resource and scope that name the studio."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    resource = Resource({"service.name": "mcp-studio", "service.version": __version__})
    return resource, InstrumentationScope("mcp-studio", __version__)


# ---------------------------------------------------------------------- spans

Attributes = dict[str, str | int | bool]
_LARGE = 1 << 20
"""Bytes of the largest message that is parsed for its id or error."""
_WORDS = 1_000
_HIGHEST = 100
"""The most ancestors of a request that are searched for its trace."""
_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_TARGETS = {
    "tools/call": "gen_ai.tool.name",
    "prompts/get": "gen_ai.prompt.name",
    **dict.fromkeys(("resources/read", "resources/subscribe", "resources/unsubscribe"), "mcp.resource.uri"),
}
"""The attribute that holds the target, by method."""


def spans_of(source: Source) -> Iterator[ReadableSpan]:
    """The spans of requests that were chosen, or whose answers were. Needs the extra `otlp`.

    Raises:
        UsageError: no request was chosen.
    """
    requests = source.requests()
    if not requests:
        raise UsageError("None of it is a request or an answer, and only those are spans.")
    return map(_Spans(source).span, source.paced(requests))


class _Spans:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._columns = columns = source.columns
        begin = columns.time[0] if len(columns) else 0.0
        self._seed = f"{begin!r} {columns.first} {' '.join(columns.servers.texts[:20])}"
        self._resource, self._scope = _origin()

    def span(self, number: int) -> ReadableSpan:
        """The span of a request."""
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.trace import Link, SpanKind

        source = self._source
        request, link = source.item(number), source.answer_to(number)
        answer = source.item(link) if link else None
        own, parent, other = self._place(request)
        state = versions.of_frame(request.body).get("tracestate") or ""
        attributes = _attributes(request, mapping(source.servers.get(request.server)))
        comment = "\n".join(filter(None, (request.comment, answer.comment if answer else "")))
        if comment:
            attributes["mcp_studio.comment"] = comment
        status = _status(request, answer, attributes)
        begin = _nanos(request.time)
        end = max(begin, _nanos(answer.time)) if answer else begin
        return ReadableSpan(
            _name(request),
            context=_context(own, state),
            parent=_context(Context(own.trace, parent), state) if parent else None,
            resource=self._resource,
            attributes=attributes,
            events=[_event(one, end) for one in request.findings + (answer.findings if answer else ())],
            links=[Link(_context(other))] if other else (),
            kind={"out": SpanKind.CLIENT, "in": SpanKind.SERVER}.get(request.direction, SpanKind.INTERNAL),
            status=status,
            start_time=begin,
            end_time=end,
            instrumentation_scope=self._scope,
        )

    def _place(self, request: Item) -> tuple[Context, str, Context | None]:
        """The ids of a request, the id of its parent span in the same trace, and a related span of another trace."""
        own, above = self._context_of(request.number), parent_of(self._columns, request.number)
        parent = self._context_of(above) if above >= self._columns.first else None
        named = self._trace_context(request.number)
        if named is not None and own != named:  # the server, or a person, names the parent span
            if parent is None or parent.trace == named.trace:
                return Context(named.trace, own.span), named.span, None
            return Context(parent.trace, own.span), parent.span, named
        same = parent is not None and parent.trace == own.trace
        return own, parent.span if parent and same else "", None if same else parent

    def _context_of(self, number: int) -> Context:
        """The ids that a request carried, or ids of its own in the trace of its ancestors."""
        columns, root = self._columns, number
        for _ in range(_HIGHEST):
            row, named = root - columns.first, self._trace_context(root)
            ours = columns.direction_of(row) != "in" and not columns.flags[row] & BY_HAND
            if named is not None and ours:
                return named if root == number else Context(named.trace, self._hash(8, number))
            above = parent_of(columns, root)
            if above < columns.first:
                break
            root = above
        return Context(self._hash(16, root), self._hash(8, number))

    def _trace_context(self, number: int) -> Context | None:
        return versions.read(versions.of_frame(self._source.body(number)).get("traceparent"))

    def _hash(self, size: int, number: int) -> str:
        return blake2b(f"{self._seed} {number}".encode("utf-8", "replace"), digest_size=size).hexdigest()


def _name(request: Item) -> str:
    """`{mcp.method.name} {target}` where there are few targets, as of tools, prompts and steps, but not of URIs."""
    named = request.target and (request.method in ("tools/call", "prompts/get") or request.direction == "none")
    return f"{request.method} {request.target}" if named else request.method or "request"


def _attributes(request: Item, server: Mapping[str, Json]) -> Attributes:
    identity = _parsed(request.body).get("id")
    further: Attributes = {
        "mcp.method.name": request.method * (request.direction != "none"), "mcp_studio.server": request.server,
        "gen_ai.operation.name": "execute_tool" * (request.method == "tools/call"),
        _TARGETS.get(request.method, ""): request.target * (request.method in _TARGETS),
        "mcp_studio.outcome": request.outcome, "mcp_studio.by_hand": bool(request.flags & BY_HAND),
        "mcp_studio.number": request.number,
    }  # fmt: skip
    found: Attributes = {name: value for name, value in further.items() if value}
    if isinstance(identity, (int, str)) and not isinstance(identity, bool):
        found["jsonrpc.request.id"] = str(identity)[:_WORDS]
    return found | (_server(server) if server else {})


def _server(server: Mapping[str, Json]) -> Attributes:
    found: Attributes = {}
    if isinstance(version := server.get("version"), str) and version:
        found["mcp.protocol.version"] = version
    transport, url = server.get("transport"), server.get("url")
    if transport == "stdio":
        return {**found, "network.transport": "pipe"}
    protocol = "websocket" if transport == "websocket" else "http"
    found |= {"network.transport": "tcp", "network.protocol.name": protocol}
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return found
    return found | {"server.address": parts.hostname, "server.port": port} if parts.hostname else found


def _status(request: Item, answer: Item | None, attributes: Attributes) -> Status:
    """Whether the request failed, and why; adds the kind of failure to the attributes."""
    from opentelemetry.trace import Status, StatusCode

    outcome = request.outcome
    if outcome in ("ok", "open", "") or (request.method == LISTEN and outcome != "error"):
        return Status()
    attributes["error.type"] = outcome.replace(" ", "_")
    if outcome != "error":
        why = "No answer came." if outcome == "lost" else None
        return Status(StatusCode.ERROR, why)
    error = mapping(_parsed(answer.body if answer else b"").get("error"))
    code, message = error.get("code"), error.get("message")
    attributes["error.type"] = "_OTHER"
    if isinstance(code, int) and not isinstance(code, bool):
        attributes["error.type"] = attributes["rpc.response.status_code"] = str(code)[:_WORDS]
    return Status(StatusCode.ERROR, message[:_WORDS] if isinstance(message, str) else None)


def _parsed(frame: bytes) -> dict[str, Json]:
    return mapping(loads_or(frame)) if len(frame) <= _LARGE else {}


def _event(finding: Finding, end: int) -> Event:
    from opentelemetry.sdk.trace import Event

    known = {"severity": finding.severity, "rule": finding.rule, "message": finding.text}
    return Event("mcp_studio.finding", {f"mcp_studio.finding.{name}": text for name, text in known.items()}, end)


def _nanos(time: float) -> int:
    """A moment in nanoseconds, as OpenTelemetry has it."""
    return max(0, round(time * 1_000_000)) * 1_000


def _context(context: Context, state: str = "") -> SpanContext:
    from opentelemetry.trace import SpanContext, TraceState

    states = TraceState.from_header([state]) if state else None
    return SpanContext(int(context.trace, 16), int(context.span, 16), is_remote=False, trace_state=states)
