"""`call`: call a tool and print its result."""

from __future__ import annotations

from dataclasses import replace

from mcp_studio.call.call import Call
from mcp_studio.catalog.listing import Ref, doubts_of
from mcp_studio.cli import late
from mcp_studio.cli.arguments import refuse_wrong
from mcp_studio.cli.asking import Asker
from mcp_studio.cli.call_arguments import given, save
from mcp_studio.cli.engine import execute, located, outcome_of
from mcp_studio.cli.options import Options
from mcp_studio.cli.outcome import check_file, end, result_text
from mcp_studio.cli.output import Output, problem_of
from mcp_studio.cli.plan import Plan
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json
from mcp_studio.protocol.tasks import support_of
from mcp_studio.protocol.views import ToolView
from mcp_studio.schema.check import quick
from mcp_studio.schema.field import AS_JSON, Field, Form, Number, SchemaProblem, Text
from mcp_studio.schema.form import build
from mcp_studio.studio import Studio


def run(plan: Plan, options: Options, out: Output) -> int:
    """Call, and return the exit code."""
    if options.value("--concurrency") and not options.value("--repeat"):
        raise UsageError("--concurrency is for --repeat.")
    if options.value("--repeat") and options.flag("--detach"):
        raise UsageError("--repeat waits for every answer, and --detach for none: one of them only.")
    if options.flag("--output") and (options.value("--repeat") or options.flag("--detach")):
        raise UsageError("--output is for one result, and --repeat and --detach print none.")
    if options.flag("--repeat"):
        late.counts(options)  # wrong ones are told before anything is started
    if options.flag("--detach"):  # a task of 2025-11-25 lives in the HTTP session, and ends with that
        servers = {name: replace(server, keep_session=True) for name, server in plan.config.servers.items()}
        plan = replace(plan, config=replace(plan.config, servers=servers))
    out.server = plan.server
    asker = Asker(options.values("--answer"))
    check_file(options)
    return execute(plan, out, lambda studio: _call(studio, plan, options, out, asker), asker=asker)


async def _call(studio: Studio, plan: Plan, options: Options, out: Output, asker: Asker) -> int:
    ref = await located(studio, plan, out, "tool")
    found = studio.catalog.find(ref)
    doubts = doubts_of(studio.catalog.listing(ref.server, "tool").entries)
    out.problem = problem_of(found[0], doubts) if found else ""
    if out.problem:
        out.warn(f"{ref}: {out.problem}")
    if found and found[0].change:
        out.note("the studio shows how it differs from what you saw last, and takes it as seen")
    view = found[0].view if found else None
    form = build(view.input_schema if isinstance(view, ToolView) else {"type": "object"})
    what = await given(studio, plan, options, out, asker, form, ref)
    arguments = what.arguments
    checked = not options.flag("--unchecked")
    refuse_wrong(await _wrong(studio, form, arguments) if checked else (), arguments, str(ref), what.unread)
    wish = _task_wish(studio, ref, view, options, out)
    save(studio, options, what, out)
    if options.value("--repeat"):
        return await late.run_load(studio, what, options, out, asker, wish)
    call = studio.call_tool(ref, arguments, approved=options.flag("--yes"), task=wish, ttl=options.duration("--ttl"))
    what.begun(studio, call)
    if options.flag("--detach"):
        call.changed.connect(_leave)
    return end(await outcome_of(call, out), out, asker, result_text, options.value("--output"))


def _task_wish(studio: Studio, ref: Ref, view: object, options: Options, out: Output) -> bool:
    """Whether the call is to be a task.

    Raises:
        UsageError: it cannot be one.
    """
    if not (options.flag("--task") or options.flag("--detach") or options.value("--ttl")):
        return False
    status = studio.manager.status(ref.server)
    support = support_of(view.raw if isinstance(view, ToolView) else None, status.version, status.capabilities)
    if not support:
        raise UsageError(f"{ref} cannot be called as a task: its server does not offer that.")
    if support == "server" and options.flag("--task"):
        out.note("In this version of the protocol the server decides whether a call becomes a task.")
    kind = studio.manager.config(ref.server).kind if options.flag("--detach") else ""
    if kind == "stdio":
        out.warn(f"{ref.server} ends with this command; whether it knows the task afterwards is its own affair.")
    elif kind == "http" and support != "server" and out.shell is not None:
        out.warn(f"The task lives in the HTTP session that this shell has with {ref.server}, and may end with it.")
    elif kind == "http" and support != "server":
        out.warn(
            f"The task lives in an HTTP session of {ref.server}, which is left open. Another command has another "
            "session: `mcp-studio tasks` finds the task only where the server knows it there, too; "
            "`mcp-studio shell` keeps one session for all that you type."
        )
    return True


def _leave(call: Call) -> None:
    """Let go of a task as soon as there is one."""
    if call.as_task is not None and not call.let_go and not call.as_task.done:
        call.leave()


async def _wrong(studio: Studio, form: Form, arguments: dict[str, Json]) -> tuple[SchemaProblem, ...]:
    """What is wrong with arguments; the whole schema is asked, which takes a process, where the fields know less."""
    found = quick(form, arguments)
    if not isinstance(form.schema, dict) or not (
        form.schema.keys() & _RULES or any(_hides_more(form.field(name)) for name in arguments)
    ):
        return found
    return (*found, *await studio.check(form.schema, arguments))


_RULES = frozenset(("allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "dependentRequired", "dependencies"))
"""Keywords by which a schema says more of its arguments than their fields do."""


def _hides_more(field: Field | None) -> bool:
    """Whether a value can be wrong in ways that its field alone does not tell."""
    if isinstance(field, Text):
        return bool(field.pattern)
    return field is None or isinstance(field, AS_JSON) or (isinstance(field, Number) and bool(field.multiple_of))
