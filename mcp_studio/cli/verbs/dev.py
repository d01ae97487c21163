"""`dev`: start a server again when its files change, and say what is another then in what it offers and answers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from mcp_studio.call.reload import Reloader, Round
from mcp_studio.catalog.listing import KINDS
from mcp_studio.cli.call_arguments import saved_folders
from mcp_studio.cli.engine import execute
from mcp_studio.cli.output import Output
from mcp_studio.cli.targets import of_server
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.paths import read_object
from mcp_studio.present.differences import difference_line
from mcp_studio.present.units import duration, plural
from mcp_studio.safetext import safe
from mcp_studio.sandbox.file_watch import FileWatch
from mcp_studio.studio import Studio
from mcp_studio.trace.diff import Ignore


def run(out: Output) -> int:
    """Watch until interrupted, or once; returns the exit code."""
    options = out.options
    chosen, server, _ = of_server(out, 0)
    if not server:
        raise UsageError("Which server?", hint="mcp-studio dev SERVER, or mcp-studio dev -- COMMAND ARGS…")
    if chosen.servers[server].kind != "stdio":
        raise UsageError(f"{server} is no program that is started here.", hint="A server at a URL restarts by itself.")
    out.lines = not options.flag("--once")
    if out.lines:  # before anything is started
        FileWatch(chosen.servers[server], options.values("--watch"))
    return execute(chosen, out, lambda studio: _dev(studio, server, Ignore(options.values("--ignore")), out))


async def _dev(studio: Studio, server: str, ignore: Ignore, out: Output) -> int:
    options = out.options
    places, anywhere = saved_folders(studio.config), options.command is not None
    reloader = Reloader(studio.caller, places, server, anywhere)
    reloader.approved, reloader.ignore = options.flag("--yes"), ignore
    if file := options.value("--baseline"):
        known = read_object(Path(file))
        if "surface" not in known:
            raise UsageError(f"{file} is no baseline.", hint="dev --once --write-baseline FILE writes one.")
        reloader.surface, reloader.answers = known["surface"], mapping(known.get("answers"))
    if not out.lines:
        first = await reloader.round()
        _print(first, studio, out)
        return _end(first, reloader, out)
    async for one in reloader.run(options.values("--watch")):
        _print(one, studio, out)
        out.once("watching; Ctrl-C ends")
    return 0


def _end(one: Round, reloader: Reloader, out: Output) -> int:
    """What `--once` ends with: 1 where something breaking has changed, or a pinned call is answered otherwise."""
    result = _json(one, out)
    if one.error is not None:
        return out.fail(one.error, {"result": result})
    if out.asker.refused:
        return out.fail(out.asker.refused[0], {"result": result})
    if file := out.options.value("--write-baseline"):
        out.store(file, {"version": 1, "surface": reloader.surface, "answers": reloader.answers})
    elif one.breaking or one.other:
        words = f"{plural(len(one.breaking), 'breaking change')}, {plural(len(one.other), 'other answer')}."
        return out.fail(StudioError(words), {"result": result})
    return out.done(result)


def _print(one: Round, studio: Studio, out: Output) -> None:
    if out.json and out.lines:
        out.line("", _json(one, out))
    # Each is one line, whatever a tool calls itself.
    out.data(*(safe(out.redactor.text(line), 4_000) for line in _lines(one, studio)))
    out.flush()


def _lines(one: Round, studio: Studio) -> Iterator[str]:
    clock = time.strftime("%H:%M:%S")
    if one.files:
        yield f"{clock} changed: {', '.join(one.files)}"
    if one.error is not None:
        why, *last = one.error.message.split(" | ")
        yield f"{clock} {one.server} is not ready: {why}"
        yield from (f"  │ {line}" for line in last)
        return
    offers = ((kind, len(studio.catalog.listing(one.server, kind).entries)) for kind in KINDS)
    counts = ", ".join(plural(count, kind) for kind, count in offers if count)
    yield f"{clock} {one.server} is ready after {duration(one.ms)}: {counts or 'it offers nothing'}"
    for change in one.changes:
        yield f"  {'! breaking: ' if change.breaking else '~ '}{change.kind} {change.name}"
        yield from (f"      {text}" for text in (*change.breaking, *change.compatible))
    for answer in one.answers:
        yield f"  {answer.verdict:<8} {answer.name}  {answer.said or duration(answer.ms)}"
        yield from (f"           {difference_line(difference)}" for difference in answer.differences)


def _json(one: Round, out: Output) -> dict[str, Json]:
    return {
        **one._asdict(), "time": round(time.time(), 3), "ready": one.error is None, "breaking": bool(one.breaking),
        "error": out.redactor.text(one.error.message) if one.error else None,
        "changes": [change._asdict() for change in one.changes],
        "answers": [{**one._asdict(), "differences": [*map(difference_line, one.differences)]} for one in one.answers],
    }  # fmt: skip
