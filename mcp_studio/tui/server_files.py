"""Writing the person's files: servers, agreed project files, settings."""

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
from mcp_studio.vault import keyring
from mcp_studio.vault.base import beside

if TYPE_CHECKING:
    from mcp_studio.studio import Studio


def ours(source: Source) -> bool:
    """Whether an entry stands in a file that the studio may write."""
    return source.origin in ("user", "file") and bool(source.file) and not source.file.endswith(".json")


def place_of(studio: Studio, name: str = "") -> Source:
    """Where an entry is saved: where it stands, a new one in the file that `--config` names, else the person's own."""
    source = studio.manager.config(name).source if name else Source("file", studio.config.named)
    return source if ours(source) else Source("user", str(studio.paths.config_file))


def places_of(studio: Studio, name: str = "") -> tuple[Source, ...]:
    """Where an entry can be saved: an old one where it stands, a new one also in the person's own file."""
    first, own = place_of(studio, name), Source("user", str(studio.paths.config_file))
    return (first,) if name or first.file == own.file else (first, own)


async def save(studio: Studio, server: ServerConfig, old_name: str = "", place: Source | None = None) -> None:
    """Write an entry and connect it; without a place it goes where `place_of` says.

    Raises:
        ConfigError: it cannot be started as it is written, or the file cannot be written.
    """
    source = place or place_of(studio, old_name)
    file = Path(source.file)
    placed = replace(server, source=source, written=None)
    ready = await beside(effective, placed)
    await asyncio.to_thread(lambda: put_server(file, placed, old_name=old_name))
    await studio.manager.replace(ready, old_name)


async def forget(studio: Studio, name: str) -> None:
    """Close a server, and take its entry out of the person's file where it is from there.

    Raises:
        ConfigError: the file cannot be written.
    """
    source = studio.manager.config(name).source
    if ours(source):
        await asyncio.to_thread(remove_server, Path(source.file), name)
    await studio.manager.remove(name)


async def keep_roots(studio: Studio, name: str, roots: tuple[Root, ...]) -> str:
    """Use other roots at once, and write them where the server's entry is; says in a sentence what was done.

    Raises:
        ConfigError: a root cannot be used as it is written, or the file cannot be written; nothing has changed then.
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


async def keep_legacy(studio: Studio, name: str, *, save: bool) -> None:
    """Connect a server in the era with a handshake, and write that into its entry where it is to be saved.

    Raises:
        ConfigError: the file cannot be written; nothing has changed then.
    """
    config = studio.manager.config(name)
    written = replace(config.written or config, era="legacy", protocol_version="", written=None)
    if save:
        await asyncio.to_thread(put_server, Path(config.source.file), written)
    await studio.manager.replace(replace(config, era="legacy", protocol_version="", written=written))


async def agree(studio: Studio, file: Untrusted) -> None:
    """Use a project's file from now on, as long as it stays as it is.

    Raises:
        ConfigError: the agreement cannot be written, or a server cannot be started as it is written.
    """
    store = TrustStore(studio.paths.trust_file)
    await asyncio.to_thread(store.agree, file.digest, file.file)
    for server in file.servers:
        await studio.manager.replace(await beside(effective, server))


async def keep_secrets_in_file(studio: Studio) -> str:
    """Keep tokens and secrets in an encrypted file from now on, also after the next start; says where that stands.

    Raises:
        ConfigError: it cannot be written.
    """
    file = studio.paths.config_file
    await asyncio.to_thread(set_value, file, ("secrets", "store"), "file")
    keyring.use("file", studio.paths.state)
    return str(file)


def put_rule(file: Path, rule: AnswerRule | PolicyRule) -> None:
    """Write a rule before all others of its kind in a file, so that it is found first. Blocks.

    Raises:
        ConfigError: the rule has a null in it, or the file cannot be written.
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


async def keep_theme(studio: Studio, name: str) -> None:
    """Write the name of the theme.

    Raises:
        ConfigError: the file cannot be written.
    """
    await asyncio.to_thread(set_value, studio.paths.config_file, ("theme",), name)
