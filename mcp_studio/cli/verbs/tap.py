"""`tap`: stand between somebody else's client and a server, and record what passes."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.targets import configuration, from_command, learn
from mcp_studio.config.model import Config
from mcp_studio.config.secrets import secret_values
from mcp_studio.errors import UsageError
from mcp_studio.paths import Paths
from mcp_studio.redact import Redactor
from mcp_studio.tap.gate import HOLD, Gate, fault
from mcp_studio.tap.recorder import Recorder
from mcp_studio.tap.stdio import tap_program
from mcp_studio.trace.store import TraceStore, disk_for


def run(options: Options, out: Output) -> int:
    """Pass messages until the client or the server ends it; returns the server's exit code."""
    if options.command is None:
        raise UsageError("Which server?", hint="mcp-studio tap -- COMMAND ARGS…")
    server = from_command(options.command)
    name = options.value("--name") or Path(server.command).stem
    # It gets the whole environment of the tap: secrets in there are its own.
    secrets = dict.fromkeys((*server.secrets, *secret_values(replace(server, env=dict(os.environ)))))
    config = configuration(options, Paths.default(), replace(server, name=name, secrets=tuple(secrets)))
    learn(config, out)
    return asyncio.run(_tap(config, name, options, out))


async def _tap(config: Config, name: str, options: Options, out: Output) -> int:
    settings = config.settings
    redactor = Redactor(settings.redact)
    for secret in config.servers[name].secrets:
        redactor.learn(secret)
    store = TraceStore(redactor, settings.limits, disk_for(Paths.default().state / "trace", settings, "tap"))
    store.troubled.connect(out.warn)
    recorder = Recorder(store, redactor, name, settings.limits, out.warn)
    faults = [fault(text) for text in options.values("--fault")]
    gate = Gate(recorder.tap.note, faults, options.value("--seed"), options.seconds("--hold") or HOLD)
    gate.set(options.values("--break"))
    try:
        return await tap_program(options.command or (), recorder, gate, out.warn)
    finally:
        await store.close()
