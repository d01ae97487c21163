"""The loopback listener that receives the redirect of one sign-in from the browser (RFC 8252 7.3).

Scanners, prefetching browsers and other web pages connect too. They get a short answer and delay nobody: only a GET of
the right path, for the right host, whose query belongs to the sign-in, ends the wait.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from html import escape
from http import HTTPStatus
from urllib.parse import urlsplit

from mcp_studio.auth import authorize
from mcp_studio.auth.authorize import Expected, NotOurs
from mcp_studio.auth.hints import PORT
from mcp_studio.auth.model import AuthFailed, Client
from mcp_studio.errors import UsageError
from mcp_studio.safetext import safe

_HTML = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title} · mcp-studio</title>
<style>body{{font:1.1em system-ui,sans-serif;max-width:36em;margin:15vh auto;padding:0 1em}}</style>
</head><body><h1>{title}</h1><p>{text}</p></body></html>
"""
_HEADERS = (
    ("Content-Type", "text/html; charset=utf-8"),
    # The address of this page contains the code.
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-store"),
    (
        "Content-Security-Policy",
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("Connection", "close"),
)


def page(status: int, title: str, text: str) -> bytes:
    """A whole HTTP response; `title` and `text` may contain foreign text."""
    body = _HTML.format(title=escape(safe(title, 200)), text=escape(safe(text, 1_000))).encode("utf-8", "replace")
    head = "".join(f"{name}: {value}\r\n" for name, value in (*_HEADERS, ("Content-Length", str(len(body)))))
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{head}\r\n".encode("ascii") + body


PATH = "/callback"
_LONGEST = 24 * 1024
"""Bytes of a request; the query of a redirect may have 16 KB (`authorize.LONGEST`)."""
_PATIENCE = 5.0
"""The most seconds that one connection may take."""
_OPEN = 32
"""The most open connections; a new one replaces the oldest."""
_LINE = re.compile(rb"GET ([\x21-\x7e]+) HTTP/1\.[01]\Z")
_NOTES = 3
"""How many redirects of other sign-ins are noted."""


class Redirects:
    """Waits for the redirect of one sign-in, from the listener or pasted by a person; the caller has to `close` it."""

    def __init__(self, server: str, note: Callable[[str], None]) -> None:
        """`note` receives a sentence about each redirect that belongs to no sign-in of ours."""
        self._server = server
        self._note = note
        self._notes = 0
        self._expected: Expected | None = None
        self._code: asyncio.Future[str] | None = None
        self._listener: asyncio.Server | None = None
        self._open: dict[asyncio.StreamWriter, None] = {}
        self.uri = ""
        """The redirect URI that the authorization request names."""

    @property
    def listening(self) -> bool:
        """Whether the browser's redirect can reach us by itself."""
        return self._listener is not None

    async def start(self, host: str, port: int, known: Client | None = None) -> str:
        """Listen on the configured port, else on the usual or a free one; return what the person should know about it.

        `known` is the client that was registered before: some authorization servers accept only the port it was
        registered with.
        """
        first = port or _registered_port(known, host) or PORT
        self.uri, note = _uri(host, port or PORT), ""
        for number in (first,) if port else (first, 0):
            try:
                own_port = await self._listen(number)
            except OSError as problem:
                # The program on that port may receive the code, which is of no use without the verifier.
                why = (problem.strerror or str(problem)).lower()
                note = f"Port {number} of this machine refuses ({why}): paste the address that the browser ends at."
            else:
                self.uri = _uri(host, own_port)
                return note and f"Port {first} is taken; the browser is sent back to port {own_port}."
        return note

    async def _listen(self, port: int) -> int:
        """Listen on a port (0 means any free one) and return its number. Redirects to `localhost` arrive here too."""
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", port, limit=_LONGEST, backlog=_OPEN)
        return self._listener.sockets[0].getsockname()[1]

    def expect(self, expected: Expected) -> asyncio.Future[str]:
        """Accept redirects from now on; the future gets the code, or the error of the redirect."""
        self._expected = expected
        self._code = asyncio.get_running_loop().create_future()
        return self._code

    def paste(self, text: str) -> None:
        """Accept the address that a person copied out of the browser.

        Raises:
            UsageError: the address is no redirect of this sign-in.
        """
        query = authorize.query_of(text, self.uri)
        try:
            self._settle(query)
        except NotOurs as problem:
            raise UsageError(
                problem.message,
                hint="It may be of an earlier sign-in, or not be whole: paste what this page ends at, as it stands.",
            ) from None
        except AuthFailed:
            pass  # whoever awaits the code reports it

    def close(self) -> None:
        """Stop listening and cut off open connections; it may be called more than once."""
        if self._code is not None and self._code.done() and not self._code.cancelled():
            self._code.exception()  # maybe nobody awaited the code; without this asyncio would log the exception
        self._stop()
        for writer in self._open:
            writer.transport.abort()

    def _stop(self) -> None:
        if self._listener is not None:
            self._listener.close()

    def _settle(self, query: str) -> None:
        """Judge a redirect and hand its code or its error to the waiting sign-in."""
        if self._expected is None or self._code is None:
            raise NotOurs("A redirect came before the sign-in had opened a browser.", hint="Go back to the terminal.")
        if self._code.done():
            raise NotOurs("A second redirect came for a sign-in that already had one.", hint="Sign in again.")
        try:
            self._code.set_result(authorize.judge(query, self._expected))
        except AuthFailed as problem:
            self._code.set_exception(problem)
            raise

    # The listener.

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open[writer] = None
        if len(self._open) > _OPEN:
            oldest = next(iter(self._open))
            del self._open[oldest]
            oldest.transport.abort()
        try:
            async with asyncio.timeout(_PATIENCE):
                writer.write(self._answer(await reader.readuntil(b"\r\n\r\n")))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client sent no whole request
        finally:
            self._open.pop(writer, None)
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        """Answer one request: only a GET of our path, for our own host names, can be a redirect."""
        line, *lines = head[:-4].split(b"\r\n")
        request = _LINE.match(line)
        headers = [(name.strip().lower(), value.strip()) for name, _, value in (one.partition(b":") for one in lines)]
        hosts = [value.decode("latin-1").lower() for name, value in headers if name == b"host"]
        port = urlsplit(self.uri).port
        path, _, query = request[1].decode("ascii").partition("?") if request else ("", "", "")
        if path != PATH or hosts not in ([f"{own}:{port}"] for own in ("127.0.0.1", "localhost")):
            return page(404, "Nothing here", "mcp-studio waits here for the end of a sign-in, at another address.")
        return self._receive(query.partition("#")[0])

    def _receive(self, query: str) -> bytes:
        """Answer a request that may be the redirect; the listener stops after the right one."""
        try:
            self._settle(query)
        except NotOurs as problem:
            if self._notes < _NOTES:
                self._notes += 1
                self._note(problem.message)
            return page(400, "Not this one", f"{problem.message} {problem.hint} Nothing was done with it.")
        except AuthFailed as problem:
            title, text = "Signing in did not work", f"{problem.message} {problem.hint}"
        else:
            title, text = "Back to the terminal", f"You gave permission for {self._server}."
        self._stop()
        return page(200, title, f"{text} You can close this page and go back to the terminal.")


def _uri(host: str, port: int) -> str:
    return f"http://{host}:{port}{PATH}"


def _registered_port(known: Client | None, host: str) -> int:
    """The port of a registered client's redirect URI if its host is `host`; 0 where there is none."""
    parts = urlsplit(known.redirect_uri if known and known.how == "registered" else "")
    return (parts.port or 0) if parts.hostname == host else 0
