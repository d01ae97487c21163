"""`serve`: offer the servers as one MCP server, over stdio or HTTP, or install that in a client's settings.
`tap`: stand between another program's client and a server, and record the messages.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mcp_studio.cli import targets
from mcp_studio.cli.engine import execute
from mcp_studio.cli.options import Options
from mcp_studio.cli.terminal import Output
from mcp_studio.cli.verbs import load
from mcp_studio.config.clients import client_named
from mcp_studio.config.expand import effective
from mcp_studio.config.load import written
from mcp_studio.config.model import Config, GatewaySettings, ServerConfig
from mcp_studio.config.secrets import secret_values
from mcp_studio.errors import UsageError, nearest
from mcp_studio.paths import Paths
from mcp_studio.redact import Redactor
from mcp_studio.tap.gate import HOLD, Fault, Gate, faults_in
from mcp_studio.tap.recorder import Recorder
from mcp_studio.tap.remote_gate import serve as serve_gate
from mcp_studio.tap.stdio import tap_program
from mcp_studio.trace.store import TraceStore, disk_for
from mcp_studio.transport.http_client import load as client_of
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
    config = targets.configured(out)
    if config.settings.gateway.hidden == ("*",):
        out.warn("clients see nothing: [gateway] hides everything, or has a mistake")
    if options.flag("--install"):
        if not config.servers:
            out.warn("no servers are configured, so clients see nothing: mcp-studio config add … adds one")
        return load("config").put(options.value("--install"), [_entry(options)], out)
    if not options.flag("--http") and sys.stdin.isatty():
        out.note("A client starts this and speaks MCP to it; `--install CLIENT` puts it there. Ctrl-C ends.")
    address = _address(options.value("--http") or "0") if options.flag("--http") else None
    mode = options.value("--mode") or config.settings.gateway.mode
    settings = replace(config.settings, gateway=_with_tokens(replace(config.settings.gateway, mode=mode), out))
    chosen = targets.select(replace(config, settings=settings), options.values("--server"))
    servers = {name: replace(one, log_level=one.log_level or "info") for name, one in chosen.servers.items()}
    serve = partial(execute, replace(chosen, servers=servers), out, origin="gateway")
    return start(settings.gateway, options.flag("--yes"), address, options.count("--workers", 64) or 1, serve, out)


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
    command, *words = [*targets.ourselves(), "serve"]
    for name in _KEPT:
        for value in options.values(name):
            words += [name, str(Path(value).expanduser().absolute()) if name in ("--config", "--root") else value]
    return ServerConfig("mcp-studio", command=command, args=tuple(words))


# The tap


def tap(out: Output, http: Callable[..., Any]) -> int:
    """Pass messages on until the client or the server ends. Returns the server's exit code."""
    options = out.options
    if client := options.value("--install") or options.value("--remove"):
        return _put(client, out)
    url = options.value("--to")
    if bool(url) == (options.command is not None) or options.words:
        raise UsageError("Which server?", hint="It is -- COMMAND ARGS…, or --listen PORT --to URL.")
    server = targets.from_url(url, transport="http") if url else targets.from_command(options.command or [])
    name = options.value("--name") or urlsplit(url).hostname or Path(server.command).stem
    config = targets.configuration(options, Paths.default(), replace(server, name=name))
    out.redactor = Redactor(config.settings.redact)
    targets.learn(config, out)
    for secret in () if url else secret_values(replace(server, env=dict(os.environ))):
        out.redactor.learn(secret)  # the server gets our whole environment
    targets.tell_problems(config, out)
    return asyncio.run(_recorded(config, config.servers[name], out, http))


def _put(name: str, out: Output) -> int:
    """Put the tap before a server in a client's file, or remove it."""
    verb, client, install = load("config"), client_named(name), out.options.flag("--install")
    if len(out.options.words) != 1:
        raise UsageError("Which server of it?", hint=f"mcp-studio tap --install {name} SERVER")
    file, (word,) = verb.client_file(client, out), out.options.words
    servers = written(Paths.default(), Path.cwd(), files=[file]).servers
    if (server := servers.get(word)) is None:
        raise UsageError(f"{file} has no server `{word}`.", hint=nearest(word, servers))
    words, behind = [server.command, *server.args], urlsplit(server.url).fragment
    if (bool(behind) if server.url else "tap" in words[1:4] and "--" in words) == install:
        out.note(f"{word} is behind a tap already" if install else f"{word} is behind no tap")
        return out.done({"client": client.name, "file": str(file), "servers": []})
    entry = replace(server.written or server, written=None)
    if server.url and install:  # clients never send the fragment, so the server's own URL is put there
        if (port := out.options.count("--listen", 65_535)) is None:
            raise UsageError(f"{word} is at a URL: the tap needs a port.", hint="--listen PORT names one.")
        out.note(f"It works as long as this runs: mcp-studio tap --name {word} --listen {port} --to '{entry.url}'")
        behind = urlsplit(entry.url)._replace(scheme="http", netloc=f"127.0.0.1:{port}", fragment=entry.url).geturl()
    if behind:
        return verb.put(name, [replace(entry, url=behind)], out)
    ours = [*targets.ourselves(), "tap", "--name", word, "--"]
    command, *args = [*ours, *words] if install else words[words.index("--") + 1 :]
    return verb.put(name, [replace(entry, command=command, args=tuple(args))], out)


async def _recorded(config: Config, server: ServerConfig, out: Output, http: Callable[..., Any]) -> int:
    options, settings, redactor = out.options, config.settings, out.redactor
    state = Paths.default().state
    disk = disk_for(state / "trace", settings, "tap")
    if disk is None:
        out.note("Nothing is recorded: [trace] record is false.")
    store = TraceStore(redactor, settings.limits, disk)
    store.troubled.connect(out.warn)
    faults = [Fault.parse(text) for text in options.values("--fault")]
    faults += [fault for file in options.values("--faults") for fault in faults_in(Path(file))]
    gate = Gate(redactor, faults, options.value("--seed"), options.seconds("--hold") or HOLD)
    gate.set(options.values("--break"))
    recorder = partial(Recorder, store, gate, redactor, server.name, settings.limits, out.warn)
    desk = asyncio.create_task(serve_gate(gate, state / "held", lambda: disk.path.stem if disk and disk.path else ""))
    try:
        if not server.url:
            return await tap_program((server.command, *server.args), recorder(), out.warn)
        client = client_of(server, settings.limits, settings.limits.connect)
        port = options.count("--listen", 65_535, least=0) or 0
        return await http(client, recorder, port, lambda own: out.line(own, {})) or 0
    finally:
        desk.cancel()
        await store.close()
