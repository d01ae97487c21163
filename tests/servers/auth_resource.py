"""The protected MCP server of the tests. Each transport has its own address, which is a resource (RFC 9728).

`/mcp` answers with JSON, so that tests can see calls run at the same time, and `/stream` with event streams. `/sse` is
HTTP+SSE of 2024-11-05, `/ws` a WebSocket. Each requires a token for its own address.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.servers import auth_mcp
from tests.servers.auth_grants import Token
from tests.servers.auth_proofs import Proofs, Wrong
from tests.servers.http_raw import RawServer, Reply, Request
from tests.servers.ws_raw import Socket, WsServer

if TYPE_CHECKING:
    from tests.servers.auth_server import World

PATHS = ("/mcp", "/stream", "/sse", "/ws")
PRM = "/.well-known/oauth-protected-resource"
CUSTOM = "/somewhere/metadata.json"
MESSAGE = "/sse/message"


class Resource:
    """A handler for `RawServer`."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.proofs = Proofs("nonce-of-the-resource" if world.options.nonces else "")
        self.streams: dict[str, Reply] = {}
        self.sockets = 0

    def prm(self, path: str) -> dict[str, Any]:
        """RFC 9728 2."""
        options = self.world.options
        found: dict[str, Any] = {
            "resource": self.world.origin + path,
            "authorization_servers": [issuer.url for issuer in self.world.named()],
            "bearer_methods_supported": ["header"],
            "resource_name": "Protected notes",
        }
        found |= {"scopes_supported": list(options.prm_scopes)} if options.prm_scopes else {}
        found |= {"dpop_bound_access_tokens_required": True} if options.dpop == "required" else {}
        return found

    def _prm_path(self, path: str) -> str | None:
        """The resource whose metadata is at a path."""
        if path == PRM:
            return "/mcp" if self.world.options.prm == "root" else None
        if path.startswith(CUSTOM):
            return path.removeprefix(CUSTOM) if self.world.options.prm == "custom" else None
        if path.startswith(PRM) and self.world.options.prm in ("header", "path"):
            return path.removeprefix(PRM)
        return None

    def challenge(self, path: str, wrong: Wrong | None, scope: str) -> str:
        """The WWW-Authenticate header (RFC 6750 3, RFC 9728 5.1)."""
        options = self.world.options
        parts = [f'error="{wrong.code}"', f'error_description="{wrong.why}"'] if wrong and wrong.code else []
        parts += [f'scope="{scope}"'] if scope else []
        place = {"header": PRM + path, "custom": CUSTOM + path}.get(options.prm)
        parts += [f'resource_metadata="{self.world.origin}{place}"'] if place else []
        line = ("DPoP " if options.dpop == "required" else "Bearer ") + (", ".join(parts) or 'realm="test"')
        return self.world.hooked("challenge", line)

    async def handle(self, got: Request, reply: Reply) -> bool:
        """Answer one HTTP request; False if the path is none of ours."""
        path = urlsplit(got.path).path
        if (about := self._prm_path(path)) is not None and about in PATHS:
            if not await self.world.takeover("prm", got, reply):
                await reply.body("200 OK", json.dumps(self.world.hooked("prm", self.prm(about))).encode())
            return True
        at = "/sse" if path == MESSAGE else path
        if at not in PATHS:
            return False
        if await self.world.takeover("mcp", got, reply):
            return True
        try:
            message = json.loads(got.body) if got.body and got.method == "POST" else {}
        except ValueError:
            await reply.body("400 Bad Request", b"No JSON.", kind="text/plain")
            return True
        try:
            token = self._allowed(got, at, message)
        except Wrong as wrong:
            await self._refuse(at, wrong, message, reply)
            return True
        self.world.accepted += 1
        await self._serve(got, reply, at, message, token)
        return True

    def _allowed(self, got: Request, at: str, message: Any) -> Token | None:
        """The token of a request; raises Wrong, without an error code if there is no token (RFC 6750 3.1)."""
        options = self.world.options
        kind, _, value = got.headers.get("authorization", "").partition(" ")
        if options.open_handshake and not value and message.get("method", "notifications/initialized") in auth_mcp.FREE:
            return None
        if not value:
            raise Wrong("", "", 401)
        token = self.world.token(value)
        if token is None or not token.live:
            raise Wrong("invalid_token", "The token is not valid any more.", 401)
        if kind.lower() != ("dpop" if token.key else "bearer"):
            raise Wrong("invalid_token", f"Wrong scheme: {kind}", 401)
        if token.key:
            url = self.world.origin + urlsplit(got.path).path
            try:
                used = self.proofs.check(got.headers.get("dpop", ""), got.method, url, value)
            except Wrong as wrong:
                raise Wrong(wrong.code, wrong.why, 401) from None
            if used != token.key:
                raise Wrong("invalid_token", "The token is bound to another key.", 401)
        if options.resource_needed and token.resource != self.world.origin + at:
            raise Wrong("invalid_token", "The token is for another server.", 401)
        for scope in (options.base_scope, options.needs.get(auth_mcp.tool_of(message), "")):
            if scope and scope not in token.scopes:
                raise Wrong("insufficient_scope", "This needs another scope.", 403)
        return token

    async def _refuse(self, at: str, wrong: Wrong, message: Any, reply: Reply) -> None:
        options = self.world.options
        scope = options.challenge_scope
        if wrong.code == "insufficient_scope":
            scope = options.needs.get(auth_mcp.tool_of(message), "") or options.base_scope
        lines = [f"WWW-Authenticate: {self.challenge(at, wrong, scope)}"] if options.challenge else []
        lines += [f"DPoP-Nonce: {self.proofs.nonce}"] if wrong.code == "use_dpop_nonce" else []
        status = "403 Forbidden" if wrong.status == 403 else "401 Unauthorized"
        await reply.body(status, json.dumps({"error": wrong.code, "error_description": wrong.why}).encode(), *lines)

    async def _serve(self, got: Request, reply: Reply, at: str, message: Any, token: Token | None) -> None:
        told = json.dumps(token.about()) if token else "nobody"
        if at == "/ws":
            await self._socket(got, reply, told)
        elif at == "/sse" and got.method == "GET":
            await self._events(reply)
        elif got.method != "POST":
            await reply.body("405 Method Not Allowed", b"")
        elif got.path.split("?")[0] == "/sse":
            await reply.body("405 Method Not Allowed", b"")
        elif (response := await auth_mcp.answer(message, told)) is None:
            await reply.accepted()
        elif at == "/sse":
            await reply.accepted()
            await self.streams[got.path.partition("=")[2]].event(response, "event: message")
        elif at == "/stream":
            await reply.stream()
            await reply.event(response)
            reply.close()
        else:
            code = response.get("error", {}).get("code")
            status = "404 Not Found" if code == -32601 and auth_mcp.is_modern(message) else "200 OK"
            await reply.body(status, auth_mcp.dumped(response))

    async def _events(self, reply: Reply) -> None:
        name = str(len(self.streams))
        self.streams[name] = reply
        await reply.stream()
        await reply.raw(f"event: endpoint\ndata: {MESSAGE}?session={name}\n\n".encode())
        await reply.reader.read()

    async def _socket(self, got: Request, reply: Reply, told: str) -> None:
        self.sockets += 1
        calls: set[asyncio.Task[None]] = set()

        async def call(socket: Socket, asked: Any) -> None:
            async def later() -> None:
                if (response := await auth_mcp.answer(asked, told)) is not None:
                    await socket.say(response)

            calls.add(task := asyncio.create_task(later()))
            task.add_done_callback(calls.discard)

        await WsServer(call)(got, reply)


__all__ = ("PATHS", "RawServer", "Resource")
