"""Percentiles: exact for few, within one percent for many, in bounded memory."""

from __future__ import annotations

import math
import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.trace.statistics import EXACT, Durations


def of(values: list[float]) -> Durations:
    durations = Durations()
    for value in values:
        durations.add(value)
    return durations


def rank(values: list[float], share: float) -> float:
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def test_nothing_has_no_percentile() -> None:
    nothing = of([])
    assert nothing.percentile(0.5) is None
    assert nothing.mean is None
    assert nothing.histogram() == []


@given(st.lists(st.floats(0, 1e6, width=32), min_size=1, max_size=200))
def test_few_values_have_their_very_percentiles(values: list[float]) -> None:
    durations = of(values)
    assert durations.exact
    assert all(durations.percentile(share) == rank(values, share) for share in (0.5, 0.95, 0.99))
    assert (durations.least, durations.most) == (min(values), max(values))


def test_percentiles_of_many_values_are_near_whatever_their_shape() -> None:
    random_ = random.Random(5)
    for draw in (
        lambda: random_.lognormvariate(2, 1.5),
        lambda: random_.uniform(0.02, 5_000),
        lambda: random_.choice((0.5, 800.0)) * random_.uniform(0.99, 1.01),
    ):
        values = [draw() for _ in range(EXACT * 5)]
        durations = of(values)
        assert not durations.exact and durations.most == max(values)
        for share in (0.01, 0.25, 0.75, 0.95, 0.99):
            found = durations.percentile(share)
            assert found is not None and rank(values, share - 0.03) <= found <= rank(values, min(1.0, share + 0.03))
        assert math.isclose(durations.mean or 0, sum(values) / len(values), rel_tol=1e-9)
        assert abs(sum(bar.height for bar in durations.histogram()) - len(values)) < 100


@given(st.lists(st.floats(0, 1e9, width=32), min_size=1, max_size=300), st.integers(1, 40))
def test_a_histogram_counts_everything_once_in_neighbouring_bars(values: list[float], most: int) -> None:
    bars = of(values).histogram(most)
    assert sum(bar.height for bar in bars) == len(values)
    assert all(math.isclose(left.end, right.begin) for left, right in pairwise(bars))
    assert bars[0].height and bars[-1].height


def test_bars_begin_at_round_numbers_and_are_as_narrow_as_there_is_room() -> None:
    values = [float(value) for value in (12, 13, 15, 18, 22, 40)]
    found = of(values).histogram(8)
    assert [(round(bar.begin, 6), bar.height) for bar in found] == [
        (10, 1), (12.5, 2), (16, 1), (20, 1), (25, 0), (32, 0), (40, 1),
    ]  # fmt: skip
    assert math.isclose(found[-1].end, 50)
    assert [(bar.begin, bar.end, bar.height) for bar in of(values).histogram(1)] == [(10.0, 100.0, 6)]
