"""Texts become numbers, bounded in number and in size."""

from __future__ import annotations

from mcp_studio.trace.message import OTHER, Names


def test_the_same_text_has_the_same_number() -> None:
    names = Names()
    assert names[""] == 0 and names["tools/call"] == names["tools/call"] == 2
    assert names.texts[2] == "tools/call" and names.get("tools/call") == 2 and names.get("other") is None


def test_endless_different_texts_are_one() -> None:
    names = Names(most=10, size=1_000)
    numbers = [names[f"method {number}"] for number in range(1_000)]
    assert len(names.texts) == 10 and numbers[:8] == list(range(2, 10)) and set(numbers[8:]) == {1}
    assert names.texts[1] == OTHER and names["method 0"] == 2


def test_long_texts_use_up_the_room() -> None:
    names = Names(size=100)
    assert names["x" * 80] == 2 and names["y" * 80] == 1 and names["z" * 20] == 3
