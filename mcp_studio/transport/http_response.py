"""One HTTP response, read within bounds."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Any

from mcp_studio.errors import LimitExceeded
from mcp_studio.transport.base import Headers
from mcp_studio.transport.http_errors import HttpBroken, HttpFailure
from mcp_studio.transport.lines import size_text

if TYPE_CHECKING:
    import httpx2

_HINT = "It has to come as it is: nothing else was asked for (Accept-Encoding: identity)."
PIECE = 64 * 1024
"""Decoded bytes that are handled at a time."""
_TURN = 0.005


class Breather:
    """Gives the event loop a turn when one task has run for 5 ms: a peer that floods must not starve the others."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()

    async def __call__(self) -> None:
        """Call it once per piece of work."""
        if self._loop.time() - self._last > _TURN:
            await asyncio.sleep(0)
            self._last = self._loop.time()


class Plain:
    """A body as it is."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The decoded pieces of the next bytes, each of at most `PIECE` bytes."""
        if len(data) <= PIECE:
            yield data
            return
        for start in range(0, len(data), PIECE):
            yield data[start : start + PIECE]


class Inflated(Plain):
    """A body that the server compressed although it was asked not to: gzip (several members too) or deflate."""

    def __init__(self, *, deflate: bool) -> None:
        self._undecided = b"" if deflate else None
        self._start(zlib.MAX_WBITS | 16)

    def _start(self, bits: int) -> None:
        self._bits = bits
        self._inflate = zlib.decompressobj(bits)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """See `Plain.feed`.

        Raises:
            HttpBroken: the data is not what its header says.
        """
        if self._undecided is not None:
            data = self._undecided + data
            self._undecided = data if len(data) < 2 else None
            if len(data) < 2:
                return
            self._start(zlib.MAX_WBITS if _has_zlib_header(data) else -zlib.MAX_WBITS)
        if self._inflate.eof:
            self._start(self._bits)
        piece = self._next(data)
        while True:
            if piece:
                yield piece
            if self._inflate.eof and self._inflate.unused_data:
                data = self._inflate.unused_data
                self._start(self._bits)
            elif len(piece) < PIECE and not self._inflate.unconsumed_tail:
                return
            else:
                data = self._inflate.unconsumed_tail
            piece = self._next(data)

    def _next(self, data: bytes) -> bytes:
        try:
            return self._inflate.decompress(data, PIECE)
        except zlib.error as problem:
            raise HttpBroken(f"The compressed body cannot be read: {problem}.", hint=_HINT) from None


def _has_zlib_header(data: bytes) -> bool:
    """Whether data called "deflate" is in zlib's format (RFC 9110 8.4.1.2); some servers leave out its two bytes."""
    return data[0] & 15 == 8 and (data[0] * 256 + data[1]) % 31 == 0


def decoder(encoding: str) -> Plain:
    """The decoder for a `Content-Encoding`.

    Raises:
        HttpBroken: an encoding that was not asked for and that we cannot read.
    """
    names = [name for part in encoding.lower().split(",") if (name := part.strip()) not in ("", "identity")]
    if not names:
        return Plain()
    if names in (["gzip"], ["x-gzip"], ["deflate"]):
        return Inflated(deflate=names == ["deflate"])
    raise HttpBroken(f"The body is compressed ({encoding.strip()[:80]}), which was not asked for.", hint=_HINT)


class Answer:
    """A response whose head is there: read its body once, by `chunk` or by `read`."""

    def __init__(
        self,
        exchange: int,
        response: httpx2.Response,
        url: httpx2.URL,
        problems: tuple[type[Exception], ...],
        failed: Callable[[Answer, Exception], HttpFailure],
    ) -> None:
        """`problems` are the errors of the network, `failed` puts one into words and tells the tap."""
        self.exchange = exchange
        self.status = response.status_code
        self.reason = text(response.extensions.get("reason_phrase", b""))
        self.headers: Headers = tuple((text(name), text(value)) for name, value in response.headers.raw)
        self.url = url
        """Where the response came from, after redirects."""
        self.upgraded: Any = response.extensions.get("network_stream") if response.status_code == 101 else None
        """After status 101: the connection, now without HTTP (an `httpcore2.AsyncNetworkStream`); else None."""
        self.problems = problems
        """What reading and writing raise when the network fails."""
        self._failed = failed
        self._stream: Any = response.stream
        self._raw: Any = aiter(self._stream)
        self._decoder: Plain | None = None
        self._pieces: Iterator[bytes] = iter(())
        self.size = 0
        """Bytes of the body so far, as they came."""
        self.settled = False
        """Its connection was given back; what was read of the body is still there."""
        self.breathe = Breather()
        """Lets other tasks run; called for every chunk."""

    def broken(self, problem: Exception) -> HttpFailure:
        """A network error of the upgraded connection, in words; the tap is told."""
        return self._failed(self, problem)

    def header(self, name: str) -> str:
        """All values of a header (named in lower case), joined as HTTP allows; an empty string if it is absent."""
        return ", ".join(value for found, value in self.headers if found.lower() == name)

    @property
    def media_type(self) -> str:
        """The content type without parameters, in lower case."""
        return self.header("content-type").split(";", 1)[0].strip().lower()

    async def chunk(self) -> bytes:
        """The next decoded bytes, at most `http_body.PIECE`; empty at the end.

        Raises:
            HttpLost: the connection ended before the body did.
            HttpBroken: the body's encoding cannot be read.
        """
        await self.breathe()
        if self._decoder is None:
            self._decoder = decoder(self.header("content-encoding"))
        while True:
            for piece in self._pieces:
                if piece:
                    return piece
            try:
                raw: bytes | None = await anext(self._raw, None)
            except self.problems as problem:
                raise self._failed(self, problem) from problem
            if raw is None:
                return b""
            self.size += len(raw)
            self._pieces = self._decoder.feed(raw)

    async def settle(self, limit: int, seconds: float) -> bytes:
        """Read the body to its end, or to these bounds, and give the connection back: for what a person may think over.

        A network error ends it early and is nobody's concern. `chunk` and `read` give what was read.
        """
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(seconds):
                while size < limit and (part := await self.chunk()):
                    parts.append(part)
                    size += len(part)
        except (TimeoutError, HttpFailure):
            pass
        await self.close()
        self.settled = True
        self._raw, self._pieces = _nothing(), iter(parts)
        return b"".join(parts)

    async def read(self, limit: int) -> bytes:
        """The whole decoded body.

        Raises:
            LimitExceeded: it is larger than `limit`, the bound `message`; reading stops there.
            HttpLost: the connection ended before the body did.
            HttpBroken: the body's encoding cannot be read.
        """
        body, size = BytesIO(), 0
        declared = self.header("content-length")
        if declared.isdecimal() and int(declared[:20]) > limit:
            raise _too_large(limit)
        while part := await self.chunk():
            body.write(part)
            size += len(part)
            if size > limit:
                raise _too_large(limit)
        return body.getvalue()

    async def close(self) -> None:
        """Give the connection back, or close it when the body was not read to its end."""
        if self.settled:
            return
        try:
            await self._raw.aclose()
            await self._stream.aclose()
        except self.problems:
            return  # What was to be closed is gone already.


async def _nothing() -> AsyncGenerator[bytes, None]:
    """A body that is over."""
    for part in ():
        yield part


def _too_large(limit: int) -> LimitExceeded:
    return LimitExceeded(f"The server sent a message of more than {size_text(limit)}.", limit="message")


def text(data: bytes) -> str:
    """Header bytes as text, lossless."""
    return data.decode("latin-1")
