"""Who may run what without being asked."""

from __future__ import annotations

import math
import sys
import time
from datetime import date, timedelta

import pytest

from mcp_studio.call.call import Call, TimedOut
from mcp_studio.call.policy import Judgement, Origin, Policy, Profile, consent
from mcp_studio.catalog.listing import Change, Entry, Ref
from mcp_studio.config.model import PolicyRule, Risk, ToolRule, Verdict
from mcp_studio.config.settings import fingerprint
from mcp_studio.jsontext import Json
from mcp_studio.present.metrics import metrics_of
from mcp_studio.protocol.views import ToolView
from mcp_studio.session.inbox import Answer, InputRequest
from tests.studio_support import opened, stdio
from tests.support import SERVERS

REF = Ref("tool", "s", "delete_all")


def listed(**raw: Json) -> tuple[Entry, ...]:
    return (Entry(REF, ToolView(dict(raw))),)


PLAIN = listed()
READ = listed(annotations={"readOnlyHint": True})
DESTROY = listed(annotations={"destructiveHint": True})


def judge(
    entries: tuple[Entry, ...] = PLAIN,
    arguments: Json = None,
    *,
    origin: Origin = "person",
    trusted: bool = False,
    rules: tuple[PolicyRule, ...] = (),
    tools: tuple[ToolRule, ...] = (),
    ref: Ref = REF,
) -> Judgement:
    return Policy(rules, tools).judge(ref, entries, arguments or {}, origin=origin, trusted=trusted)


@pytest.mark.parametrize(
    ("entries", "origin", "trusted", "verdict"),
    [
        (PLAIN, "person", False, "allow"),
        (DESTROY, "person", True, "ask"),
        ((), "person", False, "allow"),
        (READ, "program", True, "allow"),
        (READ, "program", False, "ask"),
        (PLAIN, "program", True, "ask"),
        ((*READ, *READ), "person", True, "ask"),
    ],
)
def test_without_a_rule_it_depends_on_who_asks_and_on_the_tool(
    entries: tuple[Entry, ...], origin: Origin, trusted: bool, verdict: Verdict
) -> None:
    judgement = judge(entries, origin=origin, trusted=trusted)
    assert judgement.verdict == verdict
    assert ("a program wants it" in judgement.reasons) is (origin == "program" and verdict == "ask")


def test_an_excluded_tool_is_denied_whatever_the_rules_say() -> None:
    excluded = (READ[0]._replace(excluded=True, problem="excluded: x"),)
    judgement = judge(excluded, trusted=True, rules=(PolicyRule("*", "allow"),))
    assert (judgement.verdict, judgement.rule, judgement.unusable) == ("deny", "excluded: x", True)


def test_the_first_matching_rule_decides() -> None:
    rules = (PolicyRule("*.delete_*", "deny"), PolicyRule("*", "allow"))
    assert judge(READ, trusted=True, rules=rules).verdict == "deny"
    assert judge(DESTROY, rules=rules, ref=Ref("tool", "s", "x")).verdict == "allow"


@pytest.mark.parametrize("last", [PolicyRule("*", "allow"), PolicyRule("*", "deny")])
def test_a_rule_that_could_not_be_read_allows_nothing_and_takes_no_denial_away(last: PolicyRule) -> None:
    broken = PolicyRule("*", broken=True)
    for rules in ((broken, last), (last, broken)):
        assert judge(rules=rules).verdict == ("ask" if last.verdict == "allow" else "deny")


YESTERDAY, TOMORROW = (date.today() + timedelta(days) for days in (-1, 1))


@pytest.mark.parametrize(
    ("rule", "arguments", "verdict"),
    [
        (PolicyRule(verdict="deny", risk="high"), {}, "allow"),
        (PolicyRule(verdict="deny", risk="medium"), {}, "deny"),
        (PolicyRule(verdict="deny", risk="high"), {"sql": "DROP TABLE users"}, "deny"),
        (PolicyRule(verdict="deny", risk="high"), {"api_key": "x"}, "deny"),
        (PolicyRule(verdict="deny", risk="high"), {"text": "raindrops, tokenized"}, "allow"),
        (PolicyRule(verdict="deny", origin="program"), {}, "allow"),
        (PolicyRule(verdict="deny", category="files"), {}, "allow"),
        (PolicyRule(verdict="deny", arguments={"path": "/etc/*"}), {"path": "/etc/passwd"}, "deny"),
        (PolicyRule(verdict="deny", arguments={"path": "/etc/*"}), {"path": "/tmp/x"}, "allow"),
        (PolicyRule(verdict="deny", arguments={"*.path": "/etc/*"}), {"in": [{"path": "/etc/x"}]}, "deny"),
        (PolicyRule(verdict="deny", arguments={"path": "/etc/*"}), {"path": ["/tmp/x", "/etc/x"]}, "deny"),
        (PolicyRule(verdict="deny", arguments={"in.path": "/etc/*"}), {"in": [{"path": "/etc/x"}]}, "deny"),
        (PolicyRule(verdict="deny", arguments={"force": "true"}), {"force": True}, "deny"),
        (PolicyRule(verdict="deny", arguments={"force": "false"}), {"force": False}, "deny"),
        (PolicyRule(verdict="deny", arguments={"owner": "null"}), {"owner": None}, "deny"),
        (PolicyRule(verdict="deny", arguments={"path": "/etc/*"}), {"a": [*range(2_000)], "path": "/etc/x"}, "ask"),
        (PolicyRule(verdict="deny", arguments={"sql": "*TABLE*"}), {"sql": " " * 4_000 + "TABLE"}, "ask"),
        (PolicyRule("other.*", "deny", arguments={"sql": "*TABLE*"}), {"sql": " " * 4_000 + "TABLE"}, "allow"),
        (PolicyRule("s.*", broken=True), {}, "ask"),
        (PolicyRule("other.*", broken=True), {}, "allow"),
        (PolicyRule(verdict="deny", exactly=fingerprint({"a": 1, "b": 2})), {"b": 2, "a": 1}, "deny"),
        (PolicyRule(verdict="deny", exactly=fingerprint({"a": 1, "b": 2})), {"a": 1, "b": 2, "c": 3}, "allow"),
        (PolicyRule(verdict="deny", until=YESTERDAY.isoformat()), {}, "allow"),
        (PolicyRule(verdict="deny", until=TOMORROW.isoformat()), {}, "deny"),
    ],
)
def test_a_rule_is_for_calls_that_match_all_that_it_names(rule: PolicyRule, arguments: Json, verdict: Verdict) -> None:
    assert judge(arguments=arguments, rules=(rule,)).verdict == verdict


def test_a_rule_with_a_number_of_calls_is_for_those_beyond_it_in_its_window() -> None:
    policy = Policy(
        (PolicyRule(verdict="deny", calls=2, seconds=0.2), PolicyRule(verdict="deny", calls=3, per="server"))
    )

    def verdict(name: str) -> str:
        ref = Ref("tool", "s", name)
        foreseen = policy.judge(ref, PLAIN, {}, origin="person", trusted=False, counts=False)
        made = policy.judge(ref, PLAIN, {}, origin="person", trusted=False)
        assert foreseen == made, "what is only foreseen does not count"
        return made.verdict

    assert [verdict("a"), verdict("a"), verdict("a"), verdict("b"), verdict("b")] == [
        "allow", "allow", "deny", "allow", "deny",
    ]  # fmt: skip


HARNESS: Json = {
    "category": "money", "riskLevel": "high", "requiresApproval": True, "timeout": 2_000,
    "rateLimit": {"maxCalls": 2, "windowMs": 60_000}, "idempotent": True, "costPerCall": 0.25,
}  # fmt: skip


@pytest.mark.parametrize("definition", [{"harness": HARNESS}, {"_meta": {"harness": HARNESS}}])
def test_what_a_trusted_server_declares_of_its_tools_counts_and_the_configuration_wins(
    definition: dict[str, Json],
) -> None:
    tool = ToolView(definition)
    known = Policy().profile(REF, tool, trusted=True)
    assert known == Profile("high", "money", True, True, 2, 60.0, 2.0, 0.25)
    assert Policy().profile(REF, tool, trusted=False) == Profile("medium")
    own = ToolRule("s.*", category="play", risk="low")
    assert Policy((), (own,)).profile(REF, tool, trusted=True)[:2] == ("low", "play")
    policy = Policy()
    entries = (Entry(REF, tool),)
    said = [policy.judge(REF, entries, {}, origin="person", trusted=True).verdict for _ in range(3)]
    assert said == ["ask", "ask", "deny"]


def test_a_tool_that_changed_is_asked_about_even_where_a_rule_allows_it() -> None:
    changed = (READ[0]._replace(change=Change("changed", ("description",), {})),)
    judgement = judge(changed, rules=(PolicyRule("*", "allow"),))
    assert judgement.verdict == "ask" and "changed: description" in judgement.reasons
    assert judge(changed, rules=(PolicyRule("*", "deny"),)).verdict == "deny"
    assert judge((READ[0]._replace(change=Change("new")),)).verdict == "allow"


@pytest.mark.parametrize(("risk", "word"), [("low", "risk low"), ("high", "risk high")])
async def test_the_question_says_why_and_how_risky_it_is(risk: Risk, word: str) -> None:
    asked: list[InputRequest] = []

    async def ask(request: InputRequest) -> Answer:
        asked.append(request)
        return Answer("decline", note="not today")

    judgement = Judgement("ask", "a rule", ("destructive",), risk=risk)
    call = Call(REF, "tools/call", {"arguments": {"a": 1}})
    denied = await consent(ask, judgement, call, approved=False, times="2,000 times")
    assert denied is not None and denied.rule == "denied by you: not today"
    assert asked[0].subject == "s.delete_all 2,000 times" and asked[0].reasons == ("a rule", "destructive", word)
    assert await consent(ask, judgement, call, approved=True) is None and call.approved_by == "beforehand"
    never = await consent(ask, Judgement("deny", "a rule"), call, approved=True)
    assert never is not None and len(asked) == 1


def test_a_thousand_rules_cost_little() -> None:
    rules = tuple(PolicyRule(f"server{number}.*", "deny", arguments={"x": "y"}) for number in range(1_000))
    policy = Policy(rules)
    policy.judge(REF, PLAIN, {}, origin="person", trusted=False)
    began = time.process_time()
    for _ in range(1_000):
        policy.judge(REF, PLAIN, {"a": 1}, origin="person", trusted=False)
    assert time.process_time() - began < 1.0, "goal: 0.2 ms a call; five times that is a mistake"


SLOW = """
import math
import sys
sys.path.insert(0, sys.argv[1])
from raw_server import RawServer
server = RawServer(modern=False)
next(tool for tool in server.tools if tool["name"] == "wait")["harness"] = {"timeout": 200, "costPerCall": 2}
server.run()
"""


async def test_the_time_and_cost_that_a_trusted_server_declares_for_a_tool_hold() -> None:
    async with opened(stdio([sys.executable, "-c", SLOW, str(SERVERS)], trust=True)) as studio:
        outcome = await studio.call_tool(Ref("tool", "s", "wait"), {"seconds": 30}, approved=True).wait()
        await studio.call_tool(Ref("tool", "s", "echo"), {"text": "a"}).wait()
    assert isinstance(outcome, TimedOut) and "0.2" in outcome.limit
    studio.numbers.look(math.inf)
    rows = metrics_of(studio.numbers, studio.caller.prices("s"), {})
    assert {one.of.target: one.cost for one in rows} == {"": 2, "wait": 2, "echo": None}


async def test_what_a_server_without_trust_says_of_its_prices_is_not_believed() -> None:
    async with opened(stdio([sys.executable, "-c", SLOW, str(SERVERS)])) as studio:
        assert studio.catalog.entries("tool") and not studio.caller.prices("s")
