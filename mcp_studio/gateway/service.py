"""The gateway as a program: on standard input and output, or over HTTP in one or several processes."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import time
from collections.abc import Awaitable, Callable
from functools import partial
from hashlib import sha256
from typing import Protocol

from mcp_studio.config.model import GatewaySettings
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.gateway import http, stdio
from mcp_studio.gateway.gateway import Gateway
from mcp_studio.gateway.server import build
from mcp_studio.studio import Studio

Body = Callable[[Studio], Awaitable[int]]
Execute = Callable[[Body], int]
"""Opens a studio, runs a body in it, closes it; gives the exit code."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_SHORT = 1.0
"""A process that ran no longer than this many seconds is not started again."""


class Teller(Protocol):
    """Who prints what the program says: the command line."""

    def data(self, *lines: str) -> None:
        """Print lines of data."""
        ...

    def note(self, *texts: object) -> None:
        """Tell a person something."""
        ...

    def flush(self) -> None:
        """Print now."""
        ...


def start(
    settings: GatewaySettings, approved: bool, address: tuple[str, int] | None, workers: int, execute: Execute,
    out: Teller,
) -> int:  # fmt: skip
    """Serve until the client leaves (stdio) or the process is told to end (HTTP); gives the exit code.

    Args:
        approved: calls that need approval have it.
        address: where it listens; None is standard input and output.
        workers: processes that listen there.

    Raises:
        UsageError: it cannot listen there.
    """
    if address is None:
        return execute(partial(_stdio, approved, out))
    host, port = address
    known = {one.token for one in settings.clients} | ({settings.token} - {""})
    if host not in LOOPBACK and not known:
        hint = "[gateway] token, or [gateway.clients.NAME], in config.toml; or MCP_STUDIO_GATEWAY_TOKEN."
        raise UsageError(f"Whoever can reach {host} needs a token that is known beforehand.", hint=hint)
    if workers > 1 and not hasattr(os, "fork"):
        raise UsageError("--workers needs a system with fork: start several processes behind a balancer instead.")
    token = settings.token
    if not known:
        token = secrets.token_urlsafe(32)
    try:
        listening = http.bound(host, port)
    except OSError as error:
        raise UsageError(f"Cannot listen on {host}:{port}: {error.strerror or error}.") from None
    with listening:
        out.data(f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}{http.PATH}")
        if not known:
            out.data(f"token: {token}")
        out.flush()
        body = partial(_http, approved, token, workers > 1, listening, out)
        return execute(body) if workers == 1 else _processes(workers, lambda: execute(body))


async def _stdio(approved: bool, out: Teller, studio: Studio) -> int:
    gateway = Gateway(studio, approved=approved, alone=True)
    server, _ = build(gateway)
    try:
        await stdio.serve(server, studio.limits.message)
    finally:
        out.note(*gateway.accounts())
    return 0


async def _http(
    approved: bool, token: str, stateless: bool, listening: socket.socket, out: Teller, studio: Studio
) -> int:
    gateway = Gateway(studio, approved=approved)
    tokens = {one.rules.token: one for one in gateway.clients if one.rules.token}
    tokens |= {token: gateway.client} if token else {}
    for known in tokens:
        studio.redactor.learn(known)
    # All processes seal with the same key, which nobody can make who does not have all tokens.
    server, ended = build(gateway, sha256("\0".join(("state", *sorted(tokens))).encode()).digest(), tasks=not stateless)
    try:
        await http.serve(gateway, server, listening, tokens, ended, stateless=stateless)
    finally:
        out.note(*gateway.accounts())
    return 0


def _processes(count: int, serve: Callable[[], int]) -> int:
    """Serve in several processes on one socket. One that ends by itself is started again; a signal ends all."""
    started: dict[int, float] = {}
    ending: list[int] = []

    def end(number: int, _: object) -> None:
        ending.append(number)
        for process in tuple(started):
            os.kill(process, signal.SIGTERM)

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    while True:
        while len(started) < count and not ending:
            process = os.fork()
            if process == 0:
                for number, handler in before.items():
                    signal.signal(number, handler)
                os._exit(_child(serve))
            started[process] = time.monotonic()
            for number in before:
                signal.signal(number, end)
        if not started:
            return 128 + ending[0]
        process, status = os.wait()
        began = started.pop(process, 0.0)
        if not ending and time.monotonic() - began < _SHORT:
            end(signal.SIGTERM, None)
            ending[:] = [os.waitstatus_to_exitcode(status) - 128]


def _child(serve: Callable[[], int]) -> int:
    try:
        return serve()
    except StudioError as error:
        os.write(2, f"{error.message} {error.hint}\n".encode())
        return error.exit_code
