"""One `[servers.NAME]` table of our own files: checked key by key; any problem leaves out this server alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args
from urllib.parse import urlsplit

from mcp_studio.config.auth import auth_table, read_auth
from mcp_studio.config.bending import contradiction, read_object, read_roots, roots_table
from mcp_studio.config.expand import Lookup, expanded, folder_of
from mcp_studio.config.model import Auth, Era, Kind, Problem, ServerConfig, Source, Timeouts, Tls
from mcp_studio.config.nearest import nearest
from mcp_studio.config.table import Table
from mcp_studio.config.tls import read_tls, tls_table
from mcp_studio.errors import ConfigError
from mcp_studio.protocol.versions import LOG_LEVELS, VERSIONS

ERAS: tuple[Era, ...] = get_args(Era)
KINDS: tuple[Kind, ...] = get_args(Kind)
KEYS = (
    *("command", "args", "env", "inherit_env", "cwd", "url", "headers", "transport", "era", "enabled", "trust"),
    *("group", "priority", "timeouts", "protocol_version", "capabilities", "client_info", "roots", "log_level"),
    *("auth", "tls"),
)
"""The keys of a `[servers.NAME]` table."""
SCHEMES = ("http://", "https://", "ws://", "wss://")


def read_server(name: str, values: object, source: Source, problems: list[Problem]) -> ServerConfig | None:
    """The entry as it is written; None, with problems noted, where anything is wrong with it."""
    before = len(problems)
    table = Table(values, source.file, f"servers.{name}", problems)
    times = table.inner("timeouts")
    server = ServerConfig(
        name,
        command=table.take_text("command"),
        args=table.take_texts("args"),
        env=table.take_pairs("env"),
        inherit_env=table.take_texts("inherit_env"),
        cwd=table.take_text("cwd"),
        url=table.take_text("url"),
        headers=table.take_pairs("headers"),
        transport=table.take_word("transport", "", KINDS),
        era=table.take_word("era", "auto", ERAS),
        protocol_version=table.take_text("protocol_version", "", VERSIONS),
        capabilities=read_object(table, "capabilities"),
        client_info=read_object(table, "client_info"),
        roots=read_roots(table),
        log_level=table.take_text("log_level", "", LOG_LEVELS),
        enabled=table.take_flag("enabled", True),
        trust=table.take_flag("trust"),
        group=table.take_text("group"),
        priority=table.take_integer("priority"),
        timeouts=Timeouts(times.take_seconds("connect"), times.take_seconds("idle"), times.take_seconds("total")),
        auth=read_auth(table),
        tls=read_tls(table),
        source=source,
    )
    times.refuse_rest()
    table.refuse_rest()
    if len(problems) == before:
        check_target(server, table)
    if len(problems) == before and (server.transport == "stdio") == bool(server.url) and server.transport:
        what = "a url" if server.url else "a command"
        table.problem("transport", f"is `{server.transport}`, but the entry has {what}.")
    if wrong := contradiction(server.era, server.protocol_version):
        table.problem("protocol_version", wrong, "Leave out `era`, or set it to `auto`.")
    return server if len(problems) == before else None


def check_target(server: ServerConfig, table: Table) -> None:
    """Note what keeps an entry from being started: exactly one of command and url, and an address we can reach."""
    if not server.name.strip():
        table.problem("", "has an empty name.")
    elif server.command and server.url:
        table.problem("", "has both a command and a url.", "Keep one of them.")
    elif not server.command and not server.url:
        typo = next(
            (hint for key in table.keys() if (hint := nearest(key, ("command", "url"))) and key not in KEYS), ""
        )
        table.problem("", "has neither a command nor a url.", typo)
    elif server.url and not server.url.startswith((*SCHEMES, "${")):
        table.problem("url", f"`{server.url}` does not begin with http://, https://, ws:// or wss://.")
    elif server.url and any(character.isspace() for character in server.url):
        table.problem("url", "has a space in it.")
    elif server.url and "${" not in server.url and (wrong := _no_address(server.url)):
        table.problem("url", f"is no address: {wrong}.")
    elif server.command:
        for key, given in (("auth", server.auth != Auth()), ("tls", server.tls != Tls())):
            if given:
                table.problem(key, "is for servers at a url.", "A program gets its credentials by `env`.")


def _no_address(url: str) -> str:
    try:
        return "" if urlsplit(url).port != 0 else "port 0"
    except ValueError as problem:
        return str(problem)


def expand_all(
    servers: Mapping[str, ServerConfig], environ: Mapping[str, str], keyring: Lookup, problems: list[Problem]
) -> dict[str, ServerConfig]:
    """All entries with `${…}` replaced; those where that fails are left out with a problem noted."""
    done: dict[str, ServerConfig] = {}
    for name, server in servers.items():
        file = server.source.file
        try:
            done[name] = expanded(server, environ, keyring, folder_of(file) if file else "")
        except ConfigError as problem:
            key = f"servers.{name}" + (f".{problem.key}" if problem.key else "")
            problems.append(Problem(file, key, problem.message, problem.hint))
    return done


def to_table(server: ServerConfig) -> dict[str, Any]:
    """The entry as a `[servers.NAME]` table: as it was written, without what is the default anyway."""
    entry = server.written or server
    table: dict[str, Any] = {}
    for key in KEYS:
        if key in ("timeouts", "roots", "auth", "tls"):
            continue
        value = getattr(entry, key)
        if value != getattr(_BARE, key):
            table[key] = (
                list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
            )
    times = {key: value for key in ("connect", "idle", "total") if (value := getattr(entry.timeouts, key)) is not None}
    if entry.roots:
        table["roots"] = roots_table(entry.roots)
    inner = {"timeouts": times, "auth": auth_table(entry.auth), "tls": tls_table(entry.tls)}
    return {**table, **{key: values for key, values in inner.items() if values}}


_BARE = ServerConfig("bare")
