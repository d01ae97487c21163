"""Texts as queries: what they mean, and what is said of those that are none."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.trace.lint.rules import Finding
from mcp_studio.trace.query.parser import ALIASES, FLAGS, KEYS, LEVELS, QueryError, lex, moment, parse
from mcp_studio.trace.search import select
from tests.trace.query.kit import Fake, entry, span

WORDS = [*(f"{key}:" for key in (*KEYS, *ALIASES)), *KEYS, *FLAGS, *LEVELS, "and", "or", "not", "-", "(", ")", '"', "/",
         ">500ms", "<2s", ">1MB", "404", "5xx", "ok", "\\", "i", " ", "10m", "12:01",
         "2026-11-20", "tool error", "*", "=", "{1}", "[", "é", "x"]  # fmt: skip


NOW = 1_000_100.0


def varied() -> Fake:
    """A recording with an entry for each of many queries."""
    texts = ("a", "b", "c", "a b", "a c", "a-b", "http://x/y", "/etc/passwd", "12:30", '{"id":1}', "x" * 5_000)
    entries = [entry(number, body=text.encode()) for number, text in enumerate(texts, 1)]
    for ms, outcome in ((100, "ok"), (700, "tool error"), (90_000, "error")):
        asked = entry(len(entries) + 1, size=3_000_000)
        answer = entry(asked.number + 1, "result", direction="in", time=asked.time + ms / 1000)
        span(asked, answer, outcome)
        entries += [asked, answer]
    entries.append(entry(len(entries) + 1, "http", direction="in", method="404 Not Found"))
    finding = Finding("hint", "rule", "text", "section")
    entries.append(entry(len(entries) + 1, "stray", time=NOW - 10, findings=(finding,)))
    recording = Fake(entries)
    recording.mark(3, True)
    return recording


VARIED = varied()


@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(WORDS), max_size=12).map("".join),
                 st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)))  # fmt: skip
def test_any_text_is_a_query_or_an_error_with_a_place_in_it(text: str) -> None:
    try:
        parse(text, 1_000_000)
    except QueryError as error:
        assert 0 <= error.start <= error.end <= len(text) and error.message
    else:
        *tokens, end = lex(text)
        assert end.kind == "end"
        assert all(0 <= one.start < one.end <= len(text) for one in tokens)
        assert all(one.end <= other.start for one, other in pairwise(tokens))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a b", "a and b"),
        ("a b or c", "(a and b) or c"),
        ("-a b", "(not a) and b"),
        ("not not a", "a"),
        ("a AND (B)", "A b"),
        ("error", "status:failed"),
        ("finding:hint", "finding:any"),
        ("marked", "is:marked"),
        (">0.5s", "ms:>500"),
        ("<2KB", "size:<2000b"),
        ("size:>1M", ">1mb"),
        (">1m", "ms:>60s"),
        ("status:tool-error", 'status:"Tool Error"'),
        ("status:4*", "status:4xx"),
        ("DIR:in", "direction:in"),
        ("http://x/y", '"http://x/y"'),
        ("/etc/passwd", '"/etc/passwd"'),
        ("12:30", '"12:30"'),
        ('{"id":1}', r'"{\"id\":1}"'),
        ("a-b", '"a-b"'),
        ("since:60s", "since:1m"),
    ],
)
def test_two_ways_to_say_the_same(text: str, same: str) -> None:
    wanted = select(VARIED, parse(same, NOW))
    assert select(VARIED, parse(text, NOW)) == wanted and 0 < len(wanted) < len(VARIED)


@pytest.mark.parametrize(
    ("text", "start", "end", "says"),
    [
        ("a servr:x", 2, 7, "no key `servr`"),
        ("kind:requst", 5, 11, "`requst`"),
        ("server:", 0, 7, "value is missing after server:"),
        ('x text:"foo', 7, 11, "quote has no end"),
        ("x /a.* b", 2, 8, "regex has no end"),
        ("/a(/", 3, 3, "regex is wrong"),
        ("x /a**/", 5, 6, "regex is wrong"),
        ("(a", 0, 1, "This ( has no )"),
        ("a)", 1, 2, "no ( before"),
        ("a ()", 3, 4, "missing here"),
        ("a or", 4, 4, "missing here"),
        ("a and or b", 6, 8, "missing here"),
        ("and a", 0, 3, "missing here"),
        ("not", 3, 3, "missing here"),
        (">500", 0, 4, "no time and no size"),
        ("under:x", 6, 7, "such as under:812"),
        ("<b>", 0, 2, "no time and no size"),
        ("since:soon", 6, 10, "no time"),
        ("since:25:00", 6, 11, "no time"),
        ("size:>big", 5, 9, "no amount"),
        ("server:>5", 7, 9, "cannot be compared"),
        ("(" * 60 + "a" + ")" * 60, 50, 51, "inside each other"),
        ("a " * 300, 400, 600, "at most 200"),
        ("x" * 2_001, 2_000, 2_001, "at most 2,000"),
    ],
)
def test_an_error_says_what_and_where(text: str, start: int, end: int, says: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text)
    assert says in caught.value.message
    assert (caught.value.start, caught.value.end) == (start, end)


def test_an_error_names_what_is_nearest() -> None:
    for text, hint in (("methd:x", "`method`"), ("kind:reqest", "`request`"), ("finding:eror", "`error`")):
        with pytest.raises(QueryError) as caught:
            parse(text)
        assert hint in caught.value.hint


def test_nothing_asks_for_everything() -> None:
    assert not parse("") and not parse("  ") and parse("a")


def test_a_time_of_day_is_the_last_one_and_a_duration_counts_back() -> None:
    now = time.mktime((2026, 11, 20, 12, 30, 0, 0, 0, -1))
    assert moment("12:00", now) == now - 1800
    assert moment("12:00:30", now) == now - 1770
    assert moment("12:31", now) == now - 86_400 + 60
    assert moment("1.5h", now) == now - 5400
    assert moment("2026-11-20", now) == now - 45_000
    assert moment("2026-11-20T12:31", now) == now + 60
    assert moment("2026-13-20", now) is None and moment("99", now) is None and moment("", now) is None
