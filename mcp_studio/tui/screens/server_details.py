"""Everything about one server: state, why, steps, capabilities, what it does wrong, its output."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Static

from mcp_studio.catalog.listing import KINDS, Listing
from mcp_studio.config.model import KIND_NAMES, Kind, ServerConfig
from mcp_studio.jsontext import Json, mapping, printable
from mcp_studio.present import connections, crashes, servers, units
from mcp_studio.present.definition import icons
from mcp_studio.safetext import safe
from mcp_studio.session.state import Status
from mcp_studio.session.subscriptions import Subscription
from mcp_studio.studio import Studio
from mcp_studio.trace.lint.ledger import Ledger
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.glyphs import glyphs

Parts = list[str | tuple[str, str]]
_STDERR_LINES = 200
"""Newest lines shown."""
_FINDINGS = 60
_PAUSE = 0.5
"""Seconds between two looks at it."""
_COLOURS = {"ok": "$state-ready", "busy": "$state-busy", "bad": "$state-failed", "off": "$quiet"}
_SEVERITIES = {"error": "$text-error", "warning": "$text-warning", "hint": "$quiet"}
_SUBSCRIPTIONS = {
    "active": "subscribed", "wanted": "to be subscribed", "refused": "refused", "lost": "subscribed no longer",
}  # fmt: skip


class ServerDetails(Dialog[str]):
    """Drawn anew when the server's state changes; answers the action that the person wants done with it."""

    DEFAULT_CLASSES = "-large"
    choices = (
        Choice("back", "Close"),
        Choice("repeat", "Reconnect"),
        Choice("edit", "Edit"),
        Choice("sign_in", "Sign in"),
        Choice("token", "Token"),
        Choice("server_logs", "Logs"),
        Choice("roots", "Roots"),
        Choice("console", "Console"),
        Choice("exit_report", "Exit report"),
        Choice("unexpected_output", "Unexpected output"),
        Choice("copy", "Copy all"),
    )
    DEFAULT_CSS = """
    ServerDetails #buttons { layout: grid; grid-size: 6; grid-gutter: 0 1; height: auto; }
    ServerDetails #buttons Button { width: 1fr; margin: 0; }
    """

    def __init__(self, server: str) -> None:
        super().__init__()
        self._server = server
        self._text = ""

    def heading(self) -> str:
        return self._server

    def body(self) -> Iterable[Widget]:
        yield Static(id="facts", markup=False)

    def on_mount(self) -> None:
        studio = self.app.studio
        for kind in KINDS:
            studio.manager.look(self._server, kind)
        signs_in = studio.manager.config(self._server).signs_in
        self.query_one("#sign_in").display = self.query_one("#token").display = signs_in
        wants = studio.manager.status(self._server).state == "needs_auth"
        self.query_one("#sign_in" if wants else "#back", Button).focus()
        self._look()
        self.set_interval(_PAUSE, self._look)
        self.run_worker(studio.trace.examine(self._server))

    async def on_button_pressed(self, event: Button.Pressed) -> None:
        """Most buttons stand for an action of the servers pane, which knows the server."""
        event.stop()
        if event.button.id in ("back", "copy"):
            await self.run_action(event.button.id)
        else:
            self.dismiss(event.button.id)

    def action_copy(self) -> None:
        self.app.copy(self._text)

    def _look(self) -> None:
        if self._server not in self.app.studio.manager.names():
            self.dismiss(None)
            return
        content = Content.assemble(*_parts(self.app.studio, self._server))
        if content.plain != self._text:
            self._text = content.plain
            self.query_one("#facts", Static).update(content)


def _parts(studio: Studio, name: str) -> Parts:
    manager = studio.manager
    status, config, ledger = manager.status(name), manager.config(name), studio.trace.ledger(name)
    parts: Parts = [(connections.state_words(status), _COLOURS[connections.tone(status)]), "\n"]
    if config.tls.insecure:
        words = f"{connections.INSECURE}: whoever is on the way can read and change everything"
        parts.append((f"{glyphs().warning} {words}\n", "bold $text-error"))
    if status.error and status.error.hint and not getattr(status.error, "by_login", False):
        parts += [safe(status.error.hint, 600), "\n"]
    if status.error:
        parts += connections.http_parts(status.error)
    if wrong := ledger.uncovered(status.warnings):
        parts.append(("\nWhat it does wrong\n", "bold $accent"))
        parts += [(f"  {safe(warning, 600)}\n", "$text-warning") for warning in wrong]
    return [
        *parts, *_config(config, status.spoken or config.kind), *_findings(ledger), *_facts(status),
        *_offers(studio, name), *_notifications(studio, name), *_output(studio, name),
    ]  # fmt: skip


def _config(config: ServerConfig, spoken: Kind) -> Parts:
    if config.url:
        parts: Parts = [f"\n  url       {safe(config.url, 1_000)}\n", f"  transport {KIND_NAMES[spoken]}\n"]
        names, word = ", ".join(config.headers), "headers"
    else:
        parts = [f"\n  command   {safe(shlex.join((config.command, *config.args)), 4_000)}\n"]
        if config.cwd:
            parts.append(f"  folder    {safe(config.cwd)}\n")
        names, word = ", ".join((*config.env, *config.inherit_env)), "env"
    if names:
        parts.append(f"  {word:<9} {safe(names)} (values are not shown)\n")
    trust = "its annotations are trusted" if config.trust else "its annotations are hints only"
    return [*parts, f"  from      {safe(config.source.file or 'the command line')}\n", f"  trust     {trust}\n"]


def _findings(ledger: Ledger) -> Parts:
    """What the lint found, grouped, worst first."""
    groups = ledger.groups()
    if not groups:
        return []
    parts: Parts = [(f"\nFindings: {servers.finding_counts(ledger)}\n", "bold $accent")]
    for group in groups[:_FINDINGS]:
        what, where = servers.finding(group)
        severity = group.first.severity
        sign = {"error": glyphs().bad, "warning": glyphs().warning, "hint": glyphs().dot}[severity]
        parts += [(f"  {sign} {what}\n", _SEVERITIES[severity]), (f"    {where}\n", "$quiet")]
    if len(groups) > _FINDINGS:
        parts.append((f"  and {len(groups) - _FINDINGS} more\n", "$quiet"))
    return parts


def _facts(status: Status) -> Parts:
    parts: Parts = []
    if status.version:
        era = "modern, without handshake" if status.modern else "legacy, with handshake"
        parts.append(f"  protocol  {safe(status.version)} ({era})\n")
        if status.offered != status.version:
            parts.append((f"            {safe(status.offered)} was offered\n", "$quiet"))
    info = mapping(status.server_info)
    if info:
        parts.append(
            f"  server    {safe(info.get('title') or info.get('name'), 200)} {safe(info.get('version'), 80)}\n"
        )
        for key in ("description", "websiteUrl"):
            if text := info.get(key):
                parts.append((f"            {safe(text, 500)}\n", "$quiet"))
        parts += [(f"            {line}\n", "$quiet") for line in icons(info.get("icons"))]
    if status.pid:
        parts.append(f"  process   {status.pid}\n")
    if status.steps:
        parts.append(("\nSteps\n", "bold $accent"))
        parts += [f"  {s.name:<12} {units.duration(s.ms):>9}  {safe(s.detail, 300)}\n" for s in status.steps]
    if status.capabilities:
        parts += [("\nCapabilities that it declares\n", "bold $accent"), _json(status.capabilities)]
    if status.state == "ready":
        parts += [("\nCapabilities that the studio declared\n", "bold $accent"), _json(status.declared)]
    if status.instructions:
        parts += [("\nInstructions for models\n", "bold $accent"), safe(status.instructions, 6_000, lines=True), "\n"]
    return parts


def _json(value: Json) -> str:
    return safe(printable(value), 6_000, lines=True) + "\n"


def _offers(studio: Studio, name: str) -> Parts:
    lines: Parts = []
    for kind in KINDS:
        listing = studio.catalog.listing(name, kind)
        if listing.entries or listing.error:
            extra = " ".join(filter(None, (listing.state, listing.capped, listing.error)))
            lines.append(f"  {units.plural(len(listing.entries), kind)}, {safe(extra, 500)}\n")
            skills = sum(bool(entry.skill) for entry in listing.entries)
            count = f"of these {units.plural(skills, 'skill')}" if skills else ""
            told = count, servers.changes(listing.changes), _freshness(listing)
            lines += [(f"    {safe(text, 300)}\n", "$quiet") for text in told if text]
        # What the lint has seen on the wire it says itself; this is for lists of an earlier run.
        problems = () if studio.trace.ledger(name).counts else listing.problems[:10]
        lines += [(f"    {safe(problem, 300)}\n", "$text-error") for problem in problems]
    return [("\nOffers\n", "bold $accent"), *lines] if lines else []


def _freshness(listing: Listing) -> str:
    """When a list was read, and for how long its server calls it fresh (2026-07-28)."""
    if not listing.read_at:
        return ""
    age = time.monotonic() - listing.read_at
    words = [f"read {units.seconds(age)} ago"]
    if listing.hint is not None:
        left = listing.hint.ttl - age
        fresh = f"fresh for {units.seconds(left)}" if left > 0 else "stale: read again when it is looked at"
        words += [fresh if listing.hint.ttl else "not to be kept (ttl 0)", listing.hint.scope, listing.hint.problem]
    return ", ".join(filter(None, words))


def _notifications(studio: Studio, name: str) -> Parts:
    """What is subscribed to, and the level of its log messages."""
    lines: Parts = [f"  {_subscription(one)}\n" for one in studio.subscriptions.of(name)]
    if (level := studio.manager.log_level(name)) or studio.logs.count(name):
        asked = f"asked for from {level} on" if level else "no level was asked for"
        lines.append(f"  {units.plural(studio.logs.count(name), 'log message')}, {asked}\n")
    return [("\nNotifications\n", "bold $accent"), *lines] if lines else []


def _subscription(one: Subscription) -> str:
    detail = f" ({safe(one.detail, 200)})" if one.detail else ""
    last = f", the last {units.seconds(max(0.0, time.time() - one.updated))} ago" if one.updates else ""
    return f"{safe(one.uri, 300)}  {_SUBSCRIPTIONS[one.state]}{detail}, {units.plural(one.updates, 'update')}{last}"


def _output(studio: Studio, name: str) -> Parts:
    """How it ended last, and what it printed."""
    stray, count = studio.manager.stray(name)
    parts: Parts = []
    if mortems := studio.manager.supervisor(name).mortems:
        last = mortems[-1]
        parts.append(("\nHow it ended last\n", "bold $accent"))
        parts.append(f"  {safe(crashes.first_line(last), 200)}. {crashes.meaning(last.ending)}".rstrip() + "\n")
        parts += [f"  in flight: {safe(crashes.flight(last, one), 200)}\n" for one in last.flights[:5]]
    if count:
        parts.append((f"\nUnexpected output on stdout: {units.plural(count, 'line')}\n", "bold $accent"))
        parts += [f"  {safe(line, 500)}\n" for line in stray]
    if lines := studio.manager.stderr(name):
        more = f", the newest {_STDERR_LINES} of {len(lines):,} lines" if len(lines) > _STDERR_LINES else ""
        parts.append((f"\nstderr{more}\n", "bold $accent"))
        parts += [f"  {safe(line, 1_000)}\n" for line in lines[-_STDERR_LINES:]]
    return parts
