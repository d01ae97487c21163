"""The contents of forms, kept when the person leaves a tool, and over restarts."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from mcp_studio.call.history import History
from mcp_studio.call.secrets import SecretFilter
from mcp_studio.call.store import Saver, read_end
from mcp_studio.jsontext import Json, dumps, loads_or, mapping
from mcp_studio.paths import write_atomically
from mcp_studio.redact import Redactor

_FORMAT = 1
_DELAY = 0.5
_MOST = 500
_LARGEST = 256 * 1024
"""Bytes of the largest draft that is written to disk."""
_MOST_READ = 64 * 1024 * 1024
"""Bytes that are read of the file; only the end of a larger file is read, which is not valid JSON."""


class Drafts:
    """Drafts by key, newest last; on disk without anything that looks like a secret.

    Args:
        file: the file of the drafts.
    """

    def __init__(self, file: Path, keeper: SecretFilter = SecretFilter()) -> None:  # noqa: B008
        self._file = file
        self._keeper = keeper
        self._drafts: dict[str, tuple[Json, frozenset[str]]] = {
            key: (one, frozenset()) for key, one in _read(file).items()
        }
        self._saver = Saver(self._save, _DELAY)
        self.close = self._saver.finish
        """Writes pending drafts."""

    def get(self, key: str) -> Json:
        """The draft, or None."""
        return self._drafts.get(key, (None,))[0]

    def put(self, key: str, value: Json, *, hidden: frozenset[str] = frozenset()) -> None:
        """Keep a draft; None forgets it. It is written shortly afterwards.

        Args:
            hidden: secrets that their names do not tell: top-level members by name, other places by pointer. They stay
            in memory.
        """
        before = self._drafts.pop(key, (None, hidden))
        if value is not None:
            self._drafts[key] = value, hidden
        while len(self._drafts) > _MOST:
            del self._drafts[next(iter(self._drafts))]
        if before[0] != value:
            self._saver.soon()

    async def _save(self) -> None:
        await asyncio.to_thread(self._write, self._drafts.copy())

    def _write(self, drafts: dict[str, tuple[Json, frozenset[str]]]) -> None:
        texts = {key: text for key, draft in drafts.items() if (text := self._text(*draft))}
        body = b",".join(dumps(key) + b":" + text for key, text in texts.items())
        write_atomically(self._file, b'{"version":%d,"drafts":{%b}}' % (_FORMAT, body))

    def _text(self, value: Json, hidden: frozenset[str]) -> bytes:
        """The bytes of a draft for the disk; empty where it is too large or no JSON."""
        with suppress(ValueError, TypeError, RecursionError):
            if len(text := dumps(self._keeper.without(value, hidden)[0])) <= _LARGEST:
                return text
        return b""


def _read(file: Path) -> dict[str, Json]:
    try:
        value = mapping(loads_or(read_end(file, _MOST_READ), exact=True))
    except OSError:
        return {}
    return mapping(value.get("drafts")) if value.get("version") == _FORMAT else {}


class Memory:
    """The person's drafts and past calls."""

    def __init__(self, folder: Path, redactor: Redactor, keep: int) -> None:
        self.keeper = SecretFilter(redactor.text, redactor.is_secret)
        self.drafts = Drafts(folder / "drafts.json", self.keeper)
        self.history = History(folder / "history.jsonl", keep, self.keeper)

    async def close(self) -> None:
        """Write pending drafts and calls."""
        await asyncio.gather(self.drafts.close(), self.history.close())
