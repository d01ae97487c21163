"""Everything about one server: state, reason, connection steps, capabilities, faults, output."""

from __future__ import annotations

import time
from collections.abc import Iterator

from mcp_studio.catalog.listing import KINDS, Listing
from mcp_studio.config.model import Kind, ServerConfig
from mcp_studio.jsontext import mapping, printable
from mcp_studio.present import connections, crashes, metrics, servers, units
from mcp_studio.present.definition import change_counts, icons
from mcp_studio.safetext import safe
from mcp_studio.sandbox import walls
from mcp_studio.session.state import Status
from mcp_studio.studio import Studio
from mcp_studio.trace.lint.ledger import Ledger
from mcp_studio.tui.panes.result import COLOURS
from mcp_studio.tui.screens.dialog import Choice, Dialog, Part, section
from mcp_studio.tui.views.rows import cut, glyphs

_STDERR_LINES = 200
"""The newest lines, which are shown."""
_FINDINGS = 60
_USED = 30
"""Rows of metrics."""
_SEVERITIES = {"error": ("bad", "$text-error"), "warning": ("warning", "$text-warning"), "hint": ("dot", "$quiet")}
_FILTERS = {"mark": "counted", "mask": "masked"}
_SUBSCRIPTIONS = {
    "active": "subscribed", "wanted": "to be subscribed", "refused": "refused", "lost": "subscribed no longer",
}  # fmt: skip


_ACTIONS = {
    "repeat": "Reconnect", "edit": "Edit", "sign_in": "Sign in", "token": "Token", "roots": "Roots",
    "server_logs": "Log messages", "console": "Console", "exit_report": "Exit report",
    "unexpected_output": "Stdout", "export_servers": "Write to…",
}  # fmt: skip
"""Buttons for actions of the servers pane, which runs them for the server."""


class ServerDetails(Dialog[str]):
    """Redraws itself when the server's state changes; answers the action that the person chose."""

    DEFAULT_CLASSES = "-broad"
    every = 0.5
    choices = (
        *(Choice(action, label, answer=action) for action, label in _ACTIONS.items()),
        Choice("copy", "Copy"), Choice("back", "Close"),
    )  # fmt: skip

    def __init__(self, server: str) -> None:
        super().__init__(server)
        self._server = server
        state = self.app.studio.manager.status(server).state
        first = "sign_in" if state == "needs_auth" else "repeat" if state in ("failed", "disabled") else "back"
        self.choices = tuple(sorted(self.choices, key=lambda choice: choice.action != first))

    def on_mount(self) -> None:
        studio = self.app.studio
        for kind in KINDS:
            studio.manager.refresher.look(self._server, kind)
        self.run_worker(studio.trace.examine(self._server))

    def look(self) -> None:
        studio = self.app.studio
        if self._server not in studio.manager.names():
            self.dismiss(None)
            return
        supervisor, signs_in = studio.manager.supervisor(self._server), studio.manager.config(self._server).signs_in
        ended, printed = bool(supervisor.mortems), bool(supervisor.tap.stray_count)
        self.show_buttons(sign_in=signs_in, token=signs_in, exit_report=ended, unexpected_output=printed)
        self.put("facts", *_parts(studio, self._server))


def _parts(studio: Studio, name: str) -> Iterator[Part]:
    status, config, ledger = studio.manager.status(name), studio.manager.config(name), studio.trace.ledger(name)
    yield f"{connections.state_words(status)}\n", COLOURS[connections.tone(status)]
    if config.tls.insecure:
        words = f"{connections.INSECURE}: whoever is on the way can read and change everything"
        yield f"{glyphs().warning} {words}\n", "bold $text-error"
    if status.error:
        if not getattr(status.error, "by_login", False):
            yield safe(f"{status.error.hint}\n" if status.error.hint else "", 600, lines=True)
        yield from connections.http_parts(status.error)
    wrong = ledger.uncovered(status.warnings)
    yield from section("Warnings", [(safe(text, 600), "$text-warning") for text in wrong])
    facts = (*_facts(config, status), *_standing(studio, config))
    yield from ("\n", *(f"  {name:<10}{text}\n" for name, text in facts))
    supervisor = studio.manager.supervisor(name)
    connection, tap = supervisor.connection, supervisor.tap
    if connection is not None and status.spoken == "http":
        yield f"  {'answered':<10}{units.seconds(time.monotonic() - connection.heard)} ago\n"
    yield from section("Metrics", _metrics(studio, name, status))
    yield from section("Offers", _offers(studio, name))
    yield from section("Notifications", _notifications(studio, name))
    yield from section(f"Findings: {servers.finding_counts(ledger)}", _findings(ledger))
    exits = [f"{safe(crashes.first_line(one), 200)}. {crashes.meaning(one.ending)}" for one in supervisor.mortems[-1:]]
    yield from section("Exit report", exits)
    output = f"Unexpected output on stdout: {units.plural(tap.stray_count, 'line')}"
    yield from section(output, [safe(line, 500) for line in tap.stray_lines])
    yield from section("stderr", [safe(line, 1_000) for line in tuple(tap.stderr_lines)[-_STDERR_LINES:]])
    steps = [f"{one.name:<12} {units.duration(one.ms):>9}  {safe(one.detail, 300)}" for one in status.steps]
    yield from section("Steps of connecting", steps)
    declared = status.declared if status.state == "ready" else None
    for title, value in (("it declares", status.capabilities), ("the studio declared", declared)):
        yield from section(f"Capabilities that {title}", _lines(printable(value)) if value else ())
    yield from section("Instructions for models", _lines(status.instructions or ""))


def _metrics(studio: Studio, name: str, status: Status) -> Iterator[str]:
    """The metrics of the server, and of its most used tools, prompts and resources."""
    rows = metrics.metrics_of(studio.numbers, studio.caller.prices(name), {})
    some = [one for one in rows if one.of.server == name]
    for row in [metrics.HEADS, *map(metrics.figures_row, some[:_USED])] if some else ():
        yield f"{cut(row[0], 15):<15}{row[1]:>9}{''.join(f'{cell:>7}' for cell in row[2:])}"
    if some:
        yield " · ".join(metrics.server_facts(some[0], time.time() * (status.state == "ready")))


def _facts(config: ServerConfig, status: Status) -> Iterator[tuple[str, str]]:
    """Names and values of short facts about the server; foreign text is safe."""
    spoken: Kind = status.spoken or config.kind
    if config.url:
        yield "url", safe(config.url, 1_000)
        yield "transport", connections.KIND_NAMES[spoken]
    else:
        yield "command", safe(units.command_line((config.command, *config.args)), 4_000)
    if standing := walls.in_words(config):
        yield "sandbox", safe(standing, 4_000)
    if config.cwd:
        yield "folder", safe(config.cwd)
    for word, names in (("headers", config.headers), ("env", (*config.env, *config.inherit_env))):
        if names:
            yield word, f"{safe(', '.join(names))} (values are not shown)"
    yield "from", safe(config.source.file or "the command line")
    yield "trust", "its annotations are trusted" if config.trust else "its annotations are hints only"
    if status.version:
        era = "modern, without handshake" if status.modern else "legacy, with handshake"
        offered = f"; {safe(status.offered)} was offered" if status.offered != status.version else ""
        yield "protocol", f"{safe(status.version)} ({era}{offered})"
    if info := mapping(status.server_info):
        yield "server", f"{safe(info.get('title') or info.get('name'), 200)} {safe(info.get('version'), 80)}"
    for text in filter(None, (info.get("description"), info.get("websiteUrl"))):
        yield "", safe(text, 500)
    yield from (("", line) for line in icons(info.get("icons")))
    if status.pid:
        yield "process", str(status.pid)


def _standing(studio: Studio, config: ServerConfig) -> Iterator[tuple[str, str]]:
    """How the studio treats the server: failover group, start, filter of results, cached results."""
    name, reads = config.name, studio.caller.reads
    if config.group:
        facts = safe(config.group, 60), f"priority {config.priority}", studio.groups.by_hand(name)
        yield "group", ", ".join(filter(None, facts))
    if config.start == "demand":
        yield "start", "on demand: its first call starts it"
    if (filter_ := config.filter or studio.config.settings.filter) != "off":
        yield "filter", f"secrets and personal data in results are {_FILTERS[filter_]}"
    sizes, hits, misses = reads.sizes(name), reads.hits[name], reads.misses[name]
    if sizes or hits or misses:
        size = units.size(sum(sizes))
        yield "cache", f"{units.plural(len(sizes), 'result')}, {size}, {hits:,} hits, {misses:,} misses"


def _findings(ledger: Ledger) -> Iterator[Part]:
    """The findings of the lint, grouped, the worst first."""
    groups = ledger.groups()
    for group in groups[:_FINDINGS]:
        what, where = servers.finding(group)
        sign, look = _SEVERITIES[group.first.severity]
        yield f"{getattr(glyphs(), sign)} {what}", look
        yield f"  {where}", "$quiet"
    if len(groups) > _FINDINGS:
        yield f"and {len(groups) - _FINDINGS} more", "$quiet"


def _lines(text: str) -> list[str]:
    return units.unwrapped(safe(text, 6_000, lines=True)).splitlines()


def _offers(studio: Studio, name: str) -> Iterator[Part]:
    for kind in KINDS:
        listing = studio.catalog.listing(name, kind)
        if listing.entries or listing.error:
            skills = sum(bool(entry.skill) for entry in listing.entries)
            count = f"{units.plural(skills, 'skill')} among them" if skills else ""
            state = "" if listing.state == "fresh" else listing.state
            details = count, state, _freshness(listing), change_counts(listing.changes), listing.capped
            facts = (units.plural(len(listing.entries), kind), *details, listing.error)
            yield safe(", ".join(filter(None, facts)), 800)
        # The lint reports the problems that it saw on the wire; these are problems of a list from an earlier run.
        problems = () if studio.trace.ledger(name).counts else listing.problems[:10]
        yield from ((f"  {safe(problem, 300)}", "$text-error") for problem in problems)


def _freshness(listing: Listing) -> str:
    """When a list was read, and how long its server calls it fresh (time to live, 2026-07-28)."""
    if not listing.read_at:
        return ""
    words = [f"read {units.seconds(time.monotonic() - listing.read_at)} ago"]
    if listing.hint is not None:
        words += [f"good for {units.seconds(listing.hint.ttl)}" * bool(listing.hint.ttl), listing.hint.problem]
    return ", ".join(filter(None, words))


def _notifications(studio: Studio, name: str) -> Iterator[Part]:
    """The subscriptions, and the level of the log messages."""
    for one in studio.subscriptions.of(name):
        state = f"{_SUBSCRIPTIONS[one.state]} ({safe(one.detail, 200)})" if one.detail else _SUBSCRIPTIONS[one.state]
        last = f", the last {units.seconds(max(0.0, time.time() - one.updated))} ago" if one.updates else ""
        yield f"{safe(one.uri, 300)}  {state}, {units.plural(one.updates, 'update')}{last}"
    if (level := studio.manager.supervisor(name).log_level) or studio.logs.count(name):
        asked = f"asked for from {level} on" if level else "no level was asked for"
        yield f"{units.plural(studio.logs.count(name), 'log message')}, {asked}"
