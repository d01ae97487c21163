"""Which entries a query asks for: a few at a time and over columns and blocks the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_studio.schema.patterns import TooSlow
from mcp_studio.trace.lint.rules import Finding
from mcp_studio.trace.message import DIRECTIONS, KINDS, OUTCOMES
from mcp_studio.trace.query.parser import parse
from mcp_studio.trace.search import scan_some, select, take
from tests.trace.query.kit import Fake, entry, span

NOW = 1_000_050.0
ALPHABET = 'ab É\u00e9"\\ß\nT/xK'
FINDINGS = {level: (Finding(level, "rule", "text", "section"),) for level in ("hint", "warning", "error")}
TERMS = [
    "a", "É", "straße", r'"\""', "server:s", "server:=S", "server:*2", "server:=s*", "tool:a", "target:*",
    "kind:request", "kind:response", "direction:in", "status:ok", "error", "status:tool-error", "status:open",
    "status:lost", "status:404", "status:4xx", ">1500ms", "<=1s", "ms:>=0", "size:>40", "<1KB",
    "since:40s", "method:tools/*", "until:20s", "finding:any", "finding:warning", "finding:error", "marked",
    "is:commented", "is:probe", "under:5",
    "text:a", "/a./", "/^a|b$/", "text:/A[bx]/i", "/bbb+/", "/ABB(x|b)/i", "server:/^S/i", "request", '""',
]  # fmt: skip


@st.composite
def recordings(draw: st.DrawFn) -> Fake:
    texts = st.text(ALPHABET, max_size=6)
    first = draw(st.sampled_from([1, 5]))
    count = draw(st.integers(0, 24))
    entries = []
    for number in range(first, first + count):
        kind = draw(st.sampled_from(KINDS))
        more: dict[str, Any] = {"server": draw(st.sampled_from(["s", "S2", "é"]))}
        more["method"] = draw(st.sampled_from(["", "tools/call", "ping", "404 Not Found", "4040"]))
        more["target"] = draw(texts)
        more["direction"] = draw(st.sampled_from(DIRECTIONS))
        more["probe"] = draw(st.booleans())
        body: Any = draw(texts).encode()
        if kind in ("request", "result", "error"):
            more["id"] = draw(st.sampled_from([1, "x", "1", 17]))
            inside = {"text": draw(texts), "id": 1}
            body = json.dumps({"id": more["id"], "params": inside}, ensure_ascii=draw(st.booleans())).encode()
        if draw(st.integers(0, 9)) == 0:
            body = b"b" * draw(st.sampled_from([300, 70_000])) + "aÉ".encode()
            more.pop("id", None)
        if finding := draw(st.sampled_from(["", "", *FINDINGS])):
            more["findings"] = FINDINGS[finding]
        entries.append(entry(number, kind, body, **more))
    waiting = [one for one in entries if one.kind == "request"]
    for answer in [one for one in entries if one.kind in ("result", "error")]:
        earlier = [one for one in waiting if one.number < answer.number and one.span is None]
        if earlier:
            span(earlier[-1], answer, draw(st.sampled_from(["ok", "error", "tool error"])))
    for request in waiting:
        if request.span is None:
            span(request, None, draw(st.sampled_from(["open", "cancelled", "lost"])))
    recording = Fake(entries, block=draw(st.integers(1, 9)), large=200)
    for one in entries:
        if draw(st.integers(0, 5)) == 0:
            recording.mark(one.number, True)
        if draw(st.integers(0, 5)) == 0:
            recording.comment(one.number, draw(st.sampled_from(["odd", "even"])))
    return recording


QUERIES = st.recursive(
    st.sampled_from(TERMS),
    lambda inner: st.one_of(
        inner.map(lambda one: f"not ({one})"),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: "(" + " and ".join(parts) + ")"),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: "(" + " or ".join(parts) + ")"),
    ),
    max_leaves=5,
)


@settings(max_examples=25, deadline=None)
@given(recordings(), QUERIES)
def test_a_few_entries_and_all_blocks_give_the_same(recording: Fake, text: str) -> None:
    query = parse(text, NOW)
    snapshot, reader = take(recording), recording.reader()
    few = [number for part in scan_some(snapshot, query, reader, range(99)) for number in part.numbers]
    assert list(select(recording, query)) == sorted(few)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("CAFÉ", True), ("café git", True), ("cafe", False), ("issue nowhere", False), ("request", True),
        ("server:hub", True), ("server:=hub", False), ("server:*hub", True), ('server:"git"', False),
        ("tool:create*", True), ("prompt:create*", False), ("text:git", False), ("target:create", True),
        ("line two", True), (r'"\nline"', True), ("ms:>1", False), ('"Title"', True), (r'"say \"hi\""', True),
        ("naïve", True),
        ("/T.tle/", True), ("/t.tle/", False), ("/t.*Caf/i", True), ("since:1s", False),
    ],
)  # fmt: skip
def test_what_a_query_means(text: str, found: bool) -> None:
    body = '{"Title": "CafÉ", "more": "say \\"hi\\" na\\u00efve\\nline two"}'.encode()
    one = entry(1, body=body, server="GitHub", method="tools/call", target="create_issue")
    assert list(select(Fake([one]), parse(text, 2_000_000))) == [1] * found


def test_failures_are_found_whatever_kind_they_are() -> None:
    asked, answer = entry(1), entry(2, "result")
    span(asked, answer, "tool error")
    lost = entry(3)
    span(lost, None, "lost")
    good = entry(4)
    span(good, None, "open")
    recording = Fake([asked, answer, lost, good, entry(5, "invalid"), entry(6, "stray"), entry(7, "stderr")])
    assert list(select(recording, parse("error"))) == [1, 2, 3, 5, 6]
    assert list(select(recording, parse("status:tool-error"))) == [1, 2]


def test_every_outcome_has_its_status() -> None:
    for outcome in OUTCOMES:
        one = entry(1)
        span(one, None, outcome)
        assert list(select(Fake([one]), parse(f'status:"{outcome}"'))) == [1]


@pytest.mark.parametrize("text", ["/(a|aa)+$/", "/(a|aa)+c/", "target:/(a|aa)+c/"])
def test_a_regex_that_never_ends_is_ended(text: str) -> None:
    recording = Fake([entry(1, body=b"aaac", target="aac"), entry(2, body=b"a" * 60 + b"b", target="a" * 60 + "b")])
    with pytest.raises(TooSlow, match="too long"):
        select(recording, parse(text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/^b/", [2, 3, 4]), ("/a$/", [1, 3]), (r"/\Abb/", [4]), ("/a.*x/", []), ("/[^x]+/", [1, 2, 3, 4]),
        ("/a[^x]*b/s", []), (r"/\p{L}A|É/i", [1, 3]), ("/(?<!b)a/", [1]), (r"/b\b/", [2, 4]), ("/ab/", []),
        ("/(?:aa)*+b/", [2, 3, 4]), (r"/(.)\1/", [1, 4]), ("/a{2,}|b{2}/", [1, 4]), ("/a+b?a/", [1]),
        (r"/\x61a/", [1]), (r"/\p{L}b/", [4]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("last", ["", "é"])
def test_a_regex_is_found_in_each_body_by_itself(text: str, found: list[int], last: str) -> None:
    bodies = [body.encode() for body in ("aa", "b", "ba", "bb", last)]
    recording = Fake([entry(number, body=body) for number, body in enumerate(bodies, 1)], block=9)
    assert [number for number in select(recording, parse(text)) if number < 5] == found


def test_a_large_body_is_looked_through() -> None:
    body = b"x" * ((1 << 18) - 3) + b"NEEDLE" + b"x" * 600_000
    recording = Fake([entry(1, body=body)])
    for text in ("needle", "/N[E]{2}DL/", "text:/E.LE/"):
        assert list(select(recording, parse(text))) == [1], text
