"""Figures of servers, tools, prompts and resources: one model for tables, JSON, Prometheus and OpenTelemetry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import NamedTuple

from mcp_studio.catalog.listing import Ref
from mcp_studio.jsontext import Json, dumps
from mcp_studio.present import units
from mcp_studio.present.error_groups import ErrorGroup
from mcp_studio.safetext import safe
from mcp_studio.trace.statistics import BOUNDS, NAMED, Durations, Meter, Numbers, Tally, Target

HEADS = ("server, ms", "requests", "errors", "ok", "recent", "p50", "p95", "p99")
_TOP = 5
"""The most errors of one server that are listed."""


class Metrics(NamedTuple):
    """The figures of one server, or of one tool, prompt or resource of it."""

    of: Target
    """Without a target the figures cover all calls of the method, and without a method the whole server."""
    tally: Tally
    cost: float | None = None
    """The cost of all calls; None if no price is declared."""
    errors: tuple[ErrorGroup, ...] = ()
    """For a server: its groups of errors, the most frequent first."""
    result_tokens: int = 0
    """For a server: the tokens of all answers to calls of its tools, estimated by their length."""


def metrics_of(
    numbers: Numbers, prices: Mapping[Ref, float], errors: Mapping[str, Iterable[ErrorGroup]], *, methods: bool = False
) -> list[Metrics]:
    """The figures of each server, followed by those of its tools, prompts and resources.

    Args:
        numbers: the statistics, after a `look`.
        prices: the declared price of one call of a tool (`Caller.prices`).
        errors: the groups of errors of each server, the most frequent first.
        methods: include each method too.
    """
    rows = [Metrics(Target(*one[:2], ""), tally) for one, tally in sorted(numbers.methods.items()) if methods]
    for one, tally in sorted(numbers.targets.items()):
        price = prices.get(Ref(NAMED[one.method], one.server, one.target))
        rows.append(Metrics(one, tally, price and price * tally.count))
    metrics: list[Metrics] = []
    for server, tally in sorted(numbers.servers.items()):
        own = [one for one in rows if one.of.server == server]
        spent = [one.cost for one in own if one.cost is not None]
        whole = Metrics(Target(server, "", ""), tally, sum(spent) if spent else None, tuple(errors.get(server, ())))
        results = sum(one.tally.bytes_in for one in own if one.of.method == "tools/call" and one.of.target)
        metrics += [whole._replace(result_tokens=round(results / units.BYTES_PER_TOKEN)), *own]
    return metrics


def metrics_json(one: Metrics) -> dict[str, Json]:
    """The figures for programs; times are in milliseconds."""
    tally, link = one.tally, one.tally.link
    most = tally.durations.most
    times = {"average": tally.average, "p50": tally.p50, "p95": tally.p95, "p99": tally.p99, "max": most or None}
    figures: dict[str, Json] = {
        "server": one.of.server, "method": one.of.method or None, "target": one.of.target or None,
        "count": tally.count, "errors": tally.errors, "refused": tally.refused, "tool_errors": tally.failed,
        "lost": tally.lost, "cancelled": tally.cancelled, "success_rate": round(1 - tally.error_rate, 6),
        **{name: ms and round(ms, 3) for name, ms in times.items()},
        "bytes_in": tally.bytes_in, "bytes_out": tally.bytes_out, "cost": one.cost,
    }  # fmt: skip
    if one.of.method:
        return figures
    last = max(one.errors, key=lambda error: error.at, default=None)
    top: list[Json] = [{"count": error.times, "text": error.text} for error in one.errors[:_TOP]]
    return {
        **figures, "result_tokens": one.result_tokens, "reconnects": link.reconnects, "top_errors": top,
        "uptime_s": round(link.uptime(), 3), "last_error": last and {"at": last.at, "text": last.text},
    }  # fmt: skip


def figures_row(one: Metrics) -> tuple[str, ...]:
    """The cells of a table row under `HEADS`."""
    tally = one.tally
    times = ("-" if ms is None else f"{ms:.{ms < 100:d}f}" for ms in (tally.average, tally.p50, tally.p95, tally.p99))
    name = f"  {safe(one.of.target or one.of.method, 24)}" if one.of.method else safe(one.of.server, 26)
    success = f"{1 - tally.error_rate:.1%}" if tally.count else "-"
    return name, f"{tally.count:,}", f"{tally.errors:,}", success, *times


def server_facts(one: Metrics, now: float = 0.0) -> list[str]:
    """Further facts about a server, in a few words each.

    Args:
        now: the time, if the server is connected at this moment: its uptime is then that of this connection.
    """
    tally, link, up = one.tally, one.tally.link, one.tally.link.uptime(now, last=now > 0)
    facts = [f"up {units.duration(up * 1000)}"] if up else []
    facts += [units.plural(link.reconnects, "reconnect")] if link.reconnects else []
    facts += [f"{units.size(tally.bytes_in)} in", f"{units.size(tally.bytes_out)} out"]
    facts += [f"about {one.result_tokens:,} tokens of results"] if one.result_tokens else []
    facts += [] if one.cost is None else [f"cost {one.cost:.6g}"]
    return facts + [f"{error.times:,}x {safe(error.text, 60)}" for error in one.errors[:2]]


_Value = Callable[[Metrics], float | Durations | None]
_METERS: tuple[tuple[str, str, bool, str, _Value], ...] = (
    ("calls", "", True, "Requests that were answered or given up.", lambda one: one.tally.count),
    ("errors", "", True, "Requests that were refused, failed or lost.", lambda one: one.tally.errors),
    ("received", "By", True, "Bytes from the server.", lambda one: one.tally.bytes_in),
    ("sent", "By", True, "Bytes to the server.", lambda one: one.tally.bytes_out),
    ("duration", "s", False, "Time from request to answer.", lambda one: one.tally.durations),
    ("duration.average", "s", False, "Its moving average.", lambda one: (one.tally.average or 0) / 1000),
    ("duration.p50", "s", False, "Half of the answers took less.", lambda one: (one.tally.p50 or 0) / 1000),
    ("duration.p95", "s", False, "95 of 100 answers took less.", lambda one: (one.tally.p95 or 0) / 1000),
    ("duration.p99", "s", False, "99 of 100 answers took less.", lambda one: (one.tally.p99 or 0) / 1000),
    ("cost", "", True, "What the calls cost, as it is declared.", lambda one: one.cost),
)
_OF_SERVERS: tuple[tuple[str, str, bool, str, _Value], ...] = (
    ("result.tokens", "", True, "Tokens of the results of tools, by their length.", lambda one: one.result_tokens),
    ("reconnects", "", True, "Connections after the first one.", lambda one: one.tally.link.reconnects),
    ("connected", "s", True, "Time with a connection.", lambda one: one.tally.link.uptime()),
)


def meters_of(metrics: Iterable[Metrics]) -> list[Meter]:
    """All figures as metrics. Servers have metrics of their own, because they include those of their tools."""
    rows, meters = list(metrics), list[Meter]()
    for scope, table in ((".server", _METERS + _OF_SERVERS), ("", _METERS)):
        group = [one for one in rows if bool(one.of.method) != bool(scope)]
        for name, unit, counter, about, value in table:
            measured = [one for one in group if one.tally.durations.count or not name.startswith("duration")]
            points = [(one.of, number) for one in measured if (number := value(one)) is not None]
            meters += [Meter(f"mcp_studio{scope}.{name}", unit, about, counter, points)] if points else []
    return meters


def prometheus(meters: Iterable[Meter]) -> Iterator[str]:
    """Metrics as the lines of a Prometheus text file."""
    for meter in meters:
        suffix = {"s": "_seconds", "By": "_bytes"}.get(meter.unit, "")
        name = meter.name.replace(".", "_") + suffix + "_total" * meter.counter
        kind = "histogram" if isinstance(meter.points[0][1], Durations) else "counter" if meter.counter else "gauge"
        yield f"# HELP {name} {meter.about}\n# TYPE {name} {kind}"
        for target, value in meter.points:
            extra = {"kind": NAMED[target.method], "name": target.target} if target.method else {}
            labels = {"server": target.server, **extra}
            if isinstance(value, Durations):
                edges = (*(f"{bound / 1000:g}" for bound in BOUNDS), "+Inf")
                for edge, count in zip(edges, accumulate(value.buckets), strict=True):
                    yield _sample(f"{name}_bucket", {**labels, "le": edge}, count)
                yield _sample(f"{name}_sum", labels, value.total / 1000)
                yield _sample(f"{name}_count", labels, value.count)
            else:
                yield _sample(name, labels, value)


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    # JSON escapes what has to be escaped here (backslash, quote and newline); `safe` removes other control characters.
    pairs = ",".join(f"{key}={dumps(safe(text, 2_000)).decode()}" for key, text in labels.items())
    return f"{name}{{{pairs}}} {value:.15g}"
