"""`call --repeat`: the same call many times, and the figures of that."""

from __future__ import annotations

import asyncio
import time
from functools import partial

from mcp_studio.call.load import MOST, MOST_AT_ONCE, Load, consent, remembered
from mcp_studio.cli.call_arguments import Intent
from mcp_studio.cli.options import Options
from mcp_studio.cli.outcome import ToolError, end
from mcp_studio.cli.output import Output
from mcp_studio.errors import StudioError
from mcp_studio.studio import Studio

_INTERRUPTED = 130
_TOLD = 0.1
"""Seconds between two lines about how far it is."""
_SHOWN = 10


def counts(options: Options) -> tuple[int, int]:
    """How many calls, and how many of them at once.

    Raises:
        UsageError: one of the numbers is none, or too large.
    """
    return options.count("--repeat", MOST) or 1, options.count("--concurrency", MOST_AT_ONCE) or 1


async def run(studio: Studio, intent: Intent, out: Output, task: bool) -> int:
    """Make the calls and print how they went.

    Returns:
        0 where all calls were a success, 5 where tools failed and nothing worse happened, 130 where it was
        interrupted, 6 where it was not approved, else 1.
    """
    options, (total, at_once) = out.options, counts(out.options)
    ref, arguments = intent.ref, intent.arguments
    denied = await consent(
        studio.inbox.ask, ref, studio.catalog.find(ref), arguments, total, at_once,
        trusted=studio.manager.config(ref.server).trust, rules=studio.config.settings.policy,
        approved=options.flag("--yes"),
    )  # fmt: skip
    if denied is not None:
        return end(denied, out)
    ttl = options.seconds("--ttl")
    load = Load(partial(studio.call_tool, ref, arguments, approved=True, task=task, ttl=ttl), total, at_once)
    began = time.time()
    interrupted = await _watched(load, out)
    studio.memory.history.put(remembered(load, ref, arguments, began, "command line"), intent.secrets)
    return _end(load, out, interrupted)


async def _watched(load: Load, out: Output) -> bool:
    """Run it and tell how far it is; whether somebody interrupted it."""
    running = asyncio.ensure_future(load.run())
    try:
        while not running.done():
            await asyncio.wait((running,), timeout=_TOLD)
            out.passing(load.line())
        running.result()
    except asyncio.CancelledError:
        load.stop("interrupted")
        await asyncio.wait((running,))
        if (task := asyncio.current_task()) is not None:
            task.uncancel()
        return True
    finally:
        out.passing("")
    return False


def _end(load: Load, out: Output, interrupted: bool) -> int:
    out.ms = load.seconds * 1000
    for problem in load.problems:
        out.warn(problem)
    if refused := out.asker.refused:
        what = "One question" if len(refused) == 1 else f"{len(refused):,} questions"
        out.warn(f"{what} had no answer: {refused[0].error.message}")
    figures = load.figures()
    out.data(_text(load))
    if interrupted:
        out.note("interrupted")
        if out.json:
            error = {"kind": "interrupted", "message": "Interrupted.", "result": figures}
            out.envelope({"ok": False, "error": error})
        return _INTERRUPTED
    if not load.wrong and not load.why:
        return out.done(figures)
    out.flush()
    words = f"{load.wrong:,} of {load.done:,} calls failed"
    words += f"; it ended early: {load.why}" if load.why else ""
    only_tools = load.wrong == load.outcomes["tool error"] and not load.why
    return out.fail(ToolError(f"{words}.") if only_tools else StudioError(f"{words}."), {"result": figures})


def _text(load: Load) -> str:
    """The figures as lines."""
    times = load.durations
    lines = [f"{load.done:,} calls, {load.at_once:,} at once, in {load.seconds:.2f} s: {load.rate:,.1f} a second", ""]
    lines += [f"  {name:<12}{count:>12,}" for name, count in load.outcomes.most_common()]
    lines.append(f"  {'bytes':<12}{load.bytes:>12,}")
    if times.count:
        p50, p95, p99 = times.percentiles(0.5, 0.95, 0.99)
        named = {"p50": p50, "p95": p95, "p99": p99, "min": times.least, "mean": times.mean, "max": times.most}
        lines += ["", *(f"  {name:<12}{value:>12,.2f} ms" for name, value in named.items() if value is not None)]
    if load.errors:
        lines += ["", *(f"  {count:>8,}x  {text}" for count, text in load.errors[:_SHOWN])]
    if len(load.errors) > _SHOWN:
        lines.append(f"  and {len(load.errors) - _SHOWN:,} more")
    return "\n".join(lines)
