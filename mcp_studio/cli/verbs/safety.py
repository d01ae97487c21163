"""`approvals`, `audit` and `pins`: what waits for a person, what was called, and what tools were when accepted."""

from __future__ import annotations

import time
from fnmatch import fnmatchcase
from pathlib import Path

from mcp_studio.call.audit import Audit
from mcp_studio.catalog.listing import Ref
from mcp_studio.catalog.pins import drift, lock, pinned
from mcp_studio.cli.engine import execute, reachable
from mcp_studio.cli.targets import configured, select
from mcp_studio.cli.terminal import Output
from mcp_studio.errors import InputNeeded, StudioError, Unreachable, UsageError, nearest
from mcp_studio.jsontext import Json, mapping, printable
from mcp_studio.paths import Paths, read_object
from mcp_studio.present import units
from mcp_studio.present.units import plural
from mcp_studio.safetext import safe
from mcp_studio.session.approvals import WaitingCall, answer, waiting
from mcp_studio.studio import Studio

_LONGEST = 100


def approvals(out: Output) -> int:
    """List the calls that wait for approval, or answer them. Returns the exit code."""
    folder, words = Paths.default().state / "approvals", out.options.words
    if words and words[0] in ("approve", "reject") and len(words) == 2:
        approved = words[0] == "approve"
        done = answer(folder, words[1], approved=approved, note=out.options.value("--note"))
        out.note(f"{done.subject}: {'approved' if approved else 'rejected'}")
        return out.done({"id": done.id, "subject": done.subject, "approved": approved})
    if words and words != ["list"]:
        raise UsageError("Which approval?", hint="mcp-studio approvals approve|reject ID [--note TEXT]")
    found = waiting(folder)
    rows = [_waiting_row(one) for one in found]
    return out.listing(rows, [one._asdict() for one in found], empty="Nothing waits for approval.")


def _waiting_row(one: WaitingCall) -> tuple[str, ...]:
    left = f"{units.seconds(one.until - time.time())} left"
    return one.id, one.subject, left, ", ".join(one.reasons), _short(one._asdict())


def audit(out: Output) -> int:
    """Print the newest lines of the audit log that match a pattern for `server.tool`, some words and a verdict."""
    options = out.options
    limit, verdict = options.count("--limit", 1_000_000) or 1_000, options.value("--verdict")
    pattern, words = options.value("--tool") or "*", [word.casefold() for word in options.words]

    def matches(line: dict[str, Json]) -> bool:
        text = printable(line, indent=None).casefold()
        fits = fnmatchcase(_tool(line), pattern) and verdict in ("", line.get("verdict"))
        return fits and all(word in text for word in words)

    log = Audit(Paths.default().state / "audit.jsonl", out.redactor, "")
    found = [line for line in log.lines() if "tool" in line and matches(line)][-limit:]
    return out.listing([_row(line) for line in found], [*found], empty="No call matches.")


def _tool(line: dict[str, Json]) -> str:
    return f"{line.get('server')}.{line.get('tool')}"


def _row(line: dict[str, Json]) -> tuple[str, ...]:
    who, arguments = f"{line.get('who')}, {line.get('by')}", _short(line)
    verdict, outcome, rule = (str(line.get(name)) for name in ("verdict", "outcome", "rule"))
    by = f", approved: {line['approved']}" if line.get("approved") else ""
    return units.date_time(line.get("time")), who, _tool(line), verdict, outcome, arguments, rule + by


def _short(call: dict[str, Json]) -> str:
    return safe(printable(call.get("arguments"), indent=None), _LONGEST)


def pins(out: Output) -> int:
    """List, accept, export or check the pinned state of tools. Returns the exit code."""
    action, *words = out.options.words or ["list"]
    files = {"list": 0, "accept": len(words), "export": 1, "check": 1}.get(action)
    if files != len(words):
        raise UsageError("`pins` has list, accept [SERVER.TOOL…], export FILE and check FILE.")
    config = select(configured(out), out.options.values("--server"))
    return execute(config, out, lambda studio: _pinned(studio, action, words, out), answers=False)


async def _pinned(studio: Studio, action: str, words: list[str], out: Output) -> int:
    servers = await reachable(studio, out)
    unasked = [name for name in studio.manager.names() if name not in servers]
    entries = studio.catalog.entries("tool", servers)
    changed = [entry for entry in entries if entry.change and (entry.change.unaccepted or entry.change.kind == "new")]
    tools = {str(entry.ref) for entry in entries}
    if action == "accept":
        if unknown := next((word for word in words if word not in tools), ""):
            raise UsageError(f"No server lists the tool `{unknown}`.", hint=nearest(unknown, tools))
        chosen = [entry for entry in changed if not words or str(entry.ref) in words]
        for entry in chosen:
            studio.catalog.accept(entry.ref)
        out.note(f"{len(chosen)} accepted")
        return out.done([str(entry.ref) for entry in chosen])
    if action == "export":
        if unasked:
            raise Unreachable(f"{words[0]} is not written: nobody knows the tools of {', '.join(unasked)}.")
        out.store(words[0], lock(studio.catalog, servers))
        return out.done({"file": words[0]})
    if action == "check":
        return _checked(studio, servers, unasked, words[0], out)
    words_of = {entry.ref: entry.change.words for entry in changed if entry.change}
    refs = [Ref("tool", server, name) for server in servers for name in pinned(studio.catalog, server)]
    rows = [(str(ref), words_of.get(ref, "as accepted")) for ref in refs]
    return out.listing(rows, mapping(lock(studio.catalog, servers)), empty="No server lists a tool.")


def _checked(studio: Studio, servers: list[str], unasked: list[str], file: str, out: Output) -> int:
    """Compare tools with a lock file. Servers that are gone are also reported, unless some were named."""
    locked = read_object(Path(file))
    if "tools" not in locked:
        raise UsageError(f"{file} is no lock file.", hint="mcp-studio pins export FILE writes one.")
    others = [] if out.options.values("--server") else [*mapping(locked["tools"])]
    asked = dict.fromkeys((*servers, *(name for name in others if name not in unasked)))
    found = [*drift(locked, studio.catalog, asked)]
    out.data(*found)
    if found:
        error: StudioError = InputNeeded(f"{plural(len(found), 'difference')} from what {file} says.")
    elif unasked:
        error = Unreachable(f"Nobody knows whether the tools of {', '.join(unasked)} are what {file} says.")
    else:
        return out.done([])
    return out.fail(error, {"drift": [{"tool": str(one.ref), "kind": one.kind} for one in found]})
