"""`registry`, each command a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.kit import Cli, cli, raw


def rows(text: str) -> list[str]:
    """The names in a table, without its head."""
    return [line.split()[0] for line in text.splitlines()[1:]]


def test_tools_are_learned_sorted_and_found() -> None:
    empty = cli("registry")
    assert empty.code == 0 and "learns those of servers once they are connected" in empty.err
    assert rows(raw("registry").out) == [f"target.{name}" for name in ("add", "ask", "count", "echo", "fail", "wait")]
    assert rows(raw("registry", "list", "--limit", "2").out) == ["target.add", "target.ask"]
    assert cli("registry", "tag", "target.a*", "--tag", "short", "--tag", "x").out.count("short, x") == 2
    assert "short" in cli("registry", "tag", "target.ask", "--remove", "x").out
    assert rows(cli("registry", "categorize", "sums", "target.add").out) == ["target.add"]
    assert "hot" in cli("registry", "pin", "hot", "target.add").out
    assert rows(cli("registry", "list", "--category", "sums").out) == ["target.add"]
    assert rows(cli("registry", "list", "--tag", "short").out) == ["target.add", "target.ask"]
    found = cli("registry", "search", "add", "two", "numbers", "--limit", "1")
    assert found.out == "target.add  name: add; title: Add; description: Adds, two, numbers  Adds two numbers.\n"
    (hit,) = cli("registry", "search", "short", "--category", "sums", "--json").json["result"]
    assert (hit["name"], hit["why"]) == ("target.add", "tag: short")
    shown = cli("registry", "show", "target.add", "--json").json["result"]
    assert (shown["category"], shown["tags"], shown["pinned"]) == ("sums", ["short", "x"], "hot")
    stats = cli("registry", "stats", "--json").json["result"]
    assert (stats["tools"], stats["categories"], stats["hot"]) == (6, {"sums": 1, "target": 5}, ["target.add"])
    assert "6 tools in " in cli("registry", "stats").out
    assert cli("registry", "remove", "target.w*", "target.fail").code == 0
    assert len(rows(cli("registry").out)) == 4


def test_tools_are_added_moved_and_copied(tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "object", "properties": {"city": {"type": "string"}}}')
    made = cli(
        *("registry", "add", "weather", "--description", "Whether it rains", "--schema", f"@{schema}"),
        *("--category", "sky", "--tag", "w"),
    )
    assert made.code == 0 and "weather" in made.out and "sky" in made.out
    file, base = tmp_path / "out.json", tmp_path / "copy.sqlite"
    assert cli("registry", "export", str(file)).err == f"written: {file}\n"
    (tool,) = json.loads(file.read_text())["tools"]
    assert tool["inputSchema"]["properties"]["city"] == {"type": "string"} and tool["source"] == "hand"
    assert cli("registry", "add", "weather", "--description", "Tells the weather", "--tag", "v").code == 0
    (again,) = json.loads(cli("registry", "export", "-").out)["tools"]
    assert again == tool | {"description": "Tells the weather", "tags": ["v"]}, "what is not given stays"
    assert cli("registry", "export", "-", "--json").json["result"] == {"tools": [again]}
    assert cli("registry", "copy", str(base), "--json").json["result"] == {"tools": 1}
    assert cli("registry", "copy", str(base)).err == f"1 tool copied to {base}\n"
    assert cli("registry", "remove", "weather").code == 0
    assert cli("registry", "import", str(file)).err == "1 tool read\n"
    assert rows(cli("registry").out) == ["weather"]


def test_the_settings_say_where_it_is_kept(home: Path, tmp_path: Path) -> None:
    (home / "config").mkdir()
    (home / "config" / "config.toml").write_text(f'[registry]\nstorage = "{tmp_path}/own.sqlite"\n')
    cli("registry", "add", "weather")
    assert (tmp_path / "own.sqlite").exists() and rows(cli("registry").out) == ["weather"]
    assert "No tool of the registry is of this category" in cli("registry", "--tag", "nope").err
    (tmp_path / "own.sqlite").write_text("broken, and no database")
    broken = cli("registry")
    assert broken.code == 1 and "own.sqlite cannot be used: file is not a database" in broken.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("frob",), 2, "`registry frob` is no action, or an incomplete one"),
        (("tag", "x"), 2, "`registry tag x` is no action, or an incomplete one"),
        (("pin", "cold", "x"), 2, "no action, or an incomplete one"),
        (("search",), 2, "`registry search` is no action, or an incomplete one"),
        (("show", "nothing"), 2, "The registry has no tool 'nothing'"),
        (("search", "nothing"), 1, "No tool was found for `nothing`"),
        (("search", "(", "--method", "regex"), 2, "This regex is wrong"),
        (("search", "x", "--method", "magic"), 2, "There is no search method 'magic'"),
        (("add", "a\x1bb"), 2, "has a name with characters that cannot be seen"),
        (("add", "a", "--schema", "[]"), 2, "--schema must be a JSON object"),
        (("import", "/nowhere.json"), 2, "/nowhere.json cannot be read"),
        (("copy", "redis://x"), 2, "There is no storage for 'redis'"),
        (("list", "--server", "x"), 2, "There is no server `x`"),
    ],
)
def test_what_is_wrong_is_told(here: Cli, words: tuple[str, ...], code: int, said: str) -> None:
    done = here("registry", *words)
    assert done.code == code and said in done.err
