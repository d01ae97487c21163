"""Which tasks have to be on the disk, written a moment after they change."""

from __future__ import annotations

import asyncio

from mcp_studio.config.model import ServerConfig
from mcp_studio.session.task_file import Address, Kept, TaskFile, address_of
from mcp_studio.session.tasks import Task

_SAVING = 0.5
"""Seconds after a change: a task that is done by then never gets there."""
_PATIENCE = 1.0


class TaskKeeper:
    """Keeps what is not done, and takes out what is."""

    def __init__(self, file: TaskFile) -> None:
        self._file = file
        self._kept: dict[Address, Kept] = {}
        self._earlier: set[Address] = set()
        """What an earlier run has kept: it is taken up when its server is ready, unless it is over by then."""
        self._written: set[Address] = set()
        """What the file has, as far as we know."""
        self._over: set[Address] = set()
        """What has to be taken out of the file, or must not be taken up again; bounded by what was in the file."""
        self._timer: asyncio.TimerHandle | None = None
        self._saving: asyncio.Task[None] | None = None

    def read(self) -> list[Kept]:
        """What earlier runs have kept."""
        found = self._file.read()
        self._earlier = {kept.key for kept in found}
        self._written |= self._earlier
        return found

    def is_over(self, key: Address) -> bool:
        """Whether it is done, as far as this run knows."""
        return key in self._over

    def keep(self, task: Task, config: ServerConfig) -> None:
        """A task is new or another than before."""
        key = (address_of(config), task.id)
        if task.done:
            self.drop(task, config)
        elif key not in self._kept:
            self._over.discard(key)
            self._kept[key] = self._file.record(task, config)
            self._save_soon()

    def drop(self, task: Task, config: ServerConfig) -> None:
        """A task is done, or nobody wants to know of it any more."""
        key = (address_of(config), task.id)
        self._kept.pop(key, None)
        if key in self._written and key not in self._over:
            self._over.add(key)
            self._save_soon()

    async def close(self) -> None:
        """Write what has not been written yet, if the disk takes it soon."""
        if self._timer is not None:
            self._timer.cancel()
            self._save()
        if self._saving is not None:
            await asyncio.wait((self._saving,), timeout=_PATIENCE)

    def _save_soon(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SAVING, self._save)

    def _save(self) -> None:
        self._timer = None
        if self._kept.keys() <= self._written and not self._over & self._written:
            return  # all of it came and went between two writings
        mine, over = dict(self._kept), set(self._over)
        self._written = (self._written - over) | mine.keys()
        self._over &= self._earlier
        self._saving = asyncio.get_running_loop().create_task(self._write(mine, over, self._saving))

    async def _write(self, mine: dict[Address, Kept], over: set[Address], before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait((before,))
        await asyncio.to_thread(self._file.write, mine, over)
