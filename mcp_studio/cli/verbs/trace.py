"""`trace`: list recorded sessions and show what is in them, without connecting to anything. `replay`: send recorded
messages again.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import cast

from mcp_studio.call.policy import prices_of
from mcp_studio.call.replay import plan as planning
from mcp_studio.call.replay.runner import VERDICTS, Replayer, Result, summary
from mcp_studio.catalog.listing import Ref, salvage
from mcp_studio.catalog.remembered import Memories
from mcp_studio.cli import targets
from mcp_studio.cli.engine import connected, execute
from mcp_studio.cli.terminal import Output
from mcp_studio.config.expand import Expander
from mcp_studio.config.model import Config
from mcp_studio.errors import ConfigError, StudioError, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.paths import Paths
from mcp_studio.present import error_groups, metrics, units
from mcp_studio.present.trace import difference_line, entry_json, session_json, tree_json
from mcp_studio.redact import MARK
from mcp_studio.safetext import safe
from mcp_studio.schema.place import get_or_none, put
from mcp_studio.studio import Studio
from mcp_studio.trace.diff import Ignore, compare, path_text
from mcp_studio.trace.disk.session import Bundle, Session
from mcp_studio.trace.disk.sessions import SessionInfo, delete, describe, find, sessions
from mcp_studio.trace.export import bundle, collector, formats, item, jsonl
from mcp_studio.trace.message import Reader, Recording
from mcp_studio.trace.query.parser import QueryError, parse
from mcp_studio.trace.query.terms import Query
from mcp_studio.trace.search import select
from mcp_studio.trace.server_tap import beginning
from mcp_studio.trace.statistics import Numbers, Tally, Target, numbers_of
from mcp_studio.trace.tree import tree
from mcp_studio.vault.keyring import lookup

_SESSIONS = 30
"""How many sessions are listed without `--limit`."""
_ROWS = 1_000
"""Most entries in a table or envelope without `--limit`; the newest are taken."""
_TAIL = 10
"""How many entries `--follow` starts with without `--limit`."""
_COUNTED = 100
"""How many sessions are counted in the figures without `--limit`."""
_MOST = 10**9
_LONGEST = 60.0
"""Most seconds between two replayed requests, even if the recorded pause was longer."""
_POLL = 0.25
"""Seconds between two looks at what a running studio has written."""
_OF_SESSIONS = {"--limit", "--config", "--json", "--query", "--quiet"}
"""Options for the list of sessions; all others concern one session."""
_QUOTED = ("stderr", "stray", "note", "invalid")
"""Kinds of entries whose own text is shown in place of what they are about."""


def run(out: Output) -> int:
    """Show sessions or their entries. Returns the exit code."""
    options = out.options
    if not options.words:
        if options.verb == "replay":
            raise UsageError("Which recording?", hint="mcp-studio replay SESSION|FILE [QUERY]")
        if not options.given.keys() <= _OF_SESSIONS:
            raise UsageError("Which session?", hint="`last` is the newest one: mcp-studio trace last …")
        return _list(out)
    if options.flag("--delete"):
        return _delete(out)
    with closing(bundle.open_recording(options.words[0], _folder())) as recording:
        out.warn(recording.problem)
        try:
            query = parse(" ".join(options.words[1:]), _now(recording))
            return (_replay if options.verb == "replay" else _answer)(recording, query, out)
        except QueryError as error:
            detail = {"query": {"start": error.start, "end": error.end}}
            where = f"(at {error.start + 1} of the query)"
            raise UsageError(f"{error.message} {where}", hint=error.hint, detail=detail) from None


def _answer(recording: Recording, query: Query, out: Output) -> int:
    options = out.options
    if options.flag("--follow"):
        if not isinstance(recording, Session) or isinstance(recording, Bundle):
            raise UsageError("Only a session can be followed.", hint="What came out of a file does not go on.")
        return _follow(recording, query, out)
    if options.flag("--span"):
        return _show_tree(recording, _number(recording, options.value("--span")), out)
    if options.flag("--body"):
        return _body(recording, _number(recording, options.value("--body")), out)
    if options.flag("--diff"):
        return _diff(recording, out)
    numbers = select(recording, query) if query else None
    if options.flag("--stats"):
        return _statistics(recording, numbers, out)
    if any(map(options.flag, ("--jsonl", "--export", "--to"))):
        return _export(recording, numbers, out)
    return _table(recording, numbers, out)


# Sessions


def _folder() -> Path:
    return Paths.default().state / "trace"


def _list(out: Output) -> int:
    """Print a line for each session, the newest first."""
    limit = out.options.count("--limit", _MOST) or _SESSIONS
    found = sessions(_folder(), limit + 1)
    heads = ("session", "state", "began", "messages", "size", "servers", "made by")
    if len(found) > limit:
        out.note(f"the newest {limit:,}; --limit N shows more")
    rows, facts = [_session_row(one) for one in found[:limit]], [session_json(one) for one in found[:limit]]
    return out.listing(rows, facts, empty=f"there is no session in {_folder()}", heads=heads)


def _session_row(info: SessionInfo) -> tuple[str, ...]:
    began = units.date_time(info.began) or "-"
    what = info.problem or " ".join(filter(None, (info.origin, info.title and f"({info.title})")))
    return info.name, info.state, began, f"{info.entries:,}", units.size(info.bytes), ", ".join(info.servers), what


def _delete(out: Output) -> int:
    paths = [find(_folder(), word) for word in out.options.words]
    for path in paths:
        delete(path)
        out.note(f"{path.stem} is deleted")
    return out.done({"deleted": [path.stem for path in paths]})


def _now(recording: Session) -> float:
    """Return the time from which `since:10m` counts: now for a running session, the end of a finished one."""
    live = recording.info.state == "running" or not len(recording)
    return time.time() if live else recording.columns.time[-1]


def _name(recording: Recording) -> str:
    return recording.path.stem if isinstance(recording, Session) and not isinstance(recording, Bundle) else ""


def _number(recording: Recording, text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0
    if not recording.first_number <= number <= recording.total:
        kept = f"{recording.first_number:,} to {recording.total:,}" if len(recording) else "none"
        raise UsageError(f"There is no entry `{text}`.", hint=f"There are: {kept}.")
    return number


# Entries


_LINE = "{:>8}  {:<23}  {:<20}  {:<3}  {:<12}  {:<26}  {:>8}  {:>9}  {:<10}  {}"
_HEAD = _LINE.format("number", "time", "server", "dir", "kind", "method", "ms", "bytes", "status", "target")


def _line(entry: dict[str, Json], reader: Reader) -> str:
    """Format one entry as a line of the table."""
    stamp, ms, direction = entry["time"], entry["ms"], entry["direction"]
    return _LINE.format(
        entry["number"], f"{units.date_time(stamp)}.{int(stamp * 1000) % 1000:03}", safe(entry["server"], 20),
        "-" if direction == "none" else direction, entry["kind"], safe(entry["method"] or "", 80),
        "" if ms is None else f"{ms:.1f}", entry["size"], entry["status"] or "", safe(_target(entry, reader), 60),
    ).rstrip()  # fmt: skip


def _target(entry: dict[str, Json], reader: Reader) -> str:
    """Say what an entry is about; for an entry that is not a message, its text."""
    return beginning(reader.body(entry["number"]), 80) if entry["kind"] in _QUOTED else entry["target"] or ""


def _all(recording: Recording, numbers: Sequence[int] | None) -> Sequence[int]:
    return range(recording.first_number, recording.total + 1) if numbers is None else numbers


def _table(recording: Recording, numbers: Sequence[int] | None, out: Output) -> int:
    found = _all(recording, numbers)
    chosen = found[-(out.options.count("--limit", _MOST) or _ROWS) :]
    if out.json:
        entries: Json = [entry_json(recording, number) for number in chosen]
        return out.done({"session": _name(recording), "found": len(found), "entries": entries})
    if chosen:
        out.data(_HEAD)
    _print(recording, chosen, out)
    if len(chosen) < len(found):
        out.note(f"the newest {len(chosen):,} of {len(found):,}; --limit N shows more")
    elif not chosen:
        out.note("no such entry" if len(recording) else "nothing was recorded")
    return out.done()


def _follow(session: Session, query: Query, out: Output) -> int:
    """Print the newest entries, and then new ones until the studio that writes them ends."""
    out.lines = True
    if out.options.flag("--jsonl"):
        _write(jsonl.head_line(session.path.stem, {}), out)
    elif not out.json:
        out.line(_HEAD, {})
    last, running = session.total, session.info.state == "running"
    _print(session, select(session, query)[-(out.options.count("--limit", _MOST) or _TAIL) :], out)
    while running:
        time.sleep(_POLL)
        running = describe(session.path).state == "running"
        if session.refresh():
            _print(session, select(session, query, above=last), out)
            last = session.total
    out.note("the session has ended")
    return 0


def _print(recording: Recording, numbers: Sequence[int], out: Output) -> None:
    reader = recording.reader()
    if out.options.flag("--jsonl"):
        source = item.Source(recording.columns, numbers, {}, reader, out.redactor)
        for number in source.paced():
            _write(jsonl.line_of(source.item(number)), out)
    else:
        for number in numbers:
            entry = entry_json(recording, number)
            out.line(_line(entry, reader), entry)
    reader.close()


def _write(data: bytes, out: Output) -> None:
    """Write bytes to standard output. On a terminal, control characters are made visible."""
    if sys.stdout.isatty():
        out.data(data.decode("utf-8", "replace").removesuffix("\n"))
    else:
        out.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def _body(recording: Recording, number: int, out: Output) -> int:
    body = out.redactor.bytes(_bodies(recording, number)[0])
    if out.json:
        return out.done({"number": number, "body": body.decode("utf-8", "replace")})
    _write(body, out)
    return 0


def _bodies(recording: Recording, *numbers: int) -> list[bytes]:
    with closing(recording.reader()) as reader:
        return [reader.body(number) for number in numbers]


def _diff(recording: Recording, out: Output) -> int:
    given = out.options.value("--diff").replace(",", " ").split()
    if len(given) != 2:
        raise UsageError("--diff takes two numbers: --diff 17,23", hint="The first column of the table has them.")
    old, new = _bodies(recording, *(_number(recording, text) for text in given))
    lines = [out.redactor.text(difference_line(one, 100)) for one in asyncio.run(compare(old, new))]
    facts: Json = {"same": not lines, "differences": lines}
    return out.listing([(line,) for line in lines], facts, empty="they are the same, but for ids and times")


# What belongs to an entry


def _show_tree(recording: Recording, number: int, out: Output) -> int:
    root = tree(recording, number)
    assert root is not None, "the number was checked"
    entry = tree_json(recording, root)
    out.data(f"{safe(entry['server'], 40)} · {units.date_time(entry['time'])}")
    with closing(recording.reader()) as reader:
        out.data("\n".join(_tree_lines(entry, reader)))
    return out.done(entry)


def _tree_lines(entry: dict[str, Json], reader: Reader, indent: str = "") -> Iterator[str]:
    relation = "" if entry["relation"] == "root" else entry["relation"]
    what = " ".join(filter(None, (relation, entry["method"] or entry["kind"], _target(entry, reader))))
    took = "" if entry["ms"] is None else f"{entry['ms']:.1f} ms"
    start = f"{entry['number']:>8}  {entry['after_ms']:>9.1f}  {took:>11}  {entry['status'] or '':<10}"
    yield f"{start}  {indent}{safe(what, 80)}"
    for child in entry["children"]:
        yield from _tree_lines(child, reader, indent + "  ")


# Figures


def _statistics(recording: Recording, numbers: Sequence[int] | None, out: Output) -> int:
    """Print the figures of the given entries, or of all if none are given."""
    counted = numbers_of(recording, _all(recording, numbers))
    errors = asyncio.run(error_groups.Errors(recording).by_server(counted))
    goes_out = out.options.flag("--prometheus") or out.options.flag("--to")
    return _figures(metrics.metrics_of(counted, {}, errors, methods=not goes_out), counted.start, out, {})


def recorded(config: Config, out: Output) -> int:
    """Print the figures of servers in the newest sessions. Returns the exit code."""
    states = {name: targets.state_text(server) or "enabled" for name, server in config.servers.items()}
    kept = newest(out)
    since = min((info.began for info in kept), default=time.time())
    out.note(f"{units.plural(len(kept), 'session')} since {units.date_time(since)}; --limit N takes the newest N")
    rows, wanted = asyncio.run(counted(kept, _prices(config))), out.options.values("--server")
    rows += [metrics.Metrics(Target(name, "", ""), Tally()) for name in states.keys() - {one.of.server for one in rows}]
    if unknown := next((name for name in wanted if all(name != one.of.server for one in rows)), ""):
        raise UsageError(f"There is no server `{unknown}`, and none of that name was recorded.")
    return _figures([one for one in rows if not wanted or one.of.server in wanted], since, out, states)


def _prices(config: Config) -> dict[Ref, float]:
    """Return the price of a call of each tool, as trusted servers last stated it."""
    memories = Memories(Paths.default().state / "servers")
    known = ((name, memories.recall(server).listings) for name, server in config.servers.items() if server.trust)
    return prices_of(entry for name, lists in known for entry in salvage(name, "tool", lists.get("tool", ())))


def newest(out: Output) -> list[SessionInfo]:
    """Return the newest sessions, as many as `--limit` says."""
    return [one for one in sessions(_folder(), out.options.count("--limit", _MOST) or _COUNTED) if one.entries]


async def counted(kept: Sequence[SessionInfo], prices: Mapping[Ref, float]) -> list[metrics.Metrics]:
    """Compute the figures of several sessions together, starting with the oldest."""
    numbers: Numbers | None = None
    errors: dict[str, list[error_groups.ErrorGroup]] = {}
    for info in reversed(kept):
        session = Session(info.path)
        numbers = numbers or Numbers(session)
        numbers.add(session)
        for server, found in (await error_groups.Errors(session).by_server(numbers)).items():
            errors[server] = error_groups.grouped((*errors.get(server, ()), *found))
        session.close()
    return metrics.metrics_of(numbers, prices, errors) if numbers else []


def _figures(rows: Sequence[metrics.Metrics], since: float, out: Output, states: Mapping[str, str]) -> int:
    """Print figures as a table, JSON or a Prometheus file, or send them to the collector of `--to`."""
    meters, to = metrics.meters_of(rows), out.options.value("--to")
    if to:
        return _told(collector.send_metrics(meters, since, to, out.redactor, headers=out.options.headers), "point", out)
    if out.options.flag("--prometheus"):
        out.data("\n".join(metrics.prometheus(meters)))
        return out.done()
    out.table([metrics.figures_row(one) for one in rows], metrics.HEADS)
    for one in rows:
        if not one.of.method:
            state = states.get(one.of.server, "not configured" * bool(states))
            out.data(" · ".join(filter(None, (one.of.server, state, *metrics.server_facts(one)))))
    return out.done([{**metrics.metrics_json(one), "state": states.get(one.of.server)} for one in rows])


# What goes out


def _export(recording: Recording, numbers: Sequence[int] | None, out: Output) -> int:
    options = out.options
    to, file = options.value("--to"), options.value("--output")
    format = options.value("--export") or "jsonl"
    if not (to or file) and (out.json or (format == "bundle" and sys.stdout.isatty())):
        raise UsageError("This needs a file.", hint="--output FILE")
    if (limit := options.count("--limit", _MOST)) is not None:
        numbers = array("Q", _all(recording, numbers)[-limit:])
    try:
        targets.learn(targets.configuration(out.options, Paths.default(), None), out)
    except ConfigError as error:
        out.warn(error.message)
    if to:
        sent = asyncio.run(collector.send(recording, numbers, to, out.redactor, headers=options.headers))
        return _told(sent, "span", out)
    out.flush()
    screen = BytesIO() if sys.stdout.isatty() else None
    target = Path(file) if file else screen or sys.stdout.buffer
    count = asyncio.run(formats.export(recording, numbers, format, target, out.redactor, title=_name(recording)))
    if file:
        out.note(f"{count:,} entries of the trace were exported to {file}")
        return out.done({"entries": count, "file": file, "format": format})
    if screen is not None:
        _write(screen.getvalue(), out)
    return 0


def _told(sent: collector.Sent, noun: str, out: Output) -> int:
    """Print how much a collector accepted. Returns the exit code."""
    out.note(f"sent {units.plural(sent.taken, noun)} to the collector")
    if sent.rejected:
        out.note(f"it did not want {units.plural(sent.rejected, noun)}. {sent.message}".strip())
    return out.done({"sent": sent.taken, "rejected": sent.rejected, "message": sent.message or None})


# Replay


def _replay(recording: Recording, query: Query, out: Output) -> int:
    """Send recorded requests again, and print how the answers differ."""
    options, config = out.options, targets.configured(out)
    ignore = Ignore(options.values("--ignore"), usual=not options.flag("--strict"))
    plan = planning.plan(recording.columns, select(recording, query) if query else None)
    if not plan.steps:
        what = "The query chooses" if query else "The recording has"
        why = "; ".join(f"{one.method} {one.reason}" for one in plan.left_out[:5])
        raise UsageError(f"{what} nothing that can be sent again{f' ({why})' if why else ''}.")
    servers = _targets(config, plan.servers, out)
    target = targets.select(config, list(dict.fromkeys(servers.values())))
    out.server = target.only
    return execute(target, out, lambda studio: _replayed(studio, recording, plan, servers, ignore, out))


def _targets(config: Config, recorded: tuple[str, ...], out: Output) -> dict[str, str]:
    if given := targets.server_option(out.options) or targets.own_server(out.options, config):
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
    """Return the values that `--set` gives for secrets missing from a recording.

    Raises:
        UsageError: an option is not FIELD=VALUE, or refers to a variable or secret that does not exist.
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


async def _filled(
    known: Mapping[str, str], _: planning.ReplayStep, recorded: planning.Recorded
) -> dict[str, Json] | None:
    """Return the params with all secrets filled in; None if one is missing."""
    value: Json = recorded.params
    for place in recorded.hidden:
        text, whole = get_or_none(value, place), path_text(place)
        names = (whole, whole.removeprefix("arguments."), str(place[-1]) if place else "")
        secret = next((known[name] for name in names if name in known), None)
        if secret is None or not isinstance(text, str):
            return None
        value = put(value, place, text.replace(MARK, secret))
    return cast("dict[str, Json]", value)


async def _replayed(
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
        _print_result(result, len(plan.servers) > 1, out)
    return _end(results, plan.left_out, out)


def _end(results: list[Result], left: tuple[planning.LeftOut, ...], out: Output) -> int:
    counts = summary(results)
    told = ", ".join(f"{counts[word]:,} {word}" for word in VERDICTS if counts[word])
    out.note(f"{units.plural(counts['steps'], 'request')}: {told}")
    steps: list[Json] = [_result_json(one) for one in results]
    result: Json = {"summary": counts, "steps": steps, "left_out": [one._asdict() for one in left]}
    error = next(iter(out.asker.refused), None)
    if error is None and (bad := counts["steps"] - counts["same"] - counts["new"]):
        error = StudioError(f"{bad:,} of {counts['steps']:,} are not as recorded.")
    return out.done(result, error)


def _print_result(result: Result, several: bool, out: Output) -> None:
    step = result.step
    times = " → ".join(f"{units.duration(ms)}" for ms in (step.ms, result.ms) if ms is not None)
    said = f"  {result.said}" if result.said else f"  {times}" if times else ""
    out.data(out.redactor.text(f"{result.verdict:<8} {f'{step.server}: ' * several}{step.subject}{said}"))
    out.data(*(f"         {difference_line(one)}" for one in result.differences))
    out.flush()


def _result_json(result: Result) -> Json:
    step = result.step
    return {
        "number": step.number, "server": step.server, "method": step.method, "target": step.target,
        "verdict": result.verdict, "said": result.said or None, "ms": result.ms and round(result.ms, 1),
        "recorded_ms": step.ms and round(step.ms, 1),
        "differences": [one.as_json() for one in result.differences],
    }  # fmt: skip
