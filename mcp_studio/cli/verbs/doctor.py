"""`doctor`: connect to each server and say what was done, how long it took, what failed and what to try."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields

from mcp_studio import __version__
from mcp_studio.auth.discovery import is_loopback, tidy
from mcp_studio.catalog.listing import KINDS
from mcp_studio.cli import accounts
from mcp_studio.cli.engine import execute
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output, http_json, http_lines
from mcp_studio.cli.sign_in import login_command
from mcp_studio.cli.targets import configured, only, select
from mcp_studio.config.model import KIND_NAMES, Config, ServerConfig
from mcp_studio.errors import ConfigError, StudioError
from mcp_studio.jsontext import Json
from mcp_studio.limits import DEFAULT, Limits
from mcp_studio.paths import Paths
from mcp_studio.present.units import plural
from mcp_studio.safetext import safe
from mcp_studio.session.connection import Deadline
from mcp_studio.session.state import Status
from mcp_studio.studio import Studio
from mcp_studio.trace import postmortem, stray
from mcp_studio.trace.disk.sessions import in_words
from mcp_studio.trace.lint.rules import SEVERITIES
from mcp_studio.transport.guard_start import environment_names
from mcp_studio.transport.http_client import route_to
from mcp_studio.vault.keyring import place_in_words

_PATIENCE = 5.0
"""Seconds that the ping, and looking at what is kept, may take."""
_SIGNS = {"error": "✗", "warning": "!", "hint": "·"}
_STRAY = 3
"""Stray lines of each kind that are shown."""
_STDERR = 5
"""Lines of standard error that are shown of a server."""
_LONGEST = 20_000
"""Characters of one line of the report."""


def run(options: Options, out: Output) -> int:
    """Examine, and return the exit code: that of the first server that failed."""
    config = select(configured(out), [*options.words, *options.values("--server")])
    out.server = only(config)
    _surroundings(config, out)
    return execute(config, out, lambda studio: _examine(studio, out))


def _surroundings(config: Config, out: Output) -> None:
    folder, settings = Paths.default().state / "trace", config.settings
    kept = in_words(folder, settings.record, settings.record_bytes, settings.record_age)
    limits = {field.name: getattr(settings.limits, field.name) for field in fields(Limits) if field.name != "leave"}
    changed = [f"{name} = {value:g}" for name, value in limits.items() if value != getattr(DEFAULT, name)]
    out.data(f"mcp-studio {__version__}, Python {sys.version.split()[0]} ({sys.executable})")
    out.data(f"configuration  {', '.join(config.files) or f'none ({Paths.default().config_file})'}")
    out.data(f"sessions       {kept} ({folder})")
    out.data(f"limits         {', '.join(changed) or 'none is changed'}")
    if any(server.url for server in config.servers.values()):
        out.data(f"sign-ins       {place_in_words(settings.secrets, Paths.default().state)}")
    for problem in config.problems:
        out.data(f"✗ left out     {problem}")
    for question in config.untrusted:
        out.data(f"✗ not in use   {question.file}: nobody has agreed to it; mcp-studio config trust")
    out.data("")


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
        report = _report(studio, server, status, (ready - began) * 1000, (listed - ready) * 1000)
        if server.url:
            report |= await remote_report(studio, server)
        if "try" in report:
            report["try"] = out.hint(report["try"])
        found.append(report)
        for line in _text(report, server):
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


def _report(studio: Studio, server: ServerConfig, status: Status, waited: float, listed: float) -> dict[str, Json]:
    """Everything known about one server, as JSON; nothing secret is in it."""
    clean = studio.redactor.text
    written = server.written or server
    state = "failed" if status.state == "retrying" else status.state  # here nobody waits for the next attempt
    report: dict[str, Json] = {"server": server.name, "state": state, "source": server.source.file}
    if server.url:
        report["transport"] = status.spoken or server.kind
        report |= {"url": studio.redactor.url(written.url), "headers": list(server.headers)}
    else:
        report |= {
            "argv": [clean(word) for word in (server.command, *server.args)],
            "cwd": os.path.abspath(server.cwd or "."),
            "environment": list(environment_names(server)),
            "pid": status.pid,
        }
    steps = [{"step": step.name, "ms": round(step.ms, 1), "detail": clean(step.detail)} for step in status.steps]
    if status.state == "ready":
        counts = {kind: len(studio.catalog.listing(server.name, kind).entries) for kind in KINDS}
        listing = ", ".join(plural(count, kind) for kind, count in counts.items())
        steps.append({"step": "listed", "ms": round(listed, 1), "detail": listing})
        report |= {
            "version": status.version, "era": "modern" if status.modern else "legacy", "offered": status.offered,
            "serverInfo": status.server_info if isinstance(status.server_info, dict) else {},
            "capabilities": status.capabilities, "counts": {f"{kind}s": count for kind, count in counts.items()},
            "clientCapabilities": status.declared, "clientInfo": status.client_info,
        }  # fmt: skip
    else:
        steps.append({"step": "failed", "ms": round(waited, 1), "detail": ""})
    report |= {"steps": steps, "warnings": _warnings(studio, server.name, status)}
    report["findings"] = _findings(studio, server.name)
    if status.error is not None:
        by_hand = "Start the command by hand, in that folder, to see what it says." if server.command else ""
        report |= {"error": clean(status.error.message), "try": clean(status.error.hint) or by_hand}
        report["http"] = http_json(status.error.http, studio.redactor) if status.error.http is not None else None
    mortems = studio.manager.supervisor(server.name).mortems
    report["ending"] = postmortem.as_json(mortems[-1]) if mortems else None
    report["stray"] = _stray(studio, server) if server.kind == "stdio" else []
    return report | {"stderr": list(studio.manager.stderr(server.name)[-_STDERR:])}


def _warnings(studio: Studio, name: str, status: Status) -> list[str]:
    """What the lint does not say."""
    found = [f"it {warning}" for warning in studio.trace.ledger(name).uncovered(status.warnings)]
    for kind in KINDS:
        listing = studio.catalog.listing(name, kind)
        problems = () if studio.trace.ledger(name).wrong else listing.problems
        found += [f"{kind}s: {text}" for text in (listing.error, listing.capped, *problems) if text]
    return found


def _findings(studio: Studio, name: str) -> list[Json]:
    """All findings on a server, worst first, equal ones counted."""
    found: list[Json] = []
    lines, _ = studio.manager.stray(name)
    for group in studio.trace.ledger(name).groups():
        first = group.first
        item: dict[str, Json] = {
            "severity": first.severity, "rule": first.rule, "text": first.text, "section": first.section,
            "pointer": first.pointer, "count": group.count, "others": group.others,
        }  # fmt: skip
        if first.rule == "stdout-noise" and lines:
            item["example"] = lines[0]
        found.append(item)
    return found


def _stray(studio: Studio, server: ServerConfig) -> list[Json]:
    """What a server printed besides the protocol: how many lines of each kind, and where they come from."""
    argv = (server.command, *server.args)
    language, launcher = stray.language_of(argv), stray.launcher_of(argv)
    found: dict[str, dict[str, Json]] = {}
    for burst in reversed(stray.bursts(studio.trace, server.name)):
        before = f"{burst.before.method} {burst.before.target}".strip() if burst.before is not None else ""
        for line in burst.lines:
            explanation = stray.explain(line.sort, language, launcher)
            new = {"kind": stray.words(line.sort), "count": 0, "explanation": explanation, "after": before, "lines": []}
            one = found.setdefault(line.sort, new)
            one["count"] += 1
            if len(one["lines"]) < _STRAY:
                one["lines"].append(stray.text_of(line.entry)[:300].decode("utf-8", "replace"))
    return list(found.values())


async def remote_report(studio: Studio, server: ServerConfig) -> dict[str, Json]:
    """How a server at a URL is reached and signed in to; nothing secret is in it."""
    try:
        route = route_to(server.url)
        proxy = f"{route.place} ({route.variable})" if route is not None else None
    except ConfigError as error:
        proxy = f"✗ {error.message}"
    found: dict[str, Json] = {"tls": _tls(server), "insecure": server.tls.insecure, "proxy": proxy}
    if not server.signs_in:
        never = server.auth.kind == "none"
        return found | {"signIn": None, "credentials": "none" if never else "in its entry"}
    try:
        async with asyncio.timeout(_PATIENCE):
            account = await studio.account(server.name)
    except TimeoutError:
        return found | {"signIn": {"problem": "What is kept could not be looked at: the keyring does not answer."}}
    except StudioError as error:
        return found | {"signIn": {"problem": f"{error.message} {error.hint}".rstrip()}}
    if account is None:
        return found | {"signIn": {"signedIn": False}}
    return found | {"signIn": {**accounts.facts(account), "valid": accounts.validity(account)}}


def _tls(server: ServerConfig) -> str:
    tls = server.tls
    if server.url.startswith(("http:", "ws:")):
        try:
            near = is_loopback(tidy(server).url)
        except StudioError as error:
            return f"✗ {error.message}"
        return "none: it is on this machine" if near else "✗ none: what is sent is read on the way"
    if tls.insecure:
        return "✗ NOT CHECKED: any certificate is accepted (insecure = true)"
    authorities = f", also by the authorities in {tls.ca}" if tls.ca else ""
    client = f", we show the client certificate {tls.cert}" if tls.cert else ""
    return f"certificates are checked{authorities}{client}"


def _text(report: dict[str, Json], server: ServerConfig) -> Iterator[str]:
    """The report as lines."""
    good = report["state"] == "ready"
    yield f"{'✓' if good else '✗'} {report['server']}  {str(report['state']).replace('needs_auth', 'needs a sign-in')}"
    if report["source"]:
        yield f"  from         {report['source']}"
    if server.url:
        yield f"  url          {report['url']}"
        yield f"  transport    {KIND_NAMES[report['transport']]}"
        yield f"  headers      {', '.join(report['headers']) or 'none of its own'}"
        yield from remote_lines(report, server)
    else:
        yield f"  argv         {' '.join(report['argv'])}"
        yield f"  cwd          {report['cwd']}"
        yield f"  environment  {', '.join(report['environment'])}"
    for step in report["steps"]:
        yield f"  {step['step']:<11}  {step['ms']:.0f} ms  {step['detail']}".rstrip()
    if good:
        info = report["serverInfo"]
        yield f"  server       {info.get('name', '?')} {info.get('version', '')}".rstrip()
        other = f", though {report['offered']} was offered" if report["offered"] != report["version"] else ""
        yield f"  protocol     {report['version']} ({report['era']} era{other})"
        yield f"  it declares  {_named(report['capabilities'])}"
        yield f"  we declare   {_named(report['clientCapabilities'])}"
    yield from _trouble(report)


def _trouble(report: dict[str, Json]) -> Iterator[str]:
    """What went wrong, as lines."""
    good = report["state"] == "ready"
    if ending := report["ending"]:
        if ending["uptime"] is not None:
            yield f"  ran          for {postmortem.span_text(ending['uptime'])}"
        if ending["means"]:
            yield f"  which means  {ending['means']}"
        for one in ending["inFlight"]:
            what = f"{one['method']} {one['target']}".strip()
            yield f"  in flight    {what}, for {postmortem.span_text(one['ms'] / 1000)}"
    for one in report["stray"]:
        after = f", first after {one['after']}" if one["after"] else ", before the first message"
        yield f"  stdout       {one['count']:,} times {one['kind']}{after}"
        yield f"      {one['explanation']}"
        yield from (f"      │ {line}" for line in one["lines"])
    for warning in report["warnings"]:
        yield f"  ! {warning}"
    if good or report["findings"]:
        yield from _finding_lines(report["findings"])
    if "error" in report:
        yield f"  ✗ {report['error']}"
        if report["try"]:
            yield f"    try: {report['try']}"
        if report["http"] is not None:
            yield from http_lines(report["http"])
    if report["stderr"] and not good:
        yield "  standard error ends with"
        yield from (f"    {line}" for line in report["stderr"])


def _finding_lines(found: list[Json]) -> Iterator[str]:
    """One line for what, one for where it is specified."""
    if not found:
        yield "  findings     none: nothing is wrong with what it sent so far"
        return
    counts = [(severity, sum(item["severity"] == severity for item in found)) for severity in SEVERITIES]
    yield f"  findings     {', '.join(plural(count, severity) for severity, count in counts if count)}"
    for item in found:
        times = f" ({item['count']:,} times)" if item["count"] > 1 else ""
        text = f"and others of the rule {item['rule']}" if item["others"] else item["text"]
        example = f' Such as: "{item["example"]}"' if "example" in item else ""
        yield f"  {_SIGNS[item['severity']]} {text}{times}{example}"
        where = f" at {item['pointer']}" if item["pointer"] else ""
        yield f"      {item['section']}{where}"


def remote_lines(report: dict[str, Json], server: ServerConfig) -> Iterator[str]:
    """How a server at a URL is reached and signed in to, as lines."""
    yield f"  tls          {report['tls']}"
    if report["proxy"]:
        yield f"  proxy        {report['proxy']}"
    found = report["signIn"]
    if found is None:
        kind = "never: kind = none" if report["credentials"] == "none" else "by credentials that stand in its entry"
        yield f"  signed in    {kind}"
    elif "problem" in found:
        yield f"  signed in    ✗ {found['problem']}"
    elif "issuer" in found:
        scopes = f", scopes {' '.join(found['scopes'])}" if found["scopes"] else ""
        yield f"  signed in    at {found['issuer']}{scopes}"
        yield f"  token        {accounts.phrase(found['valid'])}; kept in {found['kept']}"
    elif accounts.alone(server):
        yield f"  signed in    not yet: by itself ({server.auth.kind}), when the server wants it"
    else:
        wanted = "" if report["state"] == "needs_auth" else ", should it want that"
        yield f"  signed in    nobody is{wanted}: {login_command(server)}"


def _named(capabilities: Json) -> str:
    """Capabilities on one line: `tools (listChanged), logging`."""
    if not isinstance(capabilities, dict) or not capabilities:
        return "nothing"
    parts: list[str] = []
    for name, inner in capabilities.items():
        inside = ", ".join(key for key, value in inner.items() if value is not False) if isinstance(inner, dict) else ""
        parts.append(f"{name} ({inside})" if inside else name)
    return ", ".join(parts)
