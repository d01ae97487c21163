"""`tasks`: the tasks of servers, and what becomes of them."""

from __future__ import annotations

import asyncio
import time

from mcp_studio.call.call import CallOutcome, Cancelled, TimedOut
from mcp_studio.cli.engine import Narration, connected, end, execute
from mcp_studio.cli.grammar import VERBS
from mcp_studio.cli.targets import of_server
from mcp_studio.cli.terminal import Output
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.session.connection import Limit, limit_of
from mcp_studio.session.tasks import Task
from mcp_studio.studio import Studio

_PATIENCE = 5.0
"""Seconds that a task may take to be heard of, or to end once it is cancelled."""


def run(out: Output) -> int:
    """Do it, and return the exit code."""
    named = out.options.words[:1]
    action = named[0] if {*named} & {*VERBS["tasks"].words} else "list"
    chosen, server, words = of_server(out, int(action != "list"), skip=int([action] == named))
    if action == "list":
        return execute(chosen, out, lambda studio: _list(studio, server, out))
    if not words or not server:
        what = "server" if words else "task"
        raise UsageError(f"Which {what}?", hint=f"mcp-studio tasks {action} SERVER TASK")
    return execute(chosen, out, lambda studio: _one(studio, server, action, words[0], out))


async def _one(studio: Studio, server: str, action: str, identity: str, out: Output) -> int:
    await connected(studio, server, out)
    task = studio.tasks.adopt(server, identity)
    if action == "cancel":
        return await _cancel(studio, task, out)
    studio.tasks.poll(*task.key)
    if action == "get":
        return _show(await studio.tasks.until(*task.key, lambda task: task.seen > 0 or task.done), out)
    narration = Narration(out)

    def changed(one: Task) -> None:
        if action == "watch" and one.key == task.key:
            narration.tell(f"{one.status} {one.gone or one.message}".rstrip())

    disconnect = studio.tasks.changed.connect(changed)
    try:
        outcome = await _outcome(studio, task, out)
    finally:
        disconnect()
        narration.end()
    return end(outcome, out)


async def _outcome(studio: Studio, task: Task, out: Output) -> CallOutcome:
    """What becomes of a task, waited for as for a call; it goes on at the server where nobody waits any more."""
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


async def _list(studio: Studio, server: str, out: Output) -> int:
    for name in studio.manager.names():
        try:
            await connected(studio, name, out)
            await studio.tasks.refresh(name)
        except StudioError as error:
            if server:
                raise
            out.warn(f"{name}: {error.message}")
    tasks = studio.tasks.all(server)
    return out.listing([_row(task) for task in tasks], [task.as_json() for task in tasks], empty="no tasks")


async def _cancel(studio: Studio, task: Task, out: Output) -> int:
    await studio.tasks.cancel(*task.key)
    try:
        async with asyncio.timeout(_PATIENCE):
            await studio.tasks.until(*task.key, lambda one: one.ended or bool(one.gone))
    except TimeoutError:
        out.note("the server has taken note of it; the task goes on for now")
    return _show(studio.tasks.get(*task.key) or task, out, gone=True)


def _show(task: Task, out: Output, *, gone: bool = False) -> int:
    """Print how a task is; one that is gone is a failure, unless it was meant to go."""
    out.warn(*task.problems)
    if task.gone and not gone:
        return out.fail(StudioError(task.gone), {"task": task.as_json()})
    out.table([(name, "" if value is None else str(value)) for name, value in task.as_json().items()])
    return out.done(task.as_json())


def _row(task: Task) -> tuple[str, ...]:
    age = f"{max(0.0, time.time() - task.started):.0f} s"
    name = task.ref.name if task.ref else "-"
    return task.server, task.id, "gone" if task.gone else task.status, age, name, task.gone or task.message
