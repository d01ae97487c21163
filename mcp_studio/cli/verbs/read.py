"""`read`: read a resource, or fill a template and read that."""

from __future__ import annotations

from mcp_studio.catalog.ref import Ref
from mcp_studio.cli.addresses import expanded, owner
from mcp_studio.cli.arguments import refuse_wrong
from mcp_studio.cli.asking import Asker
from mcp_studio.cli.content import resource_text
from mcp_studio.cli.ending import check_file, end
from mcp_studio.cli.engine import connected, execute, outcome_of
from mcp_studio.cli.given_call import Given, given, save
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.plan import Plan
from mcp_studio.schema.field import Form
from mcp_studio.schema.form import template_fields
from mcp_studio.studio import Studio


def run(plan: Plan, options: Options, out: Output) -> int:
    """Read, and return the exit code."""
    asker = Asker(options.values("--answer"))
    check_file(options)
    return execute(plan, out, lambda studio: _read(studio, plan, options, out, asker), asker=asker)


async def _read(studio: Studio, plan: Plan, options: Options, out: Output, asker: Asker) -> int:
    for name in plan.config.servers:
        await connected(studio, name, out)
    server = out.server = plan.server or owner(studio, plan.name, "read")
    uri, what = plan.name, Given(Ref("resource", server, plan.name), Form(), {})
    filled = plan.pairs or options.value("--args") or options.flag("--last")
    if filled or (plan.saved and plan.saved.ref.kind == "template"):
        form = template_fields(plan.name)
        what = await given(studio, plan, options, out, asker, form, Ref("template", server, plan.name))
        refuse_wrong((), what.arguments, plan.name, what.unread)
        uri = expanded(plan.name, form, what.arguments)
    save(studio, options, what, out)
    call = what.begun(studio, studio.read_resource(server, uri, fresh=options.flag("--fresh")))
    return end(await outcome_of(call, out), out, asker, resource_text, options.value("--output"))
