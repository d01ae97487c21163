"""Everything about one server: state, why, steps, capabilities, what it does wrong, stderr."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.widget import Widget

from mcp_studio.catalog.listing import KINDS
from mcp_studio.config.model import KIND_NAMES, Kind, ServerConfig
from mcp_studio.jsontext import Json, printable
from mcp_studio.present import connections, http, units
from mcp_studio.present.definition import icons
from mcp_studio.safetext import safe
from mcp_studio.session.state import Status
from mcp_studio.tui import changed, findings, late_trace, watched
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.tracing import clock
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.hanging import Hanging

if TYPE_CHECKING:
    from mcp_studio.studio import Studio
    from mcp_studio.tui.app import StudioApp

Part = str | tuple[str, str]
STDERR_LINES = 200
"""Newest lines shown."""


class ServerDetails(Dialog[None], scope="details"):
    """Shown anew when the server's state changes."""

    reads = True

    def __init__(self, studio: Studio, name: str) -> None:
        super().__init__()
        self._studio = studio
        self._name = name
        self._text = Hanging()
        self._content = Content("")

    def heading(self) -> Content:
        """The server's name."""
        manager = self._studio.manager
        loud = self._name in manager.names() and manager.config(self._name).tls.insecure
        mark = [(f"  {glyphs().warning} {connections.INSECURE}", "$text-error")] if loud else []
        return Content.assemble(safe(self._name, 60), *mark)

    def body(self) -> Iterable[Widget]:
        """One text."""
        yield self._text

    def on_mount(self) -> None:
        """Fill it, and look again now and then; lists that are fresh no longer are read again."""
        for kind in KINDS:
            self._studio.manager.look(self._name, kind)
        self._refresh()
        self.set_interval(0.5, self._refresh)
        self.run_worker(self._studio.trace.examine(self._name))

    def action_copy(self) -> None:
        """Copy it all."""
        self.app.copy_to_clipboard(self._content.plain)

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)

    def action_sign_in(self) -> None:
        """Sign in to it."""
        self.dismiss(None)
        cast("StudioApp", self.app).main.serving.signing.open(self._name)

    def action_token(self) -> None:
        """Show its token."""
        cast("StudioApp", self.app).main.serving.signing.token(self._name)

    def _refresh(self) -> None:
        if self._name not in self._studio.manager.names():
            self.dismiss(None)
            return
        content = Content.assemble(*self._parts())
        if content.plain != self._content.plain:
            self._content = content
            self._text.show(content)

    def _parts(self) -> list[Part]:
        manager = self._studio.manager
        status, config = manager.status(self._name), manager.config(self._name)
        ledger = self._studio.trace.ledger(self._name)
        parts: list[Part] = [(connections.state_words(status), _LOOKS[connections.tone(status)]), "\n"]
        if config.tls.insecure:
            words = f"{glyphs().warning} {connections.INSECURE}: whoever is on the way can read and change everything\n"
            parts.append((words, "b $text-error"))
        if status.state == "needs_auth":
            parts.append((f"{self._key('details-sign-in')}  signs in.\n", ""))
        if status.error and status.error.hint and not getattr(status.error, "by_login", False):
            parts += [safe(status.error.hint, 600), "\n"]
        if status.error:
            parts += http.parts(status.error)
        return [
            *parts,
            *_problems(ledger.uncovered(status.warnings)),
            *_config(config, status.spoken or config.kind),
            *findings.parts(ledger),
            *_facts(status),
            *self._offers(),
            *self._news(),
            *self._output(),
        ]

    def _offers(self) -> list[Part]:
        lines: list[Part] = []
        for kind in KINDS:
            listing = self._studio.catalog.listing(self._name, kind)
            if listing.entries or listing.error:
                extra = " ".join(filter(None, (listing.state, listing.capped, listing.error)))
                lines.append(f"  {units.plural(len(listing.entries), kind)}, {safe(extra, 500)}\n")
                skills = sum(bool(entry.skill) for entry in listing.entries)
                count = f"of these {units.plural(skills, 'skill')}" if skills else ""
                told = count, changed.summary(listing.changes, 80), changed.freshness(listing)
                lines += [(f"    {safe(text, 300)}\n", "$quiet") for text in told if text]
            # What the lint has seen on the wire it says itself; this is for lists of an earlier run.
            problems = () if self._studio.trace.ledger(self._name).counts else listing.problems[:10]
            lines += [(f"    {safe(problem, 300)}\n", "$text-error") for problem in problems]
        return [("\nOffers\n", "b $accent"), *lines] if lines else []

    def _news(self) -> list[Part]:
        """What is watched, what the server agreed to tell, and the level of its log messages."""
        studio, name = self._studio, self._name
        lines = [f"  {watched.line(one)}\n" for one in studio.subscriptions.of(name)]
        lines += [f"  listening for {watched.stream_line(one)}\n" for one in studio.subscriptions.streams(name)]
        if (level := studio.manager.log_level(name)) or studio.logs.count(name):
            asked = f"from {level} on is asked for" if level else "no level is asked for"
            lines.append(f"  {units.plural(studio.logs.count(name), 'log message')}, {asked}\n")
        return [("\nTells by itself\n", "b $accent"), *lines] if lines else []

    def _key(self, action: str) -> str:
        return cast("StudioApp", self.app).spell(action)

    def _output(self) -> list[Part]:
        stray, count = self._studio.manager.stray(self._name)
        parts: list[Part] = []
        if mortems := self._studio.manager.supervisor(self._name).mortems:
            said, last = late_trace.mortem_words(), mortems[-1]
            parts.append((f"\nHow it ended last, at {clock(last.time)}\n", "b $accent"))
            parts.append(f"  {safe(said.first_line(last), 200)}. {said.meaning(last.ending)}".rstrip() + "\n")
            parts += [f"  in flight: {safe(said.flight(last, one), 200)}\n" for one in last.flights[:5]]
            parts.append((f"  {self._key('server-ending')} in the servers pane shows all of it\n", "$quiet"))
        if count:
            parts.append((f"\nPrinted to stdout besides the protocol: {units.plural(count, 'line')}\n", "b $accent"))
            parts += [f"  {safe(line, 500)}\n" for line in stray]
            key = self._key("server-stray")
            parts.append((f"  {key} in the servers pane says of each where it comes from\n", "$quiet"))
        lines = self._studio.manager.stderr(self._name)
        if lines:
            more = f", the newest {STDERR_LINES} of {len(lines):,} lines" if len(lines) > STDERR_LINES else ""
            parts.append((f"\nstderr{more}\n", "b $accent"))
            parts += [f"  {safe(line, 1_000)}\n" for line in lines[-STDERR_LINES:]]
        return parts


_LOOKS = {"ok": "$text-success", "busy": "$text-warning", "bad": "$text-error", "off": "$quiet"}


def _config(config: ServerConfig, spoken: Kind) -> list[Part]:
    if config.url:
        parts: list[Part] = [f"\n  url      {safe(config.url, 1_000)}\n", f"  spoken   {KIND_NAMES[spoken]}\n"]
        names = ", ".join(config.headers)
        word = "headers"
    else:
        parts = [f"\n  command  {safe(shlex.join((config.command, *config.args)), 4_000)}\n"]
        if config.cwd:
            parts.append(f"  folder   {safe(config.cwd)}\n")
        names = ", ".join((*config.env, *config.inherit_env))
        word = "env"
    if names:
        parts.append(f"  {word:<8} {safe(names)} (values are not shown)\n")
    where = config.source.file or "the command line"
    return [
        *parts,
        f"  from     {safe(where)}\n",
        f"  trust    {'annotations are believed' if config.trust else 'no'}\n",
    ]


def _facts(status: Status) -> list[Part]:
    parts: list[Part] = []
    if status.version:
        era = "modern, without handshake" if status.modern else "with handshake"
        parts.append(f"  protocol {safe(status.version)} ({era})\n")
        if status.offered != status.version:
            parts.append((f"           {safe(status.offered)} was offered\n", "$quiet"))
        if status.hint is not None:
            ttl = f"fresh for {units.seconds(status.hint.ttl)}" if status.hint.ttl else "not to be kept"
            parts.append((f"           what it says of itself is {ttl}, {status.hint.scope}\n", "$quiet"))
    info = status.server_info
    if isinstance(info, dict):
        parts.append(f"  server   {safe(info.get('title') or info.get('name'), 200)} {safe(info.get('version'), 80)}\n")
        for key in ("description", "websiteUrl"):
            if text := info.get(key):
                parts.append((f"           {safe(text, 500)}\n", "$quiet"))
        parts += [(f"           {line}\n", "$quiet") for line in icons(info.get("icons"))]
    if status.pid:
        parts.append(f"  process  {status.pid}\n")
    if status.steps:
        parts.append(("\nSteps\n", "b $accent"))
        parts += [f"  {s.name:<12} {units.duration(s.ms):>9}  {safe(s.detail, 300)}\n" for s in status.steps]
    if status.capabilities:
        parts.append(("\nCapabilities that it declares\n", "b $accent"))
        parts.append(safe(printable(status.capabilities), 6_000, lines=True) + "\n")
    if status.state == "ready":
        parts.append(("\nCapabilities that we have declared to it\n", "b $accent"))
        parts.append(safe(printable(status.declared), 6_000, lines=True) + "\n")
        parts.append(f"  as {_who(status.client_info)}\n")
    if status.instructions:
        parts.append(("\nInstructions for models\n", "b $accent"))
        parts.append(safe(status.instructions, 6_000, lines=True) + "\n")
    return parts


def _who(info: Json) -> str:
    if isinstance(info, dict) and isinstance(info.get("name"), str):
        return f"{safe(info['name'], 80)} {safe(info.get('version', ''), 40)}".rstrip()
    return safe(printable(info), 400)


def _problems(warnings: tuple[str, ...]) -> list[Part]:
    """What the lint does not say already."""
    if not warnings:
        return []
    head: list[Part] = [("\nWhat it does wrong\n", "b $accent")]
    return [*head, *((f"  {safe(warning, 600)}\n", "$text-warning") for warning in warnings)]
