"""Calls are remembered, repeated, saved and run by their names from the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.kit import RAW, Done, argv, cli, environment
from tests.terminal import Terminal


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".mcp-studio" / "calls").mkdir(parents=True)
    return folder


def on(project: Path, *words: str, **env: str) -> Done:
    return cli(*words, "--", *RAW, cwd=project, **env)


def saved(project: Path, name: str, text: str) -> Path:
    file = project / ".mcp-studio" / "calls" / f"{name}.toml"
    file.write_text(f'server = "raw"\n{text}')
    return file


def test_calls_are_listed_and_repeated(project: Path) -> None:
    assert on(project, "call", "add", "a=1.0", "b=2").code == 0
    assert on(project, "call", "fail", "-y").code == 5
    assert on(project, "read", "raw://notes/{name}", "name=x").code == 0
    assert on(project, "get", "greet", "who=Ada").code == 0
    done = cli("list", "history", "--json")
    found = done.json["result"]["history"]
    assert [(one["kind"], one["name"], one["outcome"]) for one in found] == [
        ("prompt", "greet", "ok"), ("template", "raw://notes/{name}", "ok"),
        ("tool", "fail", "tool error"), ("tool", "add", "ok"),
    ]  # fmt: skip
    assert found[0]["arguments"] == {"who": "Ada"} and found[3]["origin"] == "command line"
    rows = cli("list", "history", "target.add").out
    assert '{"a":1.0,"b":2}' in rows and "greet" not in rows
    again = on(project, "call", "--last", "add", "b=5", "--json")
    assert again.json["result"]["content"][0]["text"] == "6.0"
    assert on(project, "read", "--last", "raw://notes/{name}").out == "A note.\n"
    assert "Ada" in on(project, "get", "--last", "greet").out


def test_there_has_to_be_an_earlier_call(project: Path) -> None:
    done = on(project, "call", "--last", "add")
    assert done.code == 2 and "No earlier call of target.add is remembered." in done.err
    done = cli("list", "history")
    assert (done.code, done.out) == (0, "") and "no calls are remembered" in done.err


def test_a_secret_is_not_kept_and_that_is_said(project: Path, home: Path) -> None:
    on(project, "call", "echo", "text=x", "--args", '{"token": "hunter2hunter2"}', "--unchecked")
    done = on(project, "call", "--last", "echo", "--unchecked")
    assert done.code == 0 and "Not stored, since it is secret: token." in done.err
    assert not any(b"hunter2" in file.read_bytes() for file in home.rglob("*") if file.is_file())


def test_a_call_is_saved_and_run_by_its_name(project: Path) -> None:
    done = on(project, "call", "add", "a=1", "b=2.50", "--save", "sum")
    assert done.code == 0 and "saved as" in done.err
    text = (project / ".mcp-studio" / "calls" / "sum.toml").read_text()
    assert 'tool = "add"' in text and '"b": 2.50' in text
    assert on(project, "call", "--saved", "sum").out == "3.5\n"
    assert on(project, "call", "--saved", "sum", "--set", "a=10").out == "12.5\n"
    assert on(project, "call", "--saved", "sum", "a=10", "b=2").out == "12\n"
    again = on(project, "call", "add", "a=1", "b=2", "--save", "sum")
    assert again.code == 2 and "already" in again.err
    assert on(project, "get", "greet", "who=Ada", "--save", "personal:hello").code == 0
    assert on(project, "read", "raw://note", "--save", "note").code == 0
    assert "Ada" in on(project, "call", "--saved", "hello").out
    assert on(project, "call", "--saved", "note").out == "A note.\n"
    (project / ".mcp-studio" / "calls" / "broken.toml").write_text("x")
    done = cli("list", "saved", "--json", cwd=project)
    assert [(one["name"], one["where"]) for one in done.json["result"]["saved"]] == [
        ("note", "project"), ("sum", "project"), ("hello", "personal"),
    ]  # fmt: skip
    assert done.json["result"]["failed"][0]["file"].endswith("broken.toml") and "is no valid TOML" in done.err


def test_mistakes_in_words_about_a_saved_call_are_told(project: Path) -> None:
    saved(project, "say", 'tool = "echo"\narguments.text = "Hello"\n')
    for words, says in (
        (["--args", "{}", "text=Ada"], "--saved and --args do not go together"),
        (["txt=x"], "Did you mean `text`?"),
    ):
        done = on(project, "call", "--saved", "say", *words)
        assert done.code == 2 and says in done.err, done.err
    done = on(project, "call", "--saved", "sya")
    assert done.code == 2 and "There is no saved call `sya`.\n  Did you mean `say`?" in done.err


def test_secrets_of_this_computer_are_sent_only_with_agreement(project: Path, home: Path) -> None:
    saved(project, "with", 'tool = "echo"\narguments.text = "${env:GREETING}"')
    refused = on(project, "call", "--saved", "with", "--json", GREETING="hello-from-env")
    assert refused.code == 6 and refused.json["error"]["references"] == ["${env:GREETING}"]
    done = on(project, "call", "--saved", "with", "-y", GREETING="hello-from-env")
    assert done.code == 0 and "hello-from-env" in done.out
    found = cli("list", "history", "--json").json["result"]["history"]
    assert found[0]["arguments"] == {} and found[0]["leftOut"] == ["/text"]
    unset = on(project, "call", "--saved", "with", "-y")
    assert unset.code == 2 and "the environment variable GREETING is not set" in unset.err


@pytest.fixture
def terminal(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.chdir(project)
    words = argv("call", "--saved", "say", "--", *RAW)
    started = Terminal(words, env=environment(NO_COLOR="1", GREETING="hello-from-env"), rows=60)
    yield started
    started.close()
    if started.process.poll() is None:
        started.process.terminate()
        started.process.wait(10)


def test_on_a_terminal_it_is_asked_whether_a_file_may_use_secrets(project: Path, terminal: Terminal) -> None:
    saved(project, "say", 'tool = "echo"\narguments.text = "${env:GREETING}, Ada"')
    terminal.start()
    terminal.until(r"May it, as it is now\? \[y/N\]")
    terminal.press(b"y\r")
    terminal.until("hello-from-env, Ada")
