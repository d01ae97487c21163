"""`replay`: send what was recorded again, and print how the answers differ."""

from __future__ import annotations

from mcp_studio.call.replay.load import once
from mcp_studio.call.replay.result import VERDICTS, Result, summary
from mcp_studio.call.replay.runner import Manner, Replayer
from mcp_studio.cli.asking import Asker
from mcp_studio.cli.engine import connected, execute
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.plan import Plan
from mcp_studio.cli.replaying import Filling
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, dumps
from mcp_studio.studio import Studio
from mcp_studio.trace.diff import Difference
from mcp_studio.trace.diff_text import path_text, shown, value_text

_SHOWN = 20
"""Differences of one request that are printed; all of them with `--json`."""
_LARGE = 20_000
_WIDE = 60


def run(plan: Plan, options: Options, out: Output) -> int:
    """Replay, and return the exit code."""
    out.server = plan.server
    asker = Asker(options.values("--answer"))
    return execute(plan, out, lambda studio: _replay(studio, plan, options, out, asker), asker=asker)


async def _replay(studio: Studio, plan: Plan, options: Options, out: Output, asker: Asker) -> int:
    assert plan.replay is not None
    recording, chosen, servers, ignore = plan.replay
    for name in plan.config.servers:
        await connected(studio, name, out)
    planned = await once(recording, chosen)
    for left in planned.left_out:
        out.note(f"left out: {left.method} {left.reason}" + (f" ({left.times:,} times)" if left.times > 1 else ""))
    filling = Filling(studio, options.values("--set"), asker)
    manner = Manner(approved=options.flag("--yes"), ignore=ignore, paced=options.flag("--paced"))
    results: list[Result] = []
    replayer = Replayer(studio, recording, manner, filling.fill)
    several = len(planned.servers) > 1
    async for result in replayer.run(planned.steps, servers):
        results.append(result)
        _print(result, several, out)
    return _end(results, planned.left_out, out, asker)


def _end(results: list[Result], left: tuple[tuple[str, int, str], ...], out: Output, asker: Asker) -> int:
    counts = summary(results)
    told = ", ".join(f"{counts[word]:,} {word}" for word in VERDICTS if counts[word])
    out.note(f"{counts['steps']:,} request{'s' * (counts['steps'] != 1)}: {told}")
    result: Json = {
        "summary": counts,
        "steps": [_json(one) for one in results],
        "left_out": [{"method": method, "times": times, "reason": why} for method, times, why in left],
    }
    if asker.refused:
        return out.fail(asker.refused[0].error, {**asker.refused[0].detail, "result": result})
    good = counts["same"] + counts["new"]
    if good < counts["steps"]:
        out.flush()
        bad = counts["steps"] - good
        return out.fail(StudioError(f"{bad:,} of {counts['steps']:,} are not as recorded."), {"result": result})
    return out.done(result)


def _print(result: Result, several: bool, out: Output) -> None:
    step = result.step
    where = f"{step.server}: " if several else ""
    times = " → ".join(f"{ms:.0f} ms" for ms in (step.ms, result.ms) if ms is not None)
    said = f"  {result.said}" if result.said else f"  {times}" if times else ""
    out.data(out.redactor.text(f"{result.verdict:<8} {where}{step.subject}{said}"))
    for one in result.differences[:_SHOWN]:
        out.data(f"         {shown(one, _WIDE).line}")
    if (more := len(result.differences) - _SHOWN) > 0:
        out.data(f"         and {more:,} more differences")
    out.flush()


def _json(result: Result) -> Json:
    step = result.step
    return {
        "number": step.number, "server": step.server, "method": step.method, "target": step.target,
        "verdict": result.verdict, "said": result.said or None, "ms": _round(result.ms), "recorded_ms": _round(step.ms),
        "differences": [_difference(one) for one in result.differences],
    }  # fmt: skip


def _difference(one: Difference) -> Json:
    told: dict[str, Json] = {"kind": one.kind, "path": path_text(one.path)}
    if one.was != one.path and one.kind != "more":
        told["was"] = path_text(one.was)
    if one.kind in ("removed", "changed", "type"):
        told["before"] = _bounded(one.before)
    if one.kind in ("added", "changed", "type"):
        told["after"] = _bounded(one.after)
    return told


def _bounded(value: Json) -> Json:
    return value if len(dumps(value)) <= _LARGE else value_text(value, 200)


def _round(ms: float | None) -> float | None:
    return None if ms is None else round(ms, 1)
