"""Response bodies: undone compression in bounded pieces, counted, and never holding the event loop for long."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterator

from mcp_studio.transport.http_errors import HttpBroken

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
