"""What is said where a server or its authorization server refuses what is got without a person."""

from __future__ import annotations

from mcp_studio.config.model import ServerConfig
from mcp_studio.config.places import uses

_SHOWN = "client_id client_secret key assertion idp_client_id idp_client_secret idp_id_token".split()
"""Settings by which a client shows who it is."""


def see_to(config: ServerConfig) -> str:
    """What a person can do about an entry that gets its tokens by itself: nobody can sign in to it."""
    names = [name for name in _SHOWN if getattr(config.auth, name)]
    table = f"[servers.{config.name}.auth]"
    told = f"Nobody signs in here: check {_listed(names)} in {table}, and what its authorization server allows it."
    kept = dict.fromkeys(name for name, key in uses(config) if key.removeprefix("auth.") in names)
    return f"{told} Another secret: mcp-studio config secrets set {_listed(list(kept))}" if kept else told


def _listed(names: list[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
