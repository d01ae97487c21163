"""The protocol core, message by message, without any I/O."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_studio.errors import ConnectionLost, ProtocolError, SignInNeeded, StudioError, Unreachable
from mcp_studio.protocol import events as ev
from mcp_studio.protocol.core import ClientCore, progress_text
from mcp_studio.protocol.message import parse
from mcp_studio.protocol.versions import META_CAPABILITIES, META_CLIENT, META_VERSION

INFO = {"name": "test", "version": "0"}
CAPABILITIES = {"elicitation": {"form": {}}}


def core(era: Any = "auto", **more: Any) -> ClientCore:
    """A core that has sent its first message."""
    made = ClientCore(INFO, CAPABILITIES, era=era, **more)
    made.start()
    return made


def feed(made: ClientCore, *messages: Any) -> list[ev.Event]:
    """Give messages as frames, take the events."""
    return [event for message in messages for event in made.receive(parse(json.dumps(message).encode()))]


def taken(made: ClientCore) -> list[dict[str, Any]]:
    """What the core wants sent, as JSON."""
    return [json.loads(out.frame) for out in made.take()]


def legacy(**more: Any) -> ClientCore:
    """A core that has shaken hands in 2025-11-25."""
    made = core("legacy", **more)
    made.take()
    feed(made, {"id": 1, "result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s"}}})
    made.take()
    return made


def modern(**more: Any) -> ClientCore:
    """A core that has discovered 2026-07-28."""
    made = core("modern", **more)
    made.take()
    feed(made, {"id": 1, "result": {"supportedVersions": ["2026-07-28"], "capabilities": {}}})
    return made


# ---------------------------------------------------------------------- negotiation


def test_legacy_shakes_hands_and_confirms() -> None:
    made = core("legacy")
    (first,) = taken(made)
    assert first["method"] == "initialize"
    assert first["params"] == {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "clientInfo": INFO}
    result = {
        "protocolVersion": "2024-11-05",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "s"},
        "instructions": "hi",
    }
    assert feed(made, {"id": 1, "result": result}) == [
        ev.Ready("2024-11-05", False, {"tools": {}}, {"name": "s"}, "hi", "2025-11-25")
    ]
    assert taken(made) == [{"jsonrpc": "2.0", "method": "notifications/initialized"}]
    assert made.version == "2024-11-05" and not made.modern and not made.probing


def test_modern_discovers_and_stamps_every_request() -> None:
    made = core("modern")
    (first,) = taken(made)
    stamp = {META_VERSION: "2026-07-28", META_CLIENT: INFO, META_CAPABILITIES: CAPABILITIES}
    assert first["method"] == "server/discover" and first["params"]["_meta"] == stamp
    feed(made, {"id": 1, "result": {"supportedVersions": ["2026-07-28"], "capabilities": {}}})
    assert taken(made) == []
    out = made.request("tools/call", {"name": "t", "arguments": {"a": 1}, "_meta": {"mine": 1}}, progress=True)
    sent = json.loads(out.frame)
    assert sent["params"]["_meta"] == {"mine": 1, "progressToken": out.id, **stamp}
    assert (out.method, out.target, out.version, out.modern) == ("tools/call", "t", "2026-07-28", True)


def test_auto_falls_back_when_the_probe_is_refused() -> None:
    made = core()
    assert [m["method"] for m in taken(made)] == ["server/discover"] and made.probing
    assert feed(made, {"id": 1, "error": {"code": -32601, "message": "Method not found"}}) == []
    assert [m["method"] for m in taken(made)] == ["initialize"] and not made.probing


def test_auto_falls_back_when_the_probe_stays_silent_and_ignores_its_late_refusal() -> None:
    made = core()
    made.take()
    made.fall_back()
    assert [m["method"] for m in taken(made)] == ["initialize"]
    ready = feed(made, {"id": 2, "result": {"protocolVersion": "2025-06-18"}})
    assert isinstance(ready[0], ev.Ready)
    assert feed(made, {"id": 1, "error": {"code": -32601, "message": "late"}}) == []


SHAKEN = {"id": 2, "result": {"protocolVersion": "2025-11-25"}}
REFUSED = {"id": 2, "error": {"code": -32022, "message": "modern already", "data": {"supported": ["2026-07-28"]}}}
DISCOVERED = {"id": 1, "result": {"supportedVersions": ["2026-07-28"]}}
NOT_FOUND = {"id": 1, "error": {"code": -32601, "message": "late"}}


@pytest.mark.parametrize(
    ("answers", "modern", "discovered"),
    [
        ((DISCOVERED, SHAKEN), False, True),
        ((SHAKEN, DISCOVERED), False, True),
        ((NOT_FOUND, SHAKEN), False, False),
        ((SHAKEN, NOT_FOUND), False, False),
        ((DISCOVERED, REFUSED), True, True),
        ((REFUSED, DISCOVERED), True, False),
        ((NOT_FOUND, REFUSED, {"id": 3, "result": DISCOVERED["result"]}), True, False),
    ],
)
def test_once_initialize_is_sent_its_answer_alone_decides_the_era(
    answers: tuple[dict[str, Any], ...], modern: bool, discovered: bool
) -> None:
    made = core()
    made.fall_back()
    made.take()
    found = [event for answer in answers for event in feed(made, answer)]
    (ready,) = [event for event in found if isinstance(event, ev.Ready)]
    assert ready.modern == made.modern == modern
    assert made.discovered == discovered == (ev.Discovered() in found) and len(found) == 1 + discovered


def test_a_refusal_that_names_a_common_modern_version_is_retried_once_and_never_falls_back() -> None:
    made = core()
    made.take()
    refusal = {"code": -32022, "message": "v", "data": {"supported": ["2026-07-28", "2099-01-01"]}}
    assert feed(made, {"id": 1, "error": refusal}) == []
    assert [m["method"] for m in taken(made)] == ["server/discover"]


def test_a_modern_server_without_a_common_version_is_an_error_not_a_fallback() -> None:
    made = core()
    made.take()
    (event,) = feed(made, {"id": 1, "error": {"code": -32022, "message": "v", "data": {"supported": ["2099-01-01"]}}})
    assert isinstance(event, ev.NegotiationFailed)
    assert "2099-01-01" in event.error.message
    assert taken(made) == []


def test_discover_that_offers_only_older_versions_leads_to_the_handshake() -> None:
    made = core()
    made.take()
    feed(made, {"id": 1, "result": {"supportedVersions": ["2025-06-18"]}})
    assert [m["method"] for m in taken(made)] == ["initialize"]


def test_the_remembered_era_is_tried_first_and_mended_when_it_no_longer_holds() -> None:
    made = core(remembered="legacy")
    assert [m["method"] for m in taken(made)] == ["initialize"]
    feed(made, {"id": 1, "error": {"code": -32022, "message": "v", "data": {"supported": ["2026-07-28"]}}})
    assert [m["method"] for m in taken(made)] == ["server/discover"]


def test_the_handshake_is_repeated_in_an_older_version_that_the_refusal_names() -> None:
    made = core("legacy")
    made.take()
    feed(made, {"id": 1, "error": {"code": -32602, "message": "no", "data": {"supported": ["2024-11-05"]}}})
    (again,) = taken(made)
    assert again["params"]["protocolVersion"] == "2024-11-05"


def test_a_version_that_nobody_knows_ends_the_handshake_with_both_sides_named() -> None:
    made = core("legacy")
    made.take()
    (event,) = feed(made, {"id": 1, "result": {"protocolVersion": "1999-01-01"}})
    assert isinstance(event, ev.NegotiationFailed)
    assert "1999-01-01" in event.error.message and "2025-11-25" in event.error.hint


@pytest.mark.parametrize("error", [SignInNeeded("401"), Unreachable("refused")])
def test_being_refused_or_unreachable_is_no_verdict_about_the_era(error: StudioError) -> None:
    made = core()
    made.take()
    (event,) = made.undelivered(1, error)
    assert event == ev.NegotiationFailed(error)


@pytest.mark.parametrize("error", [StudioError("HTTP 405"), ConnectionLost("closed under the probe")])
def test_a_failed_probe_leads_to_the_handshake(error: StudioError) -> None:
    made = core()
    made.take()
    assert made.undelivered(1, error) == []
    assert [m["method"] for m in taken(made)] == ["initialize"]


def test_a_modern_only_connection_says_why_it_failed() -> None:
    made = core("modern")
    made.take()
    (event,) = feed(made, {"id": 1, "error": {"code": -32601, "message": "nope"}})
    assert isinstance(event, ev.NegotiationFailed) and "nope" in event.error.message


# ---------------------------------------------------------------------- requests and answers


def test_answers_find_their_requests_in_any_order() -> None:
    made = legacy()
    a, b = made.request("a"), made.request("b")
    assert feed(made, {"id": b.id, "result": {"b": 1}}, {"id": a.id, "error": {"code": 5, "message": "no"}}) == [
        ev.Answered(b.id, {"b": 1}),
        ev.Refused(a.id, 5, "no", None),
    ]


def test_an_answer_to_nothing_is_named_and_an_answer_given_twice_too() -> None:
    made = legacy()
    out = made.request("a")
    (fault,) = feed(made, {"id": 999, "result": {}})
    assert isinstance(fault, ev.Violation) and "never sent" in fault.text
    feed(made, {"id": out.id, "result": {}})
    (fault,) = feed(made, {"id": out.id, "result": {}})
    assert isinstance(fault, ev.Violation) and "twice" in fault.text


def test_an_answer_with_the_id_as_a_string_is_taken_and_named() -> None:
    made = legacy()
    out = made.request("a")
    fault, answer = feed(made, {"id": str(out.id), "result": {}})
    assert isinstance(fault, ev.Violation)
    assert answer == ev.Answered(out.id, {})


@pytest.mark.parametrize("methods", ["", "a", "ab"])
def test_an_error_without_an_id_is_told_and_ends_no_request(methods: str) -> None:
    made = legacy()
    asked = [made.request(method) for method in methods]
    (fault,) = feed(made, {"id": None, "error": {"code": -32700, "message": "parse"}})
    assert isinstance(fault, ev.Violation) and "parse (-32700)" in fault.text
    for out in asked:
        assert feed(made, {"id": out.id, "result": {}}) == [ev.Answered(out.id or 0, {})]


def test_an_unreadable_answer_ends_its_request_instead_of_leaving_it_waiting() -> None:
    made = legacy()
    out = made.request("a")
    fault, broken = made.receive(parse(b'{"id":%d,"result":{"x":}}' % out.id))
    assert isinstance(fault, ev.Violation)
    assert isinstance(broken, ev.Broken) and broken.id == out.id and isinstance(broken.error, ProtocolError)


def test_an_unknown_result_type_is_a_problem_only_in_the_modern_era() -> None:
    new, old = modern(), legacy()
    a, b = new.request("tools/call", {"name": "t"}), old.request("tools/call", {"name": "t"})
    (answer,) = feed(new, {"id": a.id, "result": {"resultType": "hologram"}})
    assert isinstance(answer, ev.Answered) and "hologram" in answer.problems[0]
    (answer,) = feed(old, {"id": b.id, "result": {"resultType": "hologram"}})
    assert isinstance(answer, ev.Answered) and not answer.problems


def test_a_batch_is_taken_in_every_version_and_named_where_it_is_not_allowed() -> None:
    made = legacy()
    out = made.request("a")
    fault, answer = feed(made, [{"id": out.id, "result": {}}])
    assert isinstance(fault, ev.Violation) and "batch" in fault.text
    assert isinstance(answer, ev.Answered)


# ---------------------------------------------------------------------- progress and cancelling


@pytest.mark.parametrize(
    ("done", "total", "text"),
    [
        (17_861, 1_000_000, "17,861 of 1,000,000"), (0, 3, "0 of 3"), (100, None, "100"), (7, 0, "7"), (7, -1, "7"),
        (0.5, 1, "0.5 of 1"), (1234.567, 2000, "1,234.57 of 2,000"), (0.0001, None, "0.0001"), (1e300, None, "1e+300"),
    ],
)  # fmt: skip
def test_progress_is_written_as_people_read_numbers(done: float, total: float | None, text: str) -> None:
    assert progress_text(done, total) == text


def test_progress_reaches_its_request_and_absurd_numbers_do_no_harm() -> None:
    made = legacy()
    out = made.request("tools/call", {"name": "t"}, progress=True)
    note = {
        "method": "notifications/progress",
        "params": {"progressToken": out.id, "progress": 1, "total": 4, "message": "m"},
    }
    assert feed(made, note) == [ev.Progressed(out.id, 1.0, 4.0, "m")]
    (fault,) = made.receive(
        parse(b'{"method":"notifications/progress","params":{"progressToken":%d,"progress":%s}}' % (out.id, b"9" * 400))
    )
    assert isinstance(fault, ev.Violation)
    assert feed(made, {"method": "notifications/progress", "params": {"progressToken": "other", "progress": 1}}) == []


def test_cancelling_tells_the_server_and_a_late_answer_is_no_fault() -> None:
    made = legacy()
    out = made.request("tools/call", {"name": "t"})
    note = made.cancel(out.id, "timed out")
    assert note and json.loads(note.frame)["params"] == {"requestId": out.id, "reason": "timed out"}
    assert feed(made, {"id": out.id, "result": {}}) == []
    assert made.cancel(out.id, "again") is None


def test_a_modern_request_over_http_is_cancelled_by_its_stream_alone() -> None:
    made = modern(streams=True)
    out = made.request("tools/call", {"name": "t"})
    assert made.cancel(out.id, "stop") is None
    made = modern()
    out = made.request("tools/call", {"name": "t"})
    assert made.cancel(out.id, "stop") is not None


# ---------------------------------------------------------------------- what the server asks


def test_ping_is_answered_by_the_core() -> None:
    made = legacy()
    assert feed(made, {"id": "p", "method": "ping"}) == []
    assert taken(made) == [{"jsonrpc": "2.0", "id": "p", "result": {}}]


def test_a_question_is_answered_once_and_not_after_it_was_withdrawn() -> None:
    made = legacy()
    assert feed(made, {"id": 5, "method": "elicitation/create", "params": {"message": "m"}}) == [
        ev.Asked(5, "elicitation/create", {"message": "m"})
    ]
    out = made.respond(5, {"action": "decline"})
    assert out and json.loads(out.frame) == {"jsonrpc": "2.0", "id": 5, "result": {"action": "decline"}}
    assert made.respond(5, {}) is None
    feed(made, {"id": 6, "method": "elicitation/create"})
    assert feed(made, {"method": "notifications/cancelled", "params": {"requestId": 6}}) == [ev.Withdrawn(6)]
    assert made.respond(6, {}) is None


def test_a_request_id_used_twice_is_a_fault() -> None:
    made = legacy()
    feed(made, {"id": 5, "method": "roots/list"})
    (fault,) = feed(made, {"id": 5, "method": "roots/list"})
    assert isinstance(fault, ev.Violation)


def test_a_modern_server_that_sends_requests_is_told_that_it_may_not() -> None:
    made = modern()
    fault, asked = feed(made, {"id": 5, "method": "sampling/createMessage"})
    assert isinstance(fault, ev.Violation) and isinstance(asked, ev.Asked) and asked.unwanted


@pytest.mark.parametrize(("era", "hint"), [("modern", "--era legacy, or auto"), ("legacy", "--era modern, or auto")])
def test_a_refused_handshake_suggests_the_other_era(era: Any, hint: str) -> None:
    made = core(era=era)
    made.take()
    (event,) = feed(made, {"id": 1, "error": {"code": -32601, "message": "Method not found"}})
    assert isinstance(event, ev.NegotiationFailed) and hint in event.error.hint
