"""`serve`: offer the servers as one MCP server, over stdio or HTTP, or install that in a client's settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from mcp_studio.cli.engine import execute
from mcp_studio.cli.options import Options
from mcp_studio.cli.targets import configured, ourselves, select
from mcp_studio.cli.terminal import Output
from mcp_studio.cli.verbs import load
from mcp_studio.config.expand import effective
from mcp_studio.config.model import GatewaySettings, ServerConfig
from mcp_studio.errors import UsageError
from mcp_studio.vault.keyring import session

VARIABLE = "MCP_STUDIO_GATEWAY_TOKEN"
"""Holds the token of clients without one of their own; comes before the one in the configuration."""
_KEPT = ("--config", "--server", "--mode", "--era", "--timeout", "--root")
"""Options that are copied into a client's file."""


def run(out: Output, start: Callable[..., int]) -> int:
    """Serve until the client leaves or we are interrupted. Returns the exit code."""
    options = out.options
    if options.words:
        raise UsageError(f"`serve` takes no word `{options.words[0]}`.", hint="One server: --server NAME")
    config = configured(out)
    if options.flag("--install"):
        return load("config").put(options.value("--install"), [_entry(options)], out)
    if not options.flag("--http") and sys.stdin.isatty():
        out.note("A client starts this and speaks MCP to it; `--install CLIENT` puts it there. Ctrl-C ends.")
    workers = options.count("--workers", 64) or 1
    address = _address(options.value("--http") or "0") if options.flag("--http") else None
    mode = options.value("--mode") or config.settings.gateway.mode
    settings = replace(config.settings, gateway=_with_tokens(replace(config.settings.gateway, mode=mode), out))
    chosen = select(replace(config, settings=settings), options.values("--server"))
    servers = {name: replace(one, log_level=one.log_level or "info") for name, one in chosen.servers.items()}
    serve = partial(execute, replace(chosen, servers=servers), out, origin="gateway")
    return start(settings.gateway, options.flag("--yes"), address, workers, serve, out)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) < 65_536):
        raise UsageError(f"--http: `{text}` is no port, and no HOST:PORT.")
    return host.strip("[]") or "127.0.0.1", int(port)


def _with_tokens(gateway: GatewaySettings, out: Output) -> GatewaySettings:
    """Return the settings with the references in tokens replaced."""
    given = {"": os.environ.get(VARIABLE) or gateway.token} | {one.name: one.token for one in gateway.clients}
    ready = effective(ServerConfig("gateway", headers=given), keyring=session()).headers
    for token in filter(None, ready.values()):
        out.redactor.learn(token)
    clients = tuple(replace(one, token=ready[one.name]) for one in gateway.clients)
    return replace(gateway, token=ready[""], clients=clients)


def _entry(options: Options) -> ServerConfig:
    """Build the entry that makes a client start this program with the given options."""
    if options.command is not None or options.flag("--url"):
        raise UsageError("A client gets the configured servers.", hint="Name a file with --config, or --server NAME.")
    command, *words = [*ourselves(), "serve"]
    for name in _KEPT:
        for value in options.values(name):
            words += [name, str(Path(value).expanduser().absolute()) if name in ("--config", "--root") else value]
    return ServerConfig("mcp-studio", command=command, args=tuple(words))
