"""Numbers in order that grow at both ends."""

from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.trace.search import Found


@given(st.sets(st.integers(41, 80)), st.sets(st.integers(1, 40)), st.sets(st.integers(1, 90)), st.integers(0, 90))
def test_it_is_a_sorted_set(newer: set[int], older: set[int], changed: set[int], first: int) -> None:
    found = Found()
    found.put(newer)
    found.put_before(array("Q", sorted(older)))
    added = {number for number in changed if number % 2}
    found.put(added, changed)
    found.forget(first)
    model = sorted(number for number in (newer | older) - changed | added if number >= first)
    assert [found[index] for index in range(len(found))] == model == list(found.all())
    assert [found.place(number) for number in range(92)] == [sum(one < number for one in model) for number in range(92)]
