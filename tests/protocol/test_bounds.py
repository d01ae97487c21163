"""What a server can make large in the core is bounded, and a settled era is never waited for in vain."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_studio.errors import ProtocolError, SignInNeeded, StudioError, Unreachable
from mcp_studio.protocol import events as ev
from mcp_studio.protocol.message import parse
from tests.protocol.test_core import core, feed, legacy, modern, taken


def test_answers_wait_in_bounded_number_when_the_server_does_not_read() -> None:
    made = legacy()
    found = [feed(made, {"id": number, "method": "ping"}) for number in range(5_000)]
    assert len(made.take()) == 2_000
    assert isinstance(found[-1][0], ev.Violation) and "faster" in found[-1][0].text
    assert feed(made, {"id": "again", "method": "ping"}) == [] and len(made.take()) == 1


@pytest.mark.parametrize("made", [legacy(), modern()])
def test_foreign_names_and_ids_do_not_fill_the_faults(made: Any) -> None:
    found = feed(
        made,
        {"id": "i" * 100_000, "method": "x"},
        {"id": 1, "method": "m" * 100_000, "params": 5},
        {"id": 1.5, "method": "m" * 100_000},
        {"id": 2, "method": "m" * 100_000},
    )
    faults = [event.text for event in found if isinstance(event, ev.Violation)]
    assert len(faults) >= 3 and max(map(len, faults)) < 300


def test_an_enormous_batch_is_taken_in_part() -> None:
    parsed = parse(b"[" + b",".join([b"1"] * 50_000) + b"]")
    assert len(parsed.messages) == 1_001 and "50,000" in repr(parsed.messages[-1])


@pytest.mark.parametrize(
    "answer",
    [
        {"id": 1, "error": {"code": -32601, "message": "Method not found"}},
        {"id": 1, "result": {"protocolVersion": "2026-07-28"}},
    ],
)
def test_a_server_remembered_as_an_older_one_that_is_modern_by_now_is_discovered(answer: Any) -> None:
    made = core(remembered="legacy")
    made.take()
    assert feed(made, answer) == []
    assert [m["method"] for m in taken(made)] == ["server/discover"]
    (event,) = feed(made, {"id": 2, "result": {"supportedVersions": ["2026-07-28"], "capabilities": {}}})
    assert isinstance(event, ev.Ready) and event.modern


def test_over_http_too_whatever_the_status_of_the_handshake_was() -> None:
    made = core(remembered="legacy")
    made.take()
    assert made.undelivered(1, StudioError("HTTP 404")) == []
    assert [m["method"] for m in taken(made)] == ["server/discover"]


@pytest.mark.parametrize("error", [SignInNeeded("401"), Unreachable("refused")])
def test_a_remembered_server_that_is_not_reached_is_not_probed(error: StudioError) -> None:
    made = core(remembered="legacy")
    made.take()
    assert made.undelivered(1, error) == [ev.NegotiationFailed(error)]


@pytest.mark.parametrize("data", [None, {"supported": ["2026-07-28"]}])
def test_a_server_that_refuses_both_eras_fails_with_what_it_said_to_the_handshake(data: Any) -> None:
    made = core(remembered="legacy")
    made.take()
    feed(made, {"id": 1, "error": {"code": -32000, "message": "go away", "data": data}})
    made.take()
    (event,) = feed(made, {"id": 2, "error": {"code": -32601, "message": "what"}})
    assert isinstance(event, ev.NegotiationFailed) and isinstance(event.error, ProtocolError)
    assert "go away" in event.error.message


def test_a_probe_and_a_handshake_that_are_both_refused_end_the_negotiation() -> None:
    made = core()
    feed(made, {"id": 1, "error": {"code": -32601, "message": "no"}})
    made.take()
    feed(made, {"id": 2, "error": {"code": -32000, "message": "modern please", "data": {"supported": ["2026-07-28"]}}})
    assert [json.loads(out.frame)["method"] for out in made.take()] == ["server/discover"]
    (event,) = feed(made, {"id": 3, "error": {"code": -32601, "message": "no"}})
    assert isinstance(event, ev.NegotiationFailed)
