"""`read`: read a resource, or fill a template and read that."""

from __future__ import annotations

from dataclasses import replace

from mcp_studio.catalog.listing import Ref
from mcp_studio.cli.arguments import expanded, owner, refuse_wrong, template_form, template_pairs
from mcp_studio.cli.asking import Asker
from mcp_studio.cli.call_arguments import Given, given, save
from mcp_studio.cli.engine import connected, execute, outcome_of
from mcp_studio.cli.options import Options
from mcp_studio.cli.outcome import check_file, end, resource_text
from mcp_studio.cli.output import Output
from mcp_studio.cli.plan import Plan
from mcp_studio.errors import UsageError
from mcp_studio.schema.field import Form
from mcp_studio.studio import Studio


def run(plan: Plan, options: Options, out: Output) -> int:
    """Read, and return the exit code."""
    asker = Asker(options.values("--answer"))
    check_file(options)
    if (form := template_form(plan.name)) is not None:
        plan = replace(plan, pairs=template_pairs(plan.pairs))
    return execute(plan, out, lambda studio: _read(studio, plan, options, out, asker, form), asker=asker)


async def _read(studio: Studio, plan: Plan, options: Options, out: Output, asker: Asker, form: Form | None) -> int:
    for name in plan.config.servers:
        await connected(studio, name, out)
    server = out.server = plan.server or owner(studio, plan.name, "read")
    uri, what = plan.name, Given(Ref("resource", server, plan.name), Form(), {})
    if form is None and (plan.pairs or options.value("--args") or options.flag("--last")):
        raise UsageError(f"{plan.name} is no URI template: it takes no values.")
    if form is not None:
        what = await given(studio, plan, options, out, asker, form, Ref("template", server, plan.name))
        refuse_wrong((), what.arguments, plan.name, what.unread)
        uri = expanded(plan.name, form, what.arguments)
    save(studio, options, what, out)
    call = what.begun(studio, studio.read_resource(server, uri, fresh=options.flag("--fresh")))
    return end(await outcome_of(call, out), out, asker, resource_text, options.value("--output"))
