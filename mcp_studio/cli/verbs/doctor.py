"""`doctor`: connect to each server and say what was done, how long it took, what failed and what to try."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress

from mcp_studio import __version__
from mcp_studio.catalog.listing import KINDS
from mcp_studio.cli.engine import execute
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.targets import configured, select
from mcp_studio.config.model import Config, ServerConfig
from mcp_studio.errors import ConfigError, StudioError
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.paths import Paths
from mcp_studio.present import accounts, connections, crashes, servers
from mcp_studio.present.units import plural
from mcp_studio.safetext import safe
from mcp_studio.sandbox import walls
from mcp_studio.session.connection import Deadline
from mcp_studio.session.sign_in import command, why_nobody
from mcp_studio.session.state import Status
from mcp_studio.studio import Studio
from mcp_studio.transport.guard import child_environment
from mcp_studio.transport.http_client import route_to
from mcp_studio.vault.keyring import place_in_words

_PATIENCE = 5.0
"""Seconds that the ping may take."""
_SIGNS = {"error": "✗", "warning": "!", "hint": "·"}
_STDERR = 5
"""Lines of standard error that are shown of a server."""
_LONGEST = 20_000
"""Characters of one line of the report."""


def run(options: Options, out: Output) -> int:
    """Examine, and return the exit code: that of the first server that failed."""
    config = select(configured(out), [*options.words, *options.values("--server")])
    out.server = config.only
    _surroundings(config, out)
    return execute(config, out, lambda studio: _examine(studio, out))


def _surroundings(config: Config, out: Output) -> None:
    out.data(f"mcp-studio {__version__}, Python {sys.version.split()[0]} ({sys.executable})")
    out.data(f"configuration  {', '.join(config.files) or f'none ({Paths.default().config_file})'}")
    if any(server.url for server in config.servers.values()):
        out.data(f"sign-ins       {place_in_words(config.settings.secrets, Paths.default().state)}")
    out.data("")


class Report:
    """What is known of one server: `facts` for scripts, `lines` for people. Nothing secret is in it."""

    def __init__(self, server: ServerConfig, state: str) -> None:
        self.server = server
        self.good = state == "ready"
        self.facts: dict[str, Json] = {"server": server.name, "state": state, "source": server.source.file}
        sign = "✓" if self.good else "✗"
        self.lines = [f"{sign} {server.name}  {state.replace('needs_auth', 'needs a sign-in')}"]
        if server.source.file:
            self.row("from", server.source.file)

    def row(self, label: str, text: str) -> None:
        """Add a line with a label."""
        self.lines.append(f"  {label:<11}  {text}".rstrip())

    def add(self, name: str, value: Json, text: str = "") -> None:
        """Add a fact, and a line with it: what a list joins, where there is no other text."""
        self.facts[name] = value
        self.row(name, text or ", ".join(map(str, items_of(value) or [value])))


async def _examine(studio: Studio, out: Output) -> int:
    found: list[Json] = []
    code = 0
    for name, server in studio.config.servers.items():
        began = time.perf_counter()
        status = await studio.manager.settle(name)
        ready = time.perf_counter()
        await studio.manager.listed(name)
        listed = time.perf_counter()
        if status.state == "ready" and not status.modern:
            with suppress(StudioError):  # the lint, and the state of the connection, say what was wrong
                await studio.manager.connection(name).request("ping", deadline=Deadline(_PATIENCE, _PATIENCE))
        await studio.trace.examine(name)
        # Here nobody waits for the next attempt.
        report = Report(server, "failed" if status.state == "retrying" else status.state)
        add_entry(report, studio, status)
        if server.url:
            await add_remote(report, studio)
        add_connection(report, studio, status, (ready - began) * 1000, (listed - ready) * 1000)
        add_output(report, studio)
        add_warnings(report, studio, status)
        add_error(report, studio, status)
        found.append(report.facts)
        for line in report.lines:
            out.data(safe(line, _LONGEST))  # one line, whatever the server calls itself
        out.data("")
        if status.error is not None:
            code = code or status.error.exit_code
    out.result = found
    if code and out.json:
        out.envelope({"ok": False, "error": {"kind": "failure", "message": "Not all servers work.", "result": found}})
    elif not code:
        out.done()
    return code


def add_entry(report: Report, studio: Studio, status: Status) -> None:
    """What the configuration says of the server."""
    server, clean = report.server, studio.redactor
    if server.url:
        kind = status.spoken or server.kind
        report.add("url", clean.url((server.written or server).url))
        report.add("transport", kind, connections.KIND_NAMES[kind])
        report.add("headers", list(server.headers), ", ".join(server.headers) or "none of its own")
    else:
        argv = [clean.text(word) for word in (server.command, *server.args)]
        report.add("argv", argv, " ".join(argv))
        report.add("cwd", os.path.abspath(server.cwd or "."))
        report.add("environment", sorted(child_environment(server)))
        report.facts["pid"] = status.pid
        if standing := walls.in_words(server):
            report.add("sandbox", standing)


async def add_remote(report: Report, studio: Studio) -> None:
    """How a server at a URL is reached, and signed in to."""
    server = report.server
    report.add("tls", servers.tls(server))
    report.facts |= {"insecure": server.tls.insecure, "proxy": None}
    try:
        if (route := route_to(server.url)) is not None:
            report.add("proxy", f"{route.place} ({route.variable})")
    except ConfigError as error:
        report.add("proxy", f"✗ {error.message}")
    if server.signs_in:
        report.facts["signIn"] = await _add_sign_in(report, studio)
    else:
        report.facts |= {"signIn": None, "credentials": "none" if server.auth.kind == "none" else "in its entry"}
        report.row("signed in", why_nobody(server))


async def _add_sign_in(report: Report, studio: Studio) -> Json:
    server = report.server
    try:
        account = await studio.signing.account(server.name)
    except StudioError as error:
        problem = f"{error.message} {error.hint}".rstrip()
        report.row("signed in", f"✗ {problem}")
        return {"problem": problem}
    if account is None:
        wanted = "" if report.facts["state"] == "needs_auth" else ", should it want that"
        by_itself = f"not yet: by itself ({server.auth.kind}), when the server wants it"
        report.row("signed in", by_itself if server.auth.alone else f"nobody is{wanted}: {command(server)}")
        return {"signedIn": False}
    valid, scopes = accounts.validity(account), f", scopes {' '.join(account.scopes)}" if account.scopes else ""
    report.row("signed in", f"at {account.issuer}{scopes}")
    report.row("token", f"{valid}; stored in {account.kept}")
    return {**accounts.as_json(account), "valid": valid}


def add_connection(report: Report, studio: Studio, status: Status, waited: float, listed: float) -> None:
    """What was done and how long it took, and what both sides have said of themselves."""
    counts = {kind: len(studio.catalog.listing(status.server, kind).entries) for kind in KINDS}
    steps = [(step.name, step.ms, studio.redactor.text(step.detail)) for step in status.steps]
    listing = ", ".join(plural(count, kind) for kind, count in counts.items())
    steps.append(("listed", listed, listing) if report.good else ("failed", waited, ""))
    report.facts["steps"] = [{"step": name, "ms": round(ms, 1), "detail": detail} for name, ms, detail in steps]
    for name, ms, detail in steps:
        report.row(name, f"{ms:.0f} ms  {detail}")
    if not report.good:
        return
    era, info = "modern" if status.modern else "legacy", mapping(status.server_info)
    report.facts |= {
        "version": status.version, "era": era, "offered": status.offered, "serverInfo": info,
        "capabilities": status.capabilities, "counts": {f"{kind}s": count for kind, count in counts.items()},
        "clientCapabilities": status.declared, "clientInfo": status.client_info,
    }  # fmt: skip
    other = f", though {status.offered} was offered" if status.offered != status.version else ""
    report.row("server", f"{info.get('name', '?')} {info.get('version', '')}")
    report.row("protocol", f"{status.version} ({era} era{other})")
    report.row("it declares", servers.capabilities(status.capabilities))
    report.row("we declare", servers.capabilities(status.declared))


def add_output(report: Report, studio: Studio) -> None:
    """How the server ended last, and what it printed besides the protocol: of each kind, where it comes from."""
    server = report.server
    mortems = studio.manager.supervisor(server.name).mortems
    report.facts["ending"] = crashes.as_json(mortems[-1]) if mortems else None
    for label, value in crashes.facts(mortems[-1]) if mortems else ():
        if label not in ("stdout", "stderr"):  # which are shown further down
            report.row(label, value)
    report.facts["stray"] = servers.stray_lines(studio.trace, server) if server.kind == "stdio" else []
    for one in report.facts["stray"]:
        after = f"first after {one['after']}" if one["after"] else "before the first message"
        report.row("stdout", f"{one['count']:,} times {one['kind']}, {after}")
        report.lines += [f"      {one['explanation']}", *(f"      │ {line}" for line in one["lines"])]


def add_warnings(report: Report, studio: Studio, status: Status) -> None:
    """What the lint has found, worst first, and what else is wrong."""
    ledger = studio.trace.ledger(status.server)
    warnings = servers.warnings(status, studio.catalog, ledger)
    report.lines += [f"  ! {warning}" for warning in warnings]
    findings: list[Json] = []
    if counts := servers.finding_counts(ledger):
        report.row("findings", counts)
    elif report.good:
        report.row("findings", "none: nothing is wrong with what it sent so far")
    printed = studio.manager.supervisor(status.server).tap.stray_lines
    for group in ledger.groups():
        first = group.first
        item: dict[str, Json] = {
            "severity": first.severity, "rule": first.rule, "text": first.text, "section": first.section,
            "pointer": first.pointer, "count": group.count, "others": group.others,
        }  # fmt: skip
        what, where = servers.finding(group)
        report.lines += [f"  {_SIGNS[first.severity]} {what}", f"      {where}"]
        if first.rule == "stdout-noise" and printed:
            item["example"] = printed[0]
            report.lines.append(f'      such as "{printed[0]}"')
        findings.append(item)
    report.facts |= {"warnings": warnings, "findings": findings}


def add_error(report: Report, studio: Studio, status: Status) -> None:
    """Why it does not work, what to try, and what the server said last."""
    if (error := status.error) is not None:
        by_hand = "Start the command by hand, in that folder, to see what it says." if report.server.command else ""
        message, hint = studio.redactor.text(error.message), studio.redactor.text(error.hint or by_hand)
        http = connections.http_json(error.http, studio.redactor) if error.http is not None else None
        report.facts |= {"error": message, "try": hint, "http": http}
        report.lines.append(f"  ✗ {message}")
        if hint:
            report.lines.append(f"    try: {hint}")
        report.lines += connections.http_lines(http) if http is not None else ()
    last = list(studio.manager.supervisor(status.server).tap.stderr_lines)[-_STDERR:]
    report.facts["stderr"] = last
    if last and not report.good:
        report.lines += ["  standard error ends with", *(f"    {line}" for line in last)]
