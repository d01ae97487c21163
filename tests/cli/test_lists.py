"""Lists a page at a time, completions with their count, and reads that ask the server."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.cli.kit import RAW, Done, cli
from tests.support import SERVERS, python_server
from tests.support_servers import http_server


def lists(*words: str, options: tuple[str, ...] = ()) -> Done:
    """Run a command line on the server of lists."""
    return cli(*words, "--", *python_server("raw_lists", "--modern", *options))


PAGED = ("--pages", "--ttl", "9000")


def test_one_page_is_printed_and_the_next_one_named() -> None:
    done = lists("list", "tools", "--page", options=PAGED)
    assert done.code == 0
    assert [line.split()[1] for line in done.out.splitlines()] == ["target.change", "target.words"]
    assert "fresh for 9 s, private" in done.err and "next page: --page='after 2'" in done.err


@pytest.mark.parametrize("words", [("--page", "after 4"), ("--page=after 4",)])
def test_a_cursor_names_the_page_and_the_last_one_says_so(words: tuple[str, ...]) -> None:
    done = lists("list", "tools", *words, options=PAGED)
    assert (done.code, done.out.split()[1]) == (0, "target.old")
    assert "last page" in done.err


def test_a_page_as_json_has_its_cursor_and_lifetime() -> None:
    result = lists("list", "tools", "--page", "after 2", "--json", options=PAGED).json["result"]
    assert [tool["name"] for tool in result["tools"]] == ["full", "twice"]
    assert (result["nextCursor"], result["ttlMs"], result["cacheScope"]) == ("after 4", 9000, "private")
    assert lists("list", "prompts", "--page", "--json", options=PAGED).json["result"]["nextCursor"] is None


def test_a_page_is_one_of_one_list() -> None:
    done = lists("list", "--page")
    assert done.code == 2 and "one list of one server" in done.err


def test_a_page_that_the_server_refuses_is_a_failure() -> None:
    done = cli("list", "tools", "--page", "--", *python_server("raw_faults", "--fault", "list-error"))
    assert done.code == 1 and "out of order" in done.err


def test_completions_know_the_other_arguments_and_are_counted() -> None:
    done = lists("complete", "visit", "city=N", "country=france", "--json")
    assert done.json["result"] == {"values": ["Nice"], "total": None, "hasMore": False}
    done = lists("complete", "visit", "city=N", options=("--completions", "many"))
    assert len(done.out.splitlines()) == 100 and "100 of 250 values" in done.err


def test_completions_that_are_not_there_are_told_apart_from_none() -> None:
    assert "declares no completions" in lists("complete", "visit", "city=", options=("--without-completions",)).err
    done = lists("complete", "visit", "city=", options=("--completions", "refused"))
    assert done.code == 1 and "No completions today" in done.err


def test_a_read_can_insist_on_the_server() -> None:
    done = lists("read", "raw://count", "--no-cache", options=("--ttl", "-1"))
    assert (done.code, done.out) == (0, "read 1\n") and "ttlMs is negative" in done.err


def test_what_is_only_remembered_has_no_heading() -> None:
    with http_server("--token", "let-me-in") as url:
        first = cli("list", "--url", url, "--header", "Authorization: Bearer let-me-in")
        assert first.code == 0 and first.out.startswith("tools\n")
        refused = cli("list", "--url", url)
    assert (refused.code, refused.out) == (3, "")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two servers, one of which was never used, and three sessions, in one of which the server died."""
    home = tmp_path_factory.mktemp("home")
    configured = "".join(
        f'[servers.{name}]\ncommand = "{RAW[0]}"\nargs = {list(RAW[1:])}\n' for name in ("one", "idle")
    )
    (home / "config").mkdir()
    (home / "config" / "config.toml").write_text(configured)
    env = {"MCP_STUDIO_HOME": str(home)}
    assert cli("call", "one.echo", "text=x", **env).code == 0
    assert cli("call", "one.fail", "--yes", **env).code == 5
    dying = python_server("raw_faults", "--fault", "killed-mid-call")
    assert cli("call", "echo", "text=x", "--", *dying, **env).code == 4
    return home


def test_figures_of_what_was_recorded_stand_beside_the_present_state(recorded: Path) -> None:
    env = {"MCP_STUDIO_HOME": str(recorded)}
    done = cli("list", "servers", "--metrics", **env)
    assert done.code == 0 and "3 sessions since" in done.err
    lines = done.out.splitlines()
    assert max(map(len, lines[:6])) <= 80 and lines[0].split()[1:5] == ["ms", "requests", "errors", "ok"]
    cells = {line.split()[0]: line.split()[1:4] for line in reversed(lines[1:7])}
    assert cells["echo"] == ["1", "0", "100.0%"] and cells["fail"] == ["1", "1", "0.0%"] and cells["idle"][2] == "-"
    assert any(line.startswith("one · enabled · up ") and line.endswith("1x It went wrong.") for line in lines)
    assert any(line.startswith("idle · enabled") for line in lines) and any(
        line.startswith("target · not configured · up ") for line in lines
    )
    result = cli("list", "servers", "--metrics", "--json", **env).json["result"]
    figures = {(one["server"], one["target"]): one for one in result}
    whole, gone = figures["one", None], figures["target", None]
    assert whole["state"] == "enabled" and whole["reconnects"] == 0 and whole["uptime_s"] > 0 and whole["p99"] > 0
    assert whole["result_tokens"] == round(sum(figures["one", name]["bytes_in"] for name in ("echo", "fail")) / 4.3) > 0
    assert any(f"about {whole['result_tokens']:,} tokens of results" in line for line in lines)
    assert whole["last_error"]["text"] == "It went wrong." and whole["top_errors"][0]["count"] == 1
    assert gone["lost"] == 1 and gone["top_errors"] == [{"count": 1, "text": "no answer came"}]
    only = cli("list", "servers", "--metrics", "--server", "idle", "--limit", "1", "--json", **env).json["result"]
    assert [(one["server"], one["count"]) for one in only] == [("idle", 0)]
    assert "none of that name" in cli("list", "servers", "--metrics", "--server", "nope", **env).err
    assert cli("list", "tools", "--metrics", **env).code == 2 and cli("list", "--limit", "3", **env).code == 2


def test_the_same_figures_are_a_prometheus_file(recorded: Path) -> None:
    text = cli("list", "servers", "--metrics", "--prometheus", MCP_STUDIO_HOME=str(recorded)).out
    kinds: dict[str, str] = {}
    samples: dict[str, float] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE"):
            _, _, name, kinds[name] = line.split()
        elif not line.startswith("# HELP"):
            found = re.fullmatch(r'(\w+)(\{(?:\w+="(?:[^"\\\n]|\\[\\n"])*",?)+\}) (\S+)', line)
            assert found is not None, line
            family = re.sub(r"_(bucket|sum|count)$", "", found[1])
            assert kinds[found[1] if found[1] in kinds else family] and found[1] + found[2] not in samples
            samples[found[1] + found[2]] = float(found[3])
    assert {kinds[name] for name in kinds if name.endswith("_total")} == {"counter"}
    assert kinds["mcp_studio_duration_seconds"] == "histogram" and kinds["mcp_studio_duration_p95_seconds"] == "gauge"
    echo = '{server="one",kind="tool",name="echo"'
    assert samples[f"mcp_studio_calls_total{echo}}}"] == 1 == samples[f"mcp_studio_duration_seconds_count{echo}}}"]
    assert samples[f'mcp_studio_duration_seconds_bucket{echo},le="+Inf"}}'] == 1
    buckets = [value for name, value in samples.items() if name.startswith(f"mcp_studio_duration_seconds_bucket{echo}")]
    assert buckets == sorted(buckets) and len(buckets) > 10
    assert samples['mcp_studio_server_errors_total{server="target"}'] == 1


PRICED = """
import sys
sys.path.insert(0, sys.argv[1])
from raw_server import RawServer
server = RawServer(modern=False)
server.tools[0]["harness"] = {"costPerCall": 2}
server.run()
"""


def test_what_calls_cost_is_told_where_a_trusted_server_declares_it(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    entry = '[servers.{}]\ncommand = {!r}\nargs = ["-c", {}, {!r}]\ntrust = {}\n'
    rows = (("priced", "true"), ("unknown", "false"))
    file.write_text("".join(entry.format(n, sys.executable, json.dumps(PRICED), str(SERVERS), t) for n, t in rows))
    env = {"MCP_STUDIO_HOME": str(tmp_path)}
    for name in ("priced", "priced", "unknown"):
        assert cli("call", f"{name}.echo", "text=hi", "--config", str(file), **env).code == 0
    told = cli("list", "servers", "--metrics", "--config", str(file), **env).out
    assert "priced · enabled" in told and "cost 4" in told and told.count("cost") == 1
    result = cli("list", "servers", "--metrics", "--json", "--config", str(file), **env).json["result"]
    assert {(one["server"], one["target"]): one["cost"] for one in result} == {
        ("priced", None): 4, ("priced", "echo"): 4, ("unknown", None): None, ("unknown", "echo"): None,
    }  # fmt: skip
