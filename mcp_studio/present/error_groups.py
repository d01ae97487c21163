"""Errors grouped by their text: texts that differ only in numbers and ids belong together."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import NamedTuple

from mcp_studio.jsontext import Json, items_of, loads_or, mapping
from mcp_studio.safetext import safe
from mcp_studio.trace.message import Recording, WireMessage
from mcp_studio.trace.statistics import Numbers, pattern_of

_LARGEST = 256 * 1024
"""The most bytes of an answer that is read for its text."""
_WORDS = 300
_PART = 50


class ErrorGroup(NamedTuple):
    """Errors of one server, method and target with the same text."""

    server: str
    method: str
    target: str
    text: str
    """The newest error's code and message, or the text of the failed tool; safe, on one line."""
    times: int
    newest: int
    """The number of its newest entry."""
    at: float
    """The time of the newest entry, in epoch seconds."""


class Errors:
    """Reads the texts of errors from the bodies of a trace, and groups them."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._known: dict[int, ErrorGroup] = {}

    async def by_server(self, numbers: Numbers) -> dict[str, list[ErrorGroup]]:
        """The groups of the counted errors of each server."""
        return {server: await self.top(tally.wrong) for server, tally in numbers.servers.items()}

    async def top(self, numbers: Iterable[int]) -> list[ErrorGroup]:
        """The groups of these entries, the largest first; entries that the trace has dropped are left out.

        Args:
            numbers: entries as in `Tally.wrong`.
        """
        places = sorted(set(numbers))
        for place, number in enumerate(places):
            if number not in self._known:
                await self._read(number)
            if place % _PART == 0:
                await asyncio.sleep(0)  # reading bodies in memory never waits: handle keys in between
        self._known = {number: self._known[number] for number in places if number in self._known}
        return grouped(self._known.values())

    async def _read(self, number: int) -> None:
        entry = self._recording.entry(number)
        if entry is not None:
            text = text_of(entry, await self._recording.body(entry) if entry.size <= _LARGEST else b"")
            self._known[number] = ErrorGroup(entry.server, entry.method, entry.target, text, 1, number, entry.time)


def text_of(entry: WireMessage, body: bytes) -> str:
    """The text of an error, safe and on one line.

    Args:
        body: the entry's body; empty if it is too large to be read.
    """
    if entry.kind == "request":
        return "no answer came"
    if entry.size > _LARGEST:
        return f"an answer of {entry.size:,} bytes"
    if (value := loads_or(body)) is None:
        return "an answer that cannot be read"
    text = next((text for one in (value if isinstance(value, list) else [value]) if (text := _message_text(one))), "")
    return safe(" ".join(text[: 4 * _WORDS].split()), _WORDS) or "it gives no reason"


def _message_text(message: Json) -> str:
    error, result = mapping(mapping(message).get("error")), mapping(mapping(message).get("result"))
    if error:
        return f"{error.get('code', '')} {error.get('message', '')}".strip()
    texts = [mapping(block).get("text") for block in items_of(result.get("content"))]
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")


def grouped(errors: Iterable[ErrorGroup]) -> list[ErrorGroup]:
    """Merge errors with the same text; each group has the text and time of its last error. The largest comes first."""
    groups: dict[tuple[str, ...], ErrorGroup] = {}
    for one in errors:
        key = one.server, one.method, one.target, pattern_of(one.text)
        groups[key] = one._replace(times=groups[key].times + one.times) if key in groups else one
    return sorted(groups.values(), key=lambda group: (-group.times, -group.newest))
