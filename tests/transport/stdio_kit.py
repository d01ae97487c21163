"""A sink and a tap that remember, and a transport on a Python child, for the tests of servers that are programs."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import StudioError
from mcp_studio.limits import DEFAULT, Limits
from mcp_studio.protocol.events import Outgoing
from mcp_studio.protocol.message import Parsed, parse
from mcp_studio.transport.stdio import StdioTransport
from tests.support import python_server, wait_until


class Ear:
    """Sink and tap in one: everything heard, in order, as `(what, value)`."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Any]] = []
        self.frames: list[bytes] = []
        self.ends: list[StudioError | None] = []
        self.undeliverable: list[tuple[Outgoing, StudioError]] = []

    def frame(self, data: bytes) -> Parsed:
        self.frames.append(data)
        self.heard.append(("frame", data))
        return parse(data)

    def closed(self, error: StudioError | None) -> None:
        self.ends.append(error)

    def undelivered(self, out: Outgoing, error: StudioError) -> None:
        self.undeliverable.append((out, error))

    def sent(self, frame: bytes, exchange: int = 0) -> None:
        self.heard.append(("sent", frame))

    def received(self, frame: bytes, exchange: int = 0) -> None:
        self.heard.append(("received", frame))

    def stray(self, line: bytes) -> None:
        self.heard.append(("stray", line))

    def stderr(self, line: bytes) -> None:
        self.heard.append(("stderr", line))

    def note(self, text: str, method: str = "", target: str = "") -> None:
        self.heard.append(("note", text))

    def http_request(self, request: object) -> None:
        raise AssertionError("no HTTP here")

    http_response = http_request

    def all(self, what: str) -> list[Any]:
        return [value for kind, value in self.heard if kind == what]

    async def frames_are(self, count: int) -> list[bytes]:
        await wait_until(lambda: len(self.frames) >= count or self.ends, what=f"{count} frames")
        return self.frames

    async def the_end(self) -> StudioError:
        await wait_until(lambda: self.ends, what="the end of the connection")
        assert self.ends[0] is not None
        return self.ends[0]


def message(method: str, identity: int | None = None, **params: Any) -> Outgoing:
    """A request, or without an id a notification."""
    body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    if identity is None:
        return Outgoing(json.dumps(body).encode(), "notification", None, method)
    return Outgoing(json.dumps({**body, "id": identity}).encode(), "request", identity, method)


def call(identity: int, **arguments: Any) -> Outgoing:
    """A call of the tool echo."""
    return message("tools/call", identity, name="echo", arguments=arguments)


def transport(argv: list[str], ear: Ear, limits: Limits = DEFAULT, **config: Any) -> StdioTransport:
    """A transport for this command line, not yet open."""
    return StdioTransport(ServerConfig("it", command=argv[0], args=tuple(argv[1:]), **config), limits, ear)


@asynccontextmanager
async def opened(argv: list[str], **limits: Any) -> AsyncIterator[tuple[StdioTransport, Ear]]:
    """An open transport for this command line and what it heard; closed afterwards."""
    ear = Ear()
    subject = transport(argv, ear, replace(DEFAULT, **limits))
    await subject.open(ear)
    try:
        yield subject, ear
    finally:
        await asyncio.wait_for(subject.close(), 25)


def faulty(fault: str, *options: str) -> list[str]:
    """The argv of the server with this fault."""
    return python_server("raw_faults", "--fault", fault, *options)


def python(code: str) -> list[str]:
    """The argv of a server given as Python code; `say(bytes)` writes to its standard output."""
    start = "import os, sys, time\ndef say(data):\n    while data: data = data[os.write(1, data):]\n"
    return [sys.executable, "-S", "-c", start + code]


def alive(pid: int) -> bool:
    """Whether there is such a process, zombies not counted."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b") ")[2][:1] != b"Z"
    except FileNotFoundError:
        return False
    except OSError:
        try:
            os.kill(pid, 0)
        except OSError:
            return False
        return True


def below(root: int) -> dict[int, str]:
    """All descendants of a process: their pids and command lines."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return {pid: command(pid) for pid in found[1:]}


def command(pid: int) -> str:
    """The command line of a process, or nothing when it is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode()
    except OSError:
        return ""
