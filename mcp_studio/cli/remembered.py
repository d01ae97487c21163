"""What is remembered, without any server: `list history`, `list saved`, and which server has a tool."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from mcp_studio.call.history import History, Past
from mcp_studio.call.saved import SavedCall, schema_of
from mcp_studio.catalog.listing import EntryKind, salvage
from mcp_studio.catalog.remembered import Memories
from mcp_studio.cli.call_arguments import saved_folders
from mcp_studio.cli.output import Output, table
from mcp_studio.cli.plan import Plan
from mcp_studio.config.model import Config
from mcp_studio.jsontext import Json, dumps
from mcp_studio.paths import Paths

_SUMMARY = 100


def history(plan: Plan, out: Output) -> int:
    """Calls that have ended, newest first."""
    kept = History(Paths.default().state / "history.jsonl", plan.config.settings.history)
    found = [past for past in asyncio.run(kept.all()) if not plan.uris or any(_is(past, word) for word in plan.uris)]
    for row in table([_row(past) for past in found]):
        out.data(row)
    if not found:
        off = "" if kept.keep else "; it is switched off: [history] keep = 0"
        out.note(f"no calls are remembered{f' of {plan.uris[0]}' if plan.uris else ''}{off}")
    return out.done({"history": [_past(past) for past in found]})


def saved(plan: Plan, out: Output) -> int:
    """Calls with a name; what cannot be used is told, and costs nothing else."""
    loaded = saved_folders(plan.config).load()
    rows = [(one.name, one.where, one.ref.kind, str(one.ref), one.description) for one in loaded.calls]
    for row in table(rows):
        out.data(row)
    for problem in loaded.failed:
        out.warn(problem)
    if not loaded.calls:
        out.note("no calls are saved; mcp-studio call SERVER.TOOL … --save NAME saves one")
    failed: list[Json] = [problem._asdict() for problem in loaded.failed]
    return out.done({"saved": [_saved(one) for one in loaded.calls], "failed": failed})


def holders(config: Config, name: str, kinds: Sequence[EntryKind]) -> tuple[list[str], tuple[str, ...]]:
    """The servers that had something of this name and kind when they were listed last, and those never listed."""
    memories = Memories(Paths.default().state / "servers")
    found: list[str] = []
    never = tuple(server.name for server in config.servers.values() if not memories.recall(server).listings)
    for server in config.servers.values():
        listed = memories.recall(server).listings
        if any(entry.ref.name == name for kind in kinds for entry in salvage(server.name, kind, listed.get(kind, []))):
            found.append(server.name)
    return found, never


def _is(past: Past, word: str) -> bool:
    return word in (past.ref.server, str(past.ref), past.ref.name)


def _row(past: Past) -> tuple[str, ...]:
    when = datetime.fromtimestamp(past.at).strftime("%Y-%m-%d %H:%M:%S")
    took = f"{past.ms:.0f} ms" if past.ms else ""
    what = dumps(past.arguments).decode()[:_SUMMARY] if past.arguments else ""
    return (
        when,
        past.kind,
        took,
        str(past.ref),
        " ".join(filter(None, (what, past.said and f"({past.said})", past.loss))),
    )


def _past(past: Past) -> Json:
    return {
        "ref": str(past.ref), "kind": past.ref.kind, "server": past.ref.server, "name": past.ref.name,
        "at": datetime.fromtimestamp(past.at, UTC).isoformat(timespec="milliseconds"),
        "origin": past.origin, "outcome": past.kind, "ms": past.ms, "size": past.size, "said": past.said,
        "arguments": past.arguments, "leftOut": list(past.left_out), "tooLarge": past.large,
    }  # fmt: skip


def _saved(one: SavedCall) -> Json:
    return {
        "name": one.name, "where": one.where, "file": str(one.file), "kind": one.ref.kind, "server": one.ref.server,
        one.ref.kind: one.ref.name, "description": one.description, "arguments": one.arguments,
        "variables": schema_of(one.variables),
    }  # fmt: skip
