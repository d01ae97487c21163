"""What a name is compared with: each decides for many texts at once. Upper and lower case are the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol


class TextTest(Protocol):
    """Whether texts are what is looked for."""

    def which(self, texts: Sequence[str]) -> bytes:
        """1 for each text that is, 0 for each that is not.

        Raises:
            TooSlow: a regex does not come to an end.
        """
        ...


class Contains(NamedTuple):
    """The text occurs in it."""

    folded: str

    def which(self, texts: Sequence[str]) -> bytes:
        """See `TextTest`."""
        return bytes(self.folded in text.casefold() for text in texts)


class Whole(NamedTuple):
    """It is one of these."""

    folded: frozenset[str]

    def which(self, texts: Sequence[str]) -> bytes:
        """See `TextTest`."""
        return bytes(text.casefold() in self.folded for text in texts)


class Like(NamedTuple):
    """The whole of it is like a text with `*`, which stands for anything."""

    parts: tuple[str, ...]
    """What stands between the stars."""

    def which(self, texts: Sequence[str]) -> bytes:
        """See `TextTest`."""
        return bytes(self._is(text.casefold()) for text in texts)

    def _is(self, text: str) -> bool:
        first, *middle, last = self.parts
        if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
            return False
        at, end = len(first), len(text) - len(last)
        for part in middle:
            at = text.find(part, at, end)
            if at < 0:
                return False
            at += len(part)
        return True


class Status(NamedTuple):
    """The first line of an HTTP answer has this status; `x` is any digit."""

    code: str

    def which(self, texts: Sequence[str]) -> bytes:
        """See `TextTest`."""
        pattern = re.compile(self.code.lower().replace("x", "[0-9]") + "(?: |$)")
        return bytes(pattern.match(text) is not None for text in texts)


class Anything(NamedTuple):
    """It is not empty."""

    def which(self, texts: Sequence[str]) -> bytes:
        """See `TextTest`."""
        return bytes(map(bool, texts))


def name_test(value: str) -> TextTest:
    """What a value in a query asks of a name: `=name` all of it, `na*e` all of it with gaps, `name` that it occurs."""
    folded = value.casefold()
    if folded.startswith("="):
        return Whole(frozenset({folded[1:]}))
    if folded == "*":
        return Anything()
    return Like(tuple(folded.split("*"))) if "*" in folded else Contains(folded)
