"""Verbs on configured servers, and the verb that changes the configuration."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from mcp_studio.call.copying.formats import copy_as
from mcp_studio.call.copying.subject import Subject
from mcp_studio.catalog.listing import Ref
from mcp_studio.paths import Paths
from tests.cli.kit import RAW, Cli, cli, faulty
from tests.support import python_server

TABLE = f'command = "{RAW[0]}"\nargs = {json.dumps(RAW[1:])}\n'
TWO = f'[servers.one]\n{TABLE}[servers.two]\n{TABLE}enabled = false\n[servers."a.b"]\n{TABLE}'


def write(text: str) -> Path:
    file = Paths.default().config_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_list_servers_connects_to_nothing() -> None:
    write('[servers.x]\ncommand = "no-such-program"\nargs = ["--key", "${SECRET_KEY:-abc}"]\n')
    done = cli("list", "servers", SECRET_KEY="hush-hush")
    assert (done.code, done.out) == (0, "x  stdio    no-such-program --key ${SECRET_KEY:-abc}\n")
    assert "hush" not in cli("list", "servers", "--json", SECRET_KEY="hush-hush").out


def test_a_tool_is_named_by_server_and_tool() -> None:
    write(TWO)
    assert cli("call", "one.echo", "text=a").out == "a\n"
    assert cli("call", "two.echo", "text=b").out == "b\n", "a disabled server is started when it is named"
    assert cli("call", "--server", "a.b", "--tool", "echo", "text=c").out == "c\n"
    assert cli("call", "--server", "a.b", "echo", "text=d").out == "d\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["call", "echo", "text=a"], "Several servers have the tool: one.echo, a.b.echo."),
        (["call", "onne.echo", "text=a"], "No server has the tool `onne.echo`. Did you mean one.echo"),
        (["list", "--server", "three"], "There is no server `three`."),
        (["doctor", "tow"], "There is no server `tow`.\n  Did you mean `two`?"),
        (["read", "raw://nowhere"], "No server has the resource `raw://nowhere`."),
    ],
)
def test_unknown_servers_are_told_with_the_nearest(here: Cli, words: list[str], says: str) -> None:
    write(TWO)
    done = here(*words)
    assert done.code == 2 and says in done.err


def test_only_enabled_servers_are_listed_by_themselves() -> None:
    write(TWO)
    done = cli("list", "tools", "--json")
    assert {tool["server"] for tool in done.json["result"]["tools"]} == {"one", "a.b"}


def test_one_server_that_fails_does_not_cost_the_others() -> None:
    write(f'{TWO}[servers.bad]\ncommand = "no-such-program"\n')
    done = cli("list", "tools", "--json")
    assert done.code == 4 and len(done.json["error"]["result"]["tools"]) == 12


def test_a_mistake_in_the_file_costs_its_server_and_is_told() -> None:
    file = write(f'{TWO}[servers.bad]\ncomand = "x"\n')
    done = cli("list", "tools")
    assert done.code == 0 and f"{file}: servers.bad.comand: is not a known key." in done.err
    named = cli("call", "bad.echo")
    assert named.code == 2 and "The server `bad` cannot be used" in named.err and "Did you mean `command`?" in named.err


def test_another_file_by_option(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"s": {"command": RAW[0], "args": RAW[1:]}}}))
    assert cli("call", "echo", "text=a", "--config", str(file)).out == "a\n"
    missing = cli("list", "--config", str(tmp_path / "no.json"))
    assert missing.code == 2 and "There is no such file." in missing.err


def test_a_project_file_is_used_once_it_is_agreed_to(tmp_path: Path) -> None:
    (tmp_path / ".mcp-studio.toml").write_text(f"[servers.mine]\n{TABLE}")
    before = cli("list", "tools", cwd=tmp_path)
    assert before.code == 2 and "mcp-studio config trust" in before.err
    refused = cli("config", "trust", cwd=tmp_path)
    assert refused.code == 6 and "mine" in refused.err
    assert cli("config", "trust", "--yes", cwd=tmp_path).code == 0
    assert "mine.echo" in cli("list", "tools", cwd=tmp_path).out


def test_servers_are_added_and_removed() -> None:
    assert cli("config", "add", "--", *RAW).code == 0
    assert cli("call", "raw.echo", "text=a").out == "a\n"
    twice = cli("config", "add", "--", *RAW)
    assert twice.code == 2 and "already" in twice.err
    assert cli("config", "add", "--name", "web", "https://h.example/mcp").code == 0
    snippet = json.dumps({"mcpServers": {"x": {"command": "y"}, "z": {"url": "http://h"}}})
    assert cli("config", "add", "-", given=snippet).code == 0
    assert cli("config", "add", "-", given='{"frameless": {"command": "y"}}').code == 0
    assert [line.split()[0] for line in cli("list", "servers").out.splitlines()] == "raw web x z frameless".split()
    assert cli("config", "add", "npx x").err.endswith("A command stands behind --.\n")
    assert cli("config", "remove", "web").code == 0
    assert cli("config", "remove", "web").code == 2
    assert "web" not in cli("list", "servers").out


def test_values_are_set_only_where_they_load() -> None:
    file = write("# mine\n")
    assert cli("config", "set", "theme", "nord").code == 0
    assert cli("config", "set", "limits.connect", "30").code == 0
    assert file.read_text().startswith("# mine\n")
    before = file.read_bytes()
    file.symlink_to(file.rename(file.with_name("real.toml")))
    wrong = cli("config", "set", "limits.conect", "30")
    assert wrong.code == 2 and "Did you mean `connect`?" in wrong.err and file.read_bytes() == before
    assert file.is_symlink()
    shown = cli("config", "show", "--json").json["result"]
    assert shown["theme"] == "nord" and shown["limits"]["connect"] == 30


def test_show_tells_problems_and_no_secrets() -> None:
    write('thme = "x"\n[servers.s]\nurl = "http://h"\nheaders = { K = "${HUSH}" }\n')
    done = cli("config", "show", HUSH="very-secret")
    assert done.code == 2 and "Did you mean `theme`?" in done.err and "very-secret" not in done.out + done.err


def test_path_and_keys() -> None:
    assert cli("config", "path").out == f"{Paths.default().config_file}\n"
    done = cli("config", "keys")
    assert done.code == 0 and any(line.startswith("ctrl+q, q") for line in done.out.splitlines())
    assert cli("config", "set", "keys.quit", "f7").code == 0
    quits = next(row for row in cli("config", "keys", "--json").json["result"] if row["id"] == "quit")
    assert quits["keys"] == "f7"


def test_a_word_beside_the_command_to_add_is_not_dropped() -> None:
    done = cli("config", "add", "demo", "--", "prog")
    assert done.code == 2 and "`demo`" in done.err and not Paths.default().config_file.exists()


def test_listing_no_servers_says_how_to_add_one() -> None:
    done = cli("list", "servers")
    assert done.code == 0 and done.out == "" and "config add" in done.err


def test_servers_of_other_clients_are_imported(tmp_path: Path) -> None:
    file = tmp_path / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": {"s": {"command": RAW[0], "args": RAW[1:], "env": {"A": "${HOME}"}}}}))
    assert cli("config", "import", cwd=tmp_path).out == f"Claude Code  {file}  1 server\n"
    assert cli("config", "import", str(file), cwd=tmp_path).code == 0
    assert "${HOME}" in Paths.default().config_file.read_text()
    assert cli("call", "s.echo", "text=a").out == "a\n"
    again = cli("config", "import", str(file), cwd=tmp_path)
    assert again.code == 2 and "s is left out: there is one already" in again.err and "No server was added" in again.err
    file.write_text('{"mcpServers": {"bad": {"command": 7}, "s": {"command": "other"}}}')
    listed = cli("config", "import", "--json", cwd=tmp_path)
    assert listed.json["result"][0]["servers"] == ["s"] and "bad.command" in listed.json["result"][0]["problems"][0]
    assert cli("config", "import", str(file), "--yes", cwd=tmp_path).code == 0
    assert 'command = "other"' in Paths.default().config_file.read_text()
    file.write_text('{"mcpServers": {"ask": {"command": "x", "env": {"K": "${UNSET_KEY}"}}}}')
    later = cli("config", "import", str(file), cwd=tmp_path)
    assert later.code == 0 and "ask cannot start yet: env.K: the environment variable UNSET_KEY" in later.err
    file.write_text('{"mcpServers": {}}')
    nothing = cli("config", "import", str(file), cwd=tmp_path)
    assert nothing.code == 2 and "No server was added" in nothing.err


def test_servers_are_exported_to_another_client_after_a_question_with_a_backup(tmp_path: Path) -> None:
    secret = "t0p-s3cret-value"
    write(
        '[servers.a]\ncommand = "x"\nenv = { K = "${K}" }\n[servers.b]\ncommand = "y"\nenabled = false\n'
        f'[servers.c]\nurl = "https://h"\nheaders = {{ Authorization = "Bearer {secret}" }}\n'
        '[servers.d]\ncommand = "z"\nenv = { K = "${keyring:k}" }\n'
    )
    file = tmp_path / ".cursor" / "mcp.json"
    words = ("config", "export", "cursor", "--project")
    asked = cli(*words, cwd=tmp_path)
    assert asked.code == 6 and '+    "a": {' in asked.err and not file.exists() and secret not in asked.err
    assert "d is left out: env.K refers to the stored secret `k`, which Cursor cannot read." in asked.err
    done = cli(*words, "--yes", "--json", cwd=tmp_path)
    assert done.json["result"] == {"client": "Cursor", "file": str(file), "servers": ["a", "c"]}
    before = file.read_text()
    assert json.loads(before)["mcpServers"]["a"] == {"command": "x", "env": {"K": "${env:K}"}}
    assert "says so already" in cli(*words, "--yes", cwd=tmp_path).err
    assert cli(*words, "b", "--yes", cwd=tmp_path).code == 0
    (backup,) = file.parent.glob("mcp.json.*.bak")
    assert backup.read_text() == before and list(json.loads(file.read_text())["mcpServers"]) == ["b", "a", "c"]
    (tmp_path / ".kiro" / "settings" / "mcp.json").mkdir(parents=True)
    in_the_way = cli("config", "export", "kiro", "a", "--project", "--yes", cwd=tmp_path)
    assert in_the_way.code == 2 and "mcp.json cannot be written: Is a directory." in in_the_way.err
    mistakes = {"nobody": "No client is known", "cursor e": "There is no server `e`", "zed d": "No server was written"}
    for wrong, says in {**mistakes, "inspector": "Did you mean", "": "missing"}.items():
        failed = cli("config", "export", *wrong.split(), cwd=tmp_path)
        assert failed.code == 2 and says in failed.err


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["list", "servers", "--config", "FILE"], 0, "mcpServers.bad.args[0]: has a lone surrogate"),
        (["call", "good.echo", "text=a", "--config", "FILE"], 0, "mcpServers.bad.args[0]: has a lone surrogate"),
        (["call", "bad.echo", "--config", "FILE"], 2, "mcpServers.bad.args[0]: has a lone surrogate"),
        (["doctor", "--config", "FILE"], 0, "mcpServers.bad.args[0]: has a lone surrogate"),
        (["config", "show", "--config", "FILE", "--json"], 2, "mcpServers.bad.args[0]: has a lone surrogate"),
        (["config", "import", "FILE"], 0, "mcpServers.bad.args[0]: has a lone surrogate"),
        (["config", "add", "-"], 2, "warning: mcpServers.bad.args[0]: has a lone surrogate"),
        (["config", "add", "http://h/\udcff"], 2, "has a lone surrogate"),
        (["config", "add", "--name", "a\udcff", "http://h/"], 2, "has a lone surrogate"),
        (["config", "set", "theme", "\udcff"], 2, "has a lone surrogate"),
    ],
)
def test_half_a_character_is_a_problem_of_its_entry_in_every_verb(
    here: Cli, tmp_path: Path, words: list[str], code: int, says: str
) -> None:
    file, bad = tmp_path / "mcp.json", '"bad": {"command": "x", "args": ["\\ud800"]}'
    file.write_text(f'{{"mcpServers": {{{bad}, "good": {json.dumps({"command": RAW[0], "args": RAW[1:]})}}}}}')
    done = here(*(str(file) if word == "FILE" else word for word in words), given=f'{{"mcpServers": {{{bad}}}}}')
    assert done.code == code and says in done.err and "mistake in mcp-studio" not in done.err


def test_what_the_studio_copies_as_a_command_can_be_run() -> None:
    write(TWO)
    for ref, value in (
        (Ref("tool", "one", "echo"), {"text": 'it\'s "x"\n'}),
        (Ref("tool", "a.b", "echo"), {"text": "a"}),
    ):
        words = shlex.split(copy_as(Subject(ref, value), "command").text)
        assert cli(*words[1:]).out.rstrip("\n") == value["text"].rstrip("\n")


def test_secrets_written_into_a_file_are_masked() -> None:
    write(
        '[servers.s]\nurl = "http://h/?token=url-secret"\nheaders = { Authorization = "Bearer head-secret" }\n'
        '[servers.t]\ncommand = "x"\nargs = ["--api-key", "arg-secret"]\nenv = { MY_TOKEN = "env-secret" }\n'
    )
    for words in (
        ["config"],
        ["config", "--json"],
        ["list", "servers"],
        ["list", "servers", "--json"],
        ["doctor", "--json"],
    ):
        done = cli(*words)
        assert "-secret" not in done.out + done.err, words


@pytest.mark.parametrize("how", ["command", "file", "folder"])
def test_a_server_is_started_exactly_once(tmp_path: Path, how: str) -> None:
    starts = tmp_path / "starts"
    command = ["sh", "-c", f'pwd >> {starts}; exec "$0" "$@"', *RAW]
    if how == "command":
        done = cli("list", "tools", "--", *command, cwd=tmp_path)
    else:
        folder = 'cwd = "sub"\n' if how == "folder" else ""
        (tmp_path / "sub").mkdir()
        file = tmp_path / "x.toml"
        file.write_text(f'[servers.s]\ncommand = "sh"\nargs = {json.dumps(command[1:])}\nenv = {{ A = "b" }}\n{folder}')
        done = cli("list", "tools", "--config", str(file), cwd=tmp_path)
    assert done.code == 0, done.err
    assert starts.read_text().split() == [str(tmp_path / "sub") if how == "folder" else str(tmp_path)]


def test_a_server_started_ahead_and_not_needed_ends() -> None:
    done = cli("list", "tols", "--", "sh", "-c", "sleep 30")
    assert done.code == 2


def test_a_name_alone_means_the_one_server_that_has_it() -> None:
    lists = python_server("raw_lists")
    other = f'[servers.lists]\ncommand = "{lists[0]}"\nargs = {json.dumps(lists[1:])}\n'
    write(f'[servers.raw]\n{TABLE}{other}[servers.dead]\ncommand = "no-such-program"\n')
    first = cli("call", "echo", "text=a", "--json")
    assert first.json["server"] == "raw" and first.json["result"]["content"][0]["text"] == "a"
    assert first.err.startswith("warning: dead could not be asked")
    assert cli("get", "greet", "who=Ada").code == 0
    assert cli("complete", "visit", "country=f").out == "france\nfinland\n"
    assert "call raw.add" in cli("call", "add", "a=1", "b=2", "--as", "command").out
    for words in (["call", "ehco"], ["call", "--tool", "ehco"]):
        none = cli(*words)
        assert none.code == 2 and "No server has the tool `ehco`. Did you mean echo?" in none.err
        assert "warning: dead could not be asked" in none.err


def test_dots_divide_behind_a_server_and_belong_to_names_elsewhere() -> None:
    write(TWO)
    assert cli("call", "a.b.echo", "text=c").out == "c\n"
    assert cli("list", "tools").code == 0
    several = cli("call", "echo", "text=c")
    assert several.code == 2 and "one.echo, a.b.echo" in several.err and several.out == ""
    none = cli("call", "a.echo")
    assert none.code == 2 and "No server has the tool `a.echo`." in none.err


def test_what_differs_from_what_was_seen_is_told() -> None:
    lists = python_server("raw_lists")
    write(f'[servers.one]\ncommand = "{lists[0]}"\nargs = {json.dumps(lists[1:])}\ninherit_env = ["LISTS_VERSION"]\n')
    assert "±" not in cli("list", "tools").out
    for _ in range(2):
        done = cli("list", "tools", LISTS_VERSION="2")
        assert "(± changed: description, inputSchema) New words" in done.out and "(± new) It is new." in done.out
        assert "warning: one, tools: ± 1 new, 1 changed, 1 gone" in done.err
    tools = cli("list", "tools", "--json", LISTS_VERSION="2").json["result"]["tools"]
    assert {tool["name"]: tool["problem"] for tool in tools if "problem" in tool} == {
        "words": "± changed: description, inputSchema", "fresh": "± new",
    }  # fmt: skip
    assert cli("call", "words", "text=a", LISTS_VERSION="2").code == 6, "it is asked about until it is accepted"
    called = cli("call", "words", "text=a", "--yes", LISTS_VERSION="2")
    assert called.code == 0 and "warning: one.words: ± changed: description, inputSchema" in called.err
    assert cli("call", "fresh", "--json", LISTS_VERSION="2").json["problem"] == "± new"
    assert "problem" not in cli("call", "full", "region=x", "--json", LISTS_VERSION="2").json


def test_a_tool_that_is_listed_twice_is_told() -> None:
    done = faulty("duplicate-names", "list", "tools", "--json")
    assert "listed 2 times" in done.json["result"]["tools"][0]["problem"]
    assert "warning: target, tools: echo: listed 2 times" in done.err
    called = faulty("duplicate-names", "call", "echo", "text=a", "--yes", "--json")
    assert called.code == 0 and "listed 2 times" in called.json["problem"] and "listed 2 times" in called.err
