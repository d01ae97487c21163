"""Salvaging lists: nothing is thrown away, everything malformed says why."""

from __future__ import annotations

import pytest

from mcp_studio.catalog.listing import Listing, Ref, doubts_of, salvage

GOOD = {"name": "good", "inputSchema": {"type": "object"}}


def test_one_bad_tool_costs_no_other() -> None:
    entries = salvage(
        "s", "tool", [GOOD, {"name": "bad"}, 7, {"inputSchema": {}}, {"name": "worse", "inputSchema": []}]
    )
    assert [entry.ref.name for entry in entries] == ["good", "bad", "", "", "worse"]
    assert [bool(entry.problem) for entry in entries] == [False, True, True, True, True]
    assert len(Listing("s", "tool", entries).problems) == 4


def test_duplicates_survive() -> None:
    entries = salvage("s", "tool", [GOOD, {**GOOD, "title": "again"}])
    assert [entry.ref for entry in entries] == [Ref("tool", "s", "good")] * 2


def test_a_tool_with_invalid_header_annotations_is_excluded_on_modern_http_only() -> None:
    tool = {
        "name": "t",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "number", "x-mcp-header": "A"}}},
    }
    (entry,) = salvage("s", "tool", [tool], headers=True)
    assert entry.excluded and "x-mcp-header" in entry.problem
    (entry,) = salvage("s", "tool", [tool])
    assert not entry.excluded and not entry.problem


def test_resources_go_by_uri_templates_by_template_prompts_by_name() -> None:
    assert salvage("s", "resource", [{"uri": "a://b", "name": "n"}])[0].ref.name == "a://b"
    assert salvage("s", "template", [{"uriTemplate": "a://{x}"}])[0].ref.name == "a://{x}"
    assert salvage("s", "prompt", [{"name": "p"}])[0].ref.name == "p"


@pytest.mark.parametrize(
    ("names", "doubtful"),
    [
        (["echo", "add"], {}),
        (["echo", "echo"], {"echo": "listed 2 times"}),
        (["echo", "\u0435cho"], {"echo": "looks like \u0435cho", "\u0435cho": "looks like echo"}),
        (["get_sum", "get-sum"], {"get_sum": "looks like get-sum", "get-sum": "looks like get_sum"}),
        (["read", "READ"], {"read": "looks like READ", "READ": "looks like read"}),
        (["file", "fi1e"], {"file": "looks like fi1e", "fi1e": "looks like file"}),
        (["read", "re\u200bad"], {"read": "looks like", "re\u200bad": "looks like read"}),
        (["p\u0430y"], {"p\u0430y": "letters that are not what they look like"}),
        (["pay\u200b"], {"pay\u200b": "cannot be seen"}),
        (["m\u00fcller", "\u043a\u043e\u0434", "\u6771\u4eac", ""], {}),
    ],
)
def test_names_that_stand_twice_or_look_like_others_are_doubtful(names: list[str], doubtful: dict[str, str]) -> None:
    found = doubts_of(salvage("s", "tool", [{**GOOD, "name": name} for name in names]))
    assert {ref.name for ref in found} == doubtful.keys()
    assert all(said in found[Ref("tool", "s", name)] for name, said in doubtful.items())


def test_the_same_name_of_two_servers_is_not_doubtful() -> None:
    assert doubts_of((*salvage("s", "tool", [GOOD]), *salvage("t", "tool", [GOOD]))) == {}
