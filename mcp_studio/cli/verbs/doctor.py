"""`doctor`: connect to each server and report each step, how long it took, what failed and what to try."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from mcp_studio import __version__
from mcp_studio.auth.hints import command, why_nobody
from mcp_studio.catalog.listing import KINDS
from mcp_studio.cli.engine import execute
from mcp_studio.cli.targets import configured, select
from mcp_studio.cli.terminal import Output
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import ConfigError, StudioError
from mcp_studio.jsontext import Json
from mcp_studio.paths import Paths
from mcp_studio.present import accounts, connections, crashes, servers, units
from mcp_studio.safetext import safe
from mcp_studio.sandbox import walls
from mcp_studio.session.connection import Deadline
from mcp_studio.session.state import Status
from mcp_studio.studio import Studio
from mcp_studio.transport.guard import child_environment
from mcp_studio.transport.http_client import route_to
from mcp_studio.vault.keyring import place_in_words

_PATIENCE = 5.0
"""Seconds that the ping may take."""
_SIGNS = {"error": "✗", "warning": "!", "hint": "·"}
_STDERR = 5
"""Most lines of a server's standard error that are shown."""
_LONGEST = 20_000
"""Most characters in one line of the report."""


def run(out: Output) -> int:
    """Examine the servers. Returns the exit code, which is that of the first server that failed."""
    config = select(configured(out), [*out.options.words, *out.options.values("--server")])
    out.server = config.only
    out.data(f"mcp-studio {__version__}, Python {sys.version.split()[0]} ({sys.executable})")
    out.data(f"configuration  {', '.join(config.files) or f'none ({Paths.default().config_file})'}")
    if any(server.url for server in config.servers.values()):
        out.data(f"sign-ins       {place_in_words(config.settings.secrets, Paths.default().state)}")
    out.data("")
    return execute(config, out, lambda studio: _examine(studio, out))


async def _examine(studio: Studio, out: Output) -> int:
    found, code = list[Json](), 0
    for server in studio.config.servers.values():
        facts, error = await _examined(studio, server)
        found.append(facts)
        code = code or (error.exit_code if error is not None else 0)
        # Print each as one line, whatever the server's name contains.
        out.data(*(safe(line, _LONGEST) for line in _lines(facts, studio)), "")
    if not code:
        return out.done(found)
    if out.json:
        out.envelope({"ok": False, "error": {"kind": "failure", "message": "Not all servers work.", "result": found}})
    return code


# For scripts


async def _examined(studio: Studio, server: ServerConfig) -> tuple[dict[str, Json], StudioError | None]:
    """Try a server. Returns the facts about it, without secrets, and the error if it does not work."""
    name, began = server.name, time.perf_counter()
    status = await studio.manager.settle(name)
    ready = time.perf_counter()
    await studio.manager.listed(name)
    listed = time.perf_counter()
    if status.state == "ready" and not status.modern:
        with suppress(StudioError):  # the lint and the connection's state say what is wrong
            await studio.manager.connection(name).request("ping", deadline=Deadline(_PATIENCE, _PATIENCE))
    await studio.trace.examine(name)
    # Here nobody waits for the next attempt, so `retrying` has failed.
    state = "failed" if status.state == "retrying" else status.state
    facts: dict[str, Json] = {"server": name, "state": state, "source": server.source.file}
    facts |= await remote(studio, server, status) if server.url else _local(studio, server, status)
    steps = [(step.name, step.ms, studio.redactor.text(step.detail)) for step in status.steps]
    counts = {f"{kind}s": len(studio.catalog.listing(name, kind).entries) for kind in KINDS}
    offers = ", ".join(units.plural(count, kind.removesuffix("s")) for kind, count in counts.items())
    last = ("listed", (listed - ready) * 1000, offers) if state == "ready" else ("failed", (ready - began) * 1000, "")
    facts["steps"] = [{"step": step, "ms": round(ms, 1), "detail": detail} for step, ms, detail in (*steps, last)]
    if state == "ready":
        facts |= {
            "serverInfo": status.server_info, "version": status.version, "era": "modern" if status.modern else "legacy",
            "offered": status.offered, "capabilities": status.capabilities, "clientCapabilities": status.declared,
            "clientInfo": status.client_info, "counts": counts,
        }  # fmt: skip
    return facts | _wrong(studio, server, status), status.error


def _local(studio: Studio, server: ServerConfig, status: Status) -> dict[str, Json]:
    """Describe how a local server was started."""
    argv = [studio.redactor.text(word) for word in (server.command, *server.args)]
    names, folder = sorted(child_environment(server)), os.path.abspath(server.cwd or ".")
    return {"argv": argv, "cwd": folder, "environment": names, "pid": status.pid, "sandbox": walls.in_words(server)}


async def remote(studio: Studio, server: ServerConfig, status: Status) -> dict[str, Json]:
    """Describe how a server at a URL is reached and how we are signed in there."""
    try:
        proxy = f"{route.place} ({route.variable})" if (route := route_to(server.url)) is not None else None
    except ConfigError as error:
        proxy = f"✗ {error.message}"
    facts: dict[str, Json] = {
        "url": studio.redactor.url((server.written or server).url), "transport": status.spoken or server.kind,
        "headers": list(server.headers), "tls": servers.tls(server), "insecure": server.tls.insecure, "proxy": proxy,
    }  # fmt: skip
    try:
        account = await studio.sign_ins.account(server.name) if server.signs_in else None
    except StudioError as error:
        problem = f"{error.message} {error.hint}".rstrip()
        return {**facts, "signIn": {"problem": problem}, "access": f"✗ {problem}"}
    if account is None:
        if not server.signs_in:
            given = "none" if server.auth.kind == "none" else "in its entry"
            return {**facts, "signIn": None, "credentials": given, "access": why_nobody(server)}
        when = "" if status.state == "needs_auth" else ". If it asks for a sign-in"
        access = why_nobody(server) or f"no{when}: {command(server)}"
        return {**facts, "signIn": {"signedIn": False}, "access": access}
    valid, scopes = accounts.validity(account), f", scopes {' '.join(account.scopes)}" if account.scopes else ""
    access = f"at {account.issuer}{scopes}; token {valid}, stored in {account.place}"
    return {**facts, "signIn": {**accounts.as_json(account), "valid": valid}, "access": access}


def _wrong(studio: Studio, server: ServerConfig, status: Status) -> dict[str, Json]:
    """Collect how a server last ended, what it printed, what the lint found, and why it does not work."""
    supervisor, ledger = studio.manager.supervisor(server.name), studio.trace.ledger(server.name)
    findings = [{**group.first._asdict(), "count": group.count, "others": group.others} for group in ledger.groups()]
    for finding in findings:
        del finding["number"]
    facts: dict[str, Json] = {
        "ending": crashes.as_json(supervisor.mortems[-1]) if supervisor.mortems else None,
        "stray": servers.stray_lines(studio.trace, server) if server.kind == "stdio" else [],
        "warnings": servers.warnings(status, studio.catalog, ledger),
        "findings": findings,
        "stderr": list(supervisor.tap.stderr_lines)[-_STDERR:],
    }
    if (error := status.error) is not None:
        by_hand = "Start the command by hand, in that folder, to see what it says." if server.command else ""
        http = connections.http_json(error.http, studio.redactor) if error.http is not None else None
        message, hint = studio.redactor.text(error.message), studio.redactor.text(error.hint or by_hand)
        facts |= {"error": message, "try": hint, "http": http}
    return facts


# For people

_ROWS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "source": ("from", str), "argv": ("command", shlex.join), "cwd": ("cwd", str),
    "environment": ("environment", ", ".join), "sandbox": ("sandbox", str), "url": ("url", str),
    "headers": ("headers", ", ".join), "tls": ("tls", str), "proxy": ("proxy", str), "access": ("signed in", str),
    "transport": ("transport", lambda kind: connections.KIND_NAMES[kind]),
    "serverInfo": ("server", lambda info: f"{info.get('name', '?')} {info.get('version', '')}"),
    "capabilities": ("it declares", servers.capabilities), "clientCapabilities": ("we declare", servers.capabilities),
}  # fmt: skip
"""Facts that become rows if they have a value: their labels, and how to format the value."""


def _row(label: str, text: str) -> str:
    return f"  {label:<11}  {text}".rstrip()


def _lines(facts: dict[str, Json], studio: Studio) -> Iterator[str]:
    """Format the facts as text, followed by the problems, the worst first, and what to try."""
    good, name = facts["state"] == "ready", facts["server"]
    yield f"{'✓' if good else '✗'} {name}  {facts['state'].replace('needs_auth', 'needs a sign-in')}"
    for fact, value in facts.items():
        if fact in _ROWS and (value or isinstance(value, dict)):
            label, words = _ROWS[fact]
            yield _row(label, words(value))
        elif fact == "version":
            other = f", though {facts['offered']} was offered" if facts["offered"] != value else ""
            yield _row("protocol", f"{value} ({facts['era']} era{other})")
        elif fact == "steps":
            yield from (_row(step["step"], f"{units.duration(step['ms'])}  {step['detail']}") for step in value)
    mortems, ledger = studio.manager.supervisor(name).mortems, studio.trace.ledger(name)
    for label, value in crashes.facts(mortems[-1]) if mortems else ():
        if label not in ("stdout", "stderr"):  # these two are shown further down
            yield _row(label, value)
    for one in facts["stray"]:
        after = f"first after {one['after']}" if one["after"] else "before the first message"
        yield _row("stdout", f"{one['count']:,} times {one['kind']}, {after}")
        yield from (f"      {one['explanation']}", *(f"      │ {line}" for line in one["lines"]))
    yield from (f"  ! {warning}" for warning in facts["warnings"])
    if good or facts["findings"]:
        yield _row("findings", servers.finding_counts(ledger) or "none: what it sent keeps to the protocol")
    for group in ledger.groups():
        what, where = servers.finding(group)
        yield from (f"  {_SIGNS[group.first.severity]} {what}", f"      {where}")
    if "error" in facts:
        yield f"  ✗ {facts['error']}"
        if facts["try"]:
            yield f"    try: {facts['try']}"
        yield from connections.http_lines(facts["http"]) if facts["http"] else ()
    if facts["stderr"] and not good:
        yield from ("  standard error ends with", *(f"    {line}" for line in facts["stderr"]))
