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
    assert nothing.histogram() == []


@given(st.lists(st.floats(0, 1e6, width=32), min_size=1, max_size=200))
def test_few_values_have_their_very_percentiles(values: list[float]) -> None:
    durations = of(values)
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
        assert durations.most == max(values)
        for share in (0.01, 0.25, 0.75, 0.95, 0.99):
            found = durations.percentile(share)
            assert found is not None and rank(values, share - 0.03) <= found <= rank(values, min(1.0, share + 0.03))
        assert math.isclose(durations.total, sum(values), rel_tol=1e-9)
        assert sum(bar.height for bar in durations.histogram()) == len(values)


@given(st.lists(st.floats(0, 1e9, width=32), min_size=1, max_size=300))
def test_a_histogram_counts_everything_once_in_neighbouring_bars(values: list[float]) -> None:
    bars = of(values).histogram()
    assert sum(bar.height for bar in bars) == len(values)
    assert all(left.end == right.begin for left, right in pairwise(bars))
    assert bars[0].height and bars[-1].height
    for bar in bars:
        assert bar.height == sum(bar.begin < max(value, 1e-9) <= bar.end for value in values)


def test_bars_begin_at_round_numbers() -> None:
    found = of([12.0, 13.0, 15.0, 20.0, 22.0, 140.0]).histogram()
    assert found == [(10, 20, 4), (20, 50, 1), (50, 100, 0), (100, 200, 1)]
    assert of([400_000.0]).histogram() == [(300_000, math.inf, 1)]
