"""Our authorization server and the MCP server that it protects, on loopback; both can be told to misbehave.

In a test, in its own loop:

    async with AuthServer(lifetime=2) as world:
        ... ServerConfig("s", url=world.url) ...

beside it, in a thread (`with threaded() as world:`), or as a program, also to try the screens by hand:

    python -m tests.servers.auth_server [--port N] [--misbehave NAME] [--set OPTION=VALUE] [--list]

which prints the address of the MCP server and then the others. `auth_options.Options` has the options,
`auth_manners.MANNERS` the table of misbehaviours (`--list` prints it), `auth_resource` the addresses per transport.
At the program's MCP server `POST /_do` with `{"do": "expire"}` (or `forget`, `end`, `migrate`) calls that method of
`World`, and `GET /_seen` returns the requests.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import threading
from collections import defaultdict
from collections.abc import Generator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import fields, replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.servers.auth_grants import Token
from tests.servers.auth_issuer import Issuer
from tests.servers.auth_manners import MANNERS
from tests.servers.auth_options import Manner, Options, Seen
from tests.servers.auth_proofs import Wrong
from tests.servers.auth_resource import PATHS, Resource
from tests.servers.http_raw import RawServer, Reply, Request


class World:
    """The servers, the secrets that they have given out, and the requests that they have received."""

    def __init__(self, options: Options, manner: Manner) -> None:
        self.options = replace(options, **manner.options)
        self.manner = manner
        self.origin = ""
        """The origin of the MCP server."""
        self.elsewhere = ""
        """An unrelated origin; requests to it are in `requests`, too."""
        self.requests: list[Seen] = []
        self.issued: defaultdict[str, list[str]] = defaultdict(list)
        """By kind: all secrets that were given out or received."""
        self.accepted = 0
        """The number of MCP requests that had a valid token."""
        self.counts: defaultdict[str, int] = defaultdict(int)
        """Counters, for misbehaviours."""
        self.current: int | None = None
        """The index of the current issuer; a migration moves it on."""
        self.issuers = [Issuer(self, f"issuer{number}") for number in range(1, self.options.issuers + 1)]
        self.resource = Resource(self)

    @property
    def url(self) -> str:
        """The MCP server's address, Streamable HTTP with JSON answers."""
        return self.origin + "/mcp"

    @property
    def issuer(self) -> Issuer:
        """The first authorization server."""
        return self.issuers[0]

    def at(self, path: str) -> str:
        """The address of another transport: `/stream`, `/sse`, `/ws`."""
        return (self.origin.replace("http", "ws", 1) if path == "/ws" else self.origin) + path

    def named(self) -> list[Issuer]:
        """The authorization servers that the resource names."""
        return self.issuers if self.current is None else [self.issuers[self.current]]

    def secret(self, kind: str, prefix: str) -> str:
        """Make a secret and remember it."""
        value = f"{prefix}-{secrets.token_urlsafe(24)}"
        self.issued[kind].append(value)
        return value

    def secrets(self) -> set[str]:
        """All secrets that were given out or received."""
        return {value for values in self.issued.values() for value in values if value}

    def seen(self, path: str, server: str = "", method: str = "") -> list[Seen]:
        """The requests whose paths end like this."""
        return [one for one in self.requests if one.path.endswith(path) and one.server.startswith(server)
                and one.method.startswith(method)]  # fmt: skip

    def token(self, value: str) -> Token | None:
        """The access token with this value, if an issuer that the resource names has given it."""
        return next((issuer.grants.tokens[value] for issuer in self.named() if value in issuer.grants.tokens), None)

    def expire(self) -> None:
        """Let all access tokens expire; refresh tokens stay valid."""
        for issuer in self.issuers:
            for token in issuer.grants.tokens.values():
                token.ended = True

    def end(self) -> None:
        """Revoke all tokens."""
        self.expire()
        for issuer in self.issuers:
            for token in issuer.grants.refreshes.values():
                token.ended = True

    def forget(self) -> None:
        """Forget all registrations, and revoke their tokens."""
        self.end()
        for issuer in self.issuers:
            issuer.clients.clear()

    def migrate(self) -> None:
        """Move on to the next issuer; tokens of the others are not valid any more."""
        self.current = ((self.current or 0) + 1) % len(self.issuers)

    def check_resource(self, resource: str) -> None:
        """Raise Wrong unless this is an address of the MCP server (RFC 8707 2)."""
        if self.options.resource_needed and resource not in {self.origin + path for path in PATHS}:
            raise Wrong("invalid_target", f"No such resource: {resource or 'none'}")

    def hooked(self, name: str, value: Any) -> Any:
        """The value after the misbehaviour's hook."""
        hook = getattr(self.manner, name)
        return value if hook is None else hook(self, value)

    async def takeover(self, place: str, got: Request, reply: Reply) -> bool:
        """Let the misbehaviour answer a request; returns whether it has."""
        found = self.manner.reply.get(place)
        return found is not None and await found(self, got, reply)

    def note(self, server: str, got: Request) -> None:
        """Remember a request, and the secrets in it."""
        at = urlsplit(got.path)
        form = got.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
        posted = dict(parse_qsl(got.body.decode("utf-8", "replace"))) if form else {}
        self.requests.append(
            Seen(server, got.method, at.path, dict(parse_qsl(at.query)), got.headers, got.body, posted)
        )
        for name in ("code_verifier", "client_assertion", "assertion"):
            self.issued[name] += [posted[name]] if name in posted else []

    async def control(self, got: Request, reply: Reply) -> bool:
        """Answer `/_do` and `/_seen`."""
        if got.path == "/_seen":
            told = [one._replace(body=one.body.decode("utf-8", "replace")) for one in self.requests]  # type: ignore
            await reply.body("200 OK", json.dumps([one._asdict() for one in told], indent=1).encode())
        elif got.path == "/_do":
            getattr(
                self, {"expire": "expire", "forget": "forget", "end": "end", "migrate": "migrate"}[got.json["do"]]
            )()
            await reply.body("200 OK", b"{}")
        else:
            return False
        return True


class AuthServer:
    """`async with AuthServer(…) as world:` serves on free ports until the block ends.

    Args:
        misbehave: a name of `MANNERS`, or a `Manner`.
        port: the MCP server's port; 0 for a free one.
        options: see `Options`.
    """

    def __init__(self, misbehave: str | Manner = "", *, port: int = 0, **options: Any) -> None:
        manner = misbehave if isinstance(misbehave, Manner) else MANNERS[misbehave] if misbehave else Manner("nothing")
        self.world = World(Options(**options), manner)
        self._port = port
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> World:
        world, tls = self.world, self.world.options.tls
        scheme = "https" if tls else "http"
        host = f"{scheme}://{world.options.host}"
        first = await self._stack.enter_async_context(RawServer(self._mcp, tls, self._port))
        world.origin = f"{host}:{first.port}"
        for issuer in world.issuers:
            if world.options.same_origin:
                issuer.origin = world.origin
            else:
                server = await self._stack.enter_async_context(RawServer(self._issuer(issuer), tls))
                issuer.origin = f"{scheme}://{world.options.issuer_host or world.options.host}:{server.port}"
        other = await self._stack.enter_async_context(RawServer(self._elsewhere, tls))
        world.elsewhere = f"{host}:{other.port}"
        return world

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def _mcp(self, got: Request, reply: Reply) -> None:
        if await self.world.control(got, reply):
            return
        self.world.note("resource", got)
        if self.world.options.same_origin and await self.world.issuer.handle(got, reply):
            return
        if not await self.world.resource.handle(got, reply):
            await reply.body("404 Not Found", b"Not found", kind="text/plain")

    def _issuer(self, issuer: Issuer) -> Any:
        async def handler(got: Request, reply: Reply) -> None:
            self.world.note(issuer.name, got)
            if not await issuer.handle(got, reply):
                await reply.body("404 Not Found", b"Not found", kind="text/plain")

        return handler

    async def _elsewhere(self, got: Request, reply: Reply) -> None:
        self.world.note("elsewhere", got)
        await reply.body("404 Not Found", b"Not found", kind="text/plain")


@contextmanager
def threaded(misbehave: str | Manner = "", **options: Any) -> Generator[World, None, None]:
    """Run the servers in their own thread, for tests without an event loop or with programs."""
    ready, loop = threading.Event(), asyncio.new_event_loop()
    server = AuthServer(misbehave, **options)
    stop = asyncio.Event()

    async def serve() -> None:
        async with server:
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    try:
        assert ready.wait(10)
        yield server.world
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


def setting(text: str) -> tuple[str, Any]:
    """Read `OPTION=VALUE`, where the value is JSON or text."""
    name, _, value = text.partition("=")
    if name not in {field.name for field in fields(Options)}:
        raise argparse.ArgumentTypeError(f"no option {name}")
    try:
        found = json.loads(value)
    except ValueError:
        found = value
    return name, tuple(found) if isinstance(found, list) else found


async def forever(server: AuthServer) -> None:
    """Serve until the process ends."""
    async with server as world:
        print(world.url, flush=True)
        print(*(world.at(path) for path in PATHS[1:]), *(issuer.url for issuer in world.issuers), flush=True)
        await asyncio.Event().wait()


def main() -> None:
    """Serve until it is interrupted."""
    parser = argparse.ArgumentParser(description="An authorization server with a protected MCP server, for tests.")
    parser.add_argument("--port", type=int, default=0, help="the port of the MCP server")
    parser.add_argument("--misbehave", default="", choices=["", *MANNERS], metavar="NAME", help="see --list")
    parser.add_argument("--set", type=setting, action="append", default=[], metavar="OPTION=VALUE", help="see Options")
    parser.add_argument("--list", action="store_true", help="print all misbehaviours")
    given = parser.parse_args()
    if given.list:
        for name, manner in MANNERS.items():
            print(f"{name:30} {manner.says}")
        return
    try:
        asyncio.run(forever(AuthServer(given.misbehave, port=given.port, **dict(given.set))))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
