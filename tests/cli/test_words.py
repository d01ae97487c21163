"""The words of the command line: help, options, mistakes in them. Nothing is connected here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_studio import __version__
from mcp_studio.cli.grammar import CONNECTION, VERBS
from mcp_studio.cli.options import candidates, parse
from mcp_studio.errors import UsageError
from tests.cli.kit import RAW, Cli, environment


def test_version_and_help(here: Cli) -> None:
    assert here("--version").out == f"mcp-studio {__version__}\n"
    overview = here("--help")
    assert overview.code == 0 and all(f"\n  {verb} " in overview.out for verb in VERBS if verb)


@pytest.mark.parametrize("verb", filter(None, VERBS))
def test_every_verb_has_help(here: Cli, verb: str) -> None:
    done = here(verb, "--help")
    assert (done.code, done.err) == (0, "") and done.out.startswith(f"usage: mcp-studio {verb}")
    assert all(f"\n  {option.name}" in done.out for option in VERBS[verb].options)
    assert not any(f"\n  {option.name} " in done.out for option in VERBS[verb].shared)
    assert ("--help connection" in done.out) == bool(VERBS[verb].shared)


@pytest.mark.parametrize("words", [["--help", "connection"], ["help", "connection"], ["call", "--help", "connection"]])
def test_options_about_servers_are_told_in_one_place(here: Cli, words: list[str]) -> None:
    done = here(*words)
    assert done.code == 0 and all(f"\n  {option.name}" in done.out for option in CONNECTION.options)


def test_help_behind_two_dashes_belongs_to_the_command() -> None:
    options = parse(["list", "--", "server", "--help", "--json"])
    assert options.command == ["server", "--help", "--json"] and not options.flag("--json")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["lst"], "There is no verb `lst`.\n  Did you mean `list`?"),
        (["list", "--yes"], "`list` has no option --yes."),
        (["--jsn", "list"], "There is no option --jsn.\n  Did you mean `--json`?"),
        (["-q", "list", "tools"], "The verb comes first: mcp-studio list …"),
        (["--config", "x", "list"], "The verb comes first: mcp-studio list …"),
        (["list", "--port", "3", "--", "x"], "`list` has no option --port."),
        (["list", "--", "--json", "x"], "--json stands behind --, where the command of the server begins."),
        (["list", "--jsn"], "`list` has no option --jsn.\n  Did you mean `--json`?"),
        (["list", "toools"], "`list` knows no `toools`.\n  Did you mean `tools`?"),
        (["list", "--url", "http://h", "--transport", "smtp"], "--transport: invalid choice: 'smtp'"),
        (["list", "--url", "http://h", "--transport", "websocket"], "needs a URL that begins with ws:// or wss://."),
        (["list", "--url", "ws://h", "--transport", "sse"], "needs a URL that begins with http:// or https://."),
        (["list", "--transport", "sse", "--", "x"], "--transport is for a server at a URL"),
        (["list", "--transport", "sse"], "--transport is for a server at a URL"),
        (["list", "--era"], "--era: expected one argument."),
        (["list", "--era", "--", "x"], "--era: expected one argument."),
        (["list", "--era", "new", "--", "x"], "--era: invalid choice: 'new' (choose from 'legacy', 'auto', 'modern')."),
        (["list", "--timeout", "soon", "--", "x"], "--timeout: `soon` is no number of seconds above 0."),
        (["list", "--timeout", "-1", "--", "x"], "no number of seconds above 0."),
        (["list", "--json=1", "--", "x"], "--json: ignored explicit argument '1'."),
        (["list", "--url", "h"], "`h` is no URL of a server"),
        (["list", "--url", "http://h", "--header", "nothing"], "--header: `nothing` is not of the form `Name: value`."),
        (["list", "--url", "http://h", "--", "x"], "Give one of --config, --url, --module and -- COMMAND."),
        (["list", "--"], "There is no command after --."),
        (["call", "--", "x"], "Which tool?"),
        (["call", "a.b", "word", "--", "x"], "`word` is not of the form key=value."),
        (["call", "--server", "a", "--server", "b", "t", "--", "x"], "`call` is about one server."),
        (["read", "--", "x"], "Which resource?"),
        (["get", "--", "x"], "Which prompt?"),
        (["complete", "p", "--", "x"], "Which argument?"),
        (["list"], "No servers are configured."),
        (["config", "sho"], "`config` knows no `sho`.\n  Did you mean `show`?"),
        (["config", "remove"], "Words are missing."),
        (["config", "path", "more"], "There are too many words."),
        (["completion", "csh"], "`completion` knows no `csh`.\n  Did you mean `zsh`?"),
        ([], "The studio needs a terminal."),
        (["demo"], "The studio needs a terminal."),
    ],
)
def test_wrong_words_are_told_in_a_sentence_with_exit_2(here: Cli, words: list[str], says: str) -> None:
    done = here(*words)
    assert done.code == 2 and says in done.err and done.out == ""
    assert "Traceback" not in done.err


def test_a_usage_error_is_an_envelope_too(here: Cli) -> None:
    done = here("list", "--json", "--erra", "x")
    assert done.code == 2 and done.json["ok"] is False
    assert done.json["error"]["kind"] == "usage" and done.json["error"]["hint"] == "Did you mean `--era`?"


def test_options_are_read_in_every_spelling() -> None:
    options = parse(["call", "-q", "s.t", "--era=modern", "a=-1", "-y", "--header", "K: V", "--header=L:W"])
    assert options.words == ["s.t", "a=-1"] and options.flag("--quiet") and options.flag("--yes")
    assert options.value("--era") == "modern" and options.headers == [("K", "V"), ("L", "W")]


def test_an_unknown_option_raises() -> None:
    with pytest.raises(UsageError):
        parse(["config", "--era", "x"])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_what_the_shell_can_read(here: Cli, shell: str) -> None:
    done = here("completion", shell)
    assert done.code == 0 and "mcp-studio completion -- " in done.out
    if program := shutil.which(shell):
        assert subprocess.run([program, "-n"], input=done.out, text=True, capture_output=True).stderr == ""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("do", "doctor"),
        ("list to", "tools"),
        ("list tools --era le", "legacy"),
        ("list tools --transport we", "websocket"),
        ("watch --logs --log-level no", "notice"),
        ("demo --cl", "--client-info"),
        ("call x --unch", "--unchecked"),
        ("call x --as cu", "curl"),
        ("search x --kind tem", "template"),
        ("search x --method oka", "okapi"),
        ("search x --server mi", "mine"),
        ("auth logi", "login"),
        ("auth login --no-b", "--no-browser"),
        ("list -- npx --er", ""),
        ("call x --output re", ""),
    ],
)
def test_what_can_stand_at_the_end_of_a_line(line: str, expected: str) -> None:
    assert candidates(line.split(), lambda: ("mine", "other")) == [expected] * bool(expected)


def test_the_names_of_configured_servers_are_completed(here: Cli, home: Path) -> None:
    file = home / "config" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('[servers.mine]\ncommand = "x"\n[servers.other]\ncommand = "${keyring:y}"\n')
    assert here("completion", "--", "list", "--server", "").out == "mine\nother\n"


@pytest.mark.parametrize(
    ("shell", "code"),
    [
        (
            "bash",
            "source script; COMP_WORDS=(mcp-studio search x --kind tem); COMP_CWORD=4; _mcp_studio;"
            ' printf "%s\\n" "${COMPREPLY[@]}"',
        ),
        ("fish", "source script; complete -C 'mcp-studio search x --kind tem'"),
        (
            "zsh",
            "autoload -Uz compinit; compinit -u -D; source script;"
            " [ $_comps[mcp-studio] = _mcp_studio ] && echo template",
        ),
    ],
)
def test_shells_complete_by_the_script_that_they_read(here: Cli, shell: str, code: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"needs {shell}")
    (tmp_path / "script").write_text(here("completion", shell).out)
    program = tmp_path / "mcp-studio"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mcp_studio "$@"\n')
    program.chmod(0o755)
    bare = {"bash": "--norc", "fish": "-N", "zsh": "-f"}[shell]
    path = f"{tmp_path}:{os.environ['PATH']}"
    env = environment(HOME=str(tmp_path), PATH=path)
    done = subprocess.run([shell, bare, "-c", code], text=True, capture_output=True, cwd=tmp_path, env=env)
    assert done.stdout.strip() == "template", done.stderr


def test_a_mistyped_kind_gets_the_nearest_one(here: Cli) -> None:
    done = here("list", "tols", "--", *RAW)
    assert done.code == 2 and "Did you mean `tools`?" in done.err


def test_a_mistyped_server_is_told_as_such_where_there_is_one_server_only(here: Cli) -> None:
    done = here("call", "tagret.echo", "text=a", "--", *RAW)
    assert done.code == 2 and "There is no server 'tagret'. Did you mean `target.echo`?" in done.err


def test_a_configuration_that_cannot_be_read_is_the_reason_why_there_are_no_servers(here: Cli, home: Path) -> None:
    file = home / "config" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("x = [")
    done = here("list")
    assert done.code == 2 and f"error: {file}: It is not valid TOML" in done.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["list", "tools", "--metrics"], "--metrics is for `list servers`"),
        (["list", "prompts", "--tokens"], "--tokens is for `list tools`"),
        (["config", "remove", "x", "--name", "y"], "--name is for `config add`"),
        (["auth", "login", "--claims"], "--claims is for `auth token`"),
    ],
)  # fmt: skip
def test_an_option_of_one_action_is_refused_with_others(words: list[str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse(words)
