"""One HTTP response, read within bounds."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from typing import TYPE_CHECKING, Any

from mcp_studio.errors import LimitExceeded
from mcp_studio.limits import size_text
from mcp_studio.transport.base import Headers
from mcp_studio.transport.http_errors import HttpBroken, HttpFailure

if TYPE_CHECKING:
    import httpx2

_HINT = "It has to come as it is: nothing else was asked for (Accept-Encoding: identity)."
PIECE = 64 * 1024
"""The most decoded bytes that are handled at a time."""
_TURN = 0.005


class Breather:
    """Lets other tasks run once one task has run for 5 ms: a server that floods us must not starve them."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()

    async def __call__(self) -> None:
        """Call this once per piece of work."""
        if self._loop.time() - self._last > _TURN:
            await asyncio.sleep(0)
            self._last = self._loop.time()


class Decoder:
    """Decodes a body that is uncompressed, or compressed although we did not accept that.

    Raises:
        HttpBroken: we cannot read the `Content-Encoding`.
    """

    def __init__(self, encoding: str) -> None:
        if encoding.strip().lower() not in ("", "identity", "gzip", "deflate"):
            raise HttpBroken(f"The body is compressed ({encoding.strip()[:80]}), which was not asked for.", hint=_HINT)
        compressed = encoding.strip().lower() in ("gzip", "deflate")
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32) if compressed else None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode the next bytes into pieces; compressed data gives pieces of at most `PIECE` bytes.

        Raises:
            HttpBroken: the data is not what its header says.
        """
        if self._inflate is None:
            yield data
            return
        piece = b""
        while data or len(piece) == PIECE:
            try:
                piece = self._inflate.decompress(data, PIECE)
            except zlib.error as problem:
                raise HttpBroken(f"The compressed body cannot be read: {problem}.", hint=_HINT) from None
            yield piece
            data = self._inflate.unconsumed_tail


class Response:
    """A response whose head has arrived: read its body once, by `chunk` or by `read`."""

    def __init__(
        self,
        exchange: int,
        response: httpx2.Response,
        url: httpx2.URL,
        problems: tuple[type[Exception], ...],
        failed: Callable[[Response, Exception], HttpFailure],
    ) -> None:
        """`problems` are the exceptions of the network; `failed` turns one into an error and reports it to the tap."""
        self.exchange = exchange
        self.status = response.status_code
        self.reason = text(response.extensions.get("reason_phrase", b""))
        self.headers: Headers = tuple((text(name), text(value)) for name, value in response.headers.raw)
        self.url = url
        """The address that responded, after redirects."""
        self.upgraded: Any = response.extensions.get("network_stream") if response.status_code == 101 else None
        """After status 101: the connection, now without HTTP (an `httpcore2.AsyncNetworkStream`); else None."""
        self.problems = problems
        """The exceptions that reading and writing raise if the network fails."""
        self._failed = failed
        self._stream: Any = response.stream
        self._raw: Any = aiter(self._stream)
        self._decoder: Decoder | None = None
        self._pieces: Iterator[bytes] = iter(())
        self.settled = False
        """Whether the connection was released; the part of the body that was read stays available."""
        self.breathe = Breather()
        """Lets other tasks run; called for every chunk."""

    def broken(self, problem: Exception) -> HttpFailure:
        """Turn a network error of the upgraded connection into an error, and report it to the tap."""
        return self._failed(self, problem)

    def header(self, name: str) -> str:
        """All values of a header, joined as HTTP allows; empty if it is absent. `name` is in lower case."""
        return ", ".join(value for field, value in self.headers if field.lower() == name)

    @property
    def media_type(self) -> str:
        """The content type without parameters, in lower case."""
        return self.header("content-type").split(";", 1)[0].strip().lower()

    async def chunk(self) -> bytes:
        """The next decoded bytes, at most `PIECE`; empty at the end.

        Raises:
            HttpLost: the connection ended before the body did.
            HttpBroken: the body's encoding cannot be read.
        """
        await self.breathe()
        if self._decoder is None:
            self._decoder = Decoder(self.header("content-encoding"))
        while True:
            for piece in self._pieces:
                if piece:
                    return piece
            if self.settled:
                return b""
            try:
                raw: bytes | None = await anext(self._raw, None)
            except self.problems as problem:
                raise self._failed(self, problem) from problem
            if raw is None:
                return b""
            self._pieces = self._decoder.feed(raw)

    async def settle(self, limit: int, seconds: float) -> bytes:
        """Read the body within these bounds and release the connection, for instance before asking a person.

        `chunk` and `read` then return what was read.
        """
        body = await self.beginning(limit, seconds)
        await self.close()
        self.settled, self._pieces = True, iter((body,))
        return body

    async def beginning(self, limit: int, seconds: float) -> bytes:
        """Read about `limit` bytes of the body within `seconds`; a network error only ends this early."""
        body = bytearray()
        with suppress(TimeoutError, HttpFailure):
            async with asyncio.timeout(seconds):
                while len(body) < limit and (part := await self.chunk()):
                    body += part
        return bytes(body)

    async def read(self, limit: int) -> bytes:
        """Read the whole decoded body.

        Raises:
            LimitExceeded: the body is larger than `limit`, the bound `message`; reading stops there.
            HttpLost: the connection ended before the body did.
            HttpBroken: the body's encoding cannot be read.
        """
        body = BytesIO()
        while body.tell() <= limit and (part := await self.chunk()):
            body.write(part)
        if body.tell() > limit:
            raise LimitExceeded(
                f"The message is larger than {size_text(limit)}, the limit called message: it was not read further.",
                limit="message",
            )
        return body.getvalue()

    async def close(self) -> None:
        """Release the connection, or close it if the body was not read to its end."""
        if not self.settled:
            with suppress(*self.problems):  # the connection may be gone
                await self._raw.aclose()
                await self._stream.aclose()


def text(data: bytes) -> str:
    """Header bytes as text, lossless."""
    return data.decode("latin-1")
