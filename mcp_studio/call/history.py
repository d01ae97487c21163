"""What was called, with which arguments, and how that ended: kept on disk, the newest few of every entry."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Collection
from pathlib import Path
from typing import Literal, NamedTuple

from mcp_studio.call.call import Call
from mcp_studio.call.journal import Journal
from mcp_studio.call.past import OUTCOMES, Past, head_of, line_of, newest, past_of, said_of
from mcp_studio.call.private import Keeper
from mcp_studio.catalog.ref import Ref
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, dumps
from mcp_studio.signal import Signal

Origin = Literal["studio", "command line"]
"""Where a call was started."""
KEEP = 20
"""Calls of one entry that are kept where the settings say nothing."""
_PATIENCE = 1.0
_MOST_WAITING = 500
"""Calls that wait for a slow disk; older ones are not kept then."""


class _New(NamedTuple):
    past: Past
    hidden: Collection[str]


class History:
    """The file. A disk that refuses costs what would have been kept and nothing else.

    Args:
        keep: calls of one entry that are kept; with 0 nothing is written, and nothing read.
    """

    def __init__(self, file: Path, keep: int = KEEP, keeper: Keeper = Keeper()) -> None:  # noqa: B008
        self.changed: Signal[Ref] = Signal()
        """There is one more of this entry, or fewer; what is read from now on has it."""
        self.keep = keep
        self._keeper = keeper
        self._journal = Journal(file, lambda lines: newest(lines, keep))
        self._waiting: list[_New] = []
        self._writing: asyncio.Task[None] | None = None

    def follow(self, call: Call, ref: Ref, arguments: Json, *, origin: Origin, hidden: Collection[str] = ()) -> None:
        """Keep a call once it has ended.

        Args:
            ref: what was run: for a template that, not the resource that came of it.
            hidden: arguments that are secret whatever they look like, by pointer, or by name at the top.
        """
        if self.keep <= 0:
            return
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
        if call.outcome is not None:
            changed(call)

    def put(self, past: Past, hidden: Collection[str] = ()) -> None:
        """Keep what has ended; `hidden` as `follow` has it."""
        if self.keep > 0:
            self._add(_New(past, hidden))

    async def of(self, ref: Ref) -> tuple[Past, ...]:
        """The calls of an entry, newest first."""
        if self.keep <= 0:
            return ()
        await self._written()
        return await asyncio.to_thread(self._read, head_of(ref), self.keep)

    async def all(self) -> tuple[Past, ...]:
        """The calls of all entries, newest first."""
        if self.keep <= 0:
            return ()
        await self._written()
        return await asyncio.to_thread(self._read, b"", self.keep)

    async def forget(self, past: Past) -> None:
        """Remove a call, also from the disk.

        Raises:
            StudioError: it cannot be removed.
        """
        await self._written()
        mark = b'"id":' + dumps(past.id) + b"}"
        try:
            done = await asyncio.to_thread(
                self._journal.keep, lambda lines: [line for line in lines if not line.endswith(mark)]
            )
        except OSError as problem:
            raise StudioError(f"The history cannot be written: {problem.strerror or problem}.") from None
        if not done:
            raise StudioError("The history cannot be written: another studio is at it.", hint="Try again.")
        self.changed.emit(past.ref)

    async def close(self) -> None:
        """Wait until all is written, if the disk takes it soon."""
        if self._writing is not None:
            await asyncio.wait((self._writing,), timeout=_PATIENCE)

    def _add(self, new: _New) -> None:
        self._waiting.append(new)
        del self._waiting[:-_MOST_WAITING]
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write())

    async def _write(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                await asyncio.to_thread(self._put, batch)
                for ref in dict.fromkeys(new.past.ref for new in batch):
                    self.changed.emit(ref)
        finally:
            self._writing = None

    async def _written(self) -> None:
        if self._writing is not None:
            await asyncio.wait((self._writing,), timeout=_PATIENCE)

    def _put(self, batch: list[_New]) -> None:
        lines = [line for new in batch if (line := line_of(new.past, new.hidden, self._keeper))]
        try:
            self._journal.add(lines)
        except OSError:
            return

    def _read(self, head: bytes, keep: int) -> tuple[Past, ...]:
        lines = [line for line in self._journal.lines() if line.startswith(head)]
        found = (past_of(line) for line in reversed(newest(lines, keep)))
        return tuple(past for past in found if past is not None)
