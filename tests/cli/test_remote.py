"""Which server a sign-in belongs to."""

from __future__ import annotations

import pytest

from mcp_studio.auth.discovery import resource_of
from mcp_studio.config.model import ServerConfig


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://MCP.example/Mcp?a=b", "https://mcp.example/Mcp"),
        ("https://bücher.example/mcp", "https://xn--bcher-kva.example/mcp"),
        ("https://mcp.example/mcp#top", "https://mcp.example/mcp"),
    ],
)
def test_it_is_looked_for_where_signing_in_has_put_it(url: str, kept: str) -> None:
    assert resource_of(ServerConfig("one", url=url)) == kept
