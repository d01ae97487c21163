"""The report: complete, and nothing that a server says can break it."""

from __future__ import annotations

import re

import pytest

from mcp_studio.trace.export import formats
from mcp_studio.trace.export.formats import block, code, inline
from mcp_studio.trace.lint.rules import Finding
from tests.trace.export.recorded import exported, item, morning, recorded

HOSTILE = "# x | y\n- <script>alert(1)</script> [a](http://evil) **b** `c` ```\n> \u202e\x1b[31m~~~"


def report(numbers: list[int] | None = None) -> str:
    return exported(recorded(morning()), "markdown", numbers).decode()


def outside_fences(text: str) -> list[str]:
    """The lines that Markdown reads; every fence has an end."""
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        if fence:
            fence = "" if line == fence else fence
        elif found := re.match("(`{3,})(json|text)$", line):
            fence = found[1]
        else:
            kept.append(line)
    assert fence == ""
    return kept


def test_a_report_tells_all_there_is() -> None:
    text = report()
    assert text.startswith("# a morning\n\n- 9 entries, 3 requests, 0 of which failed\n")
    assert "- server `shop`: `shop` `1.2`, protocol `2025-11-25`, `stdio`" in text
    assert "| `shop` | `tools/call` | `order` | 1 | 0 | 4.0 | 4.0 | 4.0 |" in text
    assert "### 4. `tools/call` `order` on `shop`" in text and "under entry 4" in text
    assert '"big": 12345678901234567890' in text and "1.0" in text
    assert "standard error: `läuft ⟦U+202E⟧`" in text and "note: `the server exited with code 3`" in text
    assert "## Failures" not in text


def test_a_request_is_told_once_whichever_of_its_ends_was_chosen() -> None:
    for numbers in ([4], [8], [4, 8]):
        assert report(numbers).count("### ") == 1
    told = report([8])
    assert "> look at \\*this\\*" in told and "warning `number-size`: The number is too large" in told


def test_failures_stand_together() -> None:
    items = [
        item(1, "request", "out", b'{"id":1}', method="tools/call", target="a", link=2, outcome="tool error"),
        item(2, "result", "in", b'{"id":1}', method="tools/call", target="a", link=1, outcome="tool error"),
        item(3, "request", "out", b'{"id":2}', method="tools/list", outcome="lost"),
    ]
    text = exported(recorded(items), "markdown").decode()
    assert "2 of which failed" in text
    assert "## Failures\n\n- `tools/call` `a` on `shop`: tool error (entry 1)\n- `tools/list` on `shop`: lost" in text


def test_foreign_text_breaks_nothing() -> None:
    finding = Finding("error", HOSTILE, HOSTILE, "x")
    items = [
        item(1, "request", "out", HOSTILE.encode(), method=HOSTILE, target=HOSTILE, server=HOSTILE, link=2,
             outcome="error"),
        item(2, "error", "in", b'{"a":"' + b"`" * 40 + b'\\n```"}', server=HOSTILE, link=1, outcome="error",
             findings=(finding,), comment=HOSTILE),
        item(3, "stray", "in", HOSTILE.encode(), server=HOSTILE),
    ]  # fmt: skip
    text = exported(recorded(items), "markdown").decode()
    assert "\x1b" not in text and "\u202e" not in text
    for line in outside_fences(text):
        assert line[:1] in ("", "#", "-", ">", "|", "1") or line.startswith(("---", "|"))
        plain = re.sub("(`+).*?\\1", "", re.sub(r"\\.", "", line))
        assert "<script" not in plain and "](http" not in plain and "**" not in plain
    rows = [line for line in text.split("\n") if line.startswith("|")]
    assert len({row.count("|") for row in rows}) == 1


@pytest.mark.parametrize("text", ["", "`", "``a`", " a ", "a|b", "\\", "\n", HOSTILE, "`" * 50])
def test_code_is_closed_by_what_opens_it(text: str) -> None:
    made = code(text)
    if made:
        fence = re.match("`+", made)
        assert fence and made.endswith(fence[0]) and len(re.findall(f"(?<!`){fence[0]}(?!`)", made)) == 2
    assert "\n" not in made and "|" not in made
    assert re.sub(r"\\[!-/:-@\[-`{-~]", "", inline(text)).isprintable()
    assert not re.search(r"(?<!\\)[*_<\[|`#]", re.sub(r"\\[!-/:-@\[-`{-~]", "", inline(text)))


def test_long_bodies_are_cut_and_say_so() -> None:
    assert block(b'{"a":[1,2]}') == '```json\n{\n  "a": [\n    1,\n    2\n  ]\n}\n```'
    long = block(b"[" + b"1," * 300_000 + b"1]")
    assert len(long) < 6_000 and "the whole has 600,003 bytes" in long
    assert block(b"\n" * 1_000).count("\n") < 90
    assert block(b"\xff{").startswith("```text\n\\xff")


def test_of_very_many_requests_the_first_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "_SHOWN", 2)
    text = report()
    assert text.count("### ") == 2 and "not shown one by one: 1." in text
