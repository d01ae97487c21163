"""A studio for tests: on child processes and HTTP servers, with the folders of this test."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from mcp_studio.call.call import CallOutcome, Succeeded
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Config, ServerConfig, Settings
from mcp_studio.limits import Limits
from mcp_studio.paths import Paths
from mcp_studio.studio import Studio

PATIENT = Settings(limits=Limits(connect=60.0))
"""On a busy machine a server may take its time to start."""


def stdio(argv: list[str], name: str = "s", **more: Any) -> ServerConfig:
    """A server that is started as a child process."""
    return ServerConfig(name, command=argv[0], args=tuple(argv[1:]), **more)


def http(url: str, name: str = "s", **more: Any) -> ServerConfig:
    """A server that is reached over HTTP."""
    return ServerConfig(name, url=url, **more)


@asynccontextmanager
async def opened(
    *servers: ServerConfig, settings: Settings | None = None, can_ask: bool = True
) -> AsyncGenerator[Studio]:
    """A studio with these servers, all settled and listed."""
    config = Config(settings or PATIENT, {server.name: server for server in servers})
    async with Studio.open(config, Paths.default(), can_ask=can_ask) as studio:
        for server in servers:
            await studio.manager.settle(server.name)
            await studio.manager.listed(server.name)
        yield studio


@contextmanager
def halted(studio: Studio, name: str = "s") -> Generator[int]:
    """Meanwhile a server that is a child process does nothing, however long that takes; its process id."""
    pid = studio.manager.status(name).pid
    assert pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield pid
    finally:
        with suppress(ProcessLookupError):  # it was killed meanwhile
            os.kill(pid, signal.SIGCONT)


async def call(studio: Studio, tool: str, /, **arguments: Any) -> CallOutcome:
    """Call a tool of the server `s` as a person who has approved it."""
    return await studio.call_tool(Ref("tool", "s", tool), arguments, approved=True).wait()


def text(outcome: CallOutcome) -> str:
    """The text of a successful call."""
    assert isinstance(outcome, Succeeded), outcome
    return outcome.result["content"][0]["text"]
