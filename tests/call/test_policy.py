"""Who may run what without being asked."""

from __future__ import annotations

from mcp_studio.call.caller import Judgement, judge
from mcp_studio.catalog.listing import Entry, Ref
from mcp_studio.config.model import PolicyRule
from mcp_studio.protocol.views import ToolView

REF = Ref("tool", "s", "delete_all")
PLAIN = (Entry(REF, ToolView({})),)
READ = (Entry(REF, ToolView({"annotations": {"readOnlyHint": True}})),)
DESTROY = (Entry(REF, ToolView({"annotations": {"destructiveHint": True}})),)


def test_a_person_is_asked_before_destructive_tools_only() -> None:
    assert judge(REF, PLAIN, origin="person", trusted=False).verdict == "allow"
    assert judge(REF, DESTROY, origin="person", trusted=True).verdict == "ask"
    assert judge(REF, (), origin="person", trusted=False).verdict == "allow"


def test_a_program_is_allowed_read_only_tools_of_trusted_servers_only() -> None:
    assert judge(REF, READ, origin="program", trusted=True).verdict == "allow"
    assert judge(REF, READ, origin="program", trusted=False).verdict == "ask"
    assert judge(REF, PLAIN, origin="program", trusted=True).verdict == "ask"


def test_the_first_matching_rule_decides() -> None:
    rules = (PolicyRule("*.delete_*", "deny"), PolicyRule("*", "allow"))
    assert judge(REF, READ, origin="person", trusted=True, rules=rules).verdict == "deny"
    assert judge(Ref("tool", "s", "x"), DESTROY, origin="person", trusted=False, rules=rules).verdict == "allow"


def test_a_name_that_is_listed_twice_is_asked_about_and_an_excluded_tool_is_denied() -> None:
    assert judge(REF, (*READ, *READ), origin="person", trusted=True).verdict == "ask"
    excluded = (READ[0]._replace(excluded=True, problem="excluded: x"),)
    assert judge(REF, excluded, origin="person", trusted=True) == Judgement("deny", "excluded: x", unusable=True)
