"""What a tap does to messages: breakpoints that a person decides about, and faults by a rule."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from mcp_studio.paths import Paths
from mcp_studio.tap.gate import Decision, HeldMessage
from mcp_studio.tap.remote_gate import RemoteGate
from tests.cli.kit import RAW, cli
from tests.support import wait_until
from tests.tap.kit import Tapped, answer, recorded, request, running, tapped

CALL = request(1, "tools/call", name="pay", arguments={"password": "open-sesame", "amount": 10})
BREAK = ("--break", "tool:pay dir:out")


async def gate() -> RemoteGate:
    """That of the one tap that runs, as a studio sees it."""
    return RemoteGate(Paths.default().state / "held", await running())


async def held(where: RemoteGate, count: int = 1) -> list[HeldMessage]:
    await wait_until(lambda: len(where.waiting) == count, what="what is held")
    return where.waiting


def edited(message: Any, old: str, new: str) -> bytes:
    """A message as a person edits it, who sees no secret."""
    return json.dumps(message).replace("open-sesame", "‹redacted›").replace(old, new).encode()


WAYS: dict[str, tuple[Decision, list[Any]]] = {
    "released as it is": (Decision(), [CALL]),
    "edited": (
        Decision("release", edited(CALL, '"amount": 10', '"amount": 99')),
        [request(1, "tools/call", name="pay", arguments={"password": "open-sesame", "amount": 99})],
    ),
    "replaced by what is no JSON": (Decision("release", b'"nonsense"'), ["nonsense"]),
    "dropped": (Decision("drop"), []),
    "delayed": (Decision("release", delay=0.3), [CALL]),
    "answered": (Decision("answer", b'{"jsonrpc": "2.0", "id": 1,\n"result": {}}'), [answer(1, {})]),
}


@pytest.mark.parametrize("way", WAYS)
async def test_a_message_that_is_held_becomes_what_a_person_decides(way: str) -> None:
    decision, comes = WAYS[way]
    with tapped(*BREAK, server=["cat"]) as client:
        client.say(CALL, request(2, "ping"))
        assert client.hear() == request(2, "ping"), "what is not held goes on"
        where = await gate()
        (one,) = await held(where)
        assert (one.query, round(one.until - one.since)) == (BREAK[1], 20)
        await wait_until(lambda: len(recorded("running")) >= one.number, what="its entry on disk")
        entry = recorded("running")[one.number - 1]
        assert (entry.method, entry.target) == ("tools/call", "pay") and b"open-sesame" not in entry.body
        where.decide(one.number, decision)
        for message in comes:
            assert client.hear() == message
        await held(where, 0)
        client.say(request(3, "ping"))
        assert client.hear() == request(3, "ping")
        client.leave()
    notes = [entry.body.decode() for entry in recorded() if entry.kind == "note"]
    assert sum("tools/call pay" in note for note in notes) == 2 and "open-sesame" not in "".join(notes)


async def test_an_answer_in_the_place_of_the_server_is_recorded_as_the_end_of_the_call() -> None:
    with tapped(*BREAK, server=["cat"]) as client:
        client.say(CALL)
        where = await gate()
        (one,) = await held(where)
        where.decide(one.number, Decision("answer", json.dumps(answer(1, {"content": []})).encode()))
        client.hear()
        client.leave()
    span = next(entry.span for entry in recorded() if entry.method == "tools/call")
    assert span is not None and span.outcome == "ok"


async def test_what_nobody_decides_about_goes_on_by_itself() -> None:
    with tapped(*BREAK, "--hold", "0.2", server=["cat"]) as client:
        client.say(CALL)
        assert client.hear() == CALL


@pytest.mark.parametrize("breakpoints", [["method:ping"], []])
async def test_breakpoints_are_set_while_the_tap_runs(breakpoints: list[str]) -> None:
    with tapped(*BREAK, server=["cat"]) as client:
        client.say(CALL)
        where = await gate()
        await held(where)
        where.set(breakpoints)
        await wait_until(lambda: where.breakpoints == tuple(breakpoints))
        if breakpoints:
            client.say(request(2, "ping"))
            await held(where, 2)
        else:
            assert client.hear() == CALL, "without a breakpoint nothing is held"


async def test_a_client_that_leaves_lets_everything_go() -> None:
    with tapped(*BREAK, server=["cat"]) as client:
        client.say(CALL)
        await held(await gate())
        assert client.leave() == 0
        assert client.hear() == CALL


async def test_a_breakpoint_of_time_is_about_answers() -> None:
    with tapped("--break", "dir:in >150ms", server=RAW) as client:
        greet(client)
        client.say(request(2, "tools/call", name="wait", arguments={"seconds": 0.2}))
        client.say(request(3, "ping"))
        assert client.hear()["id"] == 3
        where = await gate()
        (one,) = await held(where)
        where.decide(one.number, Decision())
        assert client.hear()["id"] == 2


@pytest.mark.parametrize(("query", "holds"), [("dir:out", False), ("method:initialize", True)])
async def test_a_handshake_is_held_only_by_a_query_that_names_it(query: str, holds: bool) -> None:
    with tapped("--break", query, server=["cat"]) as client:
        client.say(request(1, "initialize"), request(2, "tools/list"))
        passes = client.hear()
        assert passes["method"] == ("tools/list" if holds else "initialize")
        await held(await gate())


def greet(client: Tapped) -> None:
    info = {"name": "test", "version": "1"}
    client.say(request(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=info))
    client.hear()


def heard(*words: str) -> list[Any]:
    """What a client hears of 40 requests that a server echoes, with these faults; in the order of the requests."""
    options = [word for text in words for word in ("--fault", text)]
    with tapped(*options, "--seed", "7", server=["cat"]) as client:
        client.say(*(request(number, "tools/call", name="t") for number in range(40)))
        client.leave()
        found: list[Any] = []
        while (line := client.hear()) is not None:
            found.append(line)
        return sorted(found, key=lambda one: one["id"])


def test_faults_strike_the_same_messages_with_the_same_seed() -> None:
    first = heard("drop@0.3 dir:out", "error=-7@0.2 dir:out")
    assert first == heard("drop@0.3 dir:out", "error=-7@0.2 dir:out")
    errors = [one for one in first if "error" in one]
    assert 0 < len(errors) < 25 and all(one["error"]["code"] == -7 for one in errors)
    assert 5 < len(first) < 38, "some were dropped"


async def test_a_fault_delays_what_its_query_wants() -> None:
    with tapped("--fault", "delay=0.4 tool:slow", server=["cat"]) as client:
        began = time.monotonic()
        client.say(request(1, "tools/call", name="slow"), request(2, "tools/call", name="quick"))
        assert client.hear()["id"] == 2
        assert client.hear()["id"] == 1
        assert time.monotonic() - began >= 0.4


async def test_a_fault_cuts_the_connection_and_says_so() -> None:
    with tapped("--fault", "cut method:ping", server=["cat"]) as client:
        client.say(request(1, "ping"))
        assert client.hear() is None
        assert client.process.wait(60) == 1
        assert client.process.stderr is not None and b"The connection was cut" in client.process.stderr.read()


RULES = """
[[fault]]
kind = "error"
value = -7
query = "tool:search"

[[fault]]
kind = "drop"
rate = 1
query = "method:ping"
"""


async def test_faults_stand_in_a_file_too(tmp_path: Path) -> None:
    file = tmp_path / "faults.toml"
    file.write_text(RULES)
    with tapped("--faults", str(file), "--fault", "drop method:tools/list", server=["cat"]) as client:
        client.say(request(1, "ping"), request(2, "tools/list"), request(3, "tools/call", name="search"))
        assert (client.hear() or {})["error"]["code"] == -7


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ('[[fault]]\nkind = "explode"', "`explode` is no fault"),
        ('[[fault]]\nkind = "drop"\nrtae = 1', "fault[0].rtae: is not a known key. Did you mean `rate`?"),
        ("fault = 3", "must be written as [[fault]] tables"),
        ("[[fault", "It is not valid TOML"),
        (None, "There is no such file"),
    ],
)
def test_a_wrong_file_of_faults_is_one_sentence(tmp_path: Path, rules: str | None, says: str) -> None:
    file = tmp_path / "faults.toml"
    if rules is not None:
        file.write_text(rules)
    done = cli("tap", "--faults", str(file), "--", "cat")
    assert done.code == 2 and says in done.err and "Traceback" not in done.err
