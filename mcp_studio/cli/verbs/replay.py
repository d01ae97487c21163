"""`replay`: send what was recorded again, and print how the answers differ."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from functools import partial
from typing import cast

from mcp_studio.call.replay import plan as planning
from mcp_studio.call.replay.plan import Recorded, Step
from mcp_studio.call.replay.runner import VERDICTS, Replayer, Result, summary
from mcp_studio.cli.engine import connected, execute
from mcp_studio.cli.options import Options
from mcp_studio.cli.targets import configured, select, server_option
from mcp_studio.cli.terminal import Output
from mcp_studio.config.expand import Expander
from mcp_studio.config.model import Config
from mcp_studio.errors import ConfigError, StudioError, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.paths import Paths
from mcp_studio.present.differences import difference_line
from mcp_studio.present.units import plural
from mcp_studio.redact import MARK
from mcp_studio.schema.place import get_or_none, put
from mcp_studio.studio import Studio
from mcp_studio.trace.diff import Ignore, path_text
from mcp_studio.trace.export.bundle import open_recording
from mcp_studio.trace.message import Recording
from mcp_studio.trace.query.parser import parse
from mcp_studio.trace.search import select as chosen
from mcp_studio.vault.keyring import lookup

_LONGEST = 60.0
"""Seconds that are waited between two requests at the most, however long it was then."""


def _servers(options: Options, config: Config, recorded: tuple[str, ...]) -> dict[str, str]:
    given = server_option(options)
    if not given and (options.command is not None or options.value("--url")):
        given = next(iter(config.servers))
    if given:
        if len(recorded) > 1:
            hint = f"Choose one with a query: server:{recorded[0]}"
            raise UsageError(f"Requests to {len(recorded)} servers cannot go to one: {', '.join(recorded)}.", hint=hint)
        return dict.fromkeys(recorded, given)
    for name in recorded:
        if name not in config.servers:
            hint = "--server NAME, --url URL or -- COMMAND ARGS… says where to send them."
            raise UsageError(f"Requests went to `{name}`, which is not configured here.", hint=hint)
    return {name: name for name in recorded}


def _secrets(out: Output) -> dict[str, str]:
    """What stands in the places where a recording has no secret, as `--set` gives it.

    Raises:
        UsageError: an option is not of the form FIELD=VALUE, or names a variable or secret that is not there.
    """
    known: dict[str, str] = {}
    for pair in out.options.values("--set"):
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise UsageError(f"--set: `{pair}` is not of the form FIELD=VALUE.")
        try:
            known[name] = Expander(os.environ, lookup).text(value)
        except ConfigError as problem:
            raise UsageError(f"--set {name}: {problem.message}", hint=problem.hint) from None
        out.redactor.learn(known[name])
    return known


async def _filled(known: Mapping[str, str], _: Step, recorded: Recorded) -> dict[str, Json] | None:
    """The params with everything filled in; None where something is missing."""
    value: Json = recorded.params
    for place in recorded.hidden:
        text, whole = get_or_none(value, place), path_text(place)
        names = (whole, whole.removeprefix("arguments."), str(place[-1]) if place else "")
        secret = next((known[name] for name in names if name in known), None)
        if secret is None or not isinstance(text, str):
            return None
        value = put(value, place, text.replace(MARK, secret))
    return cast("dict[str, Json]", value)


def run(out: Output) -> int:
    """Replay, and return the exit code."""
    options = out.options
    if not options.words:
        raise UsageError("Which recording?", hint="mcp-studio replay SESSION|FILE [QUERY]")
    config, ignore = configured(out), Ignore(options.values("--ignore"), usual=not options.flag("--strict"))
    query = parse(" ".join(options.words[1:]))
    recording = open_recording(options.words[0], Paths.default().state / "trace")
    numbers = chosen(recording, query) if len(options.words) > 1 else None
    plan = planning.plan(recording.columns, numbers)
    if not plan.steps:
        what = "The query chooses" if options.words[1:] else "The recording has"
        why = "; ".join(f"{one.method} {one.reason}" for one in plan.left_out[:5])
        raise UsageError(f"{what} nothing that can be sent again{f' ({why})' if why else ''}.")
    servers = _servers(options, config, plan.servers)
    target = select(config, list(dict.fromkeys(servers.values())))
    out.server = target.only
    return execute(target, out, lambda studio: _replay(studio, recording, plan, servers, ignore, out))


async def _replay(
    studio: Studio, recording: Recording, plan: planning.Plan, servers: Mapping[str, str], ignore: Ignore, out: Output
) -> int:
    for name in studio.manager.names():
        await connected(studio, name, out)
    for left in plan.left_out:
        out.note(f"left out: {left.method} {left.reason}" + (f" ({left.times:,} times)" if left.times > 1 else ""))
    fill = partial(_filled, _secrets(out))
    results: list[Result] = []
    replayer = Replayer(studio.caller, recording, approved=out.options.flag("--yes"), ignore=ignore, fill=fill)
    began = time.monotonic() - plan.steps[0].at
    for step in plan.steps:
        if out.options.flag("--paced"):
            await asyncio.sleep(min(max(0.0, began + step.at - time.monotonic()), _LONGEST))
        results.append(result := await replayer.one(step, servers[step.server]))
        _print(result, len(plan.servers) > 1, out)
    return _end(results, plan.left_out, out)


def _end(results: list[Result], left: tuple[planning.LeftOut, ...], out: Output) -> int:
    counts = summary(results)
    told = ", ".join(f"{counts[word]:,} {word}" for word in VERDICTS if counts[word])
    out.note(f"{plural(counts['steps'], 'request')}: {told}")
    steps: list[Json] = [_json(one) for one in results]
    result: Json = {"summary": counts, "steps": steps, "left_out": [one._asdict() for one in left]}
    if out.asker.refused:
        return out.fail(out.asker.refused[0], {"result": result})
    if bad := counts["steps"] - counts["same"] - counts["new"]:
        return out.fail(StudioError(f"{bad:,} of {counts['steps']:,} are not as recorded."), {"result": result})
    return out.done(result)


def _print(result: Result, several: bool, out: Output) -> None:
    step = result.step
    times = " → ".join(f"{ms:.0f} ms" for ms in (step.ms, result.ms) if ms is not None)
    said = f"  {result.said}" if result.said else f"  {times}" if times else ""
    out.data(out.redactor.text(f"{result.verdict:<8} {f'{step.server}: ' * several}{step.subject}{said}"))
    out.data(*(f"         {difference_line(one)}" for one in result.differences))
    out.flush()


def _json(result: Result) -> Json:
    step = result.step
    return {
        "number": step.number, "server": step.server, "method": step.method, "target": step.target,
        "verdict": result.verdict, "said": result.said or None, "ms": result.ms and round(result.ms, 1),
        "recorded_ms": step.ms and round(step.ms, 1),
        "differences": [one.as_json() for one in result.differences],
    }  # fmt: skip
