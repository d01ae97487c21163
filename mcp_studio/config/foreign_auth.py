"""How other clients write in their `mcp.json` who they are where a server wants a person to sign in.

"auth":  {"CLIENT_ID": …, "CLIENT_SECRET": …, "scopes": […]}                              Cursor
"oauth": {"clientId": …, "callbackPort": …, "authServerMetadataUrl": …}                   Claude Code, VS Code
"oauth": {"clientId": …, "clientSecret": …, "scopes": […] or "scope": "…"} or false       others
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_studio.config.auth import is_metadata_url
from mcp_studio.config.model import Auth
from mcp_studio.config.table import Table

_WELL_KNOWN = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")


def read_foreign_auth(table: Table) -> Auth:
    """What of it means something to us; the rest belongs to other programs and is passed over."""
    for key in ("oauth", "auth"):
        given = table.take(key)
        if given is False:
            return Auth(kind="none")
        if isinstance(given, dict) and (found := _read(given)) != Auth():
            return found
    return Auth()


def _read(given: Mapping[str, Any]) -> Auth:
    client_id = _text(given, "clientId", "client_id", "CLIENT_ID")
    port = given.get("callbackPort", given.get("callback_port"))
    good = isinstance(port, int) and not isinstance(port, bool) and 0 < port < 65_536
    url = _text(given, "clientMetadataUrl", "client_metadata_url")
    return Auth(
        issuer=_issuer(_text(given, "issuer"), _text(given, "authServerMetadataUrl", "auth_server_metadata_url")),
        client_id=client_id,
        client_secret=_text(given, "clientSecret", "client_secret", "CLIENT_SECRET") if client_id else "",
        client_metadata_url=url if is_metadata_url(url) else "",
        scopes=_scopes(given),
        redirect_port=port if good else 0,
        # Clients with a port of their own are registered with http://localhost:PORT/callback.
        redirect_host="localhost" if good else Auth().redirect_host,
    )


def _text(given: Mapping[str, Any], *names: str) -> str:
    return next((value for name in names if isinstance(value := given.get(name), str) and value), "")


def _scopes(given: Mapping[str, Any]) -> tuple[str, ...]:
    value = given.get("scopes", given.get("scope"))
    words = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(dict.fromkeys(word for word in words if isinstance(word, str) and word and " " not in word))


def _issuer(issuer: str, metadata: str) -> str:
    """The issuer whose metadata is at a well-known place after its address (OpenID Connect Discovery 4)."""
    ends = (metadata.removesuffix(end) for end in _WELL_KNOWN if metadata.endswith(end))
    return issuer or next((found for found in ends if found.startswith("https://")), "")
