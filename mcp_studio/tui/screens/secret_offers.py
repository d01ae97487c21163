"""Secrets that would stand in a file in clear: offered to the vault before an entry is saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from textual.screen import Screen

from mcp_studio.config.model import ServerConfig
from mcp_studio.config.secrets import Offer, offers, placed
from mcp_studio.present import units
from mcp_studio.redact import Redactor
from mcp_studio.safetext import safe
from mcp_studio.tui.screens.choose import Choose
from mcp_studio.vault.base import beside
from mcp_studio.vault.keyring import keep, names, unused


def secrets_in(servers: Sequence[ServerConfig]) -> list[Offer]:
    """The secrets that would be written in clear."""
    return [one for server in servers for one in offers(server)]


def described(found: Sequence[Offer]) -> str:
    """Where they stand: `headers.Authorization, env.TOKEN`."""
    keys = list(dict.fromkeys(safe(one.key, 60) for one in found))
    return ", ".join(keys[:5]) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")


async def offered(screen: Screen[Any], redactor: Redactor, servers: list[ServerConfig]) -> list[ServerConfig] | None:
    """The entries as they are to be written, once the person was asked about secrets in clear; None where they leave.

    Raises:
        ConfigError: the secrets cannot be kept: why, and what else there is.
    """
    found = secrets_in(servers)
    if not found:
        return servers
    them = "it" if len(found) == 1 else "them"
    options = (
        ("keep", f"Keep {them} in the keyring, and write ${{keyring:{found[0].name}}}"),
        ("clear", f"Write {them} into the file in clear"),
    )
    title = f"{units.plural(len(found), 'secret')} in clear: {described(found)}"
    match await screen.app.push_screen_wait(Choose(title, options, "keep")):
        case "keep":
            return await _moved(redactor, servers)
        case "clear":
            return servers
        case _:
            return None


async def _moved(redactor: Redactor, servers: Sequence[ServerConfig]) -> list[ServerConfig]:
    """The entries with references in the places of their secrets, which are kept now; those before stay kept."""
    taken = set(await beside(names))
    done: list[ServerConfig] = []
    for server in servers:
        found = offers(server, taken)
        renamed: dict[str, str] = {}
        for name, value in {one.name: one.value for one in found}.items():
            redactor.learn(value)
            renamed[name] = await beside(unused, name, value)
            await beside(keep, renamed[name], value)
        found = tuple(one._replace(name=renamed[one.name]) for one in found)
        taken |= {one.name for one in found}
        done.append(replace(placed(server, found), source=server.source) if found else server)
    return done
