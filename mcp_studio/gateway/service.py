"""The gateway as a program: on standard input and output, or over HTTP in one or several processes."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from functools import partial
from hashlib import sha256
from typing import Any, Protocol

from anyio import EndOfStream
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.server.caching import CacheHint
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from mcp_studio import __version__
from mcp_studio.catalog.listing import KINDS
from mcp_studio.config.model import GatewaySettings
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.gateway import http
from mcp_studio.gateway.gateway import Gateway
from mcp_studio.gateway.notices import Notices
from mcp_studio.gateway.own_tools import OwnTools
from mcp_studio.gateway.server import GatewayServer, Handlers
from mcp_studio.gateway.tasks import TaskDesk
from mcp_studio.protocol.lines import Line, LineSplitter, Oversize
from mcp_studio.studio import Studio
from mcp_studio.tap.stdio import Writer, pieces_of, writer_to
from mcp_studio.threads import in_thread
from mcp_studio.transport.stdio import PipeWriter, WriterClosed

Body = Callable[[Studio], Awaitable[int]]
Execute = Callable[[Body], int]
"""Opens a studio, runs a body in it and closes it; returns the exit code."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_SHORT = 1.0
"""A process that ended within this many seconds is not restarted."""
_LAST = 1.0
"""Seconds for the last answers to a client that has left."""


_STATE = 600.0
"""Seconds in which a client has to come back with answers; a person may need time to think."""
SEARCH = """\
The tools of several MCP servers are behind this one. Find them with search_tools, read one with get_tool_definition, \
and call it with call_tool.
"""
ALL = "The tools, resources and prompts of several MCP servers are behind this one, under the names of their servers.\n"


class Teller(Protocol):
    """Prints the program's messages; implemented by the command line."""

    def data(self, *lines: str) -> None: ...

    def note(self, *texts: object) -> None:
        """Print messages for a person."""
        ...

    def flush(self) -> None:
        """Print everything now."""
        ...


def start(
    settings: GatewaySettings, approved: bool, address: tuple[str, int] | None, workers: int, execute: Execute,
    out: Teller,
) -> int:  # fmt: skip
    """Serve until the client leaves (stdio) or a signal ends the process (HTTP); returns the exit code.

    Args:
        approved: whether calls that need approval are approved in advance.
        address: where to listen; None means standard input and output.
        workers: the number of processes that listen.

    Raises:
        UsageError: the program cannot listen there.
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
    token = settings.token if known else secrets.token_urlsafe(32)
    with http.bound(host, port) as listening:
        url = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}{http.PATH}"
        out.data(url, *([] if known else [f"token: {token}"]))
        if workers > 1:
            out.note(
                "Several processes keep no sessions: clients of the handshake era (to 2025-11-25) are asked nothing,",
                "hear of no changes, and no call goes on as a task.",
            )
        out.flush()
        body = partial(_http, approved, token, workers > 1, listening, out)
        return execute(body) if workers == 1 else _processes(workers, lambda: execute(body))


def build(gateway: Gateway, key: bytes = b"", *, tasks: bool = True) -> tuple[GatewayServer, Callable[[str], None]]:
    """The server of a gateway, and a function that gets the ids of ended sessions.

    Args:
        tasks: whether calls may become tasks, because all requests of a client reach this process.
        key: seals the state that clients of the stateless era carry; all processes of a gateway share it.
    """
    own = OwnTools(gateway) if gateway.settings.mode == "search" else None
    handlers = Handlers(gateway, own, Notices(gateway, ("tool",) if own else KINDS))
    lists = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
    hints: dict[Any, CacheHint] = dict.fromkeys(
        ("server/discover", "resources/read", *lists), CacheHint(ttl_ms=0, scope="private")
    )
    server = GatewayServer(
        "mcp-studio", version=__version__, title="mcp-studio gateway", instructions=SEARCH if own else ALL,
        cache_hints=hints, get_tool_input_schema=handlers.input_schema,
        on_subscriptions_listen=handlers.notices.listen,
    )  # fmt: skip
    security = RequestStateSecurity(keys=[key], ttl=_STATE) if key else RequestStateSecurity.ephemeral(ttl=_STATE)
    server.middleware[:] = [RequestStateBoundary(security, default_audience=server.name)]  # and no spans of the SDK
    handlers.add_to(server)
    if tasks:
        TaskDesk(gateway, handlers.target).add_to(server)
    return server, handlers.ended


async def _stdio(approved: bool, out: Teller, studio: Studio) -> int:
    gateway = Gateway(studio, out.note, approved=approved, alone=True)
    server, _ = build(gateway)
    try:
        await serve_stdio(server, studio.limits.message)
    finally:
        out.note(*await gateway.report())
    return 0


async def _http(
    approved: bool, token: str, stateless: bool, listening: socket.socket, out: Teller, studio: Studio
) -> int:
    gateway = Gateway(studio, out.note, approved=approved)
    tokens = {one.rules.token: one for one in gateway.clients if one.rules.token}
    tokens |= {token: gateway.client} if token else {}
    for known in tokens:
        studio.redactor.learn(known)
    # All processes seal with the same key, which can be made only from all tokens.
    server, ended = build(gateway, sha256("\0".join(("state", *sorted(tokens))).encode()).digest(), tasks=not stateless)
    try:
        await http.serve(gateway, server, listening, tokens, ended, stateless=stateless)
    finally:
        out.note(*await gateway.report())
    return 0


def _processes(count: int, serve: Callable[[], int]) -> int:
    """Serve in several processes on one socket. A process that ends by itself is restarted; a signal ends all."""
    started: dict[int, float] = {}
    ending: list[int] = []
    alive, held = os.pipe()  # the pipe closes when this process ends, however it ends

    def end(number: int, _: object) -> None:
        ending.append(number)
        for process in tuple(started):
            os.kill(process, signal.SIGTERM)

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    while True:
        while len(started) < count and not ending:
            process = os.fork()
            if process == 0:
                os.close(held)
                in_thread(_end_with, alive)
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


def _end_with(parent: int) -> None:
    os.read(parent, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def _child(serve: Callable[[], int]) -> int:
    try:
        return serve()
    except StudioError as error:
        os.write(2, f"{error.message} {error.hint}\n".encode())
        return error.exit_code


async def serve_stdio(server: GatewayServer, message: int) -> None:
    """Serve one client on standard input and output until it closes its end.

    Args:
        message: bytes of one message; a longer one is none.
    """
    async with aclosing(pieces_of(os.dup(0))) as pieces:
        output = await writer_to(os.dup(1))
        client = _Client(pieces, output, message)
        os.dup2(2, 1)  # what anything prints goes to standard error and never between messages
        await server.run(client, client, server.create_initialization_options())
        with suppress(TimeoutError, WriterClosed, OSError):  # it may read no more, or be gone
            async with asyncio.timeout(_LAST):
                await output.write(b"")


class _Client(ObjectReceiveStream[Any], ObjectSendStream[SessionMessage]):
    """The streams that the SDK's server wants, on the pipes themselves: no task and no queue stands between them."""

    def __init__(self, pieces: AsyncGenerator[bytes], output: PipeWriter | Writer, most: int) -> None:
        self._pieces, self._output = pieces, output
        self._splitter, self._lines = LineSplitter(most), deque[Line]()

    async def receive(self) -> SessionMessage | ValidationError:
        """The next message, or what is wrong with it."""
        while not self._lines:
            piece = await anext(self._pieces, b"")
            self._lines += self._splitter.feed(piece) if piece else self._splitter.finish()
            if not piece and not self._lines:
                raise EndOfStream
        line = self._lines.popleft()
        text = "" if isinstance(line, Oversize) else line.decode("utf-8", "replace")
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
        except ValidationError as problem:
            return problem

    async def send(self, item: SessionMessage) -> None:
        """Write a message, and wait until it is written."""
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        with suppress(WriterClosed, OSError):  # the client is gone, which ends its input too
            await self._output.write(text.encode() + b"\n")

    async def aclose(self) -> None:
        """Nothing: who has opened the pipes closes them."""
