"""Numbers in order that grow at both ends."""

from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.trace.search import Found


@given(st.sets(st.integers(1, 40)), st.sets(st.integers(41, 80)), st.lists(st.integers(1, 90)), st.integers(0, 90))
def test_it_is_a_sorted_set(older: set[int], newer: set[int], changed: list[int], first: int) -> None:
    found, model = Found(), older | newer
    for part in (range(21, 41), range(1, 21)):
        found.put_before(array("Q", sorted(older.intersection(part))))
    found.put_behind(array("Q", sorted(newer)))
    for number in changed:
        assert (number in found) == (number in model)
        if number in model:
            found.discard(number)
            model.discard(number)
        else:
            found.add(number)
            found.add(number)
            model.add(number)
    found.discard(99)
    found.forget(first)
    kept = sorted(number for number in model if number >= first)
    assert [found[index] for index in range(len(found))] == kept
    assert [found.place(number) for number in range(92)] == [sum(one < number for one in kept) for number in range(92)]
