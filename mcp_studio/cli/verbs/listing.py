"""`list`: what servers offer, a line each."""

from __future__ import annotations

import asyncio
import shlex
from collections import Counter
from collections.abc import Mapping

from mcp_studio.catalog.listing import KINDS, Entry, EntryKind, Ref, doubts_of, problems_of, salvage
from mcp_studio.cli import late
from mcp_studio.cli.asking import Asker
from mcp_studio.cli.engine import connected, execute, settled
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output, entry_rows, problem_of, table
from mcp_studio.cli.plan import Plan
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import StudioError, Unreachable, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.studio import Studio

_DOUBTS = 20
"""Doubtful names that are told one by one."""


def run(plan: Plan, options: Options, out: Output) -> int:
    """List, and return the exit code: that of the first server that failed, though the others are listed."""
    if plan.name == "servers":
        return _servers(plan, out)
    if plan.name in ("history", "saved"):
        return late.list_remembered(plan, out)
    kinds: tuple[EntryKind, ...] = tuple(kind for kind in KINDS if plan.name in ("", kind + "s"))
    out.server = plan.server
    if options.flag("--page"):
        if len(kinds) != 1 or not plan.server:
            raise UsageError(
                "--page is about one list of one server.", hint="mcp-studio list tools --server NAME --page"
            )
        cursor = next(iter(options.values("--page")), None)
        return execute(plan, out, lambda studio: _page(studio, plan.server, kinds[0], cursor, out), asker=Asker())
    # Servers list less to a client that can answer nothing: here as much is declared as for a call.
    return execute(plan, out, lambda studio: _listed(studio, kinds, plan, out), asker=Asker())


async def _page(studio: Studio, server: str, kind: EntryKind, cursor: str | None, out: Output) -> int:
    """One page, as it comes."""
    status = await settled(studio, server, out)
    if status.state != "ready":
        raise status.error or Unreachable(f"{server} is {status.state}.")
    page = await studio.list_page(server, kind, cursor)
    entries = salvage(server, kind, page.items)
    for row in entry_rows(entries):
        out.data(row)
    for problem in (page.problem, page.hint.problem if page.hint else "", *problems_of(entries)):
        if problem:
            out.warn(f"{server}, {kind}s: {problem}")
    if page.hint is not None:
        out.note(f"fresh for {page.hint.ttl:g} s, {page.hint.scope}")
    if page.following is None:
        out.note("this is the last page")
    else:
        out.note(f"next page: --page={shlex.quote(page.following)}")
    hint = {"ttlMs": round(page.hint.ttl * 1000), "cacheScope": page.hint.scope} if page.hint else {}
    found: list[Json] = [_json(entry, doubts_of(entries)) for entry in entries]
    return out.done({kind + "s": found, "nextCursor": page.following, **hint})


async def _listed(studio: Studio, kinds: tuple[EntryKind, ...], plan: Plan, out: Output) -> int:
    waiting = [_ready(studio, name, out) for name in plan.config.servers]
    errors = [error for error in await asyncio.gather(*waiting) if error is not None]
    result: dict[str, Json] = {}
    for kind in kinds:
        entries = [entry for entry in studio.catalog.entries(kind) if not entry.remembered]
        doubts = doubts_of(entries)
        result[kind + "s"] = [_json(entry, doubts) for entry in entries]
        _tell(studio, kind, plan, out)
        if entries and len(kinds) > 1:
            out.data(f"{kind}s")
        for row in entry_rows(entries, indent="  " * (len(kinds) > 1)):
            out.data(row)
    out.result = result
    if errors:
        for error in errors[:-1]:
            out.warn(error.message)
        return out.fail(errors[-1], {"result": result})
    failed = [kind for kind in kinds for name in plan.config.servers if _failed(studio, name, kind)]
    if failed:
        return out.fail(
            StudioError(f"Not everything could be listed: {', '.join(dict.fromkeys(failed))}s."), {"result": result}
        )
    return out.done()


def _failed(studio: Studio, name: str, kind: EntryKind) -> bool:
    listing = studio.catalog.listing(name, kind)
    return bool(listing.error) and not listing.entries


async def _ready(studio: Studio, name: str, out: Output) -> StudioError | None:
    try:
        await connected(studio, name, out)
    except StudioError as error:
        return error
    return None


def _tell(studio: Studio, kind: EntryKind, plan: Plan, out: Output) -> None:
    """What is wrong with a list, or missing from it."""
    for name in plan.config.servers:
        listing = studio.catalog.listing(name, kind)
        doubts = [f"{ref.name}: {doubt}" for ref, doubt in doubts_of(listing.entries).items()]
        if len(doubts) > _DOUBTS:
            doubts[_DOUBTS:] = [f"{len(doubts) - _DOUBTS:,} more are listed twice or look like others"]
        changes = Counter(change.kind for change in listing.changes)
        counts = ", ".join(f"{count:,} {what}" for what, count in changes.items())
        seen = f"± {counts} since they were looked at last in the studio" if counts else ""
        for problem in (listing.error, listing.capped, *listing.problems, *doubts, seen):
            if problem:
                out.warn(f"{name}, {kind}s: {problem}")


def _json(entry: Entry, doubts: Mapping[Ref, str]) -> Json:
    found: dict[str, Json] = {"ref": str(entry.ref), "server": entry.ref.server, "name": entry.ref.name}
    if problem := problem_of(entry, doubts):
        found["problem"] = problem
    if entry.skill:
        found["skill"] = entry.skill
    return {**found, "definition": entry.view.raw}


def _servers(plan: Plan, out: Output) -> int:
    servers = plan.config.servers.values()
    for row in table([(server.name, server.kind, _state(server), target_text(server, out)) for server in servers]):
        out.data(row)
    if not servers:
        out.note("No servers are configured; mcp-studio config add … adds one.")
    out.result = [
        {
            "name": server.name,
            "transport": server.kind,
            "target": target_text(server, out),
            "enabled": server.enabled,
            "era": server.era,
            "insecure": server.tls.insecure,
            "source": server.source.file or server.source.origin,
        }
        for server in servers
    ]
    return out.done()


def _state(server: ServerConfig) -> str:
    marks = ("" if server.enabled else "disabled", "INSECURE: any certificate" if server.tls.insecure else "")
    return ", ".join(filter(None, marks))


def target_text(server: ServerConfig, out: Output) -> str:
    """The address as it was written, without the secrets that stand in it."""
    written = server.written or server
    if written.url:
        return out.redactor.url(written.url)
    return out.redactor.text(" ".join((written.command, *written.args)))
