"""The gateway as a program, and real clients of it."""

from __future__ import annotations

import json
import os
import select
import subprocess
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from mcp_studio.paths import Paths
from tests.support import ROOT, python_program, python_server
from tests.support_servers import demo_stdio, end

ERAS = ("legacy", "auto")
"""The SDK's words for the handshake, and for the stateless era where a server knows it."""


def configured(gateway: str = "", more: str = "", home: Path | None = None, **servers: Sequence[str]) -> Path:
    """A configuration with these servers, each by its argv; the demo server where there are none."""
    lines = ["[gateway]", gateway, more]
    for name, argv in (servers or {"demo": demo_stdio()}).items():
        lines += [f"[servers.{name}]", f"command = {json.dumps(argv[0])}", f"args = {json.dumps(list(argv[1:]))}"]
        lines += ["trust = true", 'inherit_env = ["PYTHONPATH"]']
    file = (home or Paths.default().config) / "gateway.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines), "utf-8")
    return file


def raw(name: str, *options: str) -> list[str]:
    """The argv of a server of the tests."""
    return python_server(name, *options)


def argv(file: Path, *options: str) -> list[str]:
    """The argv of the gateway; calls that need approval have it, but where `--asks` is given."""
    words = [word for word in options if word != "--asks"] + ["--yes"] * ("--asks" not in options)
    return python_program("-m", "mcp_studio", "serve", "--config", file, *words)


def environment() -> dict[str, str]:
    """The environment of the gateway."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


@asynccontextmanager
async def on_stdio(file: Path, *options: str, era: str = "auto", **client: Any) -> AsyncGenerator[Client]:
    """The SDK's client on a gateway that it starts."""
    command, *words = argv(file, *options)
    started = StdioServerParameters(command=command, args=words, env=environment(), cwd=str(ROOT))
    async with Client(stdio_client(started), mode=era, **client) as connected:  # type: ignore[arg-type]
        yield connected


class Served(NamedTuple):
    """A gateway over HTTP."""

    url: str
    token: str
    process: subprocess.Popen[str]

    @property
    def headers(self) -> dict[str, str]:
        """What a client shows."""
        return {"Authorization": f"Bearer {self.token}"}

    @property
    def origin(self) -> str:
        """The address without a path."""
        return self.url.removesuffix("/mcp")


@contextmanager
def on_http(file: Path, *options: str, **variables: str) -> Generator[Served]:
    """A gateway over HTTP, and the token that it has made."""
    process = subprocess.Popen(
        argv(file, "--http", "0", *options), stdout=subprocess.PIPE, text=True, env=environment() | variables, cwd=ROOT
    )
    assert process.stdout is not None
    try:
        known = variables.get("MCP_STUDIO_GATEWAY_TOKEN", "")
        ready, _, _ = select.select([process.stdout], [], [], 60)
        url = process.stdout.readline().strip() if ready else ""
        assert url, f"the gateway did not say where it listens (exit code {process.poll()})"
        yield Served(url, known or process.stdout.readline().strip().removeprefix("token: "), process)
    finally:
        end(process)


@asynccontextmanager
async def to_http(served: Served, era: str = "auto", token: str = "", **client: Any) -> AsyncGenerator[Client]:
    """The SDK's client on a gateway over HTTP."""
    headers = {"Authorization": f"Bearer {token or served.token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(served.url, http_client=http)
        async with Client(transport, mode=era, **client) as connected:  # type: ignore[arg-type]
            yield connected


def text(result: Any) -> str:
    """The text of a result."""
    return "".join(getattr(block, "text", "") for block in result.content)
