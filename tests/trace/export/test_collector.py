"""Spans to a collector on this machine."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from mcp_studio.errors import StudioError, Unreachable, UsageError
from mcp_studio.redact import Redactor
from mcp_studio.trace.export import collector
from mcp_studio.trace.export.collector import Sent, address, send
from tests.support import run
from tests.trace.export.recorded import item, morning, recorded

Reply = tuple[int, bytes, str]
OK: Reply = (200, b"", "")


def partial(rejected: int, message: str) -> Reply:
    """Of some spans, or points of metrics, the collector wants nothing."""
    success = ExportTracePartialSuccess(rejected_spans=rejected, error_message=message)
    return 200, ExportTraceServiceResponse(partial_success=success).SerializeToString(), ""


class Collector:
    """Answers what it is told to, and keeps what came."""

    def __init__(self, *answers: Reply) -> None:
        self._answers = list(answers)
        self.heads: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := (await reader.readuntil(b"\r\n\r\n")).decode():
            length = next(line for line in head.splitlines() if line.lower().startswith("content-length"))
            self.heads.append(head)
            body = await reader.readexactly(int(length.split(":")[1]))
            kind = ExportMetricsServiceRequest if "/v1/metrics" in head else ExportTraceServiceRequest
            self.bodies.append(MessageToDict(kind.FromString(body)))
            status, body, extra = self._answers.pop(0) if self._answers else OK
            head = f"HTTP/1.1 {status} Said\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{extra}\r\n"
            writer.write(head.encode() + body)
            await writer.drain()
            writer.close()
            return


@asynccontextmanager
async def listening(*answers: Reply) -> AsyncGenerator[Collector]:
    one = Collector(*answers)
    async with await asyncio.start_server(one.serve, "127.0.0.1", 0) as server:
        one.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield one


def sent(*answers: Reply, **more: Any) -> tuple[Sent, Collector]:
    async def main() -> tuple[Sent, Collector]:
        async with listening(*answers) as one:
            return await send(recorded(morning()), None, one.url, Redactor(), **more), one

    return run(main())


def test_spans_reach_the_collector_where_it_listens() -> None:
    came, one = sent(headers=[("Authorization", "Bearer abc-123-def")])
    assert came == Sent(3)
    assert one.heads[0].startswith("POST /v1/traces HTTP/1.1\r\n")
    assert "content-type: application/x-protobuf" in one.heads[0].lower() and "Bearer abc-123-def" in one.heads[0]
    (resource,) = one.bodies[0]["resourceSpans"]
    names = {span["name"] for span in resource["scopeSpans"][0]["spans"]}
    assert names == {"initialize", "elicitation/create", "tools/call order"}


def test_many_spans_go_in_several_messages() -> None:
    items = [item(number, "request", "out", b"{}", method="m", outcome="lost") for number in range(1, 1_251)]
    told: list[tuple[int, int]] = []

    async def main() -> None:
        async with listening() as one:
            came = await send(recorded(items), None, one.url, Redactor(), progress=lambda *far: told.append(far))
            assert came.taken == 1_250 and len(one.bodies) == 3
            ids = [span["spanId"] for body in one.bodies for span in body["resourceSpans"][0]["scopeSpans"][0]["spans"]]
            assert len(set(ids)) == 1_250

    run(main())
    assert told == [(500, 1_250), (1_000, 1_250), (1_250, 1_250)]


def test_what_it_did_not_want_is_told() -> None:
    came, _ = sent(partial(2, "too old"))
    assert came == Sent(3, 2, "too old")


@pytest.mark.parametrize("body", [b"[]", b"{}", b"\xff" * 70_000, b""])
def test_an_answer_that_makes_no_sense_costs_nothing(body: bytes) -> None:
    assert sent((200, body, ""))[0] == Sent(3)


def test_a_collector_that_is_busy_is_asked_again() -> None:
    came, one = sent((503, b"", "Retry-After: 0\r\n"), (429, b"", "Retry-After: 0\r\n"), OK)
    assert came.taken == 3 and len(one.bodies) == 3
    with pytest.raises(StudioError, match="503 Said"):
        sent(*[(503, b"", "Retry-After: 99\r\n")] * 3)


def test_a_refusal_is_told_without_secrets() -> None:
    redactor = Redactor()
    redactor.learn("abc-123-def")

    async def main() -> None:
        async with listening((401, b"no abc-123-def here", "")) as one:
            await send(recorded(morning()), None, one.url, redactor)

    with pytest.raises(StudioError) as caught:
        run(main())
    assert "401 Said: no ‹redacted› here." in caught.value.message


def test_nobody_there_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "TIME", 0.5)

    async def main() -> None:
        async with listening() as one:
            url = one.url
        await send(recorded(morning()), None, url, Redactor())

    with pytest.raises(Unreachable):
        run(main())


def test_without_the_extra_the_person_hears_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(UsageError) as caught:
        sent()
    assert "mcp-studio[otlp]" in caught.value.hint


def test_it_does_not_follow_to_another_place() -> None:
    with pytest.raises(StudioError, match="did not take the spans: 307"):
        sent((307, b"", "Location: http://elsewhere.example/\r\n"))


@pytest.mark.parametrize("url", ["", "localhost:4318", "ftp://x", "http://", "ws://x", "http://[", "file:///etc/x"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="http://"):
        address(url, "/v1/traces")


def test_a_path_that_is_named_is_kept() -> None:
    for path in ("/v1/traces", "/v1/metrics"):
        assert address("http://a:4318", path) == f"http://a:4318{path}" == address("http://a:4318/", path)
        assert address("https://a/x/v1/traces?k=1", path) == "https://a/x/v1/traces?k=1"
