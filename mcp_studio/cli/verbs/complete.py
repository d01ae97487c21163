"""`complete`: the values that a server suggests for an argument of a prompt or a variable of a template."""

from __future__ import annotations

from mcp_studio.cli.asking import Asker
from mcp_studio.cli.engine import execute, located
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.plan import Plan
from mcp_studio.errors import UsageError
from mcp_studio.studio import Studio


def run(plan: Plan, options: Options, out: Output) -> int:
    """Complete, and return the exit code."""
    if not plan.pairs:
        raise UsageError("Which argument?", hint="mcp-studio complete SERVER.PROMPT ARGUMENT=START")
    out.server = plan.server
    return execute(plan, out, lambda studio: _complete(studio, plan, out), asker=Asker())


async def _complete(studio: Studio, plan: Plan, out: Output) -> int:
    ref = await located(studio, plan, out, "prompt", "template", verb="complete")
    argument, _, start = plan.pairs[0].partition("=")
    known = dict((name, value) for name, _, value in (pair.partition("=") for pair in plan.pairs[1:]))
    found = await studio.complete(ref, argument, start, known)
    if not found.declared:
        out.warn(f"{ref.server} declares no completions, so it was not asked")
    for value in found.values:
        out.data(value)
    if found.count:
        out.note(f"{found.count} values")
    return out.done({"values": list(found.values), "total": found.total, "hasMore": found.has_more})
