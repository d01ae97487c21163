"""The summary: what there was, and nothing that a server says can break it."""

from __future__ import annotations

import re

import pytest

from mcp_studio.trace.export.formats import code
from mcp_studio.trace.lint.rules import Finding
from tests.trace.export.recorded import exported, item, morning, recorded

HOSTILE = "# x | y\n- <script>alert(1)</script> [a](http://evil) **b** `c` ```\n> \u202e\x1b[31m~~~"


def report(numbers: list[int] | None = None) -> str:
    return exported(recorded(morning()), "markdown", numbers).decode()


def rows(text: str) -> list[str]:
    return [line for line in text.split("\n") if re.match(r"\| \d", line)]


def test_a_summary_has_counts_exchanges_findings_and_comments() -> None:
    text = report()
    assert text.startswith("# `a morning`\n\n- 9 entries, 3 requests, 0 of which failed\n")
    assert "- server `shop`: `stdio`, `2025-11-25`" in text
    assert "| 4 | 1970-01-01 00:16:40.004 | `shop` | us | `tools/call` | `order` | ok | 4.0 |" in text
    assert "| `shop` | server | `elicitation/create` |  | ok | 1.0 |" in text
    assert "- entry 8: `look at *this*`\n- entry 8: warning `number-size`: `The number is too large" in text


def test_a_request_is_told_once_whichever_of_its_ends_was_chosen() -> None:
    for numbers in ([4], [8], [4, 8]):
        assert len(rows(report(numbers))) == 1
    assert "## Exchanges" not in report([9]) and "## Findings" not in report([9])


def test_failures_are_counted() -> None:
    items = [
        item(1, "request", "out", b'{"id":1}', method="tools/call", target="a", link=2, outcome="tool error"),
        item(2, "result", "in", b'{"id":1}', method="tools/call", target="a", link=1, outcome="tool error"),
        item(3, "request", "out", b'{"id":2}', method="tools/list", outcome="lost"),
    ]
    text = exported(recorded(items), "markdown").decode()
    assert "2 of which failed" in text and "| tool error | 1.0 |" in text and "| lost |  |" in text


def test_foreign_text_breaks_nothing() -> None:
    finding = Finding("error", HOSTILE, HOSTILE, "x")
    items = [
        item(1, "request", "out", HOSTILE.encode(), method=HOSTILE, target=HOSTILE, server=HOSTILE, link=2,
             outcome="error"),
        item(2, "error", "in", b'{"a":"' + b"`" * 40 + b'\\n```"}', server=HOSTILE, link=1, outcome="error",
             findings=(finding,), comment=HOSTILE),
    ]  # fmt: skip
    text = exported(recorded(items), "markdown").decode()
    assert "\x1b" not in text and "\u202e" not in text
    for line in text.split("\n"):
        assert line[:1] in ("", "#", "-", "|")
        plain = re.sub("(`+).*?\\1", "", line)
        assert "<script" not in plain and "](http" not in plain and "**" not in plain
    assert {row.count("|") for row in rows(text)} == {9}


@pytest.mark.parametrize("text", ["", "`", "``a`", " a ", "a|b", "\\", "\n", HOSTILE, "`" * 50])
def test_code_is_closed_by_what_opens_it(text: str) -> None:
    made = code(text)
    if made:
        fence = re.match("`+", made)
        assert fence and made.endswith(fence[0]) and len(re.findall(f"(?<!`){fence[0]}(?!`)", made)) == 2
    assert "\n" not in made and "|" not in made


def test_of_very_many_requests_the_first_are_shown() -> None:
    many = [item(number, "request", "out", b"{}", method="m", outcome="lost") for number in range(1, 2_002)]
    text = exported(recorded(many), "markdown").decode()
    assert len(rows(text)) == 2_000 and "\n1 more are left out.\n" in text
