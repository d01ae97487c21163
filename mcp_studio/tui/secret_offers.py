"""Secrets that would stand in a file in clear: offered to the place for secrets before an entry is saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from mcp_studio.config.model import ServerConfig
from mcp_studio.config.secrets import Offer, offers, placed
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.tui import late
from mcp_studio.vault.base import beside
from mcp_studio.vault.keyring import keep, names, unused

if TYPE_CHECKING:
    from textual.screen import Screen

    from mcp_studio.redact import Redactor

Clear = tuple[str, str, str]
"""A secret in clear that the person knows of: server, key, value."""
_KEEP, _CLEAR = "keep", "clear"


def clear(servers: Sequence[ServerConfig], known: set[Clear]) -> list[Offer]:
    """The secrets that would be written in clear and that the person was not asked about yet."""
    return [one for server in servers for one in offers(server) if (server.name, one.key, one.value) not in known]


def known(servers: Sequence[ServerConfig]) -> set[Clear]:
    """All of them, once the person has said that they may be."""
    return {(server.name, one.key, one.value) for server in servers for one in offers(server)}


def words(found: Sequence[Offer]) -> str:
    """Where they stand: `headers.Authorization, env.TOKEN`."""
    keys = dict.fromkeys(safe(one.key, 60) for one in found)
    return ", ".join(list(keys)[:5]) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")


def ask(dialog: Screen[ServerConfig], found: Sequence[Offer], then: Callable[[Literal["keep", "clear"]], None]) -> None:
    """Ask what is to be done with them; leaving does nothing."""

    def chosen(what: str | None) -> None:
        if what == _KEEP:
            then("keep")
        elif what == _CLEAR:
            then("clear")

    options = (
        (_KEEP, f"Keep {'it' if len(found) == 1 else 'them'} in the keyring, and write ${{keyring:{found[0].name}}}"),
        (_CLEAR, "Write it into the file in clear, all the same"),
    )
    count = units.plural(len(found), "secret")
    dialog.app.push_screen(late.choose(f"{count} in clear: {words(found)}", options, _KEEP), chosen)


async def moved(redactor: Redactor, servers: Sequence[ServerConfig]) -> tuple[list[ServerConfig], str]:
    """The entries with references in the places of their secrets, which are kept now; and where, in words.

    Raises:
        ConfigError: they cannot be kept: why, and what else there is; those before stay kept.
    """
    taken = set(await beside(names))
    done: list[ServerConfig] = []
    place = ""
    for server in servers:
        found = offers(server, taken)
        renamed: dict[str, str] = {}
        for name, value in {one.name: one.value for one in found}.items():
            redactor.learn(value)
            renamed[name] = await beside(unused, name, value)
            place = await beside(keep, renamed[name], value)
        found = tuple(one._replace(name=renamed[one.name]) for one in found)
        taken |= {one.name for one in found}
        done.append(replace(placed(server, found), source=server.source) if found else server)
    return done, place
