"""`tap`: stand between somebody else's client and a server, and record what passes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from mcp_studio.cli import targets
from mcp_studio.cli.terminal import Output
from mcp_studio.cli.verbs import load
from mcp_studio.config.clients import client_named
from mcp_studio.config.load import written
from mcp_studio.config.model import Config, ServerConfig
from mcp_studio.config.secrets import secret_values
from mcp_studio.config.table import nearest
from mcp_studio.errors import UsageError
from mcp_studio.paths import Paths
from mcp_studio.redact import Redactor
from mcp_studio.tap.gate import HOLD, Fault, Gate, serve
from mcp_studio.tap.http import HttpTap
from mcp_studio.tap.recorder import Recorder
from mcp_studio.tap.stdio import tap_program
from mcp_studio.trace.store import TraceStore, disk_for
from mcp_studio.transport.http_client import load as client_of


def run(out: Output) -> int:
    """Pass messages until the client or the server ends it; returns the server's exit code."""
    options = out.options
    if client := options.value("--install") or options.value("--remove"):
        return _put(client, out)
    url = options.value("--to")
    if bool(url) == (options.command is not None) or options.words:
        hint = "mcp-studio tap -- COMMAND ARGS…, or mcp-studio tap --listen PORT --to URL"
        raise UsageError("Which server?", hint=hint)
    server = targets.from_url(url) if url else _program(options.command or [])
    name = options.value("--name") or (urlsplit(url).hostname or targets.NAME if url else Path(server.command).stem)
    config = targets.configuration(options, Paths.default(), replace(server, name=name))
    targets.learn(config, out)
    targets.tell_problems(config, out)
    return asyncio.run(_tap(config, config.servers[name], out))


def _put(name: str, out: Output) -> int:
    """Put the tap before a server in the file of a client, or take it out."""
    verb, client, install = load("config"), client_named(name), out.options.flag("--install")
    if len(out.options.words) != 1:
        raise UsageError("Which server of it?", hint=f"mcp-studio tap --install {name} SERVER")
    file, (word,) = verb.client_file(client, out), out.options.words
    servers = written(Paths.default(), Path.cwd(), files=[file]).servers
    if (server := servers.get(word)) is None:
        raise UsageError(f"{file} has no server `{word}`.", hint=nearest(word, servers))
    if server.kind != "stdio":
        hint = f"mcp-studio tap --listen PORT --to {server.url} prints the URL to put there."
        raise UsageError(f"{word} is no program that {client.name} starts.", hint=hint)
    words = [server.command, *server.args]
    tapped = "tap" in words[1:4] and "--" in words
    if tapped == install:
        out.note(f"{word} is behind a tap already" if install else f"{word} is behind no tap")
        return out.done({"client": client.name, "file": str(file), "servers": []})
    command, *args = (
        [*targets.ourselves(), "tap", "--name", word, "--", *words] if install else words[words.index("--") + 1 :]
    )
    entry = replace(server.written or server, command=command, args=tuple(args), written=None)
    return verb.put(name, [entry], out)


def _program(command: Sequence[str]) -> ServerConfig:
    """It gets the whole environment of the tap: what is secret there is its own."""
    server = targets.from_command(command)
    secrets = dict.fromkeys((*server.secrets, *secret_values(replace(server, env=dict(os.environ)))))
    return replace(server, secrets=tuple(secrets))


async def _tap(config: Config, server: ServerConfig, out: Output) -> int:
    options, settings = out.options, config.settings
    redactor = Redactor(settings.redact)
    for secret in server.secrets:
        redactor.learn(secret)
    state = Paths.default().state
    disk = disk_for(state / "trace", settings, "tap")
    if disk is None:
        out.note("Nothing is recorded: [trace] record is false.")
    store = TraceStore(redactor, settings.limits, disk)
    store.troubled.connect(out.warn)
    faults = [Fault.parse(text) for text in options.values("--fault")]
    gate = Gate(redactor, faults, options.value("--seed"), options.seconds("--hold") or HOLD)
    gate.set(options.values("--break"))
    recorder = partial(Recorder, store, gate, redactor, server.name, settings.limits, out.warn)
    desk = asyncio.create_task(serve(gate, state / "held", lambda: disk.path.stem if disk and disk.path else ""))
    try:
        if not server.url:
            return await tap_program((server.command, *server.args), recorder(), out.warn)
        client = client_of(server, settings.limits, settings.limits.connect)
        await HttpTap(client, recorder).serve(options.count("--listen", 65_535, least=0) or 0, out.data)
        return 0
    finally:
        desk.cancel()
        await store.close()
