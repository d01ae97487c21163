"""`pins`, `audit` and `approvals`, each command a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.kit import cli
from tests.support import python_server

RAW = ("--", *python_server("raw_server"))


def test_a_tool_that_changed_is_listed_asked_about_and_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, config = tmp_path / "lock.json", tmp_path / "servers.toml"
    command, *args = python_server("raw_lists")
    config.write_text(f'[servers.lists]\ncommand = "{command}"\nargs = {args}\ninherit_env = ["LISTS_VERSION"]\n')
    lists = ("--config", str(config))
    assert cli("pins", *lists).out.count("as accepted") == 5
    exported = cli("pins", "export", str(lock), *lists)
    assert exported.code == 0 and f"written: {lock}" in exported.err
    refused = cli("pins", "export", str(tmp_path), *lists)
    assert refused.code == 2 and f"{tmp_path} cannot be written" in refused.err
    assert cli("pins", "check", str(lock), *lists).code == 0
    monkeypatch.setenv("LISTS_VERSION", "2")
    assert "changed: description, inputSchema" in cli("pins", *lists).out
    (report,) = cli("doctor", "--json", *lists).json["result"]
    assert any("lists.words: its definition is not what was accepted" in said for said in report["warnings"])
    wrong = cli("pins", "accept", "lists.word", *lists)
    assert wrong.code == 2 and "No server lists the tool `lists.word`" in wrong.err and "lists.words" in wrong.err
    checked = cli("pins", "check", str(lock), "--json", *lists)
    kinds = {one["tool"].rpartition(".")[2]: one["kind"] for one in checked.json["error"]["drift"]}
    assert checked.code == 6 and kinds == {"words": "changed", "fresh": "new", "old": "gone"}
    refused = cli("call", "words", "--args", "{}", "--unchecked", *lists)
    assert refused.code == 6 and "needs approval: its definition changed, changed: description" in refused.err
    assert cli("pins", "accept", "lists.words", *lists).code == 0
    assert "changed" not in cli("pins", *lists).out
    assert cli("call", "words", "--args", "{}", "--unchecked", *lists).code == 0


def test_a_lock_file_is_checked_in_a_fresh_clone_and_never_passes_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (command, *args), lock = python_server("raw_lists"), tmp_path / "lock.json"

    def check(text: str, *words: str) -> tuple[int, str]:
        (config := tmp_path / "servers.toml").write_text(text)
        done = cli("pins", *(words or ("check", str(lock))), "--config", str(config))
        return done.code, done.out + done.err

    entry = f'command = "{command}"\nargs = {args}\ninherit_env = ["LISTS_VERSION"]\n'
    both, broken = (f"[servers.a]\n{entry}[servers.b]\n{one}" for one in (entry, 'command = "no-such"'))
    code, said = check(broken, "export", str(lock))
    assert code == 4 and "is not written: nobody knows the tools of b" in said and not lock.exists()
    assert check(both, "export", str(lock))[0] == 0
    monkeypatch.setenv("MCP_STUDIO_HOME", str(tmp_path / "elsewhere"))  # where nothing was ever seen
    assert check(both) == (0, "")
    code, said = check(broken)
    assert code == 4 and "Nobody knows whether the tools of b are what" in said
    code, said = check(f"[servers.a]\n{entry}")
    assert code == 6 and "b.words is gone" in said and "a.words" not in said
    assert check(f"[servers.a]\n{entry}", "check", str(lock), "--server", "a") == (0, "")
    monkeypatch.setenv("LISTS_VERSION", "2")
    code, said = check(both)
    assert code == 6 and "a.words is changed" in said and "b.fresh is new" in said and "6 differences" in said


def test_the_audit_log_is_searched() -> None:
    assert cli("call", "echo", "text=one", *RAW).code == 0
    assert cli("call", "fail", *RAW).code == 6
    rows = cli("audit").out.splitlines()
    assert ["target.echo" in rows[0], "target.fail" in rows[1], "not sent" in rows[1]] == [True] * 3
    assert [one["tool"] for one in cli("audit", "--verdict", "ask", "--json").json["result"]] == ["fail"]
    assert cli("audit", "--tool", "*.echo", "ONE").out.count("\n") == 1
    assert cli("audit", "nowhere").err == "No call matches.\n"


def test_approvals_that_wait_are_listed_and_a_wrong_one_is_told() -> None:
    assert cli("approvals").err == "Nothing waits for approval.\n"
    done = cli("approvals", "approve", "1-1")
    assert done.code == 2 and "No call waits for approval under '1-1'" in done.err
    assert cli("approvals", "approve").code == 2


def test_a_file_that_is_no_lock_file_is_told(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text(json.dumps({"x": 1}))
    done = cli("pins", "check", str(file), *RAW)
    assert done.code == 2 and "is no lock file" in done.err
    assert cli("pins", "check", *RAW).code == 2


@pytest.mark.parametrize(
    ("mode", "text", "said"),
    [("mark", "to ada@example.org", "Found"), ("mask", "to ‹e-mail›", "Masked"), ("off", "to ada@example.org", "")],
)
def test_results_are_searched_for_personal_data(mode: str, text: str, said: str, tmp_path: Path) -> None:
    config = tmp_path / "servers.toml"
    command, *args = python_server("raw_server")
    config.write_text(f'filter = "{mode}"\n[servers.s]\ncommand = "{command}"\nargs = {args}\n')
    done = cli("call", "echo", "text=to ada@example.org", "--json", "--config", str(config))
    assert done.code == 0 and text in done.json["result"]["content"][0]["text"]
    assert ("ada@" in done.out) is (mode != "mask")
    assert done.json.get("sensitive", {}).get("email", 0) == (mode != "off")
    assert (f"{said} in the result: e-mail addresses" in done.err) is bool(said)
