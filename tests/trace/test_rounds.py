"""Rounds of one request are linked: each knows the one before it."""

from __future__ import annotations

from typing import Any

from mcp_studio.trace.message import NEEDS_INPUT, Span
from tests.trace.lint.kit import MODERN, Talk, text

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
