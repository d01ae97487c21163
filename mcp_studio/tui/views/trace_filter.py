"""Which entries of a trace a filter text wants, decided in slices while entries come and go."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from mcp_studio.trace.message import WireMessage
from mcp_studio.trace.recording import Recording

_FAILED = frozenset({"tool error", "error", "lost"})
_SIGNS = {"~s": "server", "~m": "method", "~t": "target", "~e": "error"}


class Wanted(NamedTuple):
    """A filter text, taken apart. Everything must be true of an entry; upper and lower case are the same."""

    words: tuple[str, ...] = ()
    """Each occurs in server, method, target or body."""
    servers: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    errors: bool = False
    """Only what failed: errors, tool errors, lost requests, frames that are no messages."""
    findings: bool = False
    """Only messages that the lint has something to say about."""

    def __bool__(self) -> bool:
        return any(self)


def parse(text: str) -> Wanted:
    """Take a filter text apart.

    Words, `server:…` or `~s …`, `method:…` or `~m …`, `target:…` or `~t …`, `error` or `~e`, `~w` for findings.
    """
    named: dict[str, list[str]] = {"server": [], "method": [], "target": []}
    words: list[str] = []
    errors = findings = False
    parts = iter(text.casefold().split())
    for part in parts:
        name, colon, rest = part.partition(":")
        sign = _SIGNS.get(part, "")
        if part in ("error", "~e"):
            errors = True
        elif part == "~w":
            findings = True
        elif sign:
            named[sign] += filter(None, [next(parts, "")])
        elif colon and name in named:
            named[name] += filter(None, [rest])
        else:
            words.append(part)
    servers, methods, targets = (tuple(named[name]) for name in ("server", "method", "target"))
    return Wanted(tuple(words), servers, methods, targets, errors, findings)


def failed(message: WireMessage) -> bool:
    """Whether an entry is about something that went wrong."""
    if message.kind in ("error", "invalid", "stray"):
        return True
    return message.span is not None and message.span.outcome in _FAILED


def matches(message: WireMessage, wanted: Wanted) -> bool:
    """Whether the filter wants an entry."""
    if (wanted.errors and not failed(message)) or (wanted.findings and not message.findings):
        return False
    server, method, target = message.server.casefold(), message.method.casefold(), message.target.casefold()
    named = ((wanted.servers, server), (wanted.methods, method), (wanted.targets, target))
    if not all(_all_in(parts, field) for parts, field in named):
        return False
    if not wanted.words:
        return True
    head = f"{server} {method} {target} {message.kind}"
    missing = [word for word in wanted.words if word not in head]
    if not missing:
        return True
    if all(map(str.isascii, missing)):
        body = message.body.lower()
        return all(word.encode() in body for word in missing)
    return _all_in(missing, message.body.decode("utf-8", "replace").casefold())


def _all_in(words: Sequence[str], text: str) -> bool:
    return all(word in text for word in words)


class FilterRun:
    """The numbers of the wanted entries, found so far."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self._found = array("Q")
        self._head = 0
        self._next = 0

    def __len__(self) -> int:
        return len(self._found) - self._head

    def number(self, index: int) -> int:
        """The number of the entry at a place among the wanted ones."""
        return self._found[self._head + index]

    def place(self, number: int) -> int:
        """Where an entry is, or would be, among the wanted ones."""
        return bisect_left(self._found, number, self._head) - self._head

    def advance(self, source: Recording, budget: float) -> bool:
        """Forget what is not kept any more, look at what is new for `budget` seconds; True when that is all of it."""
        stop = time.perf_counter() + budget
        first, total, wanted = source.first_number, source.total, self.wanted
        self._forget(first)
        number = max(self._next, first)
        while number <= total:
            if matches(source[number - first], wanted):
                self._found.append(number)
            number += 1
            if not number & 15 and time.perf_counter() > stop:
                break
        self._next = number
        return number > total

    def share(self, source: Recording) -> float:
        """How much has been looked at, 0 to 1."""
        first, count = source.first_number, len(source)
        return min(1.0, max(0, self._next - first) / count) if count else 1.0

    def _forget(self, first: int) -> None:
        self._head = bisect_left(self._found, first, self._head)
        if self._head > 4_096 and self._head * 2 > len(self._found):
            del self._found[: self._head]
            self._head = 0
