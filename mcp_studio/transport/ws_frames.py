"""Frames of a WebSocket (RFC 6455) where we need them below wsproto: sending any bytes as text."""

from __future__ import annotations

import base64
import hashlib
import os

_TEXT = 0x81
_MASKED = 0x80
_ACCEPT = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

CODES = {
    1000: "normal end",
    1001: "going away",
    1002: "protocol error",
    1003: "unacceptable data",
    1005: "no reason given",
    1006: "no reason given",
    1007: "invalid data",
    1008: "policy violation",
    1009: "message too big",
    1010: "missing extension",
    1011: "internal error",
    1012: "restarting",
    1013: "try again later",
    1014: "bad gateway",
}
"""Close codes in words (RFC 6455 7.4.1 and the IANA registry)."""


def new_key() -> str:
    """A `Sec-WebSocket-Key`."""
    return base64.b64encode(os.urandom(16)).decode("ascii")


def accept_of(key: str) -> str:
    """The `Sec-WebSocket-Accept` that a server must answer a key with (RFC 6455 4.2.2)."""
    digest = hashlib.sha1(key.encode("ascii") + _ACCEPT, usedforsecurity=False).digest()
    return base64.b64encode(digest).decode("ascii")


def text_frame(payload: bytes) -> bytes:
    """One whole text frame, masked as a client has to; also of bytes that are no UTF-8: somebody may want to send them.

    The mask is one big number: linear, and quick enough for many megabytes.
    """
    size = len(payload)
    if size < 126:
        head = bytes((_TEXT, _MASKED | size))
    elif size < 1 << 16:
        head = bytes((_TEXT, _MASKED | 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((_TEXT, _MASKED | 127)) + size.to_bytes(8, "big")
    key = os.urandom(4)
    mask = (key * (size // 4 + 1))[:size]
    masked = int.from_bytes(payload, "big") ^ int.from_bytes(mask, "big")
    return head + key + masked.to_bytes(size, "big")
