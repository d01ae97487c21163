"""Spans as trees."""

from __future__ import annotations

from mcp_studio.trace.tree import Node, relation_of, root_of, tree, walk
from tests.trace.made import Made


def shape(node: Node | None) -> list[tuple[int, int, str]]:
    assert node is not None
    return [(depth, one.number, one.relation) for depth, one in walk(node)]


def test_a_question_of_the_server_is_under_the_call_it_was_asked_for() -> None:
    made = Made()
    call = made.request("tools/call", "order")
    asked = made.request("elicitation/create", direction="in", under=call)
    made.answer(asked)
    made.answer(call)
    expected = [(0, call, "root"), (1, asked, "asked")]
    assert [shape(tree(made.recording, number)) for number in range(1, 5)] == [expected] * 4


def test_all_rounds_of_a_conversation_are_under_the_first() -> None:
    made = Made()
    first = made.request("tools/call", "order")
    made.answer(first)
    second = made.request("tools/call", "order", follows=first)
    made.answer(second)
    third = made.request("tools/call", "order", follows=second)
    answer = made.answer(third)
    assert shape(tree(made.recording, answer)) == [(0, first, "root"), (1, second, "round"), (1, third, "round")]


def test_what_is_asked_about_a_task_is_under_the_call_that_made_it() -> None:
    made = Made()
    call = made.request("tools/call", "report")
    made.answer(call)
    polls = []
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        polls.append(made.request(method, under=call))
        made.answer(polls[-1])
    question = made.request("elicitation/create", direction="in", under=polls[1])
    assert shape(tree(made.recording, call)) == [
        *((0, call, "root"), (1, polls[0], "task"), (1, polls[1], "task")),
        *((2, question, "asked"), (1, polls[2], "task")),
    ]


def test_the_same_once_more_is_a_retry_and_other_requests_are_steps() -> None:
    made = Made()
    call = made.request("tools/call", "order")
    made.answer(call, "error", "error")
    listed = made.request("tools/list", under=call)
    again = made.request("tools/call", "order", under=call)
    assert [relation_of(made.columns, number) for number in (call, listed, again)] == ["root", "step", "retry"]
    probe = made.request("server/discover")
    assert relation_of(made.columns, made.request("initialize", under=probe)) == "retry"


def test_heads_of_http_exchanges_are_under_the_request_they_carried() -> None:
    made = Made()
    head = made.add("http", "out", "POST", exchange=4)
    call = made.request("tools/call", "order", exchange=4)
    back = made.add("http", "in", "200 OK", exchange=4)
    made.answer(call)
    made.add("http", "out", "POST", exchange=4)  # of the next connection, which counts from 1 again
    later = made.request("tools/call", "order", exchange=4)
    expected = [(0, call, "root"), (1, head, "http"), (1, back, "http")]
    assert shape(tree(made.recording, call)) == expected
    assert shape(tree(made.recording, head)) == expected
    assert shape(tree(made.recording, back)) == expected
    assert shape(tree(made.recording, later)) == [(0, later, "root"), (1, later - 1, "http")]


def test_a_note_is_under_the_request_that_was_open_last() -> None:
    made = Made()
    call = made.request("tools/call")
    early = made.add("note", "none")
    asked = made.request("sampling/createMessage", direction="in", under=call)
    late = made.add("note", "none")
    made.add("note", "none", server="other")
    made.answer(asked)
    made.answer(call)
    assert shape(tree(made.recording, call)) == [
        *((0, call, "root"), (1, early, "note")),
        *((1, asked, "asked"), (2, late, "note")),
    ]


def test_what_belongs_to_no_request_is_a_tree_of_its_own() -> None:
    made = Made()
    line = made.add("stderr", "in")
    assert tree(made.recording, line) == Node(line, "root")
    assert tree(made.recording, 2) is None
    assert tree(made.recording, 0) is None


def test_links_that_make_no_sense_lead_nowhere() -> None:
    made = Made()
    one = made.request("tools/call", under=9, follows=1)
    two = made.request("tools/call", under=2)
    made.columns.follows[one], made.columns.parents[two] = two, two
    assert [root_of(made.columns, number) for number in (one, two)] == [one, two]
    assert shape(tree(made.recording, two)) == [(0, two, "root")]


def test_children_that_come_later_are_found() -> None:
    made = Made()
    call = made.request("tools/call")
    assert shape(tree(made.recording, call)) == [(0, call, "root")]
    asked = made.request("roots/list", direction="in", under=call)
    assert len(shape(tree(made.recording, call))) == 2
    made.columns.parents.clear()  # an earlier part of the trace was dropped
    made.columns.parents[asked] = call
    assert len(shape(tree(made.recording, call))) == 2


def test_children_are_found_while_the_oldest_links_are_forgotten() -> None:
    made = Made()
    call = made.request("tools/call")
    for _ in range(20):
        asked = made.request("roots/list", direction="in", under=call)
        while len(made.columns.parents) > 3:  # as many as before
            del made.columns.parents[next(iter(made.columns.parents))]
        assert asked in [number for _, number, _ in shape(tree(made.recording, call))]


def test_a_chain_of_thousands_is_walked_without_recursion_and_bounded() -> None:
    made = Made()
    last = made.request("tools/call")
    for _ in range(5_000):
        last = made.request("tools/call", under=last)
    found = shape(tree(made.recording, last))
    assert 1_000 < len(found) <= 2_001
