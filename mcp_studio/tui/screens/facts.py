"""What the panes of the main screen show, pulled out of the studio's stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_studio.catalog.listing import KINDS, Entry, EntryKind
from mcp_studio.present import connections, units
from mcp_studio.safetext import safe
from mcp_studio.tui import changed
from mcp_studio.tui.panels.servers import Server
from mcp_studio.tui.panels.status import Facts

if TYPE_CHECKING:
    from mcp_studio.studio import Studio

_UNITS: dict[EntryKind, str] = {"tool": "t", "resource": "r", "template": "tpl", "prompt": "p"}
_NOUNS: dict[EntryKind, str] = {"tool": "tools", "resource": "resources", "template": "templates", "prompt": "prompts"}


def server_rows(studio: Studio) -> list[Server]:
    """Every server with its state and how much it offers."""
    rows: list[Server] = []
    for name in studio.manager.names():
        config, status = studio.manager.config(name), studio.manager.status(name)
        wrong = bool(status.warnings) or studio.trace.ledger(name).wrong
        offers, unit = _most_telling(studio, name)
        signing = studio.signing.running(name) is not None
        kind, address = status.spoken or config.kind, config.url or " ".join((config.command or "", *config.args))
        rows.append(
            Server(
                status, kind, offers, unit, wrong, insecure=config.tls.insecure, signing=signing, address=address
            )
        )  # fmt: skip
    return rows


def _most_telling(studio: Studio, name: str) -> tuple[int, str]:
    """How many tools it has, or how much of the first other kind that it offers."""
    for kind in KINDS:
        if count := len(studio.catalog.listing(name, kind).entries):
            return count, _UNITS[kind]
    return 0, _UNITS["tool"]


def status_facts(studio: Studio) -> Facts:
    """The line on top."""
    names = studio.manager.names()
    ready = sum(studio.manager.status(name).state == "ready" for name in names)
    tools = sum(len(studio.catalog.listing(name, "tool").entries) for name in names)
    problems = len(studio.config.problems)
    return Facts(
        ready, len(names), tools, len(studio.inbox.pending) + studio.inbox.held,
        studio.trace.durations.percentile(0.5), studio.trace.durations.percentile(0.95),
        f"{units.plural(problems, 'problem')} in the configuration (F12)" if problems else "",
        sum(studio.manager.config(name).tls.insecure for name in names),
    )  # fmt: skip


def catalog_entries(studio: Studio, kind: EntryKind) -> tuple[Entry, ...]:
    """All entries of a kind with what is gone since the last look, servers in the order of the configuration."""
    listings = [studio.catalog.listing(name, kind) for name in studio.manager.names()]
    return tuple(entry for listing in listings for entry in (*listing.entries, *listing.gone))


def freshness(studio: Studio, kind: EntryKind) -> str:
    """For how long what is shown of a kind is fresh; empty where no server says so."""
    return changed.briefly([studio.catalog.listing(name, kind) for name in studio.manager.names()])


def teach(studio: Studio, kind: EntryKind) -> str:
    """What an empty list of that kind says: why it is empty, and what to do."""
    names = studio.manager.names()
    if not names:
        return "Nothing here yet.\n\nAdd a server first: 1, then n."
    lines: list[str] = []
    for name in names:
        status = studio.manager.status(name)
        listing = studio.catalog.listing(name, kind)
        if listing.error:
            lines.append(f"{safe(name)}: {safe(listing.error, 300)}")
        elif status.state != "ready":
            lines.append(safe(connections.state_words(status), 160))
    if not lines:
        one = len(names) == 1
        return f"{'The server offers' if one else 'The servers offer'} no {_NOUNS[kind]}."
    return "\n".join(lines[:8])
