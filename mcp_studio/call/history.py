"""The history of calls: arguments and outcomes on disk, the newest few of every entry."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from mcp_studio.call.call import OUTCOMES, SAID, Call, said_of
from mcp_studio.call.secrets import SecretFilter
from mcp_studio.call.store import Journal, Saver
from mcp_studio.catalog.listing import KINDS, EntryKind, Ref
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, dumps, items_of, loads_or, mapping
from mcp_studio.record import record
from mcp_studio.safetext import safe
from mcp_studio.signal import Signal

LARGEST_ENTRY = 256 * 1024
"""Bytes of the largest entry with arguments; larger calls are stored without them."""
_PLACES = 1_000


@record(frozen=True)
class Past:
    """One call that has ended."""

    ref: Ref
    """The tool, prompt, resource or template."""
    arguments: Json = None
    at: float = 0.0
    """The time of the start, in seconds since the epoch."""
    origin: str = ""
    kind: str = ""
    """`ok`, `tool error`, `refused`, `not sent`, `cancelled`, `task`, `timed out` or `lost`."""
    ms: float = 0.0
    size: int = 0
    """Bytes of the answer."""
    said: str = ""
    """The reason why the call was not a success, in one line."""
    left_out: tuple[str, ...] = ()
    """Pointers of secret arguments that were not stored."""
    large: bool = False
    """Whether the arguments were too large to be stored."""
    id: str = ""

    @property
    def loss(self) -> str:
        """A sentence on arguments that were not stored; empty where all were."""
        if self.large:
            return "Its arguments were too large to be stored."
        if not self.left_out:
            return ""
        names = ", ".join(safe(place.lstrip("/"), 80) or "the whole value" for place in self.left_out[:5])
        more = f" and {len(self.left_out) - 5} more" if len(self.left_out) > 5 else ""
        return f"Not stored, since it is secret: {names}{more}."


def line_of(past: Past, hidden: Collection[str], keeper: SecretFilter) -> bytes:
    """The line of a call; empty where its address alone contains a secret."""
    if keeper.redact(past.ref.name) != past.ref.name:
        return b""

    def line(arguments: Json, left: Sequence[str], large: bool = False) -> bytes:
        facts: dict[str, Json] = {
            "arguments": arguments, "at": round(past.at, 3), "origin": past.origin, "outcome": past.kind, "ms": past.ms,
            "size": past.size, "said": past.said, "left_out": [*left], "large": large, "id": past.id,
        }  # fmt: skip
        return head_of(past.ref) + dumps(facts)[1:]

    with suppress(ValueError, TypeError, RecursionError):
        if len(made := line(*keeper.without(past.arguments, hidden))) <= LARGEST_ENTRY:
            return made
    return line(None, (), large=True)


def head_of(ref: Ref) -> bytes:
    """The beginning of the lines of an entry."""
    return dumps({"kind": ref.kind, "server": ref.server, "name": ref.name})[:-1] + b","


def newest(lines: list[bytes], keep: int) -> list[bytes]:
    """The newest `keep` lines of every entry, in order; invalid lines are dropped."""
    seen: Counter[bytes] = Counter()
    kept: list[bytes] = []
    for line in reversed(lines):
        head, found, _ = line.partition(b',"arguments":')
        if found and line.endswith(b"}") and seen[head] < keep:
            seen[head] += 1
            kept.append(line)
    return kept[::-1]


def past_of(line: bytes) -> Past | None:
    """The call of a line; None where the line is invalid."""
    raw = mapping(loads_or(line, exact=True))
    kinds: list[EntryKind] = [kind for kind in KINDS if kind == raw.get("kind")]
    server, name, at = raw.get("server"), raw.get("name"), raw.get("at")
    if not kinds or not isinstance(server, str) or not isinstance(name, str) or not isinstance(at, (int, float)):
        return None
    return Past(
        Ref(kinds[0], server, name), raw.get("arguments"), number(at), _text(raw.get("origin")),
        next((word for word in OUTCOMES.values() if word == raw.get("outcome")), ""),
        number(raw.get("ms")), int(number(raw.get("size"))), _text(raw.get("said")),
        tuple(item for item in items_of(raw.get("left_out"))[:_PLACES] if isinstance(item, str)),
        raw.get("large") is True, _text(raw.get("id")),
    )  # fmt: skip


def _text(value: Json) -> str:
    """A word or a line, cut to the length of ours, because a foreign program may have written the file."""
    return value[:SAID] if isinstance(value, str) else ""


def number(value: Json) -> float:
    """A number that is a valid date in seconds everywhere, up to the year 8307; 0 for any other value."""
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 2e11
    return float(value) if usable else 0.0


Origin = Literal["studio", "command line"]
"""The front end that started a call."""
_MOST_WAITING = 500
"""Calls that wait for a slow disk; beyond them the oldest are lost."""


class History:
    """The file of the history. If the disk refuses, only the new calls are lost.

    Args:
        keep: calls that are kept of one entry; with 0 nothing is written or read.
    """

    def __init__(self, file: Path, keep: int = 20, keeper: SecretFilter = SecretFilter()) -> None:  # noqa: B008
        self.changed: Signal[Ref] = Signal()
        """Emits an entry with one call more or fewer; reading returns the new state."""
        self.keep = keep
        self._keeper = keeper
        self._journal = Journal(file, lambda lines: newest(lines, keep))
        self._waiting: list[tuple[Past, Collection[str]]] = []
        self._saver = Saver(self._save)
        self.close = self._saver.finish
        """Writes pending calls."""

    def follow(self, call: Call, ref: Ref, arguments: Json, *, origin: Origin, hidden: Collection[str] = ()) -> None:
        """Store a call once it has ended.

        Args:
            ref: what was run: for a template itself, not the resource that it named.
            hidden: secret arguments, by pointer, or by name at the top level.
        """
        began = time.time()

        def changed(one: Call) -> None:
            if one.outcome is not None:
                disconnect()
                past = Past(
                    ref, arguments, began, origin, OUTCOMES.get(type(one.outcome), ""), round(one.outcome.ms, 1),
                    one.outcome.size, self._keeper.redact(said_of(one.outcome)), id=os.urandom(6).hex(),
                )  # fmt: skip
                self.put(past, hidden)

        disconnect = call.changed.connect(changed)
        changed(call)

    def put(self, past: Past, hidden: Collection[str] = ()) -> None:
        """Store a call that has ended; `hidden` as in `follow`."""
        if self.keep > 0:
            self._waiting = [*self._waiting, (past, hidden)][-_MOST_WAITING:]
            self._saver.soon()

    async def of(self, ref: Ref | None = None) -> tuple[Past, ...]:
        """The calls of an entry, or of all entries, newest first."""
        if self.keep <= 0:
            return ()
        await self._saver.finish()
        return await asyncio.to_thread(self._lines, head_of(ref) if ref else b"")

    async def forget(self, past: Past) -> None:
        """Remove a call, also from the disk.

        Raises:
            StudioError: the call cannot be removed.
        """
        await self._saver.finish()
        mark = b'"id":' + dumps(past.id) + b"}"
        try:
            await asyncio.to_thread(self._journal.keep, lambda lines: [one for one in lines if not one.endswith(mark)])
        except OSError as problem:
            raise StudioError(f"The history cannot be written: {problem.strerror or problem}.") from None
        self.changed.emit(past.ref)

    async def _save(self) -> None:
        batch, self._waiting = self._waiting, []
        lines = (line_of(past, hidden, self._keeper) for past, hidden in batch)
        await asyncio.to_thread(lambda: self._journal.add([*filter(None, lines)]))
        for ref in dict.fromkeys(past.ref for past, _ in batch):
            self.changed.emit(ref)

    def _lines(self, head: bytes) -> tuple[Past, ...]:
        lines = [line for line in self._journal.lines() if line.startswith(head)]
        return tuple(filter(None, map(past_of, reversed(newest(lines, self.keep)))))
