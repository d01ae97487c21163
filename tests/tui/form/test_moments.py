"""Dates, times and durations: what people type, and the texts of the formats."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_studio.tui.aids import moment, month
from mcp_studio.tui.aids.durations import duration, said
from mcp_studio.tui.aids.moment import Kind, Moment
from mcp_studio.tui.aids.words import NotUnderstood, understand

from mcp_studio.schema.keywords import wrong_format

NOW = datetime(2026, 11, 21, 20, 47, 13)  # a Saturday
CHOSEN = Moment(datetime(2027, 1, 5, 8, 30))


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
        ("today", "2026-11-21T08:30:00+01:00"),
        ("tomorrow 9am", "2026-11-22T09:00:00+01:00"),
        ("yesterday at 14:30", "2026-11-20T14:30:00+01:00"),
        ("+3d", "2026-11-24T20:47:13+01:00"),
        ("-1w", "2026-11-14T20:47:13+01:00"),
        ("+1h30m", "2026-11-21T22:17:13+01:00"),
        ("in 2 hours and 30 minutes", "2026-11-21T23:17:13+01:00"),
        ("an hour ago", "2026-11-21T19:47:13+01:00"),
        ("3 days", "2026-11-24T20:47:13+01:00"),
        ("+2mo", "2027-01-21T20:47:13+01:00"),
        ("tomorrow +2h", "2026-11-22T10:30:00+01:00"),
        ("next monday", "2026-11-23T08:30:00+01:00"),
        ("saturday", "2026-11-28T08:30:00+01:00"),
        ("this saturday", "2026-11-21T08:30:00+01:00"),
        ("last fri", "2026-11-20T08:30:00+01:00"),
        ("next week", "2026-11-28T08:30:00+01:00"),
        ("end of month", "2026-11-30T08:30:00+01:00"),
        ("start of next year", "2027-01-01T08:30:00+01:00"),
        ("2026-11-21 14:00", "2026-11-21T14:00:00+01:00"),
        ("2026-11-21T14:00:00.250Z", "2026-11-21T14:00:00.25Z"),
        ("14:00 -08:00", "2027-01-05T14:00:00-08:00"),
        ("21.11.2027", "2027-11-21T08:30:00+01:00"),
        ("21 nov 2028", "2028-11-21T08:30:00+01:00"),
        ("Sept 3, 2027 noon", "2027-09-03T12:00:00+02:00"),
        ("now", "2026-11-21T20:47:13+01:00"),
        ("now utc", "2026-11-21T19:47:13Z"),
        ("z", "2027-01-05T07:30:00Z"),
        ("@1700000000", "2023-11-14T22:13:20Z"),
    ],
)
def test_words_are_understood(typed: str, meant: str) -> None:
    assert understand(typed, CHOSEN, NOW).written("date-time") == meant


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("31.2.2027", "there is no 31.2.2027"),
        ("2026-13-01", "there is no 2026-13-01"),
        ("25:00", "there is no 25:00"),
        ("13pm", "there is no 13pm"),
        ("tomorrow foo", "“foo” is not understood"),
        ("in 9999999 years", "that is beyond the years that can be written"),
        ("+9999999d", "that is beyond the years that can be written"),
        (" ", "nothing is typed"),
    ],
)
def test_what_means_nothing_is_told(typed: str, told: str) -> None:
    with pytest.raises(NotUnderstood) as problem:
        understand(typed, CHOSEN, NOW)
    assert str(problem.value) == told


def test_months_are_meant_where_there_are_no_minutes() -> None:
    assert understand("+2m", CHOSEN, NOW, dates_only=True).written("date") == "2027-01-21"
    assert understand("+2m", CHOSEN, NOW).written("date-time") == "2026-11-21T20:49:13+01:00"


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="0123456789 +-:.@tzaponwmhdsyrlfiec", max_size=20))
def test_any_words_mean_something_or_are_refused(typed: str) -> None:
    try:
        meant = understand(typed, CHOSEN, NOW).written("date-time")
    except NotUnderstood:
        return
    assert wrong_format("date-time", meant) == ""


@settings(max_examples=60, deadline=None)
@given(
    st.datetimes(), st.sampled_from(["local", "Z", "+05:30", "-11:00"]), st.sampled_from(["date", "time", "date-time"])
)
def test_what_is_written_is_of_its_format_and_read_back(at: datetime, zone: str, kind: Kind) -> None:
    text = Moment(at, zone).written(kind)
    assert wrong_format(kind, text) == ""
    again = moment.read(kind, text, at)
    assert again is not None and again.written(kind) == text


def test_another_zone_is_the_same_instant_also_over_a_change_of_clocks() -> None:
    summer = Moment(datetime(2027, 7, 1, 12), "local")
    assert summer.written("date-time") == "2027-07-01T12:00:00+02:00"
    assert summer.in_zone("Z").written("date-time") == "2027-07-01T10:00:00Z"
    assert summer.in_zone("Z").in_zone("local") == summer
    assert summer.moved(months=6).written("date-time") == "2028-01-01T12:00:00+01:00"
    assert summer.zone_words == "local, +02:00"


def test_steps_stay_in_the_calendar() -> None:
    assert Moment(datetime(2027, 1, 31)).moved(months=1).written("date") == "2027-02-28"
    assert Moment(datetime(1, 1, 1)).moved(days=-1, months=-1).written("date") == "0001-01-01"
    assert Moment(datetime(9999, 12, 31)).moved(days=7, months=12).written("date") == "9999-12-31"


@pytest.mark.parametrize("text", ["", "2026-02-30", "2026-02-28T00:00:00Z", "tomorrow", "2026-2-3"])
def test_no_date_is_read_where_there_is_none(text: str) -> None:
    assert moment.read("date", text, NOW) is None


@pytest.mark.parametrize(
    ("typed", "iso", "words"),
    [
        ("90m", "PT90M", "90 minutes"),
        ("1h30", "PT1H30M", "1 hour, 30 minutes"),
        ("1h 30m", "PT1H30M", "1 hour, 30 minutes"),
        ("2 days", "P2D", "2 days"),
        ("1:30", "PT1H30M", "1 hour, 30 minutes"),
        ("p1dt2h", "P1DT2H", "1 day, 2 hours"),
        ("3 weeks", "P3W", "3 weeks"),
        ("1 week and 2 days", "P9D", "9 days"),
        ("1y 2d", "P1Y0M2D", "1 year, 2 days"),
        ("1h 3s", "PT1H0M3S", "1 hour, 3 seconds"),
        ("0s", "PT0S", "0 seconds"),
        ("an hour", "PT1H", "1 hour"),
        *((wrong, "", "") for wrong in ("P", "PT", "x", "1.5h", "1h 1h", "", "9" * 300 + "h")),
    ],
)
def test_durations(typed: str, iso: str, words: str) -> None:
    assert duration(typed) == iso
    assert said(iso) == words


def test_weeks_begin_on_monday_and_a_place_is_a_day() -> None:
    weeks = month.weeks(2026, 11)
    assert weeks[0] == [0, 0, 0, 0, 0, 0, 1] and weeks[3] == [16, 17, 18, 19, 20, 21, 22] and weeks[5][0] == 30
    assert month.day_at(2026, 11, 5 * month.CELL, 3) == 21
    assert month.day_at(2026, 11, 0, 0) == month.day_at(2026, 11, 99, 0) == month.day_at(2026, 11, 0, 9) == 0
    assert [len(week) for week in month.weeks(2027, 2)] == [7] * 6


def test_how_far_a_day_is_away() -> None:
    today = NOW.date()
    assert month.told(today, today) == "Saturday, today"
    assert month.told(today + timedelta(days=3), today) == "Tuesday, in 3 days"
    assert month.told(today - timedelta(days=1), today) == "Friday, yesterday"
    assert month.told_clock(NOW + timedelta(minutes=90), NOW) == "in 1 h 30 min"
    assert month.told_clock(NOW - timedelta(days=9), NOW) == ""
    assert os.environ["TZ"] and datetime(2026, 7, 1, tzinfo=UTC).astimezone().utcoffset() == timedelta(hours=2)
