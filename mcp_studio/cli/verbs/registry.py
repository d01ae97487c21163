"""`registry`: show and manage the registry of servers' tools and own tools, as programs and agents use it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from mcp_studio.cli.engine import execute, reachable
from mcp_studio.cli.options import Options
from mcp_studio.cli.targets import configured, select
from mcp_studio.cli.terminal import Output
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, printable
from mcp_studio.present.units import date_time, plural
from mcp_studio.registry.record import PINNED, Pinned, ToolRecord
from mcp_studio.registry.registry import ToolRegistry, copy
from mcp_studio.registry.storage import open_storage
from mcp_studio.studio import Studio

_ASKING = ("list", "search", "show", "stats", "export")
"""Actions that first connect to the servers, to show what they list now."""

_EMPTY = "The registry has no tool: it learns those of servers once they are connected."


def run(out: Output) -> int:
    """Run an action on the registry. Returns the exit code.

    Raises:
        UsageError: there is no such action, or no such tool.
        StorageProblem: the registry cannot be read or written.
    """
    options = out.options
    action, *words = options.words or ["list"]
    config, names = configured(out), options.values("--server")
    asks = action in _ASKING and not options.flag("--offline") and bool(config.servers or names)

    async def body(studio: Studio) -> int:
        if asks:
            await reachable(studio, out)
        await studio.registry.ready()
        if action == "search" and words:
            return await _search(studio.registry, " ".join(words), out)
        return _act(studio.registry, action, words, out)

    return execute(select(config, names) if asks else config, out, body, answers=False, connects=asks)


async def _search(registry: ToolRegistry, text: str, out: Output) -> int:
    options = out.options
    method, limit = options.value("--method") or "bm25", options.count("--limit", 1_000) or 5
    found = await registry.asearch(text, method, limit, where=_filter(options), once=True)
    facts = [{**one.record.as_json(), "score": round(one.score, 6), "why": one.why} for one in found.hits]
    if not facts:
        return out.fail(StudioError(f"No tool was found for `{text}`. {found.note}".strip()), {"result": []})
    out.note(found.note)
    return out.listing([(one.name, one.why, _short(one.description)) for one in found.hits], facts, empty="")


def _act(registry: ToolRegistry, action: str, words: Sequence[str], out: Output) -> int:
    options = out.options
    match action, words:
        case "list", []:
            records = registry.records()
            found = [*filter(_filter(options), records)]
            none = "No tool of the registry is of this category, these tags and servers." if records else _EMPTY
            return _tools(found[: options.count("--limit", 1_000_000) or len(found)], out, none)
        case "show", [name]:
            record = registry.find(name)
            out.data(printable(record.as_json()))
            return out.done(record.as_json())
        case "add", [name]:
            given: dict[str, Json] = {key: options.value(f"--{key}") for key in ("description", "category")}
            given |= {"tags": [*options.values("--tag")], "inputSchema": options.object("--schema")}
            return _tools([registry.define(name, given)], out)
        case "tag", [_, *_] if options.values("--tag") or options.values("--remove"):
            return _tools(registry.tag(words, options.values("--tag"), options.values("--remove")), out)
        case "categorize", [category, _, *_]:
            return _tools(registry.categorize(words[1:], "" if category == "none" else category), out)
        case "pin", [pinned, _, *_] if pinned in (*PINNED, "none"):
            return _tools(registry.pin(words[1:], cast("Pinned", "" if pinned == "none" else pinned)), out)
        case "remove", [_, *_]:
            registry.remove(words)
            return out.done(list(words))
        case "stats", []:
            return _stats(registry, out)
        case "export", [file]:
            out.store(file, tools := registry.as_json())
            return out.done(tools)
        case "import", [file]:
            return _moved(registry.read(Path(file)), "read", out)
        case "copy", [place]:
            return _moved(copy(registry.storage, target := open_storage(place)), f"copied to {target.place}", out)
        case _:
            hint = "mcp-studio registry --help shows all actions, and what each takes."
            raise UsageError(f"`registry {' '.join((action, *words))}` is no action, or an incomplete one.", hint=hint)


def _moved(count: int, how: str, out: Output) -> int:
    out.note(f"{plural(count, 'tool')} {how}")
    return out.done({"tools": count})


def _filter(options: Options) -> Any:
    category, tags, servers = options.value("--category"), set(options.values("--tag")), options.values("--server")
    return lambda one: category in ("", one.group) and tags <= set(one.tags) and (not servers or one.server in servers)


def _tools(records: Sequence[ToolRecord], out: Output, empty: str = "") -> int:
    heads = ("tool", "category", "tags", "pinned", "uses", "description")
    return out.listing([*map(_row, records)], [one.as_json() for one in records], empty=empty, heads=heads)


def _row(one: ToolRecord) -> tuple[str, ...]:
    return one.name, one.group, ", ".join(one.tags), one.pinned, f"{one.uses:,}", _short(one.description)


def _stats(registry: ToolRegistry, out: Output) -> int:
    records, hot = registry.records(), registry.hot()
    uses = sum(one.uses for one in records)
    facts = {
        "storage": registry.storage.place, "tools": len(records), "uses": uses,
        "categories": registry.categories(), "hot": [one.name for one in hot],
    }  # fmt: skip
    out.data(f"{plural(len(records), 'tool')} in {registry.storage.place}, called {plural(uses, 'time')}")
    out.table([(name, f"{count:,}") for name, count in registry.categories().items()])
    out.table([(one.name, f"{one.uses:,}", date_time(one.last_used)) for one in hot], ("hot", "uses", "last used"))
    return out.done(facts)


def _short(text: str) -> str:
    return text.strip().partition("\n")[0][:100]
