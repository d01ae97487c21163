"""What servers ask is answered by rules from a file, or refused with the question in the envelope."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.kit import Done, cli
from tests.support import python_server

RULES = """
[[answer]]
kind = "elicitation"
action = "accept"
content = { name = "Ada" }
[[answer]]
kind = "sampling"
action = "accept"
content = "4"
[[answer]]
kind = "url"
action = "accept"
"""


def asks(*words: str) -> Done:
    return cli(*words, "--", *python_server("raw_asks"))


@pytest.fixture
def rules(tmp_path: Path) -> str:
    file = tmp_path / "rules.toml"
    file.write_text(RULES)
    return str(file)


@pytest.mark.parametrize(
    ("tool", "answer"),
    [
        ("form", {"action": "accept", "content": {"name": "Ada", "approve": False}}),
        ("page", {"action": "accept"}),
        (
            "sample",
            {
                "role": "assistant", "content": {"type": "text", "text": "4"},
                "model": "mcp-studio", "stopReason": "endTurn",
            },
        ),
    ],
)  # fmt: skip
def test_rules_answer_every_kind_of_question(rules: str, tool: str, answer: object) -> None:
    done = asks("call", tool, "--answer", rules)
    assert done.code == 0, done.err
    assert json.loads(done.out)["result"] == answer


def test_a_call_that_needs_a_page_is_sent_again(rules: str) -> None:
    done = asks("call", "locked", "--answer", rules)
    assert (done.code, done.out.strip()) == (0, '"open"')


def test_a_call_that_always_needs_a_page_is_sent_again_only_so_often(rules: str) -> None:
    done = asks("call", "locked", "forever=true", "--answer", rules)
    assert done.code == 1 and "-32042" in done.err


@pytest.mark.parametrize(
    ("tool", "kind", "key"),
    [
        ("form", "elicitation", "schema"),
        ("page", "url", "url"),
        ("locked", "url", "url"),
        ("sample", "sampling", "params"),
    ],
)
def test_without_a_rule_and_a_terminal_the_question_is_in_the_envelope(tool: str, kind: str, key: str) -> None:
    done = asks("call", tool, "--json")
    assert done.code == 6
    assert done.json["error"]["asked"] == kind and done.json["error"][key]
    assert "--answer" in done.json["error"]["hint"]


@pytest.mark.parametrize("tool", ["page", "locked"])
@pytest.mark.parametrize("answered", [True, False])
def test_the_address_of_a_page_is_told_whoever_answers(rules: str, tool: str, answered: bool) -> None:
    url = "https://bank.example/authorize?state=8f14e45fceea167a"
    done = asks("call", tool, f"url={url}", *(["--answer", rules] if answered else []))
    assert done.code == (0 if answered else 6) and f"\n  {url}\n" in done.err, done
    assert "requests input on a web page" in done.err and url not in done.out
    assert ("rule 3 of rules.toml: accept" in done.err) is answered


def test_one_json_object_fills_in_every_form(tmp_path: Path) -> None:
    file = tmp_path / "answer.json"
    file.write_text('{"name": "Ada", "approve": true}')
    done = asks("call", "form", "--answer", str(file))
    assert json.loads(done.out)["result"]["content"] == {"name": "Ada", "approve": True}


def test_a_value_that_does_not_fit_is_not_sent_and_said(tmp_path: Path) -> None:
    file = tmp_path / "answer.json"
    file.write_text('{"name": 5}')
    done = asks("call", "form", "--answer", str(file))
    assert done.code == 6 and "fits but was not used" in done.err and "name" in done.err


@pytest.mark.parametrize(("text", "says"), [(None, "There is no such file"), ("[[answer]]\n", "is missing")])
def test_a_wrong_file_of_rules_is_a_usage_error_before_anything_is_sent(
    tmp_path: Path, text: str | None, says: str
) -> None:
    file = tmp_path / "rules.toml"
    if text is not None:
        file.write_text(text)
    done = asks("call", "form", "--answer", str(file))
    assert done.code == 2 and says in done.err


def test_a_storm_of_questions_is_answered_each_exactly_once(rules: str) -> None:
    done = asks("call", "storm", "count=20", "--answer", rules)
    assert json.loads(done.out) == {"answered": 40, "twice": 0, "accepted": 40}


def test_sampling_by_rules_has_a_bound_per_call(rules: str) -> None:
    done = asks("call", "storm", "count=21", "--answer", rules)
    assert done.code == 6 and "limits.sampling" in done.err
