"""Counts over time: bounded, whole, and drawn in one line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.trace.statistics import BUCKETS, Series


def filled(seconds: list[int]) -> tuple[Series, int]:
    series = Series()
    for second in seconds:
        series.add(second)
    return series, seconds[0]


@given(st.lists(st.integers(0, 1_000_000), min_size=1, max_size=100), st.integers(1, 200))
def test_nothing_is_lost_however_long_it_takes(offsets: list[int], bars: int) -> None:
    seconds = sorted(1_700_000_000 + offset for offset in offsets)
    series, start = filled(seconds)
    shape = series.shape(start, seconds[-1], bars)
    assert sum(shape) == len(seconds)
    assert len(shape) <= min(bars, BUCKETS)


def test_two_series_share_their_axis_though_one_is_older() -> None:
    old, start = filled([100, 100, 101])
    young = Series()
    young.add(5_000)
    shapes = old.shape(start, 5_000, 10), young.shape(start, 5_000, 10)
    assert [shape.index(max(shape)) for shape in shapes] == [0, 9]
    assert len(shapes[0]) == len(shapes[1]) == 10
