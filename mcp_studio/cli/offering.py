"""Secrets that stand in clear in an entry that is being added: kept where secrets are kept, or warned about."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from mcp_studio.cli.lines import can_ask
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.telling import prompt
from mcp_studio.config.load import written
from mcp_studio.config.model import ServerConfig
from mcp_studio.config.offering import Offer, offers, placed
from mcp_studio.errors import UsageError
from mcp_studio.paths import Paths
from mcp_studio.safetext import safe
from mcp_studio.vault import keyring


def without_secrets(servers: Sequence[ServerConfig], options: Options, out: Output) -> list[ServerConfig]:
    """The entries as they are to be written: references stand for what was kept.

    Raises:
        ConfigError: a secret could not be kept; nothing is to be written then.
    """
    files = [Path(name).expanduser() for name in options.values("--config")]
    keeping = written(Paths.default(), Path.cwd(), files=[file for file in files if file.exists()]).settings.secrets
    if keeping == "memory" and options.flag("--keyring"):
        hint = '[secrets] store = "keyring" or "file" in config.toml keeps them.'
        raise UsageError("Secrets are kept in memory only: they would be gone when this command ends.", hint=hint)
    taken = {one.name for one in keyring.names().list()}
    done: list[ServerConfig] = []
    for server in servers:
        found = offers(server, taken)
        for offer in found:
            out.redactor.learn(offer.value)
        chosen = [offer for offer in found if _wanted(offer, server, options, keeping != "memory")]
        kept = _kept(chosen, out)
        taken |= {offer.name for offer in kept}
        for offer in found:
            if offer not in chosen:
                out.warn(f"{_where(server, offer)} stands in the file in clear")
        done.append(placed(server, kept) if kept else server)
    return done


def _where(server: ServerConfig, offer: Offer) -> str:
    return f"servers.{server.name}.{offer.key}"


def _wanted(offer: Offer, server: ServerConfig, options: Options, keeps: bool) -> bool:
    if options.flag("--keyring"):
        return True
    if not keeps or options.flag("--yes") or not (can_ask() and sys.stdin.isatty()):
        return False
    prompt(
        f"{safe(_where(server, offer), 200)} looks like a secret. Keep it as {safe(offer.name, 80)}, and write "
        f"${{keyring:{safe(offer.name, 80)}}} into the file? [Y/n] "
    )
    line = sys.stdin.readline()
    return bool(line) and line.strip().lower() in ("", "y", "yes")


def _kept(chosen: Sequence[Offer], out: Output) -> list[Offer]:
    """The same, kept under names that nothing else has."""
    done: list[Offer] = []
    names: dict[str, str] = {}
    for offer in chosen:
        if offer.value not in names:
            names[offer.value] = name = keyring.unused(offer.name, offer.value)
            place = keyring.keep(name, offer.value)
            out.note(f"kept {name} in {place}")
        done.append(offer._replace(name=names[offer.value]))
    return done
