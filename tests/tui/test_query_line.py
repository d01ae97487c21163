"""What is offered while a query is typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.trace.query.parser import KEYS, parse
from mcp_studio.tui.views.query_line import complete
from tests.trace.query.kit import Fake, entry
from tests.trace.query.test_parser import WORDS

RECORDING = Fake(
    [
        entry(1, server="github", method="tools/call", target="create_issue"),
        entry(2, server="my files", method="tools/call", target="read_file"),
        entry(3, server="my files", method="tools/call", target="read_file"),
        entry(4, server="my files", method="resources/read", target="file:///a b"),
        entry(5, server="evil\x1b[2J", method="prompts/get", target='say "hi"'),
        entry(6, "http", server="github", method="200 OK"),
        entry(7, "http", server="github", method="POST", target="renewed token"),
    ]
)


def offered(text: str, cursor: int | None = None) -> list[str]:
    start, end, options = complete(text, len(text) if cursor is None else cursor, RECORDING)
    return [text[:start] + option + text[end:] for option in options]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("", [f"{key}:" for key in KEYS][:12]),
        ("st", ["status:"]),
        ("a (-st", ["a (-status:"]),
        ("st b", []),
        ("o", ["or"]),
        ("a o", ["a or"]),
        ("server:", ["server:github", 'server:"my files"']),
        ("server:FI", ['server:"my files"']),
        ("target:re", ["target:read_file", 'target:"renewed token"']),
        ('server:"my f', ['server:"my files"']),
        ("tool:", ["tool:read_file", "tool:create_issue"]),
        ("tool:is", ["tool:create_issue"]),
        ("resource:", ['resource:"file:///a b"']),
        ("prompt:", [r'prompt:"say \"hi\""']),
        ("method:t", ["method:tools/call", "method:prompts/get"]),
        ("x status:t", ["x status:tool-error", "x status:lost"]),
        ("kind:err", ["kind:error"]),
        ("finding:e", ["finding:error"]),
        ("since:", ["since:1m"]),
        ("server:github", []),
        ("/ser", []),
        ('"ser', []),
        (">5", []),
        ("foo:b", []),
    ],
)
def test_keys_and_then_values_that_are_known_are_offered(text: str, first: list[str]) -> None:
    assert offered(text)[: len(first) or 1] == first


def test_in_the_middle_the_whole_word_is_replaced() -> None:
    assert offered("a serv b", 4) == ["a server: b"]
    assert offered("status:xx b", 7)[0] == "status:ok b"


@given(st.lists(st.sampled_from(WORDS), max_size=6).map("".join), st.integers(0, 40))
def test_whatever_is_typed_something_or_nothing_is_offered(text: str, cursor: int) -> None:
    cursor = min(cursor, len(text))
    start, end, _ = complete(text, cursor, RECORDING)
    assert 0 <= start <= cursor <= end <= len(text)


def test_every_value_that_is_offered_is_a_query() -> None:
    for key in KEYS:
        for text in offered(key + ":"):
            parse(text)
