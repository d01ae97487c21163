"""`search`: what is found and why, on servers that run, that do not, and that are only remembered."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_studio.cli.grammar import VERBS
from mcp_studio.cli.terminal import RISKS
from mcp_studio.search.engine import OWN
from mcp_studio.search.index import AUTO
from tests.cli.kit import RAW, Done, cli, environment, raw
from tests.support import ROOT


def configured(folder: Path, **more: dict[str, Any]) -> Path:
    """A file with one server that works, and others."""
    started = folder / "started"
    code = f"open({str(started)!r}, 'w').close(); import runpy; runpy.run_path({RAW[1]!r}, run_name='__main__')"
    servers = {"one": {"command": sys.executable, "args": ["-c", code]}, **more}
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


def search(file: Path, *words: str) -> Done:
    return cli("search", "--config", str(file), "--method", "bm25", *words)


def test_hits_say_what_they_are_and_why(tmp_path: Path) -> None:
    done = raw("search", "add", "--method", "bm25")
    assert done.code == 0
    first, why = done.out.splitlines()[:2]
    assert first.split()[:3] == ["target.add", "tool", RISKS["write"]]
    assert why.startswith("    name: add")
    assert "found by bm25, among" in done.err


def test_words_are_one_query_and_json_has_all_of_it() -> None:
    done = raw("search", "greet", "somebody", "--method", "substring", "--json", "--limit", "3")
    nothing = done.json
    assert done.code == 1 and nothing["ok"] is False and nothing["error"]["result"]["query"] == "greet somebody"
    found = raw("search", "gre", "--method", "substring", "--json").json["result"]
    assert set(found) == {"query", "method", "total", "of", "hits", "note", "ms"}
    (hit,) = [hit for hit in found["hits"] if hit["kind"] == "prompt"]
    assert set(hit) == {
        "ref", "server", "name", "kind", "score", "reasons", "title", "description", "remembered",
    }  # fmt: skip
    assert (hit["ref"], hit["remembered"]) == ("target.greet", False)
    assert hit["reasons"] == [{"field": "name", "words": ["gre"], "text": ""}]


def test_kinds_and_a_limit() -> None:
    kinds = {
        hit["kind"] for hit in raw("search", "--kind", "template", "--kind", "prompt", "--json").json["result"]["hits"]
    }
    assert kinds == {"template", "prompt"}
    done = raw("search", "--limit", "2")
    assert len([line for line in done.out.splitlines() if not line.startswith(" ")]) == 2
    assert "used last and most first" in done.err


def test_offline_starts_nothing_and_searches_what_was_remembered(tmp_path: Path) -> None:
    secret = {"command": sys.executable, "args": ["-c", ""], "env": {"TOKEN": "${keyring:nobody-has-this}"}}
    file = configured(tmp_path, locked=secret, off={"command": "/no/such/program", "disabled": True})
    unknown = search(file, "add", "--offline")
    assert unknown.code == 1 and "no entry is known" in unknown.err and "--offline" in unknown.err
    assert not (tmp_path / "started").exists()
    assert search(file, "add", "--server", "one").code == 0
    (tmp_path / "started").unlink()
    done = search(file, "add", "--offline")
    assert done.code == 0 and "one.add  tool  w  (remembered)" in done.out
    assert "keyring" not in done.err.lower() and not (tmp_path / "started").exists()


def test_a_server_that_cannot_be_reached_is_told_and_the_others_searched(tmp_path: Path) -> None:
    file = configured(tmp_path, gone={"command": "/no/such/program"})
    done = search(file, "add")
    assert done.code == 0 and "one.add" in done.out and "warning: gone: There is no file /no/such/program." in done.err
    assert search(file, "add", "--server", "gone").code == 4


def test_what_is_not_found_suggests_what_may_be_meant() -> None:
    done = raw("search", "zebra", "--method", "substring")
    assert done.code == 1 and "Nothing was found for `zebra`" in done.err and "--method auto" in done.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--method", "regx"], "There is no search method 'regx'.\n  There are auto, substring,"),
        (["--method", "regex", "read("], "This regex is wrong: missing )."),
        (["--method", "regex", "x" * 201], "A pattern has at most 200 characters; this one has 201."),
    ],
)
def test_a_method_or_a_pattern_that_is_none_is_told(words: list[str], says: str) -> None:
    done = raw("search", *words)
    assert done.code == 2 and says in done.err and done.out == ""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["--kind", "tols"],
            "--kind: invalid choice: 'tols' (choose from 'tool', 'resource', 'template', 'prompt').",
        ),
        (["--limit", "0"], "--limit: `0` is no whole number from 1 to 1,000."),
        (["--server", "nobody"], "There is no server `nobody`."),
    ],
)
def test_wrong_words_are_told_before_anything_is_started(tmp_path: Path, words: list[str], says: str) -> None:
    done = cli("search", "--config", str(configured(tmp_path)), *words)
    assert done.code == 2 and says in done.err and done.out == ""
    assert all(len(line) < 200 for line in done.err.splitlines())
    assert not (tmp_path / "started").exists()


def test_a_method_whose_extra_is_missing_says_how_to_get_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "from mcp_studio.cli.main import run\n"
        "sys.exit(run(['search', 'a', '--method', 'semantic', '--config', sys.argv[1]]))"
    )
    argv = [sys.executable, "-c", code, str(configured(tmp_path))]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, cwd=ROOT, env=environment())
    assert done.returncode == 2 and "pip install 'mcp-studio[semantic]'" in done.stderr


@pytest.mark.parametrize(
    ("method", "says"),
    [("fuzzy", "There is no search method 'fuzzy'"), ("regex", "This regex is wrong")],
)
def test_a_method_that_is_configured_and_cannot_be_used_is_told(home: Path, method: str, says: str) -> None:
    file = home / "config" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        f'[search]\nmethod = "{method}"\n[servers.s]\ncommand = {json.dumps(RAW[0])}\nargs = {json.dumps(RAW[1:])}\n'
    )
    done = cli("search", "a(")
    assert done.code == 2 and says in done.err


def test_a_list_that_fails_is_told(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'tests' / 'servers')!r})\n"
        "from raw_server import RawServer, Refusal\n"
        "class Server(RawServer):\n"
        "    def list_tools(self, params):\n        raise Refusal(-32000, 'the database is down')\n"
        "Server().run()\n"
    )
    file = tmp_path / "server.py"
    file.write_text(code)
    done = cli("search", "greet", "--method", "substring", "--", sys.executable, str(file))
    assert done.code == 0 and "target.greet" in done.out
    assert "warning: target, tools: The server refused tools/list: the database is down" in done.err
    assert "warning" not in cli("search", "greet", "--kind", "prompt", "--", sys.executable, str(file)).err


def test_what_is_missing_for_meaning_is_said_where_little_is_found_and_not_twice(tmp_path: Path) -> None:
    def told(*words: str) -> tuple[int, int]:
        argv = [sys.executable, "-c", code, "search", *words, "--", *RAW]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, cwd=ROOT, env=environment())
        return done.returncode, done.stderr.count("mcp-studio[semantic]")

    code = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "from mcp_studio.cli.main import run; sys.exit(run(sys.argv[1:]))"
    )
    assert told("zebra", "crossing", "quagga") == (1, 1)
    assert told("zebra") == (1, 0), "one word has no meaning beyond a name"
    assert told("echo", "add", "greet", "slow", "--limit", "1") == (0, 0), "the limit is what leaves little"


def test_hostile_texts_do_nothing_to_a_terminal() -> None:
    from mcp_studio.cli.verbs.search import said
    from mcp_studio.search.method import Reason

    assert said(Reason("name", ("\x1b[31mred",))) == "name: ␛[31mred"
    assert "\x1b" not in said(Reason("description", ("x",), "\x1b]0;title\x07"))


def test_the_help_and_completion_name_the_methods_that_there_are() -> None:
    method = VERBS["search"].option("--method")
    assert method and list(method.choices) == [AUTO.name, *(name for name, _, _ in OWN)]


@pytest.mark.parametrize("words", [["list", "tools"], ["call", "echo", "text=x"]])
def test_other_verbs_import_next_to_nothing_of_it(words: list[str]) -> None:
    code = (
        "import sys; from mcp_studio.cli.main import run\n"
        "run(sys.argv[1:]); print(sorted(sys.modules), file=sys.stderr)"
    )
    argv = [sys.executable, "-c", code, *words, "--", *RAW]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, cwd=ROOT, env=environment())
    loaded = {name for name in done.stderr.split("'") if name.startswith("mcp_studio.search.")}
    assert "mcp_studio.studio" in done.stderr, done.stderr[-500:]
    assert loaded <= {"mcp_studio.search.method", "mcp_studio.search.usage"}


def test_waiting_for_meaning_ends_when_time_is_up(tmp_path: Path) -> None:
    file = configured(tmp_path)
    assert search(file, "add").code == 0
    done = cli("search", "--config", str(file), "--method", "semantic", "--offline", "--timeout", "0.01", "sum")
    assert done.code == 1 and "not found out within 0.01 seconds: it is known of" in done.err, done
