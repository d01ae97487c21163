"""The contents of forms, kept when the person leaves a tool, and over restarts."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from mcp_studio.call.history import History
from mcp_studio.call.secrets import SecretFilter
from mcp_studio.call.store import Saver, read_end
from mcp_studio.jsontext import Json, dumps, loads_or, mapping
from mcp_studio.redact import Redactor
from mcp_studio.vault.base import change_file

_FORMAT = 1
_DELAY = 0.5
_MOST = 500
_LARGEST = 256 * 1024
"""Bytes of the largest draft that is written to disk."""
_MOST_READ = 64 * 1024 * 1024
"""Bytes that are read of the file; only the end of a larger file is read, which is not valid JSON."""

_Draft = tuple[Json, frozenset[str]]
"""The value, and the names of what is secret in it."""


class Drafts:
    """Drafts by key, newest last; on disk without anything that looks like a secret.

    Args:
        file: the file of the drafts.
    """

    def __init__(self, file: Path, keeper: SecretFilter = SecretFilter()) -> None:  # noqa: B008
        self._file = file
        self._keeper = keeper
        self._drafts: dict[str, _Draft] = {}
        with suppress(OSError):
            self._drafts = _drafts_in(read_end(file, _MOST_READ))
        self._changed: dict[str, _Draft] = {}
        """The drafts that are not written yet: another studio may write the others."""
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
            self._changed[key] = value, hidden
            self._saver.soon()

    async def _save(self) -> None:
        changed, self._changed = self._changed, {}
        await asyncio.to_thread(self._write, changed)

    def _write(self, changed: dict[str, _Draft]) -> None:
        def edit(before: bytes) -> bytes:
            drafts = {key: draft for key, draft in _drafts_in(before).items() if key not in changed} | changed
            texts = {key: text for key, draft in drafts.items() if (text := self._text(*draft))}
            body = b",".join(dumps(key) + b":" + texts[key] for key in [*texts][-_MOST:])
            return b'{"version":%d,"drafts":{%b}}' % (_FORMAT, body)

        change_file(self._file, edit)

    def _text(self, value: Json, hidden: frozenset[str]) -> bytes:
        """The bytes of a draft for the disk; empty where it is None, too large or no JSON."""
        with suppress(ValueError, TypeError, RecursionError):
            if value is not None and len(text := dumps(self._keeper.without(value, hidden)[0])) <= _LARGEST:
                return text
        return b""


def _drafts_in(data: bytes) -> dict[str, _Draft]:
    value = mapping(loads_or(data, exact=True))
    drafts = mapping(value.get("drafts")) if value.get("version") == _FORMAT else {}
    return {key: (one, frozenset()) for key, one in drafts.items()}


class Memory:
    """The person's drafts and past calls."""

    def __init__(self, folder: Path, redactor: Redactor, keep: int) -> None:
        self.keeper = SecretFilter(redactor.text, redactor.is_secret)
        self.drafts = Drafts(folder / "drafts.json", self.keeper)
        self.history = History(folder / "history.jsonl", keep, self.keeper)

    async def close(self) -> None:
        """Write pending drafts and calls."""
        await asyncio.gather(self.drafts.close(), self.history.close())
