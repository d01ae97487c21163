"""What is sent again: conversations once and whole, in their order, and the reasons of what is not."""

from __future__ import annotations

from mcp_studio.call.replay.plan import LeftOut, plan, step_of
from mcp_studio.trace.message import BY_HAND, PROBE
from tests.trace.made import Made


def test_calls_and_lists_are_sent_in_their_order_and_the_rest_is_left_out_with_a_reason() -> None:
    made = Made()
    probe = made.request("server/discover", flags=PROBE)
    made.answer(probe, "error", "error")
    made.answer(made.request("initialize"))
    made.add("notification", "out", "notifications/initialized")
    made.answer(listed := made.request("tools/list"))
    read = made.request("resources/read", "a://b")
    made.answer(called := made.request("tools/call", "echo"), outcome="tool error")
    made.answer(read)
    made.answer(made.request("ping"))
    made.answer(made.request("ping"))
    made.request("tools/call", "slow")
    made.answer(hand := made.request("x/own", flags=BY_HAND))
    made.add("stderr", "in")
    made.add("invalid", "out", flags=BY_HAND)
    found = plan(made.columns)
    assert [step.number for step in found.steps] == [listed, read, called, hand]
    assert [step.subject for step in found.steps] == [
        "tools/list", "resources/read a://b", "tools/call echo", "x/own",
    ]  # fmt: skip
    assert found.left_out == (
        LeftOut("initialize", 1, "opens a connection"), LeftOut("ping", 2, "has nothing to compare"),
        LeftOut("tools/call", 1, "had no answer"),
    )  # fmt: skip
    assert found.servers == ("files",)


def test_any_entry_of_a_conversation_stands_for_all_of_it() -> None:
    made = Made()
    first = made.request("tools/call", "ask")
    wanted = made.answer(first)
    question = made.request("elicitation/create", direction="in", under=first)
    reply = made.answer(question)
    again = made.request("tools/call", "ask", follows=first)
    asked = made.answer(again)
    third = made.request("tools/call", "ask", follows=again)
    polled = made.request("tasks/get", "t1", under=third)
    made.answer(polled)
    last = made.answer(third)
    lists = made.request("tools/list", under=third)
    made.answer(lists)
    for number in (first, wanted, question, reply, again, asked, third, polled, last):
        (step,) = plan(made.columns, [number]).steps
        assert (step.number, step.rounds, step.asked) == (first, (again, third), ((question, reply),))
        assert (step.answer, step.tasks) == (last, (polled,))
        assert step.ms is not None and step.ms > 5
    assert [step.number for step in plan(made.columns, [lists, third, first]).steps] == [first, lists]


def test_what_belongs_to_no_request_of_ours_is_no_step() -> None:
    made = Made()
    note = made.add("note", "none")
    asked = made.request("roots/list", direction="in")
    made.answer(asked)
    made.columns.link[0] = 77
    assert plan(made.columns, [note, asked, 0, 99, -3]).steps == ()
    assert step_of(made.columns, note) is None and step_of(made.columns, 999) is None


def test_one_request_alone_is_found_whether_it_was_answered_or_not() -> None:
    made = Made()
    made.columns.first = 50
    lost = made.request("tools/call", "slow")
    step = step_of(made.columns, lost)
    assert step is not None and (step.number, step.answer, step.ms) == (50, 0, None)
