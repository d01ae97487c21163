"""`call`, `get`, `read` and `complete`: use one tool, prompt, resource or template. `tasks`: show and control calls
that run as tasks.
"""

from __future__ import annotations

import asyncio
import time

from mcp_studio.call.call import Call, CallOutcome, Cancelled, TimedOut
from mcp_studio.call.policy import tool_of
from mcp_studio.catalog.listing import Ref, doubts_of
from mcp_studio.cli.call_arguments import Intent, Plan, expanded, intent_of, located, plan_of, template_form
from mcp_studio.cli.engine import Narration, connected, end, execute, outcome_of
from mcp_studio.cli.grammar import VERBS
from mcp_studio.cli.targets import configured, of_server
from mcp_studio.cli.terminal import Output
from mcp_studio.cli.verbs import load
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.present import blocks, units
from mcp_studio.protocol.tasks import support_of
from mcp_studio.protocol.views import ToolView
from mcp_studio.schema.field import Form
from mcp_studio.session.connection import Limit, limit_of
from mcp_studio.session.state import at_most
from mcp_studio.session.tasks import Task
from mcp_studio.studio import Studio


def run(out: Output) -> int:
    """Run one of these verbs. Returns the exit code."""
    options, config = out.options, configured(out)
    if options.flag("--from"):
        load("variants").take_pasted(options, config)
    plan = plan_of(options, config)
    verb = plan.saved.verb if plan.saved else options.verb
    if verb == "complete" and not plan.pairs:
        raise UsageError("Which argument?", hint="mcp-studio complete SERVER.PROMPT ARGUMENT=START")
    if options.flag("--repeat"):
        if verb != "call":
            raise UsageError("--repeat is for tools; this saved call is of something else.")
        load("variants").counts(options)
    if verb == "read":
        template_form(plan.name)  # fails if it is a template that cannot be used
    out.server = plan.server
    work = {"call": _call, "get": _get, "read": _read, "complete": _complete}[verb]
    return execute(plan.config, out, lambda studio: work(studio, plan, out))


async def _call(studio: Studio, plan: Plan, out: Output) -> int:
    if plan.on:
        return await load("variants").on_many(studio, plan, out)
    options, ref = out.options, await located(studio, plan, out, "tool")
    found = studio.catalog.find(ref)
    if problem := found[0].problem_with(doubts_of(studio.catalog.listing(ref.server, "tool").entries)) if found else "":
        out.warn(f"{ref}: {problem}")
        out.more["problem"] = studio.redactor.text(problem)
    intent = await intent_of(studio, plan, out, ref)
    if options.flag("--as"):
        return load("variants").copied(studio, intent, "", out)
    if not options.flag("--unchecked"):
        await intent.check(studio)
    as_task = _is_task(studio, ref, tool_of(found), out)
    intent.save(studio, out)
    if options.flag("--repeat"):
        return await load("variants").repeat(studio, intent, out, as_task)
    call = studio.call_tool(
        ref, intent.arguments, approved=options.flag("--yes"), wants_task=as_task, ttl=options.seconds("--ttl"),
        failover=options.flag("--failover"), parts=True,
    )  # fmt: skip
    intent.begun(studio, call)
    if options.flag("--detach"):
        call.changed.connect(_leave)
    return end(await outcome_of(call, out), out)


async def _get(studio: Studio, plan: Plan, out: Output) -> int:
    ref = await located(studio, plan, out, "prompt")
    intent = await intent_of(studio, plan, out, ref)
    if out.options.flag("--as"):
        return load("variants").copied(studio, intent, "", out)
    await intent.check(studio)
    intent.save(studio, out)
    call = intent.begun(studio, studio.get_prompt(ref, intent.texts, parts=True))
    return end(await outcome_of(call, out), out, blocks.messages_text)


async def _read(studio: Studio, plan: Plan, out: Output) -> int:
    options, form = out.options, template_form(plan.name)
    server = (await located(studio, plan, out, "resource")).server
    if form is None:
        if plan.pairs or options.value("--args") or options.flag("--last"):
            raise UsageError(f"{plan.name} is no URI template: it takes no values.")
        uri, intent = plan.name, Intent(Ref("resource", server, plan.name), Form(), {})
    else:
        intent = await intent_of(studio, plan, out, Ref("template", server, plan.name), form)
        uri = expanded(plan.name, form, intent.arguments)
    if options.flag("--as"):
        return load("variants").copied(studio, intent, uri, out)
    intent.save(studio, out)
    call = intent.begun(studio, studio.read_resource(server, uri, fresh=options.flag("--no-cache"), parts=True))
    return end(await outcome_of(call, out), out, blocks.resource_text)


async def _complete(studio: Studio, plan: Plan, out: Output) -> int:
    ref = await located(studio, plan, out, "prompt", "template")
    argument, _, start = plan.pairs[0].partition("=")
    known = dict((name, value) for name, _, value in (pair.partition("=") for pair in plan.pairs[1:]))
    found = await studio.caller.complete(ref, argument, start, known)
    if not found.declared:
        out.warn(f"{ref.server} declares no completions, so it was not asked")
    out.data(*found.values)
    if found.count:
        out.note(f"{found.count} values")
    return out.done({"values": list(found.values), "total": found.total, "hasMore": found.has_more})


def _is_task(studio: Studio, ref: Ref, view: ToolView | None, out: Output) -> bool:
    """Return whether to make the call as a task. Warns if another command may not find a detached one.

    Raises:
        UsageError: the server does not allow it.
    """
    options = out.options
    if not (options.flag("--task") or options.flag("--detach") or options.flag("--ttl")):
        return False
    status = studio.manager.status(ref.server)
    support = support_of(view.raw if view else None, status.version, status.capabilities)
    if not support:
        raise UsageError(f"{ref} cannot be called as a task: its server does not offer that.")
    if options.flag("--detach") and (support != "server" or studio.manager.config(ref.server).kind == "stdio"):
        out.warn(f"Another command may not find the task at {ref.server}; `mcp-studio shell` keeps one session.")
    return True


def _leave(call: Call) -> None:
    """Stop waiting for the call once it has become a task."""
    if call.as_task is not None and not call.let_go and not call.as_task.done:
        call.leave()


# Tasks

_PATIENCE = 5.0
"""Seconds to wait until a cancelled task ends."""


def tasks(out: Output) -> int:
    """List, show, wait for or cancel tasks; returns the exit code."""
    named = out.options.words[:1]
    action = named[0] if {*named} & {*VERBS["tasks"].words} else "list"
    chosen, server, words = of_server(out, int(action != "list"), skip=int([action] == named))
    if action == "list":
        return execute(chosen, out, lambda studio: _list_tasks(studio, server, out))
    if not words or not server:
        what = "server" if words else "task"
        raise UsageError(f"Which {what}?", hint=f"mcp-studio tasks {action} SERVER TASK")
    return execute(chosen, out, lambda studio: _task(studio, server, action, words[0], out))


async def _task(studio: Studio, server: str, action: str, identity: str, out: Output) -> int:
    await connected(studio, server, out)
    task = studio.tasks.adopt(server, identity)
    if action == "cancel":
        return await _cancel_task(studio, task, out)
    studio.tasks.poll(*task.key)
    if action == "get":
        return _show_task(await studio.tasks.until(*task.key, lambda task: task.seen > 0 or task.done), out)
    narration = Narration(out)

    def changed(one: Task) -> None:
        if action == "watch" and one.key == task.key:
            narration.tell(f"{one.status} {one.gone or one.message}".rstrip())

    disconnect = studio.tasks.changed.connect(changed)
    try:
        outcome = await _task_outcome(studio, task, out)
    finally:
        disconnect()
        narration.end()
    return end(outcome, out)


async def _task_outcome(studio: Studio, task: Task, out: Output) -> CallOutcome:
    """Wait for a task as for a call. If the wait ends first, the task goes on at the server."""
    limit = studio.config.settings.limits.call_total
    total = limit_of("total", Limit(limit, "limits.call_total"), studio.manager.config(task.server).timeouts)
    waiting = asyncio.ensure_future(studio.tasks.until(*task.key, lambda task: task.done))
    out.asker.unless_answered(waiting.cancel)
    try:
        await asyncio.wait((waiting,), timeout=total.seconds)
    finally:
        ended = waiting.done()
        waiting.cancel()
    if not ended:
        return TimedOut(limit=f"{total}; the task goes on at the server")
    return Cancelled() if waiting.cancelled() else studio.caller.outcome_of_task(waiting.result())


async def _list_tasks(studio: Studio, server: str, out: Output) -> int:
    for name in studio.manager.names():
        try:
            await connected(studio, name, out)
            await studio.tasks.refresh(name)
        except StudioError as error:
            if server:
                raise
            out.warn(f"{name}: {error.message}")
    tasks = studio.tasks.all(server)
    return out.listing([_task_row(task) for task in tasks], [task.as_json() for task in tasks], empty="no tasks")


async def _cancel_task(studio: Studio, task: Task, out: Output) -> int:
    await studio.tasks.cancel(*task.key)
    await at_most(_PATIENCE, studio.tasks.until(*task.key, lambda one: one.ended or bool(one.gone)))
    now = studio.tasks.get(*task.key) or task
    if not (now.ended or now.gone):
        out.note("the server has taken note of it; the task goes on for now")
    return _show_task(now, out, gone=True)


def _show_task(task: Task, out: Output, *, gone: bool = False) -> int:
    """Print a task's state. A task that is gone is an error, unless it was cancelled."""
    out.warn(*task.problems)
    if task.gone and not gone:
        return out.fail(StudioError(task.gone), {"task": task.as_json()})
    out.table([(name, "" if value is None else str(value)) for name, value in task.as_json().items()])
    return out.done(task.as_json())


def _task_row(task: Task) -> tuple[str, ...]:
    age = units.seconds(time.time() - task.started)
    name = task.ref.name if task.ref else "-"
    return task.server, task.id, "gone" if task.gone else task.status, age, name, task.gone or task.message
