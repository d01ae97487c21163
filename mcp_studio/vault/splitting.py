"""Values that are larger than a keyring takes, kept in parts.

A header stands under the name, the parts under `NAME#a1`, `NAME#a2` … or `NAME#b1` …: the next value goes into the
parts of the other letter, and the header is written last. Whoever reads meanwhile finds the old value or the new one;
a digest in the header shows what was torn.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Protocol

from mcp_studio.vault.base import VaultDamaged

_MARK = "mcp-studio parts "
_HEADER = re.compile(re.escape(_MARK) + r"1 ([ab]) ([0-9]{1,4}) ([0-9a-f]{64})\Z")
_MOST = 1_000
"""Parts of one value."""
_ATTEMPTS = 3


class Shelf(Protocol):
    """What holds single values."""

    def get(self, name: str) -> str | None: ...
    def set(self, name: str, value: str) -> None: ...
    def delete(self, name: str) -> bool: ...


class Split:
    """A shelf for values of any size above one that takes `limit` UTF-16 units at a time."""

    def __init__(self, shelf: Shelf, limit: int) -> None:
        self._shelf = shelf
        self._limit = limit

    def get(self, name: str) -> str | None:
        """The whole value, or None.

        Raises:
            VaultDamaged: parts are missing or from different values.
        """
        for _ in range(_ATTEMPTS):
            stored = self._shelf.get(name)
            header = _HEADER.match(stored) if stored is not None else None
            if header is None:
                return stored
            parts = [self._shelf.get(part) for part in _names(name, header[1], int(header[2]))]
            whole = "".join(part or "" for part in parts)
            if _digest(whole) == header[3]:
                return whole
        raise VaultDamaged(
            f"What is kept under `{name}` is incomplete: it was written in parts, and not all of them are there.",
            hint="Store it again, or sign in again.",
        )

    def set(self, name: str, value: str) -> None:
        """Keep a value; what had the name is there until all of the new one is."""
        before = self._letter(name)
        if len(value.encode("utf-16-le", "surrogatepass")) // 2 <= self._limit and not value.startswith(_MARK):
            self._shelf.set(name, value)
            self._sweep(name, "a")
            self._sweep(name, "b")
            return
        letter = "b" if before == "a" else "a"
        parts = list(_cut(value, self._limit))
        if len(parts) > _MOST:
            raise VaultDamaged(f"What is to be kept under `{name}` is too large: {len(value):,} characters.")
        for part, text in zip(_names(name, letter, len(parts)), parts, strict=True):
            self._shelf.set(part, text)
        self._shelf.set(name, f"{_MARK}1 {letter} {len(parts)} {_digest(value)}")
        self._sweep(name, letter, len(parts) + 1)
        self._sweep(name, "a" if letter == "b" else "b")

    def delete(self, name: str) -> bool:
        """Forget a value and all its parts; False where there was none."""
        there = self._shelf.delete(name)
        self._sweep(name, "a")
        self._sweep(name, "b")
        return there

    def _letter(self, name: str) -> str:
        stored = self._shelf.get(name)
        header = _HEADER.match(stored) if stored is not None else None
        return header[1] if header else ""

    def _sweep(self, name: str, letter: str, first: int = 1) -> None:
        """Take parts away, also those of a write that never came to its end. The last goes first: whoever ends in the
        middle leaves no gap that would hide what is behind it."""
        end = first
        while end <= _MOST and self._shelf.get(f"{name}#{letter}{end}") is not None:
            end += 1
        for number in range(end - 1, first - 1, -1):
            self._shelf.delete(f"{name}#{letter}{number}")


def _names(name: str, letter: str, count: int) -> list[str]:
    return [f"{name}#{letter}{number}" for number in range(1, min(count, _MOST) + 1)]


def _cut(value: str, limit: int) -> Iterator[str]:
    """Pieces of at most `limit` UTF-16 units; no character is in two of them."""
    start = size = 0
    for at, character in enumerate(value):
        width = 1 + (ord(character) > 0xFFFF)
        if size + width > limit:
            yield value[start:at]
            start, size = at, 0
        size += width
    yield value[start:]


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
