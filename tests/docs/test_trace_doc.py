"""The language of the trace is written down as it is."""

from __future__ import annotations

import re

from mcp_studio.trace.query.parser import FLAGS, KEYS, LEVELS, STATUSES, parse
from tests.support import ROOT

PAGE = (ROOT / "docs" / "trace.md").read_text("utf-8")


def test_the_table_has_every_key_with_what_it_asks_for() -> None:
    rows = re.findall(r"^\| `([a-z]+):` \| (.*) \| `(.*)` \|$", PAGE, re.M)
    assert rows == [(name, key.what, key.example) for name, key in KEYS.items()]


def test_every_value_is_named_and_every_example_is_a_query() -> None:
    named = set(re.findall(r"`([^`\n]+)`", PAGE))
    values = {*KEYS["kind"].values, *FLAGS, *LEVELS, *(status.replace(" ", "-") for status in STATUSES)}
    assert values - {"note"} <= named
    examples = PAGE.split("```\n")[1].splitlines()
    assert len(examples) >= 5
    for line in examples:
        parse(line.split("   ")[0])
