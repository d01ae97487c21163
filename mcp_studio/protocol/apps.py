"""MCP Apps: tools with a page of their own, and what that page may reach (extension io.modelcontextprotocol/ui).

A page is a `ui://` resource of type `text/html;profile=mcp-app`. What it may reach is declared in its
`_meta.ui.csp`; what is not declared is forbidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from mcp_studio.jsontext import Json, items_of, mapping

MIME = "text/html;profile=mcp-app"
_MOST = 50
_ORIGIN = r"(?:https?|wss?)://(?:\*\.)?[A-Za-z0-9.-]+(?::[0-9]{1,5}|:\*)?\Z"
"""A text: compiled for the first page, not at every start."""


class Reach(NamedTuple):
    """What a page says that it needs."""

    connect: tuple[str, ...] = ()
    """Origins that it talks to."""
    resources: tuple[str, ...] = ()
    """Origins that scripts, styles, images and fonts come from."""
    frames: tuple[str, ...] = ()
    permissions: tuple[str, ...] = ()
    """Camera, microphone and the like."""
    refused: tuple[str, ...] = ()
    """Declared, but no origin: left out, so that nothing can be smuggled into the policy."""


def app_of(tool: dict[str, Json]) -> str:
    """The `ui://` address of a tool's page, or an empty string; the older flat key counts, too."""
    meta = mapping(tool.get("_meta"))
    address = mapping(meta.get("ui")).get("resourceUri") or meta.get("ui/resourceUri")
    return address if isinstance(address, str) and address.startswith("ui://") else ""


def is_app(contents: dict[str, Json]) -> bool:
    """Whether one item of a `resources/read` result is the page of an app."""
    uri, mime = contents.get("uri"), contents.get("mimeType")
    kind = mime.replace(" ", "").lower() if isinstance(mime, str) else ""
    return isinstance(uri, str) and uri.startswith("ui://") and kind.startswith("text/html")


def reach_of(contents: dict[str, Json]) -> Reach:
    """What the page of an app may reach."""
    ui = mapping(mapping(contents.get("_meta")).get("ui"))
    csp = mapping(ui.get("csp"))
    declared = {key: _words(csp.get(key)) for key in ("connectDomains", "resourceDomains", "frameDomains")}
    good = {key: tuple(word for word in words if re.match(_ORIGIN, word)) for key, words in declared.items()}
    bad = tuple(word for words in declared.values() for word in words if not re.match(_ORIGIN, word))
    permissions = tuple(list(mapping(ui.get("permissions")))[:_MOST])
    return Reach(good["connectDomains"], good["resourceDomains"], good["frameDomains"], permissions, bad)


def policy(reach: Reach) -> str:
    """The Content-Security-Policy that holds a page to what it declared."""
    own = " ".join(reach.resources)
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'unsafe-inline' {own}".rstrip(),
            f"style-src 'unsafe-inline' {own}".rstrip(),
            f"img-src data: {own}".rstrip(),
            f"font-src data: {own}".rstrip(),
            f"media-src data: {own}".rstrip(),
            f"connect-src {' '.join(reach.connect) or chr(39) + 'none' + chr(39)}",
            f"frame-src {' '.join(reach.frames) or chr(39) + 'none' + chr(39)}",
            "base-uri 'none'",
            "form-action 'none'",
            "object-src 'none'",
        )
    )


def held_page(html: str, reach: Reach) -> str:
    """The page with its policy in front of everything that it contains: the first policy that a browser reads holds."""
    return f'<!doctype html><meta http-equiv="Content-Security-Policy" content="{policy(reach)}">\n{html}'


def reach_lines(reach: Reach) -> list[str]:
    """What the page may reach, for people, a line each."""
    rows = (
        ("connects to", reach.connect), ("loads from", reach.resources), ("frames", reach.frames),
        ("asks for", reach.permissions), ("left out, no origin", reach.refused),
    )  # fmt: skip
    found = [f"{what}: {', '.join(words)}" for what, words in rows if words]
    return found or ["reaches nothing outside itself"]


def _words(value: Json) -> Iterable[str]:
    items = items_of(value)
    return [item for item in items[:_MOST] if isinstance(item, str)]
