"""What can be done instead of one plain call: `--repeat`, `--on`, `--as`, `--from`."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from functools import partial
from typing import cast

from mcp_studio.call.call import OUTCOMES, Succeeded, said_of
from mcp_studio.call.copying.formats import copy_as
from mcp_studio.call.copying.paste import read_paste
from mcp_studio.call.copying.shell import PasteProblem
from mcp_studio.call.copying.subject import subject_of
from mcp_studio.call.load_test import MOST, MOST_AT_ONCE, Load, past_of_load
from mcp_studio.catalog.listing import Ref
from mcp_studio.cli.call_arguments import Intent, Plan, form_of, intent_of
from mcp_studio.cli.engine import connect_all, end
from mcp_studio.cli.options import Options
from mcp_studio.cli.terminal import Output
from mcp_studio.config.model import Config
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, dumps
from mcp_studio.present import outcomes, units
from mcp_studio.present.trace import difference_line
from mcp_studio.studio import Studio
from mcp_studio.trace.diff import diff

_TOLD = 1.0
"""Seconds between two progress lines."""


def copied(studio: Studio, intent: Intent, uri: str, out: Output) -> int:
    """With `--as FORM`, print the call in that form instead of making it.

    Raises:
        StudioError: this call cannot be written in that form.
    """
    options, ref = out.options, intent.ref
    if uri:
        ref, value = Ref("resource", ref.server, ref.name), None
    else:
        value = cast("Json", intent.texts if ref.kind == "prompt" else intent.arguments)
    subject = subject_of(studio.manager, studio.catalog, ref, value, uri=uri, task=options.flag("--task"))
    subject = replace(subject, hidden=intent.hidden)
    copy = copy_as(subject, options.value("--as"), secrets=options.flag("--with-secrets"))
    if copy.why_not:
        raise StudioError(copy.why_not)
    out.note(*copy.remarks)
    out.data(copy.text.removesuffix("\n"))
    return out.done({"form": copy.id, "text": copy.text, "remarks": list(copy.remarks)})


def take_pasted(options: Options, config: Config) -> None:
    """Put the pasted call of `--from` into the options, as if it had been typed as words. Other words are kept.

    Raises:
        UsageError: the text cannot be read, contains no call, or contains a call for another verb.
    """
    file, words = options.value("--from"), options.words
    text = options.read("--from", file if file == "-" else f"@{file}").decode("utf-8", "replace")
    try:
        found = read_paste(text)
    except PasteProblem as problem:
        line = f", line {problem.line}" if problem.line else ""
        raise UsageError(f"--from {file}{line}: {problem}") from None
    verb = {"tool": "call", "prompt": "get", "resource": "read"}.get(found.kind, options.verb)
    if verb != options.verb:
        raise UsageError(f"--from {file}: it is a {found.kind}.", hint=f"mcp-studio {verb} --from {file}")
    names = [word for word in words if "=" not in word]
    if found.name and not names:
        servers = config.servers.values()
        known = [one.name for one in servers if one.name == found.server or (one.url and one.url == found.url)]
        if known:
            options.given.setdefault("--server", known[:1])
        names = [found.name]
    options.words = [*names, *found.pairs, *(word for word in words if "=" in word)]
    if found.arguments:
        options.given["--args"] = [dumps({**found.arguments}).decode()]


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
