"""Writing the person's files: servers, agreed project files, settings."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_studio.config.expand import effective
from mcp_studio.config.model import ServerConfig, Source, Untrusted
from mcp_studio.config.save import put_server, remove_server, set_value
from mcp_studio.config.trust import TrustStore

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
    await asyncio.to_thread(lambda: put_server(file, placed, old_name=old_name))
    await studio.put_server(ready, old_name)


async def forget(studio: Studio, name: str) -> None:
    """Close a server, and take its entry out of the person's file where it is from there.

    Raises:
        ConfigError: the file cannot be written.
    """
    source = studio.manager.config(name).source
    if source.origin == "user":
        await asyncio.to_thread(remove_server, Path(source.file), name)
    await studio.manager.remove(name)


async def agree(studio: Studio, file: Untrusted) -> None:
    """Use a project's file from now on, as long as it stays as it is.

    Raises:
        ConfigError: the agreement cannot be written, or a server cannot be started as it is written.
    """
    store = TrustStore(studio.paths.trust_file)
    await asyncio.to_thread(store.agree, file.digest, file.file)
    for server in file.servers:
        await studio.put_server(await asyncio.to_thread(effective, server))


async def keep_theme(studio: Studio, name: str) -> None:
    """Write the name of the theme.

    Raises:
        ConfigError: the file cannot be written.
    """
    await asyncio.to_thread(set_value, studio.paths.config_file, ("theme",), name)
