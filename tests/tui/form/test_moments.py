"""Dates, times and durations: what people type, and the texts of the formats."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_studio.schema.keywords import wrong_format
from mcp_studio.tui.form.moments import Kind, NotUnderstood, duration, read, shifted, understand, written

NOW = datetime(2026, 11, 21, 20, 47, 13)  # a Saturday


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Clocks that are an hour ahead in winter and two in summer."""
    if not hasattr(time, "tzset"):
        pytest.skip("the zone of a process cannot be set here")
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("today", "2026-11-21T20:47:13+01:00"),
        ("tomorrow 9am", "2026-11-22T09:00:00+01:00"),
        ("yesterday at 14:30", "2026-11-20T14:30:00+01:00"),
        ("+3d", "2026-11-24T20:47:13+01:00"),
        ("-1w", "2026-11-14T20:47:13+01:00"),
        ("+1h30m", "2026-11-21T22:17:13+01:00"),
        ("in 2 hours and 30 minutes", "2026-11-21T23:17:13+01:00"),
        ("3 days ago", "2026-11-18T20:47:13+01:00"),
        ("+2mo", "2027-01-21T20:47:13+01:00"),
        ("+8mo", "2027-07-21T20:47:13+02:00"),
        ("tomorrow +2h", "2026-11-22T22:47:13+01:00"),
        ("next monday", "2026-11-23T20:47:13+01:00"),
        ("saturday noon", "2026-11-28T12:00:00+01:00"),
        ("2026-11-21 14:00", "2026-11-21T14:00:00+01:00"),
        ("2026-11-21T14:00:00Z", "2026-11-21T14:00:00Z"),
        ("2027-02-28", "2027-02-28T20:47:13+01:00"),
        ("now", "2026-11-21T20:47:13+01:00"),
        ("now utc", "2026-11-21T19:47:13Z"),
    ],
)
def test_words_are_understood(typed: str, meant: str) -> None:
    assert written("date-time", understand(typed, NOW)) == meant


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("2026-13-01", "there is no 2026-13-01"),
        ("25:00", "there is no 25:00"),
        ("tomorrow foo", "“foo” is not understood"),
        ("+9999999d", "there is no +9999999d"),
        ("+7973y", "that is beyond the years that can be written"),
        (" ", "nothing is typed"),
    ],
)
def test_what_means_nothing_is_told(typed: str, problem: str) -> None:
    with pytest.raises(NotUnderstood) as told:
        understand(typed, NOW)
    assert str(told.value) == problem


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="0123456789 +-:.@tzaponwmhdsyrlfiec", max_size=20))
def test_any_words_mean_something_or_are_refused(typed: str) -> None:
    try:
        meant = written("date-time", understand(typed, NOW))
    except NotUnderstood:
        return
    assert wrong_format("date-time", meant) == ""


@settings(max_examples=60, deadline=None)
@given(st.datetimes(datetime(1950, 1, 1), datetime(2200, 1, 1)), st.sampled_from(["date", "time", "date-time"]))
def test_what_is_written_is_of_its_format_and_read_back(at: datetime, kind: Kind) -> None:
    text = written(kind, at)
    assert wrong_format(kind, text) == ""
    again = read(kind, text, at)
    assert again is not None and written(kind, again) == text


def test_the_31st_becomes_the_last_day_of_a_shorter_month() -> None:
    assert shifted(datetime(2027, 1, 31), "M", 1) == datetime(2027, 2, 28)


@pytest.mark.parametrize("text", ["", "2026-02-30", "2026-02-28T00:00:00Z", "tomorrow", "2026-2-3"])
def test_no_date_is_read_where_there_is_none(text: str) -> None:
    assert read("date", text, NOW) is None


@pytest.mark.parametrize(
    ("typed", "iso"),
    [
        ("90m", "PT90M"),
        ("1h 30m", "PT1H30M"),
        ("2 days", "P2D"),
        ("1:30", "PT1H30M"),
        ("p1dt2h", "P1DT2H"),
        ("3 weeks", "P3W"),
        ("1 week and 2 days", "P9D"),
        ("1y 2d", "P1Y0M2D"),
        ("1h 3s", "PT1H0M3S"),
        ("0s", "PT0S"),
        *((wrong, "") for wrong in ("P", "PT", "x", "1.5h", "1h 1h", "", "9" * 300 + "h", "-1h")),
    ],
)
def test_durations(typed: str, iso: str) -> None:
    assert duration(typed) == iso
