"""Whether a call may run, has to be asked about, or must not run."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from mcp_studio.catalog.listing import Entry
from mcp_studio.catalog.ref import Ref
from mcp_studio.config.rules import PolicyRule, Verdict
from mcp_studio.protocol.views import ToolView

Origin = Literal["person", "program"]
"""Who wants the call: somebody who pressed Call, or a workflow, gateway or toolset."""


class Judgement(NamedTuple):
    """A verdict, and the rule and reasons behind it in words."""

    verdict: Verdict
    rule: str
    reasons: tuple[str, ...] = ()
    unusable: bool = False
    """The tool's definition forbids that it is called: no rule and no approval changes that."""


def judge(
    ref: Ref, entries: Sequence[Entry], *, origin: Origin, trusted: bool, rules: Sequence[PolicyRule] = ()
) -> Judgement:
    """The first matching rule decides; without one, who asks and what the tool says of itself.

    What a server says of its tools is a hint: it can raise the risk, and lowers it only on a trusted server. A name
    that is listed more than once is asked about, since nobody knows which of the tools will run.

    Args:
        entries: what the server lists under the name.
    """
    if entries and all(entry.excluded for entry in entries):
        return Judgement("deny", entries[0].problem, unusable=True)
    tool = next((entry.view for entry in entries if isinstance(entry.view, ToolView)), None)
    for rule in rules:
        if fnmatchcase(str(ref), rule.tools):
            return Judgement(rule.verdict, f"policy rule {rule.tools!r}", _reasons(tool, trusted))
    if len(entries) > 1:
        return Judgement("ask", "listed more than once", ("listed more than once", *_reasons(tool, trusted)))
    if origin == "person":
        quiet, rule = tool is None or not tool.destructive, "destructive tools are asked about"
    else:
        quiet = trusted and tool is not None and tool.read_only
        rule = "programs may call read-only tools of trusted servers"
    return Judgement("allow", rule) if quiet else Judgement("ask", rule, _reasons(tool, trusted))


def _reasons(tool: ToolView | None, trusted: bool) -> tuple[str, ...]:
    if tool is None:
        return ("the server does not list this tool",)
    found = ["destructive" if tool.destructive else "read-only" if tool.read_only else "writes"]
    found.append("idempotent" if tool.idempotent else "not idempotent")
    found.append("open world" if tool.open_world else "closed world")
    if not trusted:
        found.append("untrusted server")
    return tuple(found)
