"""`doctor`: connect to each server and say what was done, how long it took, what failed and what to try."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import fields

from mcp_studio import __version__
from mcp_studio.auth.discovery import is_loopback, tidy
from mcp_studio.catalog.listing import KINDS
from mcp_studio.cli import accounts
from mcp_studio.cli.accounts import alone
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
from mcp_studio.present import crashes, stray, units
from mcp_studio.safetext import safe
from mcp_studio.session.connection import Deadline
from mcp_studio.session.state import Status
from mcp_studio.studio import Studio
from mcp_studio.trace.disk.sessions import in_words
from mcp_studio.trace.lint.rules import SEVERITIES
from mcp_studio.transport.guard import child_environment
from mcp_studio.transport.http_client import route_to
from mcp_studio.vault.keyring import place_in_words

_PATIENCE = 5.0
"""Seconds that the ping may take."""
_SIGNS = {"error": "✗", "warning": "!", "hint": "·"}


async def exercise(studio: Studio, name: str, status: Status) -> None:
    """Make the traffic that the lint needs, besides the lists that were read, and check all of it closely."""
    if status.state == "ready" and not status.modern:
        try:
            await studio.manager.connection(name).request("ping", deadline=Deadline(_PATIENCE, _PATIENCE))
        except StudioError:
            pass  # the lint, and the state of the connection, say what was wrong
    await studio.trace.examine(name)


def findings(studio: Studio, name: str) -> list[Json]:
    """All findings on a server, worst first, equal ones counted."""
    found: list[Json] = []
    lines, _ = studio.manager.stray(name)
    for group in studio.trace.ledger(name).groups():
        first = group.first
        item: dict[str, Json] = {"severity": first.severity, "rule": first.rule, "text": first.text}
        item |= {"section": first.section, "pointer": first.pointer, "count": group.count, "others": group.others}
        if first.rule == "stdout-noise" and lines:
            item["example"] = lines[0]
        found.append(item)
    return found


def lines_of(found: list[Json]) -> Iterator[str]:
    """The same as text: one line for what, one for where it is specified."""
    if not found:
        yield "  findings     none: nothing is wrong with what it sent so far"
        return
    counts = [(severity, sum(item["severity"] == severity for item in found)) for severity in SEVERITIES]
    kinds = ", ".join(f"{count} {severity}{'s' if count > 1 else ''}" for severity, count in counts if count)
    yield f"  findings     {kinds}"
    for item in found:
        times = f" ({item['count']:,} times)" if item["count"] > 1 else ""
        text = f"and others of the rule {item['rule']}" if item["others"] else item["text"]
        example = f' Such as: "{item["example"]}"' if "example" in item else ""
        yield f"  {_SIGNS[item['severity']]} {text}{times}{example}"
        where = f" at {item['pointer']}" if item["pointer"] else ""
        yield f"      {item['section']}{where}"


_PLAIN = ("http:", "ws:")


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
    return found | {"signIn": await _signed_in(studio, server)}


async def _signed_in(studio: Studio, server: ServerConfig) -> Json:
    try:
        async with asyncio.timeout(_PATIENCE):
            account = await studio.account(server.name)
    except TimeoutError:
        return {"problem": "What is kept could not be looked at: the keyring does not answer."}
    except StudioError as error:
        return {"problem": f"{error.message} {error.hint}".rstrip()}
    if account is None:
        return {"signedIn": False}
    return {**accounts.facts(account), "valid": accounts.validity(account)}


def _tls(server: ServerConfig) -> str:
    tls = server.tls
    if server.url.startswith(_PLAIN):
        try:
            near = is_loopback(tidy(server).url)
        except StudioError as error:
            return f"✗ {error.message}"
        return "none: it is on this machine" if near else "✗ none: what is sent is read on the way"
    if tls.insecure:
        return "✗ NOT CHECKED: any certificate is accepted (insecure = true)"
    more = [f"also by the authorities in {tls.ca}"] * bool(tls.ca)
    more += [f"we show the client certificate {tls.cert}"] * bool(tls.cert)
    return ", ".join(["certificates are checked", *more])


def remote_lines(report: dict[str, Json], server: ServerConfig) -> Iterator[str]:
    """The same as text."""
    yield f"  tls          {report['tls']}"
    if report["proxy"]:
        yield f"  proxy        {report['proxy']}"
    found = report["signIn"]
    if found is None:
        kind = "never: kind = none" if report["credentials"] == "none" else "by credentials that stand in its entry"
        yield f"  signed in    {kind}"
    elif "problem" in found:
        yield f"  signed in    ✗ {found['problem']}"
    elif "issuer" not in found:
        if alone(server):
            yield f"  signed in    not yet: by itself ({server.auth.kind}), when the server wants it"
            return
        wanted = "" if report["state"] == "needs_auth" else ", should it want that"
        yield f"  signed in    nobody is{wanted}: {login_command(server)}"
    else:
        scopes = f", scopes {' '.join(found['scopes'])}" if found["scopes"] else ""
        yield f"  signed in    at {found['issuer']}{scopes}"
        yield f"  token        {accounts.phrase(found['valid'])}; kept in {found['kept']}"


_SHOWN = 3
"""Stray lines of each kind that are shown."""
_LAST = 5
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
    out.data(f"mcp-studio {__version__}, Python {sys.version.split()[0]} ({sys.executable})")
    out.data(f"configuration  {', '.join(config.files) or f'none ({Paths.default().config_file})'}")
    folder, settings = Paths.default().state / "trace", config.settings
    kept = in_words(folder, settings.record, settings.record_bytes, settings.record_age)
    out.data(f"sessions       {kept} ({folder})")
    changed = (f"{name} = {value:g}" for name, value in _changed(settings.limits))
    out.data(f"limits         {', '.join(changed) or 'none is changed'}")
    if any(server.url for server in config.servers.values()):
        out.data(f"sign-ins       {place_in_words(settings.secrets, Paths.default().state)}")
    for problem in config.problems:
        out.data(f"✗ left out     {problem}")
    for question in config.untrusted:
        out.data(f"✗ not in use   {question.file}: nobody has agreed to it; mcp-studio config trust")
    out.data("")


def _changed(limits: Limits) -> Iterator[tuple[str, float]]:
    """The limits that are not what they are by default; how long servers may take to leave is ours to say here."""
    for field in fields(Limits):
        value = getattr(limits, field.name)
        if field.name != "leave" and value != getattr(DEFAULT, field.name):
            yield field.name, value


async def _examine(studio: Studio, out: Output) -> int:
    found: list[Json] = []
    code = 0
    for name, server in studio.config.servers.items():
        began = time.perf_counter()
        status = await studio.manager.settle(name)
        ready = time.perf_counter()
        await studio.manager.listed(name)
        listed = time.perf_counter()
        await exercise(studio, name, status)
        report = _report(studio, server, status, (ready - began) * 1000, (listed - ready) * 1000)
        if server.url:
            report |= await remote_report(studio, server)
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
            "environment": sorted(child_environment(server)),
            "pid": status.pid,
        }
    steps = [{"step": step.name, "ms": round(step.ms, 1), "detail": clean(step.detail)} for step in status.steps]
    if status.state == "ready":
        counts = {kind + "s": len(studio.catalog.listing(server.name, kind).entries) for kind in KINDS}
        steps.append({"step": "listed", "ms": round(listed, 1), "detail": _counted(counts)})
        info = status.server_info if isinstance(status.server_info, dict) else {}
        report |= {"version": status.version, "era": "modern" if status.modern else "legacy", "serverInfo": info}
        report |= {"capabilities": status.capabilities, "counts": counts, "offered": status.offered}
        report |= {"clientCapabilities": status.declared, "clientInfo": status.client_info}
    else:
        steps.append({"step": "failed", "ms": round(waited, 1), "detail": ""})
    report |= {"steps": steps, "warnings": _warnings(studio, server.name, status)}
    report |= {"findings": findings(studio, server.name)}
    if status.error is not None:
        by_hand = "Start the command by hand, in that folder, to see what it says." if server.command else ""
        report |= {"error": clean(status.error.message), "try": clean(status.error.hint) or by_hand}
        report["http"] = http_json(status.error.http, studio.redactor) if status.error.http is not None else None
    report |= {"ending": _ending(studio, server.name), "stray": _stray(studio, server.name)}
    return report | {"stderr": list(studio.manager.stderr(server.name)[-_LAST:])}


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {what if count != 1 else what[:-1]}" for what, count in counts.items())


def _named(capabilities: Json) -> str:
    """Capabilities on one line: `tools (listChanged), logging`."""
    if not isinstance(capabilities, dict) or not capabilities:
        return "nothing"
    parts: list[str] = []
    for name, inner in capabilities.items():
        inside = ", ".join(key for key, value in inner.items() if value is not False) if isinstance(inner, dict) else ""
        parts.append(f"{name} ({inside})" if inside else name)
    return ", ".join(parts)


def _warnings(studio: Studio, name: str, status: Status) -> list[str]:
    """What the lint does not say."""
    found = [f"it {warning}" for warning in studio.trace.ledger(name).uncovered(status.warnings)]
    for kind in KINDS:
        listing = studio.catalog.listing(name, kind)
        problems = () if studio.trace.ledger(name).wrong else listing.problems
        found += [f"{kind}s: {text}" for text in (listing.error, listing.capped, *problems) if text]
    return found


def _text(report: dict[str, Json], server: ServerConfig) -> Iterator[str]:
    good = report["state"] == "ready"
    yield f"{'✓' if good else '✗'} {report['server']}  {str(report['state']).replace('needs_auth', 'needs a sign-in')}"
    if report["source"]:
        yield f"  from         {report['source']}"
    if "url" in report:
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
    if report["ending"]:
        yield from _ending_lines(report["ending"])
    yield from _stray_lines(report["stray"])
    for warning in report["warnings"]:
        yield f"  ! {warning}"
    if good or report["findings"]:
        yield from lines_of(report["findings"])
    if "error" in report:
        yield f"  ✗ {report['error']}"
        if report["try"]:
            yield f"    try: {report['try']}"
        if report["http"] is not None:
            yield from http_lines(report["http"])
    if report["stderr"] and not good:
        yield "  standard error ends with"
        yield from (f"    {line}" for line in report["stderr"])


def _ending(studio: Studio, name: str) -> Json:
    """How a server ended last, as JSON; None where it did not."""
    mortems = studio.manager.supervisor(name).mortems
    return crashes.as_json(mortems[-1]) if mortems else None


def _ending_lines(ending: dict[str, Json]) -> Iterator[str]:
    """The same as text."""
    if ending["uptime"] is not None:
        ready = "" if ending["ready"] else ", not ready yet"
        yield f"  ran          for {units.duration(ending['uptime'] * 1000)}{ready}"
    if ending["means"]:
        yield f"  which means  {ending['means']}"
    for one in ending["inFlight"]:
        what = f"{one['method']} {one['target']}".strip()
        yield f"  in flight    {what}, for {units.duration(one['ms'])}"


def _stray(studio: Studio, name: str) -> Json:
    """What a server printed besides the protocol, sorted: how many lines of each kind, and where they come from."""
    config = studio.manager.config(name)
    if config.kind != "stdio":
        return []
    argv = (config.command, *config.args)
    found: dict[str, dict[str, Json]] = {}
    for burst in reversed(stray.bursts(studio.trace, name)):
        before = f"{burst.before.method} {burst.before.target}".strip() if burst.before is not None else ""
        for line in burst.lines:
            one = found.setdefault(
                line.sort,
                {
                    "kind": stray.SORTS[line.sort],
                    "count": 0,
                    "explanation": stray.explain(line.sort, argv),
                    "after": before,
                    "lines": [],
                },
            )
            one["count"] += 1
            if len(one["lines"]) < _SHOWN:
                one["lines"].append(stray.text_of(line.entry)[:300].decode("utf-8", "replace"))
    return list(found.values())


def _stray_lines(found: list[Json]) -> Iterator[str]:
    """The same as text."""
    for one in found:
        after = f", first after {one['after']}" if one["after"] else ", before the first message"
        yield f"  stdout       {one['count']:,} times {one['kind']}{after}"
        yield f"      {one['explanation']}"
        yield from (f"      │ {line}" for line in one["lines"])
