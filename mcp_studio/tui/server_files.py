"""Writing a server's entry into the person's file and taking it up."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_studio.config.expand import effective
from mcp_studio.config.model import ServerConfig, Source
from mcp_studio.config.save import put_server

if TYPE_CHECKING:
    from mcp_studio.studio import Studio


async def save(studio: Studio, server: ServerConfig, old_name: str = "") -> None:
    """Write an entry and connect it.

    Raises:
        ConfigError: it cannot be started as it is written, or the file cannot be written.
    """
    file = studio.paths.config_file
    placed = replace(server, source=Source("user", str(file)), written=None)
    ready = await asyncio.to_thread(effective, placed)
    await asyncio.to_thread(put_server, file, placed, old_name=old_name)
    await studio.put_server(ready, old_name)
