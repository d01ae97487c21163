"""Texts become numbers, bounded in number and in size."""

from __future__ import annotations

from mcp_studio.trace.message import OTHER, Names


def test_the_same_text_has_the_same_number() -> None:
    names = Names()
    assert names.number("") == 0 and names.number("tools/call") == names.number("tools/call") == 2
    assert names.texts[2] == "tools/call" and names.known("tools/call") == 2 and names.known("other") is None


def test_endless_different_texts_are_one() -> None:
    names = Names(most=10, size=1_000)
    numbers = [names.number(f"method {number}") for number in range(1_000)]
    assert len(names.texts) == 10 and numbers[:8] == list(range(2, 10)) and set(numbers[8:]) == {1}
    assert names.texts[1] == OTHER and names.number("method 0") == 2


def test_long_texts_use_up_the_room() -> None:
    names = Names(size=100)
    assert names.number("x" * 80) == 2 and names.number("y" * 80) == 1 and names.number("z" * 20) == 3
