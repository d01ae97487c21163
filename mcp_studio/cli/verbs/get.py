"""`get`: get a prompt and print its messages."""

from __future__ import annotations

from mcp_studio.cli.arguments import refuse_wrong, texts
from mcp_studio.cli.asking import Asker
from mcp_studio.cli.call_arguments import given, save
from mcp_studio.cli.engine import execute, located, outcome_of
from mcp_studio.cli.options import Options
from mcp_studio.cli.outcome import check_file, end, messages_text
from mcp_studio.cli.output import Output
from mcp_studio.cli.plan import Plan
from mcp_studio.protocol.views import PromptView
from mcp_studio.schema.check import quick
from mcp_studio.schema.field import Form
from mcp_studio.schema.form import prompt_fields
from mcp_studio.studio import Studio


def run(plan: Plan, options: Options, out: Output) -> int:
    """Get, and return the exit code."""
    out.server = plan.server
    asker = Asker(options.values("--answer"))
    check_file(options)
    return execute(plan, out, lambda studio: _get(studio, plan, options, out, asker), asker=asker)


async def _get(studio: Studio, plan: Plan, options: Options, out: Output, asker: Asker) -> int:
    ref = await located(studio, plan, out, "prompt", verb="get")
    found = studio.catalog.find(ref)
    view = found[0].view if found else None
    form = prompt_fields(list(view.arguments)) if isinstance(view, PromptView) else Form(whole=True)
    what = await given(studio, plan, options, out, asker, form, ref)
    refuse_wrong(quick(form, what.arguments), what.arguments, str(ref), what.unread)
    save(studio, options, what, out)
    call = what.begun(studio, studio.get_prompt(ref, texts(what.arguments)))
    return end(await outcome_of(call, out), out, asker, messages_text, options.value("--output"))
