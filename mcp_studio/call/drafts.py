"""What was typed into the forms, kept over leaving a tool and over restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from mcp_studio.call import late
from mcp_studio.call.history import Keeper
from mcp_studio.catalog.listing import Ref
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, JsonProblem, dumps, loads
from mcp_studio.paths import write_atomically
from mcp_studio.redact import Redactor, is_secret_name
from mcp_studio.signal import Signal

if TYPE_CHECKING:
    from mcp_studio.call.history import History

_FORMAT = 1
_DELAY = 0.5
_MOST = 500
_PATIENCE = 1.0
_LARGEST = 256 * 1024
"""A longer draft stays in memory only."""
_MOST_READ = 64 * 1024 * 1024
"""Bytes; a file that is larger is none of ours."""


class Drafts:
    """Values by key, newest last; on disk without anything that looks like a secret.

    Args:
        file: where they are kept.
        redact: takes secrets out of a text; what it changes is not written at all.
        hides: whether values of a field of this name are secret.
    """

    def __init__(
        self, file: Path, redact: Callable[[str], str] = str, hides: Callable[[str], bool] = is_secret_name
    ) -> None:
        self._file = file
        self._keeper = Keeper(redact, hides)
        self._values: dict[str, Json] = _read(file)
        self._hidden: dict[str, frozenset[str]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._saving: asyncio.Task[None] | None = None

    def get(self, key: str) -> Json:
        """The draft, or None."""
        return self._values.get(key)

    def put(self, key: str, value: Json, *, hidden: frozenset[str] = frozenset()) -> None:
        """Keep a draft; None forgets it. It is written shortly afterwards.

        Args:
            hidden: what is secret whatever its name is, members at the top by their names, any place by its pointer;
                it stays in memory.
        """
        if hidden:
            self._hidden[key] = hidden
        else:
            self._hidden.pop(key, None)
        if self._values.get(key) == value and key in self._values:
            return
        self._values.pop(key, None)
        if value is not None:
            self._values[key] = value
        while len(self._values) > _MOST:
            del self._values[next(iter(self._values))]
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_DELAY, self._save)

    async def close(self) -> None:
        """Write what has not been written yet, if the disk takes it soon."""
        if self._timer is not None:
            self._timer.cancel()
            self._save()
        if self._saving is not None:
            await asyncio.wait((self._saving,), timeout=_PATIENCE)

    def _save(self) -> None:
        self._timer = None
        drafts = [(key, value, self._hidden.get(key, frozenset())) for key, value in self._values.items()]
        self._saving = asyncio.get_running_loop().create_task(self._write(drafts, self._saving))

    def _store(self, drafts: list[tuple[str, Json, frozenset[str]]]) -> None:
        """Write drafts; in a thread, for looking for secrets in large ones takes longer than a key may."""
        frames = {key: frame for key, value, hidden in drafts if (frame := self._frame(value, hidden))}
        body = b",".join(dumps(key) + b":" + frame for key, frame in frames.items())
        write_atomically(self._file, b'{"version":%d,"drafts":{%b}}' % (_FORMAT, body))

    def _frame(self, value: Json, hidden: frozenset[str]) -> bytes:
        """A draft as it is written; nothing where it is too large, or no JSON."""
        try:
            frame = dumps(self._keeper.kept(value, hidden)[0])
        except (ValueError, TypeError, RecursionError):
            return b""
        return frame if len(frame) <= _LARGEST else b""

    async def _write(self, drafts: list[tuple[str, Json, frozenset[str]]], before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait((before,))  # or an older state could end up on the disk
        try:
            await asyncio.to_thread(self._store, drafts)
        except OSError:
            return  # a disk that refuses costs the drafts and nothing else


def _read(file: Path) -> dict[str, Json]:
    try:
        if not file.is_file() or file.stat().st_size > _MOST_READ:
            return {}
        value = loads(file.read_bytes(), exact=True)
    except (OSError, JsonProblem, StudioError):
        return {}
    if not isinstance(value, dict) or value.get("version") != _FORMAT or not isinstance(value.get("drafts"), dict):
        return {}
    return cast("dict[str, Json]", value["drafts"])


class Memory:
    """Drafts from the start, the history when it is first needed."""

    def __init__(self, folder: Path, redactor: Redactor, keep: int) -> None:
        self._folder = folder
        self._keep = keep
        self.keeper = Keeper(redactor.text, redactor.is_secret)
        self.changed: Signal[Ref] = Signal()
        """The earlier calls of an entry are others than before."""
        self.drafts = Drafts(folder / "drafts.json", self.keeper.redact, self.keeper.hides)

    @cached_property
    def history(self) -> History:
        """Calls that have ended."""
        history = late.history(self._folder / "history.jsonl", self._keep, self.keeper)
        history.changed.connect(self.changed.emit)
        return history

    async def close(self) -> None:
        """Write what has not been written yet."""
        await self.drafts.close()
        if "history" in self.__dict__:
            await self.history.close()
