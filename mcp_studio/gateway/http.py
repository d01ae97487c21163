"""The gateway over Streamable HTTP: on this computer, for clients with a token, with bounds on all that they send."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any

import uvicorn
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import INVALID_REQUEST, PARSE_ERROR, jsonrpc_message_adapter
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from uvicorn.protocols.http.h11_impl import H11Protocol

from mcp_studio.errors import UsageError
from mcp_studio.gateway.clients import Client, client_of
from mcp_studio.gateway.gateway import Gateway
from mcp_studio.gateway.server import GatewayServer
from mcp_studio.jsontext import Json, dumps
from mcp_studio.limits import KB, MB
from mcp_studio.present.metrics import meters_of, metrics_of, prometheus
from mcp_studio.transport.base import Message, Receive, body_of

PATH = "/mcp"
BODY = 4 * MB
"""The largest body of a request in bytes."""
HEADERS = 32 * KB
"""The largest head of a request in bytes."""
CONNECTIONS = 1_000
SESSIONS = 500
"""Sessions of the handshake era at a time."""
_IDLE = 1_800.0
"""Seconds without a request after which a session ends."""
_HEAD_TIME = 5.0
"""Seconds for the head of a request."""
_READ_TIME = 30.0
"""Seconds in which a client must read what the gateway sends."""

Send = Callable[[Message], Awaitable[None]]
Ended = Callable[[str], None]


class Deadlines(H11Protocol):
    """Closes a connection whose client does not finish the head of a request in time."""

    waits: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.waits = self.loop.call_later(_HEAD_TIME, transport.abort)

    def data_received(self, data: bytes) -> None:
        """Stop the clock when a request has begun, and start it when the next request begins."""
        before = self.cycle
        super().data_received(data)
        is_new = self.cycle is not before
        if is_new and self.waits is not None:
            self.waits.cancel()
            self.waits = None
        elif not is_new and self.waits is None and before.response_complete:
            self.waits = self.loop.call_later(_HEAD_TIME, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.waits is not None:
            self.waits.cancel()
        super().connection_lost(exc)


class Guard:
    """Stands before the server and checks host, origin and token, and the size and time of each request.

    Args:
        hosts: the accepted `Host` headers; pages of other origins are refused.
        ended: gets the id of a session that its client has ended.
    """

    def __init__(
        self, app: Any, gateway: Gateway, tokens: Mapping[str, Client], hosts: Iterable[str], ended: Ended
    ) -> None:
        self._app = AuthContextMiddleware(app)
        self._gateway = gateway
        self._tokens = tokens
        self._hosts = frozenset(hosts)
        self._ended = ended

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if sum(len(name) + len(value) for name, value in scope["headers"]) > HEADERS:
            return await say(send, 431, "The head is too large.")
        if headers.get("host", "").lower() not in self._hosts:
            return await say(send, 421, "This host is not served here.")
        if not own_origin(headers.get("origin", ""), self._hosts):
            return await say(send, 403, "Pages of other origins are not served.")
        if scope["path"] == "/health":
            manager = self._gateway.studio.manager
            states = [manager.status(name).state for name in manager.names()]
            return await say(send, 200, {"ok": True, "servers": len(states), "ready": states.count("ready")})
        client = client_of(headers.get("authorization", ""), self._tokens)
        if client is None:
            more = [(b"www-authenticate", b'Bearer realm="mcp-studio"')]
            return await say(send, 401, "A bearer token is needed.", more)
        if scope["path"] == "/metrics":
            return await say(send, 200, await self._metrics())
        if scope["path"] != PATH:
            return await say(send, 404, f"There is nothing here; the server is at {PATH}.")
        length, seconds = headers.get("content-length", "0"), self._gateway.studio.limits.body
        large = length.isdigit() and int(length[:20]) > BODY
        body = 413 if large else await body_of(receive, BODY, seconds)
        if isinstance(body, int):
            return await say(send, body, "The body is too large." if body == 413 else "The body took too long.")
        older = headers.get("mcp-protocol-version") not in MODERN_PROTOCOL_VERSIONS
        if older and scope["method"] == "POST" and (wrong := _wrong(body)):
            return await say(send, 400, wrong)
        identity = AccessToken(token="", client_id=client.name, scopes=[])
        known = {**scope, "user": AuthenticatedUser(identity), "mcp_studio.client": client}
        await self._app(known, _replay(body, receive), _timed(send))
        if scope["method"] == "DELETE" and (session := headers.get("mcp-session-id")):
            self._ended(session)

    async def _metrics(self) -> str:
        """Metrics of the servers, as everywhere in the studio, and of the clients."""
        studio, clients = self._gateway.studio, self._gateway.clients
        await self._gateway.look()
        prices = studio.caller.prices(*studio.manager.names())
        lines = [*prometheus(meters_of(metrics_of(studio.numbers, prices, {})))]
        for name, kind, about, value in (
            ("requests_total", "counter", "Requests of a client.", lambda one: one.total),
            ("open_requests", "gauge", "Its requests without an answer.", lambda one: one.open),
            ("read_tokens_total", "counter", "Tokens that it was given to find tools.", lambda one: one.read),
            ("spared_tokens_total", "counter", "Tokens of all definitions instead.", lambda one: one.spared),
        ):
            name = f"mcp_studio_gateway_{name}"
            lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
            lines += [f"{name}{{client={dumps(one.name).decode()}}} {value(one)}" for one in clients]
        lines += ["# HELP mcp_studio_gateway_sessions Sessions of the handshake era.",
                  "# TYPE mcp_studio_gateway_sessions gauge",
                  f"mcp_studio_gateway_sessions {len(self._gateway.sessions.all)}"]  # fmt: skip
        return "\n".join(lines) + "\n"


def own_origin(origin: str, hosts: Collection[str]) -> bool:
    """Whether a request comes from no web page, or from a page of one of these hosts."""
    scheme, _, host = origin.lower().partition("://")
    return not origin or (scheme in ("http", "https") and host in hosts)


async def say(send: Send, status: int, body: Json | bytes, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    """Answer a request with a text or with JSON."""
    text = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else dumps(body)
    kind = b"text/plain; charset=utf-8" if isinstance(body, str) else b"application/json"
    fixed = [(b"content-type", kind), (b"content-length", str(len(text)).encode()), (b"cache-control", b"no-store")]
    closing = [(b"connection", b"close")] if status >= 400 else []
    await send({"type": "http.response.start", "status": status, "headers": [*fixed, *closing, *headers]})
    await send({"type": "http.response.body", "body": text})


def _wrong(body: bytes) -> Json:
    """The error for a body that is no message; None if it is one. The SDK's own text for it is hard to read."""
    try:
        jsonrpc_message_adapter.validate_json(body, by_name=False)
    except ValidationError as problem:
        code, text = INVALID_REQUEST, "The body is no JSON-RPC message: one request, notification or answer."
        if problem.errors()[0]["type"] == "json_invalid":
            code, text = PARSE_ERROR, "The body is no JSON."
        return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}}
    return None


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first gives the body that was read, and then the messages after it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


def _timed(send: Send) -> Send:
    """Return a `send` that fails if the client does not read in time."""

    async def timed(message: Message) -> None:
        async with asyncio.timeout(_READ_TIME):
            await send(message)

    return timed


def bound(host: str, port: int) -> socket.socket:
    """Open a listening socket.

    Raises:
        UsageError: the port is in use, or the address is not of this computer.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=256)
    except OSError as error:
        raise UsageError(f"Cannot listen on {host}:{port}: {os.strerror(error.errno or 0)}.") from None
    # Only a socket made from its number knows its protocol, and only then asyncio switches Nagle's algorithm off, which
    # costs 40 ms per answer.
    return socket.socket(fileno=listening.detach())


def hosts_of(listening: socket.socket, further: Iterable[str]) -> list[str]:
    """The accepted `Host` headers of a listening socket."""
    host, port = listening.getsockname()[:2]
    names = {host, "127.0.0.1", "localhost", "[::1]"} if host in ("127.0.0.1", "::1", "0.0.0.0", "::") else {host}
    return [*(f"{name}:{port}" for name in names), *(name.lower() for name in further)]


async def serve(
    gateway: Gateway, server: GatewayServer, listening: socket.socket, tokens: Mapping[str, Client], ended: Ended,
    *, stateless: bool,
) -> None:  # fmt: skip
    """Serve until the task is cancelled.

    Args:
        tokens: bearer tokens with their clients.
        stateless: clients of the handshake era get no sessions either, because any process may get their next request.
    """
    app = server.streamable_http_app(
        streamable_http_path=PATH, stateless_http=stateless, max_request_body_size=BODY,
        session_idle_timeout=_IDLE, max_sessions=SESSIONS,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard checks this
    )  # fmt: skip
    guard = Guard(app, gateway, tokens, hosts_of(listening, gateway.settings.hosts), ended)
    await listen(guard, listening, lifespan="on")


async def listen(app: Any, listening: socket.socket, **options: Any) -> None:
    """Serve an application until the task is cancelled or a signal arrives."""
    config = uvicorn.Config(
        app, http=Deadlines, ws="none", log_config=None, access_log=False, server_header=False, proxy_headers=False,
        limit_concurrency=CONNECTIONS, h11_max_incomplete_event_size=HEADERS, timeout_keep_alive=60,
        timeout_graceful_shutdown=1, **options,
    )  # fmt: skip
    await uvicorn.Server(config).serve(sockets=[listening])
