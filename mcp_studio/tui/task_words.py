"""Tasks in words and signs. Pure functions."""

from __future__ import annotations

import time
from collections.abc import Mapping

from mcp_studio.jsontext import printable
from mcp_studio.present import units
from mcp_studio.protocol.core import progress_text
from mcp_studio.protocol.tasks import Support
from mcp_studio.safetext import safe
from mcp_studio.session.tasks import Task
from mcp_studio.tui.views.glyphs import glyphs

Part = str | tuple[str, str]

_SIGNS: Mapping[str, tuple[str, str]] = {
    "working": ("half", "warn"), "input_required": ("waiting", "warn"), "completed": ("ok", "ok"),
    "failed": ("bad", "bad"), "cancelled": ("off", "dim"), "gone": ("bad", "dim"),
}  # fmt: skip
_LOOKS = {"warn": "$state-busy", "ok": "$state-ready", "bad": "b $state-failed", "dim": "$quiet"}
_STEPS = 40
_JSON = 4_000
_BAR = 10


def state(task: Task) -> str:
    """Its state; one of which nothing more will be heard is `gone`."""
    return "gone" if task.gone else task.status


def sign(task: Task) -> tuple[str, str]:
    """The sign of its state, and the look of that."""
    name, look = _SIGNS[state(task)]
    return str(getattr(glyphs(), name)), look


def age(seconds: float) -> str:
    """An age in at most four characters: `12s`, `5m`, `3h`, `2d`."""
    for unit, size in (("s", 60), ("m", 60), ("h", 48)):
        if seconds < size:
            return f"{seconds:.0f}{unit}"
        seconds /= 24 if unit == "h" else 60
    return f"{min(seconds, 999):.0f}d"


def words(task: Task) -> str:
    """What is most worth knowing of it, in a line."""
    if task.asking:
        return "waits for your answer (F4)"
    return safe(task.gone or task.message, 300)


def why_no_switch(support: Support) -> str:
    """Why the open entry cannot be switched to run as a task, or not to."""
    match support:
        case "required":
            return "This tool always runs as a task."
        case "server":
            return "In this version of the protocol the server decides whether a call becomes a task."
        case _:
            return "What is open cannot be run as a task."


def switch_line(support: Support, on: bool, key: str) -> str:
    """What the call pane says about running the open tool as a task; empty where it has nothing to say."""
    if support == "required":
        return "Runs as a task."
    if support == "optional":
        return f"{'Runs as a task' if on else 'Can run as a task'} {glyphs().dot} {key} switches"
    return ""


def running(task: Task, seconds: float, leave: str) -> list[Part]:
    """The first line of the result pane while a call waits for its task."""
    dot = glyphs().dot
    mark, look = sign(task)
    parts: list[Part] = [(f"{mark} task {state(task)} ", _LOOKS[look]), f"{seconds:.1f} s"]
    if said := words(task):
        parts.append(f" {dot} {said[:120]}")
    return [*parts, (f" {dot} esc cancels {dot} {leave} background", "$quiet")]


def details(task: Task) -> list[Part]:
    """Everything about it."""
    mark, look = sign(task)
    parts: list[Part] = [(f"{mark} {state(task)}", _LOOKS[look]), f"  {words(task)}\n"]
    if not task.followed and not task.done:
        parts.append(("It is on the server's list, but not asked for by itself; r asks.\n", "$quiet"))
    parts.append("\n")
    parts += [f"  {name:<9} {value}\n" for name, value in _facts(task)]
    if task.problems:
        parts.append(("\nWhat the server does wrong\n", "b $accent"))
        parts += [(f"  {safe(problem, 300)}\n", "$text-warning") for problem in task.problems]
    if task.steps:
        parts.append(("\nTimeline\n", "b $accent"))
    for step in task.steps[-_STEPS:]:
        at = age(max(0.0, step.at - task.started))
        parts += [(f"  {at:>5}  ", "$quiet"), f"{safe(step.status, 20):<15} {safe(step.message, 300)}\n"]
    if task.arguments:
        parts += [("\nArguments\n", "b $accent"), safe(printable(task.arguments), _JSON, lines=True), "\n"]
    return [*parts, *_ending(task)]


def _facts(task: Task) -> list[tuple[str, str]]:
    facts: list[tuple[str, str]] = [("for", safe(task.subject, 200)), ("id", safe(task.id, 200))]
    facts.append(("kind", "core, 2025-11-25" if task.kind == "core" else "extension, 2026-07-28"))
    facts.append(("age", age(time.time() - task.started)))
    if task.seen:
        facts.append(("heard", f"{age(time.time() - task.seen)} ago"))
    left = None if task.expires is None else task.expires - time.time()
    kept = "without end" if left is None else f"for {age(left)} more" if left > 0 else "no longer: its time is over"
    if not task.gone:
        facts.append(("kept", kept))
    if task.poll and not task.done:
        facts.append(("polled", f"every {units.duration(task.poll * 1000)}, as the server wishes"))
    return facts


def _ending(task: Task) -> list[Part]:
    if task.error is not None:
        data = "" if task.error.data is None else "\n" + safe(printable(task.error.data), _JSON, lines=True)
        return [("\nError\n", "b $accent"), f"  {task.error.code} {safe(task.error.message, 600)}{data}\n"]
    if task.has_result:
        return [("\nResult\n", "b $accent"), safe(printable(task.result), _JSON, lines=True), "\n"]
    return []


def progress(done: float, total: float | None, message: str) -> str:
    """How far something is: a bar where there is a total, the numbers, and what the server says of it."""
    words = f"{progress_text(done, total)} {safe(message, 120)}".rstrip()
    if not total or total <= 0:
        return words
    share = min(1.0, max(0.0, done / total))
    full = round(share * _BAR)
    return f"{glyphs().full * full}{glyphs().void * (_BAR - full)} {share:.0%} {words}"
