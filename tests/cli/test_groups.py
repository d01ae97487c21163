"""Groups on the command line: who serves, what a lost call becomes, which groups there are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.kit import cli
from tests.support import python_server


@pytest.fixture
def config(tmp_path: Path) -> str:
    command, *args = python_server("raw_server")
    dying = ["-c", "raise SystemExit(3)"]
    file = tmp_path / "servers.toml"
    entry = '[servers.{}]\ncommand = "{}"\nargs = {}\ngroup = "pair"\npriority = {}\n'
    file.write_text(entry.format("broken", command, dying, 5) + entry.format("good", command, args, 0))
    return str(file)


def test_a_tool_of_a_group_goes_to_a_member_that_has_it(config: str) -> None:
    done = cli("call", "@pair.echo", "text=hi", "--config", config, "--json")
    assert (done.code, done.json["server"], done.json["result"]["content"][0]["text"]) == (0, "good", "hi")
    assert "broken could not be asked" in done.err


def test_a_named_member_that_cannot_serve_is_passed_over_and_told(config: str) -> None:
    done = cli("call", "@pair.echo", "text=hi", "--server", "broken", "--config", config, "--json")
    assert (done.code, done.json["server"]) == (0, "good")


def test_a_member_on_demand_starts_where_no_other_can_serve_or_it_is_named(tmp_path: Path) -> None:
    command, *args = python_server("raw_server")
    marked = [
        "-c",
        f"open({str(tmp_path / 'started')!r}, 'w'); import runpy; runpy.run_path({args[0]!r}, None, '__main__')",
    ]
    file, entry = tmp_path / "servers.toml", '[servers.{}]\ncommand = "{}"\nargs = {}\ngroup = "pair"\n{}\n'
    good = entry.format("good", command, args, "")
    file.write_text(good + entry.format("late", command, json.dumps(marked), 'start = "demand"\npriority = 5'))
    words = ("call", "@pair.echo", "text=hi", "--config", str(file), "--json")
    assert cli(*words).json["server"] == "good" and not (tmp_path / "started").exists()
    assert cli(*words, "--server", "late").json["server"] == "late" and (tmp_path / "started").exists()
    file.write_text(good.replace(args[0], "none.py") + file.read_text().removeprefix(good))
    assert cli(*words).json["server"] == "late"
    disabled = file.read_text().replace('group = "pair"', 'group = "pair"\nenabled = false')
    file.write_text(disabled)
    assert "All servers of the group 'pair' are disabled." in cli(*words).err


def test_groups_are_listed_and_a_wrong_one_is_told(config: str, tmp_path: Path) -> None:
    rows = [line.split() for line in cli("list", "groups", "--config", config).out.splitlines()]
    assert [row[:5] for row in rows] == [
        ["pair", "broken", "priority", "5", "failed"],
        ["pair", "good", "priority", "0", "ready"],
    ]
    assert "broken ended with exit code 3." in " ".join(rows[0]) and "takes 6 tools" in " ".join(rows[1])
    wrong = cli("call", "@pear.echo", "--config", config)
    assert wrong.code == 2 and "There is no group 'pear'" in wrong.err and "The groups are pair." in wrong.err
    other = tmp_path / "more.toml"
    other.write_text(Path(config).read_text() + '[servers.alone]\ncommand = "x"\n')
    alone = cli("call", "@pair.echo", "--server", "alone", "--config", str(other))
    assert alone.code == 2 and "alone is not of the group 'pair'" in alone.err
    missing = cli("call", "@pair.nothing", "--config", config)
    assert missing.code == 2 and "has the tool 'nothing'" in missing.err


@pytest.mark.parametrize(
    ("priorities", "chosen", "why"),
    [
        ((1, 0), "one", "the highest priority of those that are ready"),
        ((0, 1), "two", "the highest priority of those that are ready"),
        ((0, 0), "one", "the first of its priority"),
    ],
)
def test_who_is_chosen_in_a_group_and_why_is_listed(
    tmp_path: Path, priorities: tuple[int, int], chosen: str, why: str
) -> None:
    command, *args = python_server("raw_server")
    file = tmp_path / "servers.toml"
    entry = '[servers.{}]\ncommand = "{}"\nargs = {}\ngroup = "pair"\npriority = {}\n'
    file.write_text("".join(map(entry.format, ("one", "two"), [command] * 2, [args] * 2, priorities)))
    done = cli("list", "groups", "--config", str(file), "--json")
    rows = {one["server"]: (one["state"], one["tools"], one["why"]) for one in done.json["result"]}
    assert rows.pop(chosen) == ("ready", 6, why) and [*rows.values()] == [("ready", 0, "others come first")]
    (server, _) = cli("list", "servers", "--config", str(file), "--json").json["result"]
    assert (server["group"], server["priority"]) == ("pair", priorities[0])
    assert [server[key] for key in ("start", "filter", "cache_ttl")] == [None] * 3


def test_the_same_call_on_many_is_compared(tmp_path: Path) -> None:
    command, *args = python_server("raw_server")
    file = tmp_path / "servers.toml"
    entry = '[servers.{}]\ncommand = "{}"\nargs = {}\ngroup = "pair"\n'
    file.write_text(entry.format("one", command, args) + entry.format("two", command, args))
    done = cli("call", "echo", "text=hi", "--on", "@pair", "--config", str(file))
    rows = [line.split() for line in done.out.splitlines()]
    assert done.code == 0 and [row[:2] for row in rows] == [["one", "ok"], ["two", "ok"]] and "same" in rows[1]
    failed = cli("call", "nothing", "--on", "one,two", "--config", str(file))
    assert failed.code == 2 and "None of one, two has the tool nothing." in failed.err
    wrong = cli("call", "echo", "text=hi", "--on", "one,three", "--config", str(file))
    assert wrong.code == 2 and "three" in wrong.err


def test_one_of_many_that_cannot_be_asked_fails_the_whole(config: str) -> None:
    done = cli("call", "echo", "text=hi", "--on", "all", "--config", config, "--json")
    rows = {one["server"]: one["outcome"] for one in done.json["error"]["result"]}
    assert done.code == 1 and rows == {"good": "ok", "broken": "unreachable"}


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("echo", "--on", "two , lists"), 2, "text= is required"),
        (("echo", "text=hi", "--on", ""), 2, "--on names no server"),
        (("echo", "text=hi", "--on", "two", "--repeat", "2"), 2, "--on and --repeat do not go together"),
        (("echo", "text=hi", "--on", "two", "--save", "name"), 2, "--on and --save do not go together"),
        (("echo", "text=hi", "--on", "two , lists"), 1, "no such tool"),
        (("echo", "text=hi", "--on", "all"), 0, "two"),
    ],
)
def test_what_is_called_on_many_is_checked(tmp_path: Path, words: tuple[str, ...], code: int, says: str) -> None:
    file, entry = tmp_path / "servers.toml", '[servers.{}]\ncommand = "{}"\nargs = {}\n'
    for name, module in (("two", "raw_server"), ("lists", "raw_lists")):
        command, *args = python_server(module)
        with file.open("a") as out:
            out.write(entry.format(name, command, args))
    done = cli("call", *words, "--config", str(file))
    assert done.code == code and says in done.out + done.err, done
    remembered = cli("list", "history", "--json").json["result"]["history"]
    assert [one["ref"] for one in remembered] == ["two.echo"] * (code < 2)


@pytest.mark.parametrize(
    ("priority", "words", "why"),
    [
        (0, ("call", "@pair.echo", "text=hi"), "another server was ready first"),
        (0, ("read", "raw://note"), "another server was ready first"),
        (5, ("call", "@pair.echo", "text=hi"), "another server was ready first"),
        (5, ("read", "raw://notes/any"), "another server was ready first"),
    ],
)
def test_a_silent_server_holds_up_nothing_that_another_one_can_do(
    tmp_path: Path, priority: int, words: tuple[str, ...], why: str
) -> None:
    command, *args = python_server("raw_server")
    silent = ["-c", "import sys; sys.stdin.read()"]
    file, entry = tmp_path / "servers.toml", '[servers.{}]\ncommand = "{}"\nargs = {}\ngroup = "pair"\npriority = {}\n'
    file.write_text(entry.format("silent", command, silent, priority) + entry.format("good", command, args, 0))
    done = cli(*words, "--config", str(file), "--json")
    assert (done.code, done.json["server"]) == (0, "good")
    assert "silent could not be asked" in done.err and why in done.err


_STUCK = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    reply = {"jsonrpc": "2.0", "id": message.get("id")}
    if message["method"] == "initialize":
        about = {"serverInfo": {"name": "stuck", "version": "1"}, "capabilities": {"tools": {}}}
        reply["result"] = {"protocolVersion": "2025-11-25", **about}
    elif message["method"] == "tools/list":
        reply["result"] = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
    elif message["method"] == "tools/call":
        sys.stdin.read()
    else:
        reply["error"] = {"code": -32601, "message": "unknown"}
    if "id" in message:
        print(json.dumps(reply), flush=True)
"""


def test_a_call_leaves_a_silent_member_for_one_that_got_ready_later(tmp_path: Path) -> None:
    command, *args = python_server("raw_server")
    (script := tmp_path / "stuck.py").write_text(_STUCK)
    file, entry = tmp_path / "servers.toml", '[servers.{}]\ncommand = "{}"\nargs = {}\ngroup = "pair"\npriority = {}\n'
    entries = entry.format("stuck", command, [str(script)], 5) + entry.format("good", command, args, 0)
    file.write_text("[limits]\nfailover = 0.5\n" + entries)
    done = cli("call", "@pair.echo", "text=hi", "--failover", "--timeout", "20", "--config", str(file), "--json")
    assert (done.code, done.json["server"]) == (0, "good"), done
