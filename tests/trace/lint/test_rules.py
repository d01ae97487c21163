"""Every rule: something that breaks it, and the same done right."""

from __future__ import annotations

import pytest

from mcp_studio.trace.lint.rules import RULES
from tests.trace.lint.acts import CACHED, Case, new, old
from tests.trace.lint.cases_meaning import MEANING
from tests.trace.lint.cases_messages import MESSAGES
from tests.trace.lint.cases_results import RESULTS
from tests.trace.lint.kit import CLIENT, EVERYTHING, tool

CASES = [*MESSAGES, *MEANING, *RESULTS]


@pytest.mark.parametrize("case", CASES, ids=[f"{case.rule}-{at}" for at, case in enumerate(CASES)])
def test_a_rule_finds_what_breaks_it_and_nothing_else(case: Case) -> None:
    assert case.rule in case.wrong()
    assert case.rule not in case.right()


def test_what_is_right_breaks_no_rule_at_all() -> None:
    wrong = {case.rule: found for case in CASES if (found := case.right())}
    assert wrong == {}


def test_every_rule_has_a_case_and_a_section_in_both_eras() -> None:
    assert {case.rule for case in CASES} == set(RULES)
    assert all(rule.section and rule.modern and rule.about for rule in RULES.values())


def test_a_server_that_declares_everything_may_do_everything() -> None:
    assert EVERYTHING.keys() >= {"tools", "resources", "prompts", "logging"} and CLIENT.keys() >= {"sampling"}
    assert old().called("tools/list", tool()) == [] and new().called("tools/list", {**tool(), **CACHED}) == []
    assert [entry.findings for entry in (*old().store, *new().store)] == [()] * 4
