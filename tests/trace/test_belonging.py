"""What is sent on behalf of what stands in the trace as such."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_studio.protocol.events import Outgoing
from mcp_studio.protocol.message import parse
from mcp_studio.protocol.versions import of_frame, read
from mcp_studio.redact import Redactor
from mcp_studio.trace.message import NEEDS_INPUT, PROBE, Span, WireMessage
from mcp_studio.trace.server_tap import ServerTap
from mcp_studio.trace.store import TraceStore
from mcp_studio.trace.tree import tree, walk
from tests.session.test_tasks import BOTH, served, start
from tests.trace.lint.kit import MODERN, Talk, text


class Wire:
    """One tap, told of frames."""

    def __init__(self) -> None:
        self.store = TraceStore(Redactor())
        self.tap = ServerTap(self.store, Redactor(), "s")

    def send(self, method: str, identity: int, *, exchange: int = 0, **links: Any) -> int:
        frame = b'{"jsonrpc":"2.0","id":%d,"method":"%b"}' % (identity, method.encode())
        self.tap.expect(Outgoing(frame, "request", identity, method), **links)
        self.tap.sent(frame, exchange)
        return self.store.total

    def hear(self, frame: bytes, exchange: int = 0) -> WireMessage:
        self.tap.received(frame, exchange)
        self.tap.understood(parse(frame))
        return self.store[len(self.store) - 1]

    @property
    def parents(self) -> dict[int, int]:
        return self.store.columns.parents


def test_a_request_on_behalf_of_another_is_under_it_but_makes_nobody_wait() -> None:
    wire = Wire()
    call = wire.send("tools/call", 1)
    wire.hear(b'{"jsonrpc":"2.0","id":1,"result":{}}')
    poll = wire.send("tasks/get", 2, under=call)
    wire.send("tasks/get", 3, under=99)
    assert wire.parents == {poll: call}
    assert not wire.store[0].span.asked  # type: ignore[union-attr]


def test_a_call_that_is_sent_once_more_is_under_the_first() -> None:
    talk = Talk(MODERN)
    talk.called("tools/call", text())
    talk.ask("tools/call", follows=2)
    first, again = (number for number in range(1, 6) if talk.store[number - 1].method == "tools/call"
                    and talk.store[number - 1].direction == "out")  # fmt: skip
    assert talk.store.columns.parents == {again: first} and talk.store.columns.follows == {}


def test_handshakes_that_are_tried_again_are_under_the_first() -> None:
    wire = Wire()
    wire.tap.begins()
    probe = wire.send("server/discover", 1)
    shake = wire.send("initialize", 2)
    wire.tap.ended()
    wire.tap.begins(again=True)
    again = wire.send("initialize", 1)
    wire.tap.ended()
    wire.tap.begins()
    assert wire.parents == {shake: probe, again: probe}
    assert [bool(flags & PROBE) for flags in wire.store.columns.flags] == [True, True, False]
    wire.send("initialize", 1)
    assert len(wire.parents) == 2


def test_a_question_is_under_the_call_on_whose_exchange_it_came() -> None:
    wire = Wire()
    first = wire.send("tools/call", 1, exchange=5)
    second = wire.send("tools/call", 2, exchange=6)
    asked = wire.hear(b'{"jsonrpc":"2.0","id":"a","method":"roots/list"}', 5).number
    other = wire.hear(b'{"jsonrpc":"2.0","id":"b","method":"roots/list"}', 7).number
    assert wire.parents == {asked: first, other: second}


def test_a_question_without_an_exchange_is_under_the_newest_call() -> None:
    wire = Wire()
    wire.send("ping", 1)
    call = wire.send("tools/call", 2)
    wire.send("tools/list", 3)
    asked = wire.hear(b'{"jsonrpc":"2.0","id":"a","method":"roots/list"}').number
    assert wire.parents == {asked: call}


def test_the_number_of_a_request_is_known_while_it_is_open_and_for_a_while_after() -> None:
    wire = Wire()
    call = wire.send("tools/call", 7)
    assert wire.tap.number_of(7) == call
    wire.hear(b'{"jsonrpc":"2.0","id":7,"result":{}}')
    assert wire.tap.number_of(7) == call
    assert wire.tap.number_of(8) == wire.tap.number_of(None) == 0


@BOTH
async def test_all_that_is_asked_about_a_task_is_under_its_call(era: tuple[str, ...]) -> None:
    async with served(*era) as studio:
        await start(studio, "work", wants_task=True).wait()
        calls = [entry for entry in studio.trace if entry.method == "tools/call" and entry.kind == "request"]
        found = tree(studio.trace, calls[0].number)
        assert found is not None
        methods = [studio.trace[node.number - 1].method for _, node in walk(found) if node.relation == "task"]
        wanted = "tasks/get" if era else "tasks/result"
        assert wanted in methods and all(method.startswith("tasks/") for method in methods)
        polls = [entry for entry in studio.trace if entry.method.startswith("tasks/") and entry.kind == "request"]
        assert len([poll for poll in polls if poll.method != "tasks/list"]) == len(methods)


@pytest.mark.parametrize("identity", [b"1", b'"x"'])
def test_a_question_with_nobody_to_ask_for_is_under_nothing(identity: bytes) -> None:
    wire = Wire()
    wire.hear(b'{"jsonrpc":"2.0","id":%b,"method":"roots/list"}' % identity)
    assert wire.parents == {}


@BOTH
async def test_where_it_is_wished_a_task_and_its_call_are_one_trace(era: tuple[str, ...]) -> None:
    async with served(*era) as studio:
        studio.manager.traced = True
        studio.manager.restart("s")
        await studio.manager.settle("s")
        begin = studio.trace.total
        await start(studio, "work", wants_task=True).wait()
        sent = [entry for entry in studio.trace if entry.number > begin and entry.kind == "request"]
        call = next(entry for entry in sent if entry.method == "tools/call")
        mine = [entry for entry in sent if entry is call or entry.method in ("tasks/get", "tasks/result")]
        contexts = [read(of_frame(entry.body)["traceparent"]) for entry in mine]
        assert len(contexts) > 1 and len({context.trace for context in contexts if context}) == 1
        assert len({context.span for context in contexts if context}) == len(contexts)


ASKING: dict[str, Any] = {"resultType": "input_required", "requestState": "s"}


def spans(talk: Talk) -> list[Span]:
    return [entry.span for entry in talk.store if entry.span and entry is entry.span.request]


def test_requests_that_follow_one_another_are_one_conversation() -> None:
    talk = Talk(MODERN)
    talk.called("tools/call", ASKING)
    talk.ask("tools/call", follows=2)
    talk.answer(ASKING)
    talk.ask("tools/call", follows=3)
    talk.answer(text())
    _, *rounds = spans(talk)
    assert [span.round for span in rounds] == [1, 2, 3]
    assert [span.follows for span in rounds] == [None, *rounds[:2]]
    columns = talk.store.columns
    ends = [span.response.number if span.response else 0 for span in rounds]
    assert [bool(columns.flags[end - columns.first] & NEEDS_INPUT) for end in ends] == [True, True, False]


def test_a_call_that_is_tried_again_after_a_page_was_opened_is_the_next_round() -> None:
    talk = Talk()
    talk.ask("tools/call")
    talk.fail(-32042)
    talk.ask("tools/call", follows=2)
    assert [span.round for span in spans(talk)] == [1, 1, 2]


def test_only_what_asked_for_more_is_followed() -> None:
    talk = Talk(MODERN)
    talk.called("tools/call", text())
    talk.ask("tools/call", follows=2)
    talk.ask("tools/call", follows=77)
    assert [span.round for span in spans(talk)] == [1, 1, 1, 1]


def test_what_is_over_is_not_followed_by_a_later_connection() -> None:
    talk = Talk(MODERN)
    talk.called("tools/call", ASKING)
    talk.tap.ended()
    talk.ask("tools/call", follows=2)
    assert spans(talk)[-1].round == 1
