"""Misbehaviours of the tests' authorization server that need the wire: redirects, floods, silence, other statuses."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from tests.servers.auth_options import Takeover
from tests.servers.http_raw import Reply, Request

if TYPE_CHECKING:
    from tests.servers.auth_server import World

BIG = 30 << 20
BOMB = gzip.compress(b"[" * BIG, 9)
JUNK = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    b"GET /favicon.ico HTTP/1.1\r\nHost: HOST\r\n\r\n",
    b"GET /callback HTTP/1.1\r\nHost: HOST\r\n\r\n",
    b"GET /callback?code=stolen-code&state=wrong-state HTTP/1.1\r\nHost: HOST\r\n\r\n",
    b"GET /callback?error=access_denied&state=wrong-state HTTP/1.1\r\nHost: HOST\r\n\r\n",
    b"GET /callback?code=stolen-code&state=STATE HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    b"POST /callback HTTP/1.1\r\nHost: HOST\r\nContent-Length: 5\r\n\r\ncode=",
    b"GET /callback?" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: HOST\r\n\r\n",
    b"GET /callback HTTP/1.1\r\n",
)
"""What strangers send to a loopback port: TLS, other paths, no parameters, wrong state, wrong host, half requests."""


async def redirect_elsewhere(world: World, got: Request, reply: Reply) -> bool:
    """Redirects to an unrelated origin and keeps the method."""
    await reply.body("307 Temporary Redirect", b"", f"Location: {world.elsewhere}{got.path}")
    return True


async def redirect_loop(world: World, got: Request, reply: Reply) -> bool:
    """Redirects to itself."""
    await reply.body("302 Found", b"", f"Location: {got.path}")
    return True


async def many_hops(world: World, got: Request, reply: Reply) -> bool:
    """Redirects to itself, with another query each time."""
    world.counts["hops"] += 1
    await reply.body("302 Found", b"", f"Location: {urlsplit(got.path).path}?hop={world.counts['hops']}")
    return True


async def huge(world: World, got: Request, reply: Reply) -> bool:
    """30 MB of JSON."""
    await reply.head("200 OK", "Content-Type: application/json", "Connection: close")
    await reply.raw(b'{"issuer": "')
    for _ in range(BIG >> 16):
        await reply.raw(b"x" * (1 << 16))
    await reply.raw(b'"}')
    reply.close()
    return True


async def endless(world: World, got: Request, reply: Reply) -> bool:
    """A text that never ends."""
    await reply.head("200 OK", "Content-Type: application/json", "Connection: close")
    await reply.raw(b'{"issuer": "')
    for _ in itertools.count():
        await reply.raw(b"x" * 65536)
    return True


async def slow(world: World, got: Request, reply: Reply) -> bool:
    """Sends a byte at a time, without end."""
    await reply.head("200 OK", "Content-Type: application/json", "Connection: close")
    for _ in itertools.count():
        await reply.raw(b" ")
        await asyncio.sleep(0.1)
    return True


async def silent(world: World, got: Request, reply: Reply) -> bool:
    """Sends nothing until the client leaves."""
    await reply.reader.read()
    reply.close()
    return True


async def deep(world: World, got: Request, reply: Reply) -> bool:
    """Deeply nested lists."""
    await reply.body("200 OK", b'{"issuer": ' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    return True


async def gzip_bomb(world: World, got: Request, reply: Reply) -> bool:
    """30 KB that are 30 MB when decompressed."""
    await reply.body("200 OK", BOMB, "Content-Encoding: gzip")
    return True


async def html(world: World, got: Request, reply: Reply) -> bool:
    """An HTML page."""
    page = b"<!doctype html><title>Sign in</title><p>Please \x1b[31mlog in</p><script>alert(1)</script>"
    await reply.body("200 OK", page, kind="text/html; charset=utf-8")
    return True


async def not_json(world: World, got: Request, reply: Reply) -> bool:
    """A body that is not JSON, declared as JSON."""
    await reply.body("200 OK", b"{'issuer': nothing, \xff\x1b[2J")
    return True


def status(line: str, *headers: str) -> Takeover:
    """An error status, with a text that repeats the request."""

    async def takeover(world: World, got: Request, reply: Reply) -> bool:
        body = b"Something went wrong with: " + got.body
        await reply.body(line, body, *headers, kind="text/plain")
        return True

    return takeover


def bytes_of(line: str, value: Any, only: str = "") -> Takeover:
    """A JSON answer. `value` may be a function of world and request; `only` restricts it to one grant."""

    async def takeover(world: World, got: Request, reply: Reply) -> bool:
        if only and dict(parse_qsl(got.body.decode())).get("grant_type") != only:
            return False
        found = value(world, got) if callable(value) else value
        await reply.body(line, json.dumps(found).encode())
        return True

    return takeover


async def unauthorized(world: World, got: Request, reply: Reply) -> bool:
    """Answers 401 to every token."""
    line = world.resource.challenge(urlsplit(got.path).path, None, world.options.challenge_scope)
    await reply.body("401 Unauthorized", got.headers.get("authorization", "").encode(), f"WWW-Authenticate: {line}")
    return True


async def forbidden(world: World, got: Request, reply: Reply) -> bool:
    """Answers 403 to every token: the scope is never enough."""
    if "authorization" not in got.headers:
        return False
    line = world.resource.challenge(urlsplit(got.path).path, None, "admin")
    await reply.body("403 Forbidden", b"{}", f'WWW-Authenticate: {line}, error="insufficient_scope"')
    return True


async def callback_junk(world: World, got: Request, reply: Reply) -> bool:
    """Sends what strangers send to the callback, and then redirects as usual."""
    asked = dict(parse_qsl(urlsplit(got.path).query))
    target = urlsplit(asked.get("redirect_uri", ""))
    for junk in JUNK:
        with suppress(OSError, TimeoutError):
            reader, writer = await asyncio.open_connection(target.hostname, target.port)
            try:
                found = junk.replace(b"HOST", target.netloc.encode()).replace(b"STATE", asked.get("state", "").encode())
                writer.write(found)
                await writer.drain()
                async with asyncio.timeout(0.1):
                    world.counts[f"junk answered {(await reader.readline()).decode('latin-1').strip()}"] += 1
            finally:
                writer.transport.abort()
                with suppress(OSError):
                    await writer.wait_closed()
    return False
