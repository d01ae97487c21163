"""Writes the person's files: servers, trusted project files, settings."""

from __future__ import annotations

import asyncio
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_studio.config.expand import effective, effective_roots
from mcp_studio.config.load import TrustStore
from mcp_studio.config.model import AnswerRule, PolicyRule, Root, ServerConfig, Source, Untrusted
from mcp_studio.config.save import put_server, remove_server, rewrite, set_value, table_of
from mcp_studio.config.servers import changed
from mcp_studio.config.settings import to_table
from mcp_studio.errors import ConfigError
from mcp_studio.threads import beside
from mcp_studio.vault import keyring

if TYPE_CHECKING:
    from mcp_studio.studio import Studio


def ours(source: Source) -> bool:
    """Whether an entry stands in a file that the studio may write."""
    return source.origin in ("user", "file") and bool(source.file) and not source.file.endswith(".json")


def place_of(studio: Studio, name: str = "") -> Source:
    """The file for an entry: its own file; for a new entry the file that `--config` names, or else the person's own."""
    source = studio.manager.config(name).source if name else Source("file", studio.config.named)
    return source if ours(source) else Source("user", str(studio.paths.config_file))


def places_of(studio: Studio, name: str = "") -> tuple[Source, ...]:
    """The files that can take an entry: an old entry only its own file, a new entry also the person's own file."""
    first, own = place_of(studio, name), Source("user", str(studio.paths.config_file))
    return (first,) if name or first.file == own.file else (first, own)


async def save(studio: Studio, server: ServerConfig, old_name: str = "", place: Source | None = None) -> None:
    """Write an entry and connect it; without a `place`, `place_of` chooses the file.

    Raises:
        ConfigError: the entry cannot be started as written, or the file cannot be written.
    """
    source = place or place_of(studio, old_name)
    file = Path(source.file)
    placed = replace(server, source=source, written=None)
    ready = await beside(effective, placed)
    await asyncio.to_thread(lambda: put_server(file, placed, old_name=old_name))
    await studio.manager.replace(ready, old_name)


async def forget(studio: Studio, name: str) -> None:
    """Close a server, and remove its entry from the file if the studio may write that file.

    Raises:
        ConfigError: the file cannot be written.
    """
    source = studio.manager.config(name).source
    if ours(source):
        await asyncio.to_thread(remove_server, Path(source.file), name)
    await studio.manager.remove(name)


async def keep_roots(studio: Studio, name: str, roots: tuple[Root, ...]) -> str:
    """Use other roots at once, and write them into the server's entry; returns a sentence on what was done.

    Raises:
        ConfigError: a root cannot be used as written, or the file cannot be written; then nothing has changed.
    """
    config = studio.manager.config(name)
    effective_roots(roots, config)
    where = config.source
    if ours(where):
        written = replace(config.written or config, roots=roots, written=None)
        await asyncio.to_thread(put_server, Path(where.file), written)
    studio.manager.supervisor(name).set_roots(roots)
    if ours(where):
        return f"{name} has its new roots; they are saved in {where.file}."
    why = f"{where.file} belongs to another program" if where.file else "its entry is in no file"
    return f"{name} has its new roots until you quit: {why}."


async def agree(studio: Studio, file: Untrusted) -> None:
    """Trust a project's file in its present content, and use its servers.

    Raises:
        ConfigError: the agreement cannot be written, or a server cannot be started as written.
    """
    await asyncio.to_thread(TrustStore(studio.paths.trust_file).agree, file.digest, file.file)
    for server in file.servers:
        await studio.manager.replace(await beside(effective, server))


async def keep_secrets_in_file(studio: Studio) -> str:
    """Store tokens and secrets in an encrypted file from now on, also after a restart; returns the setting's file.

    Raises:
        ConfigError: the setting cannot be written.
    """
    file = studio.paths.config_file
    await asyncio.to_thread(set_value, file, ("secrets", "store"), "file")
    keyring.use("file", studio.paths.state)
    return str(file)


def put_rule(file: Path, rule: AnswerRule | PolicyRule) -> None:
    """Write a rule before all others of its kind in a file, so that it is found first. Blocks.

    Raises:
        ConfigError: the rule contains null, or the file cannot be written.
    """
    import tomlkit
    from tomlkit.exceptions import ConvertError

    if isinstance(rule, AnswerRule):
        kind, values = "answer", to_table(rule)
    else:
        conditions = changed(rule, PolicyRule(), [item.name for item in fields(rule)])
        kind, values = "policy", {"tools": rule.tools, "verdict": rule.verdict, **conditions}
    try:
        added = table_of(values)
    except ConvertError:
        raise ConfigError("The answer has a null in it, which TOML cannot say.", hint="Answer it by hand.") from None

    def change(text: str) -> str:
        document = tomlkit.parse(text)
        rules: Any = document.setdefault(kind, tomlkit.aot())
        rules.insert(0, added)
        return tomlkit.dumps(document)

    rewrite(file, change)
