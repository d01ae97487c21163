"""Rules in files: read with what is wrong said, written at the top, everything else kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_studio.config.load import load
from mcp_studio.config.model import AnswerRule, Problem
from mcp_studio.config.settings import fingerprint, load_answers
from mcp_studio.errors import ConfigError
from mcp_studio.paths import Paths
from mcp_studio.tui.server_files import put_rule


def read(file: Path) -> tuple[tuple[AnswerRule, ...], list[Problem]]:
    problems: list[Problem] = []
    return load_answers(file, problems), problems


def test_a_rule_is_read_with_all_its_keys(tmp_path: Path) -> None:
    file = tmp_path / "answers.toml"
    file.write_text(
        '[[answer]]\nserver = "b*"\nkind = "elicitation"\ntool = "t"\nmessage = "m*"\nschema = "sha256:1"\n'
        'action = "accept"\ncontent = {a = 1}\nwait = 2.5\n'
    )
    rule = AnswerRule("accept", "b*", "elicitation", "t", "m*", "sha256:1", {"a": 1}, 2.5, "rule 1 of answers.toml")
    assert read(file) == ((rule,), [])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[answer]]\n", "is missing"),
        ('[[answer]]\naction = "yes"\n', "must be one of"),
        ('[[answer]]\naction = "accept"\ncontent = {a = 2020-01-01}\n', "not a JSON value"),
        ('[[answer]]\naction = "accept"\nservr = "b"\n', "not a known key"),
        ('answer = "accept"\n', "[[answer]] tables"),
        ("[[answer]\n", "not valid TOML"),
    ],
)
def test_what_is_wrong_is_said_and_costs_one_rule(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "answers.toml"
    file.write_text(text)
    rules, problems = read(file)
    assert rules == () and len(problems) == 1
    assert says in str(problems[0]) and "answers.toml" in str(problems[0])


def test_one_wrong_rule_leaves_the_others(tmp_path: Path) -> None:
    file = tmp_path / "answers.toml"
    file.write_text('[[answer]]\naction = "no"\n[[answer]]\naction = "decline"\n')
    rules, problems = read(file)
    assert [rule.action for rule in rules] == ["decline"] and len(problems) == 1


def test_json_holds_rules_or_one_value_for_every_form(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps([{"action": "cancel"}]))
    assert [rule.action for rule in read(file)[0]] == ["cancel"]
    file.write_text(json.dumps({"name": "Ada"}))
    assert read(file)[0] == (AnswerRule("accept", kind="elicitation", content={"name": "Ada"}, source="a.json"),)


def test_json_is_known_without_its_ending_as_pipes_have_none(tmp_path: Path) -> None:
    file = tmp_path / "63"
    file.write_text(' {"name": "Ada"}')
    ((rule,), problems) = read(file)
    assert (rule.action, rule.content, problems) == ("accept", {"name": "Ada"}, [])
    file.write_text('{"name": ')
    assert "is not valid JSON" in str(read(file)[1][0])


def test_a_new_rule_comes_first_and_the_old_text_stays(tmp_path: Path) -> None:
    file = tmp_path / "config" / "answers.toml"
    put_rule(file, AnswerRule("decline", server="a"))
    file.write_text("# mine\n" + file.read_text())
    put_rule(file, AnswerRule("accept", server="b", content={"x": [1, {"y": "z"}], "big": 2**60}))
    rules, problems = read(file)
    assert [(rule.action, rule.server, rule.content) for rule in rules] == [
        ("accept", "b", {"x": [1, {"y": "z"}], "big": 2**60}),
        ("decline", "a", None),
    ]
    assert not problems and "# mine" in file.read_text()


def test_a_broken_file_is_not_written_over(tmp_path: Path) -> None:
    file = tmp_path / "answers.toml"
    file.write_text("[[answer]\n")
    with pytest.raises(ConfigError, match="cannot be changed"):
        put_rule(file, AnswerRule("decline"))
    assert file.read_text() == "[[answer]\n"


def test_a_fingerprint_knows_the_schema_whatever_the_order_of_its_keys() -> None:
    assert fingerprint({"a": 1, "b": {"c": 1, "d": 2}}) == fingerprint({"b": {"d": 2, "c": 1}, "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": 2})


def test_rules_of_the_person_and_of_configuration_files_are_all_in_force(home: Path, tmp_path: Path) -> None:
    paths = Paths.default()
    put_rule(paths.answers_file, AnswerRule("decline", server="mine"))
    paths.config_file.write_text('[[answer]]\nserver = "configured"\naction = "cancel"\n')
    config = load(paths, tmp_path)
    assert [rule.server for rule in config.settings.answers] == ["mine", "configured"] and not config.problems
