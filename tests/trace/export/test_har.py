"""HTTP exchanges as HAR 1.2; what each object must have is that of its specification."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from mcp_studio.errors import UsageError
from mcp_studio.trace.export.item import Item
from tests.trace.export.recorded import CALL, exported, item, morning, recorded

POST = b"POST https://shop.example/mcp?x=1&y=a%20b\nContent-Type: application/json\nMcp-Session-Id: s-1"
OK = b"200 OK\nContent-Type: application/json\nX-Empty: \nodd"
STREAM = b"200 OK\nContent-Type: text/event-stream"
ANSWER = b'{"jsonrpc":"2.0","id":2,"result":{}}'
NEEDED: dict[str, dict[str, type | tuple[type, ...]]] = {
    "request": {
        "method": str, "url": str, "httpVersion": str, "cookies": list, "headers": list, "queryString": list,
        "headersSize": int, "bodySize": int,
    },
    "response": {
        "status": int, "statusText": str, "httpVersion": str, "cookies": list, "headers": list, "content": dict,
        "redirectURL": str, "headersSize": int, "bodySize": int,
    },
    "timings": {"send": (int, float), "wait": (int, float), "receive": (int, float)},
    "cache": {},
}  # fmt: skip
OPTIONAL = {"postData"}


def entries(items: list[Item], numbers: list[int] | None = None) -> list[dict[str, Any]]:
    """The entries of the HAR, each of which is complete."""
    log = json.loads(exported(recorded(items), "har", numbers))["log"]
    assert set(log) == {"version", "creator", "comment", "entries"} and log["version"] == "1.2"
    assert set(log["creator"]) == {"name", "version"} and log["comment"] == "a morning"
    for entry in log["entries"]:
        assert datetime.fromisoformat(entry["startedDateTime"]).tzinfo is not None
        assert entry["time"] == pytest.approx(sum(entry["timings"].values())) and entry["time"] >= 0
        for part, members in NEEDED.items():
            for member, kind in members.items():
                assert isinstance(entry[part][member], kind), (part, member)
            extra = set(entry[part]) - set(members)
            assert all(name in OPTIONAL or name.startswith("_") for name in extra)
        for pair in (*entry["request"]["headers"], *entry["request"]["queryString"], *entry["response"]["headers"]):
            assert set(pair) == {"name", "value"}
        content = entry["response"]["content"]
        assert isinstance(content["size"], int) and isinstance(content["mimeType"], str)
    return log["entries"]


def post(exchange: int = 4) -> list[Item]:
    """A call that is answered in one piece."""
    return [
        item(1, "http", "out", POST, exchange=exchange, method="POST"),
        item(2, "request", "out", CALL, exchange=exchange, method="tools/call", link=4, outcome="ok"),
        item(3, "http", "in", OK, exchange=exchange, method="200 OK"),
        item(4, "result", "in", ANSWER, exchange=exchange, method="tools/call", link=2, outcome="ok"),
    ]


def after(items: list[Item], by: int) -> list[Item]:
    """The same entries later."""
    return [one._replace(number=one.number + by, link=one.link and one.link + by) for one in items]


def test_a_call_and_its_answer_are_one_entry() -> None:
    (entry,) = entries(post())
    request, response = entry["request"], entry["response"]
    assert (request["method"], request["url"]) == ("POST", "https://shop.example/mcp?x=1&y=a%20b")
    assert request["queryString"] == [{"name": "x", "value": "1"}, {"name": "y", "value": "a b"}]
    assert request["postData"] == {"mimeType": "application/json", "text": CALL.decode()}
    assert (response["status"], response["statusText"]) == (200, "OK")
    assert response["content"] == {"size": len(ANSWER), "mimeType": "application/json", "text": ANSWER.decode()}
    assert entry["timings"] == {"send": 0, "wait": 2.0, "receive": 1.0}
    assert entry["_server"] == "shop" and entry["_numbers"] == [1, 2, 3, 4]


def test_frames_of_a_stream_are_events() -> None:
    ask = b'{"jsonrpc":"2.0","id":"q","method":"ping"}'
    stream = [
        *post()[:2], item(3, "http", "in", STREAM, exchange=4), item(4, "request", "in", ask, exchange=4),
        item(5, "result", "in", ANSWER, exchange=4),
    ]  # fmt: skip
    (entry,) = entries(stream)
    assert entry["response"]["content"]["text"] == f"data: {ask.decode()}\n\ndata: {ANSWER.decode()}\n\n"


def test_the_next_connection_counts_from_one_again() -> None:
    first, second = entries([*post(1), *after(post(1), 4)])
    assert (first["_numbers"], second["_numbers"]) == ([1, 2, 3, 4], [5, 6, 7, 8])


@pytest.mark.parametrize("number", [5, 6, 7, 8])
def test_an_exchange_is_whole_whatever_of_it_was_chosen(number: int) -> None:
    items = [*post(1), *after(post(2), 4), *after(post(3), 8)]
    (entry,) = entries(items, [number])
    assert entry["_numbers"] == [5, 6, 7, 8]
    assert len(entries(items, [5, 6, 7, 8])) == 1


def test_an_exchange_without_an_answer_says_why() -> None:
    failed = item(3, "http", "in", b"failed: The connection was refused.", exchange=4)
    none, refused = entries([*post()[:2], *after([*post(5)[:2], failed._replace(exchange=5)], 4)])
    assert (none["response"]["status"], none["response"]["_error"]) == (0, "There was no answer.")
    assert refused["response"]["_error"] == "failed: The connection was refused."


def test_bytes_that_are_no_text_are_written_and_told() -> None:
    (entry,) = entries([*post()[:3], item(4, "invalid", "in", b'{"a":\xff}', exchange=4)])
    assert entry["response"]["content"]["text"] == '{"a":\\xff}' and "UTF-8" in entry["response"]["content"]["comment"]


def test_entries_may_come_meanwhile() -> None:
    recording = recorded(post())
    columns = recording.columns
    for values in (columns.size, columns.server, columns.method, columns.target, columns.kind, columns.exchange):
        values.append(values[0])  # the time, by which rows are counted, comes last
    assert len(json.loads(exported(recording, "har", [1]))["log"]["entries"]) == 1


def test_what_did_not_go_over_http_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="went over HTTP"):
        entries(morning())
