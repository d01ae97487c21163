"""The registry follows servers, keeps what people say of tools, finds them, and shares it all with other processes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mcp_studio.config.model import Settings
from mcp_studio.errors import UsageError
from mcp_studio.limits import Limits
from mcp_studio.registry.record import ToolRecord, listed_by
from mcp_studio.registry.registry import ToolRegistry
from mcp_studio.search.method import SearchProblem
from mcp_studio.studio import Studio
from tests.registry.kit import tools
from tests.studio_support import opened, stdio
from tests.support import python_server, wait_until

PATIENT = Limits(connect=60.0)


def lists(version: str = "1", name: str = "s") -> Any:
    return stdio(python_server("raw_lists"), name, env={"LISTS_VERSION": version})


def named(registry: ToolRegistry) -> set[str]:
    return {record.name for record in registry.records()}


async def ready(studio: Studio) -> ToolRegistry:
    await studio.registry.ready()
    return studio.registry


async def test_it_has_what_servers_list_also_when_they_are_off() -> None:
    async with opened(lists()) as studio:
        registry = await ready(studio)
        assert named(registry) == {"s.change", "s.words", "s.full", "s.twice", "s.old"}
        full = registry.find("mcp__s__full")
        assert (full.name, full.server, full.tool, full.title) == ("s.full", "s", "full", "Full")
        assert full.annotations["readOnlyHint"] is True and full.definition["inputSchema"]["type"] == "object"
    async with Studio.open(studio.config, studio.paths, can_ask=False) as later:
        assert "s.old" in named(later.registry)


async def test_it_follows_a_list_that_changes_and_keeps_what_was_said_of_tools() -> None:
    async with opened(lists(), lists(name="t")) as studio:
        registry = await ready(studio)
        registry.tag(["s.words", "s.old"], ["dear"])
        registry.used("s.words")
        await studio.manager.stop("t")
        await studio.manager.replace(lists("2"))
        await studio.manager.settle("s")
        await studio.manager.listed("s")
        await registry.ready()
        assert {"s.fresh", "s.words", "t.old"} <= named(registry) and "s.old" not in named(registry)
        words = registry.find("s.words")
        assert (words.description, words.tags, words.uses) == ("New words, version 2.", ("dear",), 1)
        assert not registry.find("s.old").listed
        assert [hit.name for hit in (await registry.asearch("dear")).hits] == ["s.words"]
        await studio.manager.replace(lists("1"))
        await studio.manager.settle("s")
        await studio.manager.listed("s")
        await registry.ready()
        assert registry.find("s.old").tags == ("dear",) and registry.get("s.fresh") is None


async def test_what_servers_say_does_not_sort_pin_or_rename_tools() -> None:
    evil = {
        "name": "x", "server": "other", "tags": ["a"], "category": "c", "uses": 9, "pinned": "hot", "source": "hand",
        "inputSchema": {"type": "object"},
    }  # fmt: skip
    found = list(listed_by("s", [evil, {**evil, "description": "again"}, {"name": "a\u202eb"}, {"name": ""}, {"x": 1}]))
    assert found == [ToolRecord("s.x", "s", input_schema={"type": "object"}, source="server")]
    (dotted,) = listed_by("s", [{"name": "s.y"}])
    assert (dotted.name, dotted.tool) == ("s.s.y", "s.y")


async def test_no_tool_takes_the_name_of_another() -> None:
    async with opened(lists()) as studio:
        registry = await ready(studio)
        with pytest.raises(UsageError, match=r"There is a tool 's\.words' of the server s already"):
            registry.add([ToolRecord("s.words", source="program")])
        registry.add(tools("mine"))
        registry.add(tools("mine", category="new"))
        assert registry.find("mine").category == "new"
        with pytest.raises(UsageError, match=r"'mine' \(hand\) already"):
            registry.add([ToolRecord("mine", source="program")])
        with pytest.raises(UsageError, match="already"):
            registry.add(tools("mine"), replace_own=False)


def test_tools_are_sorted_by_category_tags_and_use(tmp_path: Path) -> None:
    registry = ToolRegistry(tmp_path / "r.json")
    registry.add([ToolRecord("f.read", "f"), ToolRecord("f.write", "f"), ToolRecord("own", source="hand")])
    registry.categorize(["f.*"], "disk")
    registry.categorize(["f.write"], "")
    assert registry.categories() == {"disk": 1, "f": 1, "own": 1}
    assert [one.name for one in registry.by_category("disk")] == ["f.read"]
    assert [one.tags for one in registry.tag(["own"], ["a", " b ", "a", ""], ["c"])] == [("a", "b")]
    assert [one.tags for one in registry.tag(["own"], [], ["a"])] == [("b",)]
    for name in ("f.write", "f.write", "own", "f.read"):
        registry.used(name)
    assert [one.name for one in registry.hot(2)] == ["f.write", "f.read"]
    registry.pin(["own"], "hot")
    registry.pin(["f.write"], "deferred")
    assert [one.name for one in registry.hot()] == ["own", "f.read"]
    registry.remove(["own"])
    for change in (lambda: registry.tag(["own"], ["x"]), lambda: registry.find("f.raed")):
        with pytest.raises(UsageError, match="The registry has no tool"):
            change()
    with pytest.raises(UsageError, match=r"Did you mean `f\.read"):
        registry.find("f.raed")
    registry.close()
    again = ToolRegistry(tmp_path / "r.json")
    assert again.find("f.write").uses == 2 and again.find("f.write").pinned == "deferred"


@pytest.mark.parametrize(
    ("query", "method", "best"),
    [
        ("delete a file", "bm25", "disk.remove"),
        ("^disk .*remove|remove$", "regex", "disk.remove"),
        ("weather", "auto", "weather"),
        ("rm", "okapi", ""),
        ("mcp__disk__read", "auto", "disk.read"),
    ],
)
def test_tools_are_found_with_the_reason(query: str, method: str, best: str) -> None:
    registry = ToolRegistry()
    registry.add([
        ToolRecord("disk.remove", "disk", "Deletes a file for good."), ToolRecord("disk.read", "disk", "Reads a file."),
        ToolRecord("weather", description="Whether it rains.", tags=("sky",)),
    ])  # fmt: skip
    found = registry.search(query, method)
    assert [hit.name for hit in found[:1]] == [best] * bool(best)
    assert all(hit.why and hit.description == hit.record.description for hit in found)
    registry.close()


async def test_a_search_has_bounds_and_says_what_is_wrong_with_it() -> None:
    registry = ToolRegistry()
    registry.add([ToolRecord(f"a.file{n}", "a", "a file") for n in range(20)] + [ToolRecord("b.file", "b", "a file")])
    assert len((await registry.asearch("file")).hits) == 5
    assert [hit.name for hit in (await registry.asearch("file", servers=["b"])).hits] == ["b.file"]
    even = await registry.asearch("file", limit=20, where=lambda one: one.name[-1] in "02468")
    assert len(even.hits) == 10
    assert registry.search("tag") == []  # also where a loop runs
    registry.tag(["b.file"], ["tag"])
    assert [(hit.name, hit.why) for hit in registry.search("tag")] == [("b.file", "tag: tag")]
    with pytest.raises(SearchProblem, match="There is no search method 'nothing'"):
        await registry.asearch("x", "nothing")
    with pytest.raises(SearchProblem, match="regex is wrong"):
        registry.search("(", "regex")
    registry.close()


async def test_what_another_process_writes_is_seen(address: str) -> None:
    one, other = ToolRegistry(address), ToolRegistry(address)
    one.add(tools("a"))
    await other.ready()
    assert named(other) == {"a"}
    one.add(tools("b", tags=("sky",)))
    other.tag(["a"], ["mine"])
    assert named(other) == {"a", "b"}
    one.categorize(["a"], "c")
    assert (one.find("a").tags, one.find("a").category) == (("mine",), "c")

    async def found() -> bool:
        return [hit.name for hit in (await other.asearch("sky")).hits] == ["b"]

    assert await found()
    one.add([ToolRecord("far.tool", "far", "something far away")])
    while [hit.name for hit in (await other.asearch("far away")).hits] != ["far.tool"]:
        pass  # each looks again once a second has passed
    one.remove(["b", "far.*"])
    while await found() or (await other.asearch("far away")).hits:
        pass
    for registry in (one, other):
        registry.used("a")
        registry.close()
    assert ToolRegistry(address).find("a").uses == 2


def test_a_file_is_read_and_written(tmp_path: Path) -> None:
    file, registry = tmp_path / "tools.json", ToolRegistry()
    listed = {"name": "read", "server": "f", "inputSchema": {"type": "object"}, "tags": ["io"], "category": "disk"}
    file.write_text(json.dumps({"tools": [listed, {"name": "own", "input_schema": {"type": "object"}}]}))
    assert registry.read(file) == 2
    record = registry.find("f.read")
    assert (record.tags, record.category, record.source) == (("io",), "disk", "file")
    (tmp_path / "out.json").write_text(json.dumps(registry.as_json()))
    other = ToolRegistry()
    assert other.read(tmp_path / "out.json") == 2 and other.records() == registry.records()
    file.write_text(json.dumps([{"name": "f.read", "server": "f"}]))
    assert other.read(file) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not JSON"),
        ("{}", "has no list of tools"),
        ("[{}]", "Tool 1 of .* is not an object"),
        ('[{"name": "a"}, {"name": " "}]', "Tool 2 of .* has no name"),
        ('[{"name": "a\\nb"}]', "characters that cannot be seen"),
        ('[{"name": "a", "inputSchema": 7}]', r"Tool 1 of .* \(a\) has an inputSchema that is not an object"),
    ],
)
def test_a_file_that_is_none_is_told_and_changes_nothing(content: str, said: str, tmp_path: Path) -> None:
    file, registry = tmp_path / "tools.json", ToolRegistry()
    file.write_text(content)
    with pytest.raises(UsageError, match=said):
        registry.read(file)
    assert registry.records() == []
    with pytest.raises(UsageError, match="cannot be read"):
        registry.read(tmp_path / "nowhere.json")


async def test_secrets_are_not_kept() -> None:
    token = "ghp_" + "a1B2" * 10
    async with opened(lists()) as studio:
        registry = await ready(studio)
        registry.add([ToolRecord("own", description=f"Call it with {token}", source="hand"), ToolRecord(token)])
        assert token not in (studio.paths.state / "registry.json").read_text()
        assert "‹redacted›" in registry.find("own").description and registry.get(token) is None


def test_a_definition_without_end_is_left_out() -> None:
    registry = ToolRegistry()
    registry.add([ToolRecord("large", description="x" * 1_000_000, source="hand"), *tools("small")])
    assert named(registry) == {"small"}


async def test_the_storage_is_where_the_settings_say(tmp_path: Path) -> None:
    settings = Settings(limits=PATIENT, registry_storage=str(tmp_path / "own.sqlite"))
    async with opened(lists(), settings=settings) as studio:
        assert (await ready(studio)).find("s.words").server == "s"
    assert len(ToolRegistry(tmp_path / "own.sqlite").records()) == 5


async def test_a_server_that_fails_keeps_its_tools() -> None:
    async with opened(lists()) as studio:
        registry = await ready(studio)
        os.kill(studio.manager.status("s").pid, 9)
        await wait_until(lambda: studio.manager.status("s").state != "ready")
        await registry.ready()
        assert "s.old" in named(registry)


async def test_what_a_person_has_run_counts_as_use() -> None:
    async with opened(lists()) as studio:
        registry = await ready(studio)
        studio.usage.ran(registry.find("s.words").ref)
        registry.used("mcp__s__words")
        registry.used("s.nothing")
        assert [(one.name, one.uses) for one in registry.hot()] == [("s.words", 2)]
