"""Counting findings: a thousand equal ones are one line, and nothing grows without a bound."""

from __future__ import annotations

from mcp_studio.trace.lint.ledger import Ledger
from mcp_studio.trace.lint.rules import Finding, weight
from tests.support import run
from tests.trace.lint.kit import Talk


def finding(text: str, rule: str = "r", severity: str = "error", number: int = 1) -> Finding:
    return Finding(severity, rule, text, "basic#messages", "", number)  # type: ignore[arg-type]


def test_equal_findings_are_counted_and_the_worst_come_first() -> None:
    ledger = Ledger()
    ledger.add([finding("a hint", "h", "hint"), finding("x"), finding("x", number=9), finding("y")])
    groups = [(group.first.text, group.count, group.last) for group in ledger.groups()]
    assert groups == [("x", 2, 9), ("y", 1, 1), ("a hint", 1, 1)]
    assert ledger.counts == {"error": 3, "hint": 1}


def test_ever_different_texts_of_one_rule_end_in_one_group() -> None:
    ledger = Ledger()
    ledger.add(finding(f"text {number}", number=number) for number in range(5_000))
    groups = ledger.groups()
    assert len(groups) == 21 and sum(group.count for group in groups) == 5_000
    assert groups[-1].others and groups[-1].last == 4_999


def test_the_first_error_or_warning_is_told_once_for_each_connection() -> None:
    told: list[str] = []
    ledger = Ledger(lambda: told.append("wrong"))
    ledger.add([finding("a hint", severity="hint")])
    assert not ledger.wrong and told == []
    ledger.add([finding("x", severity="warning"), finding("y")])
    assert ledger.wrong and told == ["wrong"]
    ledger.begins()
    assert not ledger.wrong and ledger.groups() == () and not ledger.counts
    ledger.add([finding("x")])
    assert told == ["wrong", "wrong"]


def test_warnings_that_findings_say_are_left_out() -> None:
    ledger = Ledger()
    ledger.cover("answered twice")
    assert ledger.uncovered(("answered twice", "asks too fast")) == ("asks too fast",)


def test_the_version_of_a_message_is_the_one_that_was_settled_before_it() -> None:
    ledger = Ledger()
    ledger.speaks(10, "2025-06-18")
    ledger.speaks(50, "2026-07-28")
    known = [ledger.version_at(number) for number in (9, 10, 49, 50, 99)]
    assert known == ["", "2025-06-18", "2025-06-18", "2026-07-28", "2026-07-28"]


def test_a_flood_of_wrong_messages_is_one_line_and_every_message_is_marked() -> None:
    talk = Talk()
    for number in range(5_000):
        talk.hear(b'{"jsonrpc":"2.0","id":%d,"result":{}}' % (number + 100))
    (group,) = talk.ledger.groups()
    assert group.count == 5_000 and group.first.rule == "orphan-response"
    assert weight(talk.newest.findings) == 3 and talk.newest.findings[0].number == talk.newest.number


def test_what_is_wrong_with_a_message_of_ours_is_on_it_and_not_counted() -> None:
    talk = Talk()
    assert talk.write(b'{"jsonrpc":"1.0","id":1,"method":"ping"}') == ["jsonrpc-version"]
    assert talk.ledger.groups() == ()


def test_findings_hold_no_secrets() -> None:
    talk = Talk()
    talk.redactor.learn("open-sesame-4711")
    talk.called("tools/list", {"tools": [{"name": "open-sesame-4711 !", "inputSchema": 7}]})
    assert talk.newest.findings and not any("open-sesame" in one.text for one in talk.newest.findings)


def test_a_large_list_is_checked_as_well() -> None:
    talk = Talk()
    tools = [{"name": f"t{number}", "inputSchema": {"type": "object"}} for number in range(2_000)]
    assert talk.called("tools/list", {"tools": [*tools, {"name": "bad"}]}) == ["tool-schema"]


def test_what_is_found_on_an_earlier_connection_stands_on_its_message_and_is_not_counted() -> None:
    talk = Talk()
    talk.called("tools/call", {"content": [{"type": "text"}]})
    talk.tap.ended()
    talk.tap.begins()
    run(talk.store.examine("s"))
    assert talk.rules() == ["missing-field"]
    assert talk.ledger.groups() == () and not talk.ledger.wrong
