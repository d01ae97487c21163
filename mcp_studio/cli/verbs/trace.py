"""`trace`: sessions that were recorded, and what is in them. Connects to nothing and starts nothing."""

from __future__ import annotations

import asyncio
import sys
import time
from array import array
from collections.abc import Sequence
from pathlib import Path

from mcp_studio.cli import recording as recorded
from mcp_studio.cli import targets
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.recording import folder, listing, open_named
from mcp_studio.errors import ConfigError, UsageError
from mcp_studio.paths import Paths
from mcp_studio.trace.disk.session import Bundle, Session
from mcp_studio.trace.disk.sessions import delete, find
from mcp_studio.trace.message import Recording
from mcp_studio.trace.query.parser import QueryError, parse
from mcp_studio.trace.query.terms import Query
from mcp_studio.trace.search import select

_ROWS = 1_000
"""Entries that a table, and the envelope, have at most unless `--limit` says otherwise; the newest of them."""
_TAIL = 10
"""The same with `--follow`."""
_WAYS = ("--jsonl", "--span", "--follow", "--stats", "--export", "--to", "--delete", "--body", "--diff")
_TOGETHER = (["--jsonl", "--follow"], ["--export", "--to"])
_FITTING = {
    "--limit": ("", "--jsonl", "--follow", "--export", "--to"), "--output": ("--jsonl", "--export"),
    "--header": ("--to", "--export"),
}  # fmt: skip
"""Option -> the ways that it is for; the empty one is the table."""
_MOST = 10**9


def run(options: Options, out: Output) -> int:
    """Do it, and return the exit code."""
    ways = _ways(options)
    if not options.words:
        if ways:
            raise UsageError(f"{ways[0]} of which session?", hint="`last` is the newest one: mcp-studio trace last …")
        return listing(options, out)
    if options.flag("--delete"):
        return _delete(options, out)
    recording = open_named(options.words[0], out)
    try:
        return _look(recording, options, out)
    finally:
        recording.close()


def _ways(options: Options) -> list[str]:
    """What is to be done with what is found; empty for the table.

    Raises:
        UsageError: these do not go together, or an option is for something else.
    """
    ways = [name for name in _WAYS if options.flag(name)]
    if len(ways) > 1 and ways not in _TOGETHER:
        raise UsageError(f"{ways[0]} and {ways[1]} do not go together.")
    for name, fitting in _FITTING.items():
        if options.flag(name) and (wrong := [way for way in ways or [""] if way not in fitting]):
            what = f"{name} and {wrong[0]} do not go together." if wrong[0] else f"{name} needs {' or '.join(fitting)}."
            raise UsageError(what)
    return ways


def _look(recording: Recording, options: Options, out: Output) -> int:
    try:
        query = parse(" ".join(options.words[1:]), _now(recording))
    except QueryError as error:
        place = {"start": error.start, "end": error.end}
        where = f"{error.message} (at {error.start + 1} of the query)"
        return out.fail(UsageError(where, hint=error.hint), {"query": place})
    return _answer(recording, query, options, out)


def _answer(recording: Recording, query: Query, options: Options, out: Output) -> int:
    if options.flag("--follow"):
        if not isinstance(recording, Session) or isinstance(recording, Bundle):
            raise UsageError("Only a session can be followed.", hint="What came out of a file does not go on.")
        limit = options.count("--limit", _MOST) or _TAIL
        return asyncio.run(recorded.follow(recording, query, limit, options.flag("--jsonl"), out))
    if options.flag("--span"):
        return recorded.show(recording, _number(recording, options.value("--span")), out)
    if options.flag("--body"):
        return _body(recording, _number(recording, options.value("--body")), out)
    if options.flag("--diff"):
        return _diff(recording, options, out)
    numbers = select(recording, query) if query else None
    if options.flag("--stats"):
        return recorded.statistics(recording, numbers, out)
    if options.flag("--jsonl") or options.flag("--export") or options.flag("--to"):
        return _export(recording, numbers, options, out)
    return _table(recording, numbers, options.count("--limit", _MOST) or _ROWS, out)


def _table(recording: Recording, numbers: Sequence[int] | None, limit: int, out: Output) -> int:
    columns = recording.columns
    found: Sequence[int] = range(columns.first, recording.total + 1) if numbers is None else numbers
    shown = found[-limit:]
    if out.json:
        entries = [recorded.facts(recording, number) for number in shown]
        return out.done({"session": _name(recording), "found": len(found), "entries": entries})
    lines = recorded.Lines(recording)
    if shown:
        out.data(lines.head())
    for number in shown:
        out.data(lines.line(number))
    lines.close()
    if len(shown) < len(found):
        out.note(f"the newest {len(shown):,} of {len(found):,}; --limit N shows more")
    elif not shown:
        out.note("no such entry" if len(recording) else "nothing was recorded")
    return out.done()


def _export(recording: Recording, numbers: Sequence[int] | None, options: Options, out: Output) -> int:
    to = options.value("--to")
    format = options.value("--export") or ("otlp" if to else "jsonl")
    if to:
        recorded.check(format, options.value("--output"), to)
    elif options.headers:
        raise UsageError("--header is for the collector that --to names.")
    limit = options.count("--limit", _MOST)
    if limit is not None:
        whole: Sequence[int] = range(recording.first_number, recording.total + 1) if numbers is None else numbers
        numbers = array("Q", whole[-limit:])
    target = Path(options.value("--output")) if options.value("--output") else None
    if target is None and not to and out.json:
        raise UsageError("With --json the export needs a file.", hint="--output FILE")
    if numbers is not None and not numbers and options.flag("--jsonl"):
        out.note("no such entry")
        return out.done()
    _learn_secrets(options, out)
    if to:
        return asyncio.run(recorded.to_collector(recording, numbers, to, options.headers, out))
    written = asyncio.run(recorded.export(recording, numbers, format, target, _name(recording), out))
    if target is not None:
        out.note(f"{written:,} entries are in {target}")
        return out.done({"entries": written, "file": str(target), "format": format})
    return 0


def _learn_secrets(options: Options, out: Output) -> None:
    """What the configuration says is secret goes out of nothing; where it cannot be read, that is told."""
    try:
        targets.learn(targets.configuration(options, Paths.default(), None), out)
    except ConfigError as error:
        out.warn(error.message)


def _body(recording: Recording, number: int, out: Output) -> int:
    reader = recording.reader()
    try:
        body = out.redactor.bytes(reader.body(number))
    finally:
        reader.close()
    text = body.decode("utf-8", "replace")
    if out.json or sys.stdout.isatty():
        out.data(text)
        return out.done({"number": number, "body": text})
    out.flush()
    sys.stdout.buffer.write(body)
    sys.stdout.buffer.flush()
    return 0


def _diff(recording: Recording, options: Options, out: Output) -> int:
    given = options.value("--diff").replace(",", " ").split()
    if len(given) != 2:
        raise UsageError("--diff takes two numbers: --diff 17,23", hint="The first column of the table has them.")
    old, new = (_number(recording, text) for text in given)
    reader = recording.reader()
    try:
        bodies = reader.body(old), reader.body(new)
    finally:
        reader.close()
    lines = asyncio.run(recorded.differences(*bodies))
    for line in lines:
        out.data(out.redactor.text(line))
    if not lines:
        out.note("they are the same, but for ids and times")
    return out.done({"same": not lines, "differences": [out.redactor.text(line) for line in lines]})


def _delete(options: Options, out: Output) -> int:
    paths = [find(folder(), word) for word in options.words]
    for path in paths:
        if path.parent != folder():
            raise UsageError(f"{path} is not one of the sessions here.", hint="It is a file of yours: delete it so.")
    for path in paths:
        delete(path)
        out.note(f"{path.stem} is deleted")
    return out.done({"deleted": [path.stem for path in paths]})


def _number(recording: Recording, text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0
    if not recording.first_number <= number <= recording.total:
        kept = f"{recording.first_number:,} to {recording.total:,}" if len(recording) else "none"
        raise UsageError(f"There is no entry `{text}`.", hint=f"There are: {kept}.")
    return number


def _now(recording: Recording) -> float:
    """What `since:10m` counts from: the present of a running session, the end of one that is over."""
    if (isinstance(recording, Session) and recording.info.state == "running") or not len(recording):
        return time.time()
    return recording.columns.time[-1]


def _name(recording: Recording) -> str:
    if isinstance(recording, Session) and not isinstance(recording, Bundle):
        return recording.path.stem
    return ""
