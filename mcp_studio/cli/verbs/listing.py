"""`list` and `skills`: print what servers offer, one line each. A skill can be read and checked against its listing."""

from __future__ import annotations

import asyncio
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from mcp_studio.call.call import Succeeded
from mcp_studio.call.history import History, Past
from mcp_studio.call.saved import SavedCall, folders
from mcp_studio.call.skills import WORDS, SkillReading
from mcp_studio.catalog.listing import KINDS, EntryKind, doubts_of, problems_of, salvage
from mcp_studio.catalog.refresh import list_page
from mcp_studio.catalog.skills import Skill, offered
from mcp_studio.cli.engine import connect_all, connected, end, execute, ready
from mcp_studio.cli.targets import configured, of_server, select, state_text
from mcp_studio.cli.terminal import Output, entry_rows
from mcp_studio.cli.verbs import load
from mcp_studio.config.model import Config, ServerConfig
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, dumps
from mcp_studio.paths import Paths
from mcp_studio.present import blocks, units
from mcp_studio.present.definition import change_counts, doubts, target_of
from mcp_studio.safetext import safe
from mcp_studio.session.groups import Member
from mcp_studio.studio import Studio
from mcp_studio.toolset.tokens import account

_LARGEST = 5
"""How many of the largest descriptions and schemas are named."""


def run(out: Output) -> int:
    """List what servers offer. If some fail, the others are listed, and the exit code is that of the first failure."""
    options, config = out.options, configured(out)
    words = options.words
    word = words[0] if words else ""
    if word == "history" and len(words) <= 2:
        return _history(config, [*words[1:], *options.values("--server")], out)
    if words[1:]:
        raise UsageError(f"`{words[1]}` is too much: `list` lists one kind.")
    if options.flag("--metrics"):
        return load("trace").recorded(config, out)
    if plain := {"servers": _servers, "saved": _saved_calls}.get(word):
        return plain(config, out)
    if word == "groups":
        members = {name: replace(one, start="") for name, one in config.servers.items() if one.group}
        return execute(replace(config, servers=members), out, lambda studio: _groups(studio, out))
    chosen = select(config, options.values("--server"))
    kinds: tuple[EntryKind, ...] = tuple(kind for kind in KINDS if word in ("", kind + "s"))
    server = out.server = chosen.only
    if options.flag("--tokens"):
        return execute(chosen, out, lambda studio: _tokens(studio, out))
    # Servers list less to a client that can answer nothing, so declare as much as for a call.
    if not options.flag("--page"):
        return execute(chosen, out, lambda studio: _listed(studio, kinds, out))
    if len(kinds) != 1 or not server:
        raise UsageError("--page is about one list of one server.", hint="mcp-studio list tools --server NAME --page")
    cursor = options.value("--page") or None
    return execute(chosen, out, lambda studio: _page(studio, server, kinds[0], cursor, out))


async def _page(studio: Studio, server: str, kind: EntryKind, cursor: str | None, out: Output) -> int:
    """Print one page of a list, as the server sends it."""
    await ready(studio, server, out)
    page = await list_page(studio.manager.connection(server), kind, cursor)
    entries = salvage(server, kind, page.items)
    doubts = doubts_of(entries)
    out.data(*entry_rows(entries, doubts))
    out.warn_of_list(server, kind, page.problem, page.hint.problem if page.hint else "", *problems_of(entries))
    if page.hint is not None:
        out.note(f"fresh for {page.hint.ttl:g} s, {page.hint.scope}")
    following = page.following
    out.note("this is the last page" if following is None else f"next page: --page={shlex.quote(following)}")
    hint = {"ttlMs": round(page.hint.ttl * 1000), "cacheScope": page.hint.scope} if page.hint else {}
    found: list[Json] = [entry.as_json(doubts) for entry in entries]
    return out.done({kind + "s": found, "nextCursor": page.following, **hint})


async def _listed(studio: Studio, kinds: tuple[EntryKind, ...], out: Output) -> int:
    names, errors = studio.manager.names(), [*(await connect_all(studio, out)).values()]
    result: dict[str, Json] = {}
    for kind in kinds:
        entries = [entry for entry in studio.catalog.entries(kind) if not entry.remembered]
        doubts = doubts_of(entries)
        result[kind + "s"] = [entry.as_json(doubts) for entry in entries]
        _tell(studio, kind, out)
        if entries and len(kinds) > 1:
            out.data(f"{kind}s")
        out.data(*entry_rows(entries, doubts, indent="  " * (len(kinds) > 1)))
    error = errors.pop() if errors else None
    out.warn(*(one.message for one in errors))
    listings = [(kind, studio.catalog.listing(name, kind)) for kind in kinds for name in names]
    failed = dict.fromkeys(kind for kind, listing in listings if listing.error and not listing.entries)
    if failed and error is None:
        error = StudioError(f"Not everything could be listed: {', '.join(failed)}s.")
    return out.done(result, error)


async def _tokens(studio: Studio, out: Output) -> int:
    """Print how many tokens tools cost a model: definitions by server, a search instead, results, the largest parts."""
    errors, trace = [*(await connect_all(studio, out)).values()], load("trace")
    found = await asyncio.to_thread(account, [one for one in studio.catalog.entries("tool") if not one.remembered])
    rows = await trace.counted(trace.newest(out), {})
    results = Counter({one.of.server: one.result_tokens for one in rows if not one.of.method})
    names = sorted(studio.manager.names(), key=lambda name: -found.of(name).total)
    servers: dict[str, Json] = {name: found.of(name).as_json(results[name]) for name in names}
    total = found.as_json(sum(results[name] for name in names))
    lines = [(name, *(f"{count:,}" for count in one.values())) for name, one in (*servers.items(), ("all", total))]
    out.table(lines, ("server", *total))
    largest: dict[str, Json] = {}
    for part in ("description", "schema"):
        some = sorted(found.tools, key=lambda one, part=part: -getattr(one, part))[:_LARGEST]
        out.data(f"largest {part}s")
        out.table([(f"  {one.ref}", f"{getattr(one, part):,} tokens") for one in some])
        largest[part] = [{"tool": str(one.ref), "tokens": getattr(one, part)} for one in some]
    out.note(f"tokens are counted by {found.tokenizer}; those of recorded results by their length")
    facts: dict[str, Json] = {"tokenizer": found.tokenizer, "servers": servers, "total": total, "largest": largest}
    return out.done(facts, errors[-1] if errors else None)


def _tell(studio: Studio, kind: EntryKind, out: Output) -> None:
    """Warn of what is wrong with a list or missing from it."""
    for name in studio.manager.names():
        listing = studio.catalog.listing(name, kind)
        counts = change_counts(listing.changes)
        seen = f"± {counts} since they were looked at last in the studio" if counts else ""
        out.warn_of_list(name, kind, listing.error, listing.capped, *listing.problems, *doubts(listing), seen)


def _servers(config: Config, out: Output) -> int:
    servers = config.servers.values()
    targets = {server.name: out.redactor.text(target_of(server)) for server in servers}
    rows = [(server.name, server.kind, state_text(server), targets[server.name]) for server in servers]
    facts: list[Json] = [
        {
            "name": server.name, "transport": server.kind, "target": targets[server.name], "enabled": server.enabled,
            "era": server.era, "insecure": server.tls.insecure, "group": server.group or None,
            "priority": server.priority, "start": server.start or None, "filter": server.filter or None,
            "cache_ttl": None if server.cache_ttl < 0 else server.cache_ttl,
            "source": server.source.file or server.source.origin,
        }
        for server in servers
    ]  # fmt: skip
    return out.listing(rows, facts, empty="No servers are configured; mcp-studio config add … adds one.")


async def _groups(studio: Studio, out: Output) -> int:
    """Print the members of groups by priority: the state of each, how many tools go to it, and why."""
    failed = await connect_all(studio, out)
    members = sorted(studio.config.servers.values(), key=lambda one: (one.group, -one.priority))
    rows, facts = list[tuple[str, ...]](), list[Json]()
    for server in members:
        names = [one.name for one in members if one.group == server.group]
        tools = {entry.ref.name for entry in studio.catalog.entries("tool", names) if entry.ref.server not in failed}
        routes = [studio.groups.members(server.group, tool) for tool in sorted(tools)]
        taken = [route for route in routes if route[0].server == server.name]
        state, by_hand = studio.manager.status(server.name).state, studio.groups.by_hand(server.name)
        why = failed[server.name].message if server.name in failed else by_hand or _why(server, taken)
        chosen = f"takes {units.plural(len(taken), 'tool')}" if taken else "stands by"
        rows.append((server.group, server.name, f"priority {server.priority}", state, chosen, why))
        facts.append({
            "group": server.group, "server": server.name, "priority": server.priority, "state": state,
            "by_hand": by_hand or None, "tools": len(taken), "why": out.redactor.text(why),
        })  # fmt: skip
    return out.listing(rows, facts, empty='There are no groups; an entry joins one by group = "NAME".')


def _why(server: ServerConfig, taken: Sequence[Sequence[Member]]) -> str:
    """Explain why tools go to a member, or why none do, from how it differs from the others."""
    if not taken:
        return "others come first"
    others = [one for route in taken for one in route[1:] if one.healthy and not one.drained]
    if not others:
        return "the only one that is ready and has them"
    if all(one.priority < server.priority for one in others):
        return "the highest priority of those that are ready"
    return "fewer errors or shorter times" if any(one.average for one in others) else "the first of its priority"


def _history(config: Config, names: list[str], out: Output) -> int:
    """Print finished calls, the newest first. `names` selects by server or by what was called."""
    found = asyncio.run(History(Paths.default().state / "history.jsonl", config.settings.history).of())
    if names:
        found = [past for past in found if {*names} & {past.ref.server, str(past.ref), past.ref.name}]
    empty = f"no calls are remembered{f' of {names[0]}' if names else ''}"
    return out.listing([_past_row(past) for past in found], {"history": [_past(past) for past in found]}, empty=empty)


def _saved_calls(config: Config, out: Output) -> int:
    """Print the saved calls. Unusable ones only cause a warning."""
    loaded = folders(Paths.default(), Path.cwd(), config.settings.calls).load()
    rows = [_saved_row(one) for one in loaded.calls]
    out.warn(*loaded.failed)
    failed: list[Json] = [problem._asdict() for problem in loaded.failed]
    facts: Json = {"saved": [_saved(one) for one in loaded.calls], "failed": failed}
    return out.listing(rows, facts, empty="no calls are saved; mcp-studio call SERVER.TOOL … --save NAME saves one")


def _past_row(past: Past) -> tuple[str, ...]:
    what = dumps(past.arguments).decode()[:100] if past.arguments else ""
    about = " ".join(filter(None, (what, past.said and f"({past.said})", past.loss)))
    return units.date_time(past.at), past.kind, units.duration(past.ms) if past.ms else "", str(past.ref), about


def _past(past: Past) -> Json:
    return {
        "ref": str(past.ref), "kind": past.ref.kind, "server": past.ref.server, "name": past.ref.name,
        "at": datetime.fromtimestamp(past.at, UTC).isoformat(timespec="milliseconds"),
        "origin": past.origin, "outcome": past.kind, "ms": past.ms, "size": past.size, "said": past.said,
        "arguments": past.arguments, "leftOut": list(past.left_out), "tooLarge": past.large,
    }  # fmt: skip


def _saved_row(one: SavedCall) -> tuple[str, ...]:
    return one.name, one.where + ", pinned" * one.pinned, one.ref.kind, str(one.ref), one.description


def _saved(one: SavedCall) -> Json:
    return {
        "name": one.name, "where": one.where, "file": str(one.file), "kind": one.ref.kind, "server": one.ref.server,
        one.ref.kind: one.ref.name, "description": one.description, "pinned": one.pinned, "arguments": one.arguments,
    }  # fmt: skip


def skills(out: Output) -> int:
    """List or show skills. Returns the exit code, which is 1 if a skill does not match its entry."""
    chosen, server, words = of_server(out, 2)
    if words and not server:
        raise UsageError(f"Which server has the skill {words[0]}?", hint="mcp-studio skills SERVER SKILL")
    if words:
        return execute(chosen, out, lambda studio: _shown(studio, server, words[0], "".join(words[1:]), out))
    return execute(chosen, out, lambda studio: _list_skills(studio, server, out), answers=False)


async def _list_skills(studio: Studio, server: str, out: Output) -> int:
    found: list[Skill] = []
    for name in studio.manager.names():
        status = await connected(studio, name, out)
        if server or offered(status.capabilities):
            found += await studio.caller.skills.listed(name)
            if error := studio.catalog.skills.of(name).error:
                out.warn(f"{name}: {error}")
    rows, facts = [_skill_row(one) for one in found], [_skill(one) for one in found]
    return out.listing(rows, facts, empty="No server lists skills.")


def _skill_row(skill: Skill) -> tuple[str, ...]:
    about = safe(skill.description.strip().split("\n", 1)[0], 160)
    if wrong := (*skill.errors, *skill.notes):
        about = f"({wrong[0]}) {about}".rstrip()
    files = "made when read" if skill.dynamic else units.plural(len(skill.files), "file")
    return skill.server, skill.name or "(no name)", files, skill.uri or "(no uri)", about


def _skill(skill: Skill) -> dict[str, Json]:
    problems: Json = [*skill.errors, *skill.notes]
    return {"server": skill.server, "name": skill.name, "uri": skill.uri, "problems": problems, "entry": skill.raw}


async def _shown(studio: Studio, server: str, skill: str, file: str, out: Output) -> int:
    await connected(studio, server, out)
    reading = await studio.skill(server, skill, file)
    if out.asker.refused or not isinstance(reading.outcome, Succeeded):
        return end(reading.outcome, out, blocks.resource_text)
    if not reading.usable:  # extension, Verification on Read: what does not match must not be used
        out.warn(*reading.verdict.findings)
        hint = "It was not printed; `mcp-studio read` prints it all the same."
        return out.fail(StudioError(f"{reading.uri} is not what its entry says.", hint=hint), _verdict(reading))
    out.note(*reading.skill.notes, f"{reading.uri} {WORDS[reading.verdict.state]}")
    result, out.ms = reading.outcome.result, reading.outcome.ms
    out.data(blocks.resource_text(result))
    return out.done({**_verdict(reading), "result": result})


def _verdict(reading: SkillReading) -> dict[str, Json]:
    state, findings = reading.verdict
    return {"uri": reading.uri, "state": state, "findings": [*findings], "skill": _skill(reading.skill)}
