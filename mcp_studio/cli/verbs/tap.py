"""`tap`: stand between another program's client and a server, and record the messages."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
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
from mcp_studio.tap.desk import serve
from mcp_studio.tap.gate import HOLD, Fault, Gate, faults_in
from mcp_studio.tap.recorder import Recorder
from mcp_studio.tap.stdio import tap_program
from mcp_studio.trace.store import TraceStore, disk_for
from mcp_studio.transport.http_client import load as client_of


def run(out: Output, http: Callable[..., Any]) -> int:
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
    return asyncio.run(_tap(config, config.servers[name], out, http))


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
    tap = [*targets.ourselves(), "tap", "--name", word, "--"]
    command, *args = [*tap, *words] if install else words[words.index("--") + 1 :]
    return verb.put(name, [replace(entry, command=command, args=tuple(args))], out)


async def _tap(config: Config, server: ServerConfig, out: Output, http: Callable[..., Any]) -> int:
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
    desk = asyncio.create_task(serve(gate, state / "held", lambda: disk.path.stem if disk and disk.path else ""))
    try:
        if not server.url:
            return await tap_program((server.command, *server.args), recorder(), out.warn)
        client = client_of(server, settings.limits, settings.limits.connect)
        port = options.count("--listen", 65_535, least=0) or 0
        return await http(client, recorder, port, lambda own: out.line(own, {})) or 0
    finally:
        desk.cancel()
        await store.close()
