"""`call --repeat` and `call --on`: the same call many times, or on several servers, with its outcomes compared."""

from __future__ import annotations

import asyncio
import time
from functools import partial

from mcp_studio.call.call import OUTCOMES, Succeeded, said_of
from mcp_studio.call.load import MOST, MOST_AT_ONCE, Load, past_of_load
from mcp_studio.catalog.listing import Ref
from mcp_studio.cli.call_arguments import Intent, Plan, form_of, intent_of
from mcp_studio.cli.engine import connect_all, end
from mcp_studio.cli.options import Options
from mcp_studio.cli.terminal import Output
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.present import outcomes, units
from mcp_studio.present.differences import difference_line
from mcp_studio.studio import Studio
from mcp_studio.trace.diff import diff

_TOLD = 1.0
"""Seconds between two progress lines."""


async def on_many(studio: Studio, plan: Plan, out: Output) -> int:
    """Make the same call on several servers at once. Prints each result compared with the first, and failed servers."""
    options, failed = out.options, await connect_all(studio, out)
    not_called = {name: ("unreachable", studio.redactor.text(error.message)) for name, error in failed.items()}
    refs: list[Ref] = []
    for ref in (Ref("tool", name, plan.name) for name in plan.on if name not in failed):
        if studio.catalog.find(ref):
            refs.append(ref)
        elif options.value("--on") != "all":
            not_called[ref.server] = ("no such tool", studio.catalog.missing(ref).message)
    if not refs:
        raise next(iter(failed.values()), UsageError(f"None of {', '.join(plan.on)} has the tool {plan.name}."))
    first = await intent_of(studio, plan, out, refs[0])
    intents = [first._replace(ref=ref, form=form_of(studio, ref)) for ref in refs]
    for intent in () if options.flag("--unchecked") else intents:
        await intent.check(studio)
    begin = partial(studio.call_tool, approved=options.flag("--yes"), stays=True)
    calls = [one.begun(studio, begin(one.ref, one.arguments)) for one in intents]
    ends = await asyncio.gather(*(call.wait() for call in calls))
    base = getattr(ends[0], "result", None)
    rows, facts = list[tuple[str, ...]](), list[Json]()
    for ref, outcome in zip(refs, ends, strict=True):
        result = getattr(outcome, "result", None)
        found = [difference_line(one) for one in diff(base, result)]
        beside = "" if ref is refs[0] else units.plural(len(found), "difference") if found else "the same"
        rows.append((ref.server, OUTCOMES[type(outcome)], f"{outcome.ms:,.1f} ms", beside or said_of(outcome)))
        rows += [("", "", "", line) for line in found]
        facts.append({"server": ref.server, "outcome": OUTCOMES[type(outcome)], "ms": round(outcome.ms, 1),
                      "said": said_of(outcome) or None, "result": result, "differences": [*found]})  # fmt: skip
    for name, (outcome, said) in not_called.items():
        rows.append((name, outcome, "", said))
        facts.append({"server": name, "outcome": outcome, "ms": None, "said": said, "result": None, "differences": []})
    out.table(rows)
    if wrong := len(not_called) + sum(not isinstance(one, Succeeded) for one in ends):
        return out.fail(StudioError(f"{wrong} of the calls failed."), {"result": facts})
    return out.done(facts)


def counts(options: Options) -> tuple[int, int]:
    """Return how many calls to make, and how many of them at a time."""
    return options.count("--repeat", MOST) or 1, options.count("--concurrency", MOST_AT_ONCE) or 1


async def repeat(studio: Studio, intent: Intent, out: Output, task: bool) -> int:
    """Make the calls and print the statistics.

    Returns:
        0 if all succeeded, 5 if the worst were failures of tools, 130 if interrupted, 6 if not approved, otherwise 1.
    """
    options, ref, arguments = out.options, intent.ref, intent.arguments
    total, at_once = counts(options)
    denied = await studio.caller.consent(ref, arguments, total, at_once, approved=options.flag("--yes"))
    if denied is not None:
        return end(denied, out)
    ttl = options.seconds("--ttl")
    load = Load(partial(studio.call_tool, ref, arguments, approved=True, wants_task=task, ttl=ttl), total, at_once)
    began = time.time()
    interrupted = await _watched(load, out)
    studio.memory.history.put(past_of_load(load, ref, arguments, began, "command line"), intent.secrets)
    return _ended(load, out, interrupted)


async def _watched(load: Load, out: Output) -> bool:
    """Run the calls and print the progress. Returns whether somebody interrupted them."""
    running = asyncio.ensure_future(load.run())
    try:
        while not (await asyncio.wait((running,), timeout=_TOLD))[0]:
            out.note(f"  {load.line()}")
        running.result()
    except asyncio.CancelledError:
        load.stop("interrupted")
        await asyncio.wait((running,))
        if (task := asyncio.current_task()) is not None:
            task.uncancel()
        return True
    return False


def _ended(load: Load, out: Output, interrupted: bool) -> int:
    out.ms = load.seconds * 1000
    out.warn(*load.problems)
    if refused := out.asker.refused:
        out.warn(f"{units.plural(len(refused), 'question')} had no answer: {refused[0].message}")
    figures = load.figures()
    out.data(_text(load, figures))
    if interrupted:
        return out.interrupted(result=figures)
    if not load.wrong and not load.why:
        return out.done(figures)
    words = f"{load.wrong:,} of {load.done:,} calls failed{f'; it ended early: {load.why}' if load.why else ''}."
    only_tools = load.wrong == load.outcomes["tool error"] and not load.why
    return out.fail((outcomes.ToolError if only_tools else StudioError)(words), {"result": figures})


def _text(load: Load, figures: dict[str, Json]) -> str:
    """The figures as lines."""
    lines = [f"{load.done:,} calls, {load.at_once:,} at once, in {load.seconds:.2f} s: {load.rate:,.1f} a second", ""]
    lines += [f"  {name:<12}{count:>12,}" for name, count in [*load.outcomes.most_common(), ("bytes", load.bytes)]]
    if load.durations.count:
        lines += ["", *(f"  {name:<12}{ms:>12,.2f} ms" for name, ms in figures["ms"].items())]
    return "\n".join([*lines, "", *(f"  {count:>8,}x  {text}" for count, text in load.errors)]).rstrip()
