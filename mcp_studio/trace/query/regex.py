"""A person's regexes. Python's own engine never lets go of the interpreter, so that a pattern such as `(a+)+b` stops
everything: only patterns that cannot take long run here, all others in a process that is ended when it takes too long.
"""

from __future__ import annotations

import re
import warnings
from array import array
from collections.abc import Iterator, Sequence

from mcp_studio.trace.query.errors import QueryError
from mcp_studio.trace.query.needle import hits
from mcp_studio.trace.query.regex_text import is_quick, required
from mcp_studio.trace.query.worker_client import Worker

LONGEST = 1_000
"""Characters of a pattern."""
_LARGE = 1 << 18
"""Larger bodies are looked at in the other process, whatever the pattern."""
_FLAGS = {"i": re.IGNORECASE, "s": re.DOTALL, "m": re.MULTILINE}
_LOOKS_ROUND = re.compile(r"\\[AbBZ]|[$^]|\(\?")


class Regex:
    """A pattern between slashes; with `i` upper and lower case are the same, `s` and `m` as in Python.

    Args:
        pattern: what stands between the slashes.
        flags: the letters behind them.
        at: where the pattern begins in the query, for errors.

    Raises:
        QueryError: it is no regex.
    """

    def __init__(self, pattern: str, flags: str = "", at: int = 0) -> None:
        self.key = pattern, "".join(sorted(flags))
        end = at + len(pattern)
        if len(pattern) > LONGEST:
            raise QueryError(f"A regex has at most {LONGEST:,} characters.", at, end)
        self.flags = sum(_FLAGS[letter] for letter in set(flags))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._pattern = re.compile(pattern, self.flags)
        except re.error as error:
            # Python does not say where of what looks behind without a fixed width, and of nothing else.
            place = at + max(0, pattern.find("(?<") if error.pos is None else min(error.pos, len(pattern)))
            raise QueryError(f"This regex is wrong: {error.msg}.", place, end) from None
        except (OverflowError, RecursionError):
            raise QueryError("This regex is too large.", at, end) from None
        self._quick = is_quick(pattern)
        self.folded = "i" in flags
        """Upper and lower case are the same."""
        self.literal = required(pattern, self.folded).encode()
        """Bytes without which it is not found; in lower case where it is `folded`, empty where none are known."""
        self._alone = not _LOOKS_ROUND.search(pattern)
        self._worker = Worker(pattern, self.flags)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Regex) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def quick(self) -> bool:
        """Whether it needs no other process for small bodies."""
        return self._quick

    def which(self, texts: Sequence[str]) -> bytes:
        """1 for each text that it is found in, 0 for the others.

        Raises:
            TooSlow: it takes too long.
        """
        if self._quick and sum(map(len, texts)) <= _LARGE:
            search = self._pattern.search
            return bytes(search(text) is not None for text in texts)
        return self._worker.which(texts) if texts else b""

    def which_bodies(self, bodies: Sequence[bytes]) -> bytes:
        """The same for UTF-8."""
        return self.which([body.decode("utf-8", "replace") for body in bodies])

    def rows(self, data: bytes, ends: array[int]) -> Iterator[int] | None:
        """The places of the bodies in `data` that it is found in; None where each has to be looked at for itself."""
        if not (self._quick and self._alone and len(data) <= 4 * _LARGE and data.isascii()):
            return None
        text = data.decode("ascii")
        search = self._pattern.search

        def find(_: bytes, start: int, end: int) -> int:
            found = search(text, start, end)
            return found.start() if found else -1

        return hits(find, data, ends)

    def close(self) -> None:
        """End the other process, at once, also while another thread waits for it."""
        self._worker.close()
