"""HTTP exchanges as HAR 1.2; what each object must have is that of its specification."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from mcp_studio.errors import UsageError
from mcp_studio.redact import MARK
from mcp_studio.trace.export.item import Item
from tests.trace.export.recorded import CALL, exported, item, morning, recorded

POST = b"POST https://shop.example/mcp?x=1&y=a%20b\nContent-Type: application/json\nAuthorization: Bearer s3cr-3t-t0k3n"
OK = b"200 OK\nContent-Type: application/json\nX-Empty: \nodd"
STREAM = b"200 OK\nContent-Type: text/event-stream"
ASK = b'{"jsonrpc":"2.0","id":"q","method":"ping"}'
ANSWER = b'{"jsonrpc":"2.0","id":2,"result":{"password":"s3cr"}}'
CLEAN = ANSWER.decode().replace("s3cr", MARK)
NEEDED: dict[str, dict[str, Any]] = {
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


def entries(items: list[Item], numbers: list[int] | None = None) -> list[dict[str, Any]]:
    """The entries of the HAR, each of which is complete."""
    log = json.loads(exported(recorded(items), "har", numbers))["log"]
    assert set(log) == {"version", "creator", "comment", "entries"} and log["version"] == "1.2"
    assert set(log["creator"]) == {"name", "version"} and log["comment"] == "a morning"
    for entry in log["entries"]:
        assert datetime.fromisoformat(entry["startedDateTime"]).tzinfo is not None
        assert entry["time"] == pytest.approx(sum(entry["timings"].values())) and entry["time"] >= 0
        for part, members in NEEDED.items():
            assert all(isinstance(entry[part][member], kind) for member, kind in members.items())
            assert set(entry[part]) - set(members) <= {"postData"}
        for pair in (*entry["request"]["headers"], *entry["request"]["queryString"], *entry["response"]["headers"]):
            assert set(pair) == {"name", "value"} and "s3cr" not in pair["value"]
        content = entry["response"]["content"]
        assert isinstance(content["size"], int) and isinstance(content["mimeType"], str)
    return log["entries"]


def post(first: int = 1, exchange: int = 4, head: bytes = OK, *came: bytes) -> list[Item]:
    """A call and its answer."""
    call = {"exchange": exchange, "method": "tools/call", "outcome": "ok"}
    frames = [
        item(first + 3 + at, "result", "in", body, link=first + 1, **call) for at, body in enumerate(came or (ANSWER,))
    ]
    return [
        item(first, "http", "out", POST, exchange=exchange, method="POST"),
        item(first + 1, "request", "out", CALL, link=first + 3, **call),
        item(first + 2, "http", "in", head, exchange=exchange, method="200 OK"),
        *frames,
    ]


def test_a_call_and_its_answer_are_one_entry() -> None:
    (entry,) = entries(post())
    request, response = entry["request"], entry["response"]
    assert (request["method"], request["url"]) == ("POST", "https://shop.example/mcp?x=1&y=a%20b")
    assert request["queryString"] == [{"name": "x", "value": "1"}, {"name": "y", "value": "a b"}]
    assert request["postData"] == {"mimeType": "application/json", "text": CALL.decode()}
    assert (response["status"], response["statusText"]) == (200, "OK")
    assert response["content"] == {"size": len(CLEAN.encode()), "mimeType": "application/json", "text": CLEAN}
    assert entry["timings"] == {"send": 0, "wait": 2.0, "receive": 1.0}
    assert entry["_server"] == "shop" and entry["_numbers"] == [1, 2, 3, 4]


def test_frames_of_a_stream_are_events() -> None:
    (entry,) = entries(post(1, 4, STREAM, ASK, ANSWER))
    assert entry["response"]["content"]["text"] == f"data: {ASK.decode()}\n\ndata: {CLEAN}\n\n"


def test_an_exchange_is_whole_whatever_of_it_was_chosen_and_each_connection_counts_from_one_again() -> None:
    items = [*post(1, 1), *post(5, 1), *post(9, 2)]
    assert [entry["_numbers"][0] for entry in entries(items)] == [1, 5, 9]
    for number in range(5, 9):
        (entry,) = entries(items, [number])
        assert entry["_numbers"] == [5, 6, 7, 8]


def test_an_exchange_without_an_answer_says_why() -> None:
    failed = item(7, "http", "in", b"failed: The connection was refused.", exchange=5)
    none, refused = (one["response"] for one in entries([*post()[:2], *post(5, 5)[:2], failed]))
    assert (none["status"], none["statusText"]) == (0, "There was no answer.")
    assert (refused["status"], refused["statusText"]) == (0, "failed: The connection was refused.")


def test_what_did_not_go_over_http_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="went over HTTP"):
        entries(morning())
