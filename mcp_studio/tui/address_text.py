"""Where an address leads, in words: for pages that a person is asked to open. Pure."""

from __future__ import annotations

from mcp_studio.safetext import safe
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.urls import Page

Part = str | tuple[str, str]


def host_parts(page: Page, label: int) -> list[Part]:
    """The host, in both forms where it has two, and what speaks against it; names take `label` cells."""
    parts: list[Part] = [(f"{'host':<{label}}", "$quiet"), (safe(page.host or "none", 300), "b $accent"), "\n"]
    if page.ascii_host != page.host:
        parts += [(f"{'network':<{label}}", "$quiet"), (safe(page.ascii_host, 300), "b $accent"), "\n"]
    if page.refusal:
        parts.append((f"{glyphs().bad} {page.refusal}\n", "b $state-failed"))
    return [*parts, *((f"{glyphs().warning} {warning}\n", "$state-busy") for warning in page.warnings)]
