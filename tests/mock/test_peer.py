"""A mock gives recorded answers in their order, with the ids of now, and says what it does not know."""

from __future__ import annotations

import asyncio

from mcp_studio.servers.mock.tape import Tape
from tests.mock.kit import META, Client, Said, answer, ask, recorded, tape, tell
from tests.support import run

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
GREETED: tuple[Said, ...] = (
    ask(1, "initialize", protocolVersion="2025-11-25", capabilities={}),
    answer(1, HELLO),
)


def call(identity: int, name: str, /, **arguments: object) -> Said:
    """A recorded call."""
    return ask(identity, "tools/call", name=name, arguments=arguments, _meta={"progressToken": identity})


async def test_answers_come_in_their_order_and_the_last_one_for_ever() -> None:
    client = Client(tape(*GREETED, call(2, "roll"), answer(2, {"n": 4}), call(3, "roll"), answer(3, {"n": 6})))
    said = await client.ask("initialize", 77, protocolVersion="2024-11-05", capabilities={})
    assert (said["id"], said["result"]) == (77, HELLO)
    rolled = [await client.ask("tools/call", f"x{turn}", name="roll", arguments={}) for turn in range(3)]
    assert [(one["id"], one["result"]["n"]) for one in rolled] == [("x0", 4), ("x1", 6), ("x2", 6)]
    assert (await client.ask("tools/call", name="roll", _meta={"a": 1}))["result"] == {"n": 6}
    assert (await client.ask("ping"))["result"] == {}


async def test_what_was_never_asked_is_refused_with_what_is_nearest() -> None:
    said = (call(2, "add", a=1, b=2), answer(2, {"sum": 3}), call(3, "add", a=5, b=6), answer(3, {"sum": 11}))
    played = tape(*GREETED, *said)
    client = Client(played)
    assert (await client.ask("tools/call", name="add", arguments={"b": 2.0, "a": 1}))["result"] == {"sum": 3}
    error = (await client.ask("tools/call", name="add", arguments={"a": 5, "b": 7}))["error"]
    assert error["code"] == -32602 and error["data"]["nearest"]["arguments"] == {"a": 5, "b": 6}
    assert error["message"] == (
        "The recording has no tools/call add like this; from the nearest it differs in: ~ arguments.b: 6 → 7"
    )
    assert (await client.ask("prompts/list"))["error"]["code"] == -32601
    for name in ("other", "another", "one more"):
        assert (await client.ask("tools/call", name=name, arguments={}))["error"]["code"] == -32602
    assert len(client.notes) == 5


async def test_settings_and_what_clients_ask_by_themselves_are_answered_where_the_server_has_offered_it() -> None:
    offers = {**HELLO, "capabilities": {"logging": {}, "tasks": {}, "resources": {"subscribe": True}}}
    client = Client(tape(ask(1, "initialize", protocolVersion="2025-06-18"), answer(1, offers)))
    assert (await client.ask("logging/setLevel", level="debug"))["result"] == {}
    assert (await client.ask("resources/subscribe", uri="a://b"))["result"] == {}
    assert (await client.ask("tasks/list"))["result"] == {"tasks": []}
    other = Client(tape(*GREETED))
    assert "error" in await other.ask("logging/setLevel", level="debug")
    assert "error" in await other.ask("tasks/list")


async def test_what_was_secret_may_be_anything() -> None:
    said = (call(2, "login", user="a", password="‹redacted›"), answer(2, {"ok": "‹redacted›"}))
    client = Client(tape(*GREETED, *said))
    good = await client.ask("tools/call", name="login", arguments={"user": "a", "password": "hunter2"})
    assert good["result"] == {"ok": "‹redacted›"}
    refused = await client.ask("tools/call", name="login", arguments={"user": "b", "password": "hunter2"})
    assert "error" in refused and "hunter2" not in f"{refused} {client.notes}"


async def test_progress_has_the_token_of_now_and_what_follows_an_answer_comes_after_it() -> None:
    client = Client(
        tape(
            *GREETED,
            call(2, "a"),
            call(3, "b"),
            tell("notifications/progress", progressToken=3, progress=1),
            tell("notifications/progress", progressToken=2, progress=9),
            answer(3, {"b": 1}),
            answer(2, {"a": 1}),
            tell("notifications/tools/list_changed"),
        )
    )
    told = await client.ask("tools/call", 5, name="a", _meta={"progressToken": "mine"})
    assert told["params"] == {"progressToken": "mine", "progress": 9}
    assert (await client.next())["result"] == {"a": 1}
    client.send({"id": 6, "method": "tools/call", "params": {"name": "b"}})
    assert [await client.next(), await client.next()] == [
        {"jsonrpc": "2.0", "id": 6, "result": {"b": 1}},
        {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}},
    ]


async def test_it_asks_what_was_asked_where_the_client_can_be_asked() -> None:
    question: Said = ("in", {"id": "q", "method": "elicitation/create", "params": {"message": "Who?"}})
    said = (*GREETED, call(2, "ask"), question, answer("q", {"action": "accept"}, "out"), answer(2, {"done": 1}))
    client = Client(tape(*said))
    await client.ask("initialize", protocolVersion="2025-06-18", capabilities={"elicitation": {}})
    asked = await client.ask("tools/call", name="ask")
    assert asked["method"] == "elicitation/create" and asked["params"] == {"message": "Who?"}
    assert client.came.empty()
    client.send({"id": asked["id"], "result": {"action": "decline"}})
    assert (await client.next())["result"] == {"done": 1}
    other = Client(tape(*said))
    await other.ask("initialize", protocolVersion="2025-06-18", capabilities={})
    assert (await other.ask("tools/call", name="ask"))["result"] == {"done": 1}
    assert "does not offer elicitation" in other.notes[0]


async def test_the_stateless_era_has_its_versions_its_rounds_and_its_subscriptions() -> None:
    wanted = {"resultType": "input_required", "inputRequests": {"who": {}}, "requestState": "s1"}
    token = "io.modelcontextprotocol/subscriptionId"
    client = Client(
        tape(
            ask(1, "server/discover", _meta=META),
            answer(1, {"supportedVersions": ["2026-07-28"]}),
            ask(2, "subscriptions/listen", notifications={"toolsListChanged": True}, _meta=META),
            tell("notifications/subscriptions/acknowledged", _meta={token: 2}),
            ask(3, "tools/call", name="ask", _meta=META),
            answer(3, wanted),
            ask(4, "tools/call", name="ask", requestState="s1", inputResponses={"who": {"a": 1}}, _meta=META),
            answer(4, {"resultType": "complete"}),
            tell("notifications/tools/list_changed", _meta={token: 2}),
        )
    )
    assert (await client.ask("server/discover", _meta=META))["result"] == {"supportedVersions": ["2026-07-28"]}
    newer = {**META, "io.modelcontextprotocol/protocolVersion": "2027-01-01"}
    refused = (await client.ask("tools/call", name="ask", _meta=newer))["error"]
    assert (refused["code"], refused["data"]["supported"]) == (-32022, ["2026-07-28"])
    assert (await client.ask("initialize", protocolVersion="2025-11-25"))["error"]["code"] == -32022
    listening = {"notifications": {"toolsListChanged": True}, "_meta": META}
    acknowledged = await client.ask("subscriptions/listen", "mine", **listening)
    assert acknowledged["params"]["_meta"] == {token: "mine"}
    first = await client.ask("tools/call", name="ask", _meta=META)
    assert first["result"] == wanted
    again = {"name": "ask", "requestState": "s1", "inputResponses": {"who": {"a": 2}}, "_meta": META}
    assert (await client.ask("tools/call", **again))["result"] == {"resultType": "complete"}
    assert (await client.next())["params"]["_meta"] == {token: "mine"}
    client.peer.close()


async def test_a_selection_without_its_beginning_can_be_connected_to() -> None:
    client = Client(tape(call(2, "add", a=1), answer(2, {"sum": 1}), call(3, "sub"), answer(3, {})))
    assert "error" in await client.ask("server/discover", _meta=META)
    said = (await client.ask("initialize", protocolVersion="2025-06-18", capabilities={}))["result"]
    assert (said["protocolVersion"], said["capabilities"]) == ("2025-06-18", {"tools": {}})
    listed = (await client.ask("tools/list"))["result"]
    assert [one["name"] for one in listed["tools"]] == ["add", "sub"]


async def test_an_answer_that_is_not_kept_is_an_error_in_words() -> None:
    columns, bodies = recorded(*GREETED, call(2, "large"), answer(2, {}))
    bodies[4] = b""
    client = Client(Tape(columns, lambda number: bodies[number], "s"))
    error = (await client.ask("tools/call", name="large"))["error"]
    assert error == {"code": -32603, "message": "The recording does not have this answer"}


async def test_what_had_no_answer_has_none_and_can_be_cancelled() -> None:
    client = Client(tape(*GREETED, call(2, "hang"), call(3, "quick"), answer(3, {})))
    waiting = client.send({"id": 4, "method": "tools/call", "params": {"name": "hang"}})
    assert (await client.ask("tools/call", 5, name="quick"))["id"] == 5
    assert waiting is not None and not waiting.done()
    client.send({"method": "notifications/cancelled", "params": {"requestId": 4}})
    await asyncio.wait((waiting,), timeout=5)
    assert waiting.cancelled() and client.came.empty()


def test_answers_take_as_long_as_they_took_or_as_one_wants() -> None:
    async def timed(delay: float | None, step: float = 0.03) -> float:
        progress = tell("notifications/progress", progressToken=2, progress=1)
        client = Client(tape(*GREETED, call(2, "a"), progress, answer(2, {}), step=step), delay)
        began = asyncio.get_running_loop().time()
        await client.ask("tools/call", name="a")
        return asyncio.get_running_loop().time() - began

    assert run(timed(None)) >= 0.055
    assert run(timed(0.02)) >= 0.015
    assert run(timed(0.0, 30.0)) < 30


async def test_what_is_too_large_is_not_compared_and_not_played() -> None:
    said = (call(2, "add", a=1), answer(2, {"sum": 3}), call(3, "all"), answer(3, [[]] * 2_000_000))
    client = Client(tape(*GREETED, *said))
    error = (await client.ask("tools/call", name="add", arguments={"a": [[]] * 100_000}))["error"]
    assert (error["message"], error["data"]) == ("The recording has no tools/call add", None)
    assert (await client.ask("tools/call", name="all", arguments={}))["error"]["code"] == -32603
