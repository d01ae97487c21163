"""The address of a server as signing in uses it, whatever it is written like."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

from mcp_studio.auth.discovery import canonical
from mcp_studio.auth.failed import AuthFailed
from mcp_studio.config.model import ServerConfig


def tidy(config: ServerConfig) -> ServerConfig:
    """The entry with an address of plain ASCII, without credentials and fragment: what goes over the wire."""
    url = config.url
    if url.isascii() and "@" not in url and "#" not in url and not any(one.isspace() for one in url):
        return config
    import httpx2

    try:
        found = httpx2.URL(url).copy_with(username=None, password=None, fragment=None)
    except (httpx2.InvalidURL, UnicodeError, ValueError):
        return config
    return replace(config, url=str(found))


def usable(config: ServerConfig) -> bool:
    """Whether there is an address that can be signed in to at all; whoever connects says what is wrong with it."""
    try:
        return bool(urlsplit(resource_of(config)).hostname)
    except (AuthFailed, ValueError):
        return False


def resource_of(config: ServerConfig) -> str:
    """Under what a server's sign-in is kept: its address without query and fragment."""
    return canonical(tidy(config).url)
