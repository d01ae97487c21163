"""`tap`: stand between somebody else's client and a server, and record what passes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.targets import NAME, adjusted, configuration, from_command, from_url, learn
from mcp_studio.config.model import Config, ServerConfig
from mcp_studio.config.secrets import secret_values
from mcp_studio.errors import UsageError
from mcp_studio.paths import Paths
from mcp_studio.redact import Redactor
from mcp_studio.tap.desk import serve
from mcp_studio.tap.gate import HOLD, Gate, fault
from mcp_studio.tap.http import HttpTap
from mcp_studio.tap.recorder import Recorder
from mcp_studio.tap.stdio import tap_program
from mcp_studio.trace.store import TraceStore, disk_for
from mcp_studio.transport.http_client import context


def run(out: Output) -> int:
    """Pass messages until the client or the server ends it; returns the server's exit code."""
    options = out.options
    url = options.value("--to")
    if bool(url) == (options.command is not None) or options.words:
        hint = "mcp-studio tap -- COMMAND ARGS…, or mcp-studio tap --listen PORT --to URL"
        raise UsageError("Which server?", hint=hint)
    server = adjusted(from_url(url), options) if url else _program(options.command or [])
    name = options.value("--name") or (urlsplit(url).hostname or NAME if url else Path(server.command).stem)
    config = configuration(options, Paths.default(), replace(server, name=name))
    learn(config, out)
    return asyncio.run(_tap(config, config.servers[name], options, out))


def _program(command: Sequence[str]) -> ServerConfig:
    """It gets the whole environment of the tap: what is secret there is its own."""
    server = from_command(command)
    secrets = dict.fromkeys((*server.secrets, *secret_values(replace(server, env=dict(os.environ)))))
    return replace(server, secrets=tuple(secrets))


async def _tap(config: Config, server: ServerConfig, options: Options, out: Output) -> int:
    settings = config.settings
    redactor = Redactor(settings.redact)
    for secret in server.secrets:
        redactor.learn(secret)
    state = Paths.default().state
    disk = disk_for(state / "trace", settings, "tap")
    store = TraceStore(redactor, settings.limits, disk)
    store.troubled.connect(out.warn)
    recorder = Recorder(store, redactor, server.name, settings.limits, out.warn)
    faults = [fault(text) for text in options.values("--fault")]
    patience, tap = options.seconds("--hold") or HOLD, recorder.tap
    gate = Gate(lambda _, text: tap.note(text), redactor, faults, options.value("--seed"), patience)
    gate.set(options.values("--break"))
    desk = asyncio.create_task(serve(gate, state / "held", lambda: disk.path.stem if disk and disk.path else ""))
    try:
        if not server.url:
            return await tap_program((server.command, *server.args), recorder, gate, out.warn)
        tls = context(server.tls) if server.url.startswith("https:") else None
        await HttpTap(server.url, tls, recorder, gate).serve(options.count("--listen", 65_535, least=0) or 0, out.data)
        return 0
    finally:
        desk.cancel()
        await store.close()
