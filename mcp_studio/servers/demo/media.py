"""Pictures and sounds, made with the standard library."""

from __future__ import annotations

import io
import math
import struct
import wave
import zlib

RATE = 8_000
"""Samples per second of the sound."""


def png(size: int) -> bytes:
    """A square RGB picture of a paper lantern at dusk, `size` pixels wide."""
    middle = (size - 1) / 2
    rows = (b"\0" + b"".join(_pixel(x - middle, y - middle, size) for x in range(size)) for y in range(size))
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    body = zlib.compress(b"".join(rows), 6)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _pixel(x: float, y: float, size: int) -> bytes:
    glow = math.hypot(x / 0.75, y) / size
    if glow < 0.3:
        rib = int(y * 12 / size) % 2
        return bytes((255 - 18 * rib, 190 - 20 * rib - int(160 * glow), 80))
    dusk = 0.5 + y / size
    light = max(0.0, 0.55 - glow)
    return bytes((min(255, int(40 + 70 * dusk + 300 * light)), int(45 + 40 * dusk + 120 * light), int(95 - 30 * dusk)))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def wav(seconds: float) -> bytes:
    """A shop bell: two tones that fade, mono, 16 bits."""
    count = int(RATE * seconds)
    samples = (
        int(9_000 * math.exp(-4 * i / count) * (math.sin(i * 1.1) + math.sin(i * 0.66)))  # radians per sample
        for i in range(count)
    )
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE)
        out.writeframes(struct.pack(f"<{count}h", *samples))
    return file.getvalue()
