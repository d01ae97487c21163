"""Memories on disk: what servers offered last time, so that the first paint can show it."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from mcp_studio.catalog.listing import KINDS, EntryKind
from mcp_studio.config.model import ServerConfig
from mcp_studio.jsontext import Json, dumps, mapping
from mcp_studio.paths import read_object, write_atomically
from mcp_studio.record import record

_FORMAT = 1
_LARGEST = 32 * 1024 * 1024


@record()
class Memory:
    """The last known state of one server."""

    era: str = ""
    """The era that worked last time: `legacy` or `modern`."""
    listings: dict[EntryKind, list[Json]] = field(default_factory=dict[EntryKind, list[Json]])
    seen: dict[EntryKind, list[Json]] = field(default_factory=dict[EntryKind, list[Json]])
    """The lists that the person saw last, where they differ from the present ones."""


def memory_file(folder: Path, config: ServerConfig) -> Path:
    """The file of a server's memory; its name depends on the server's address, so that no other server's catalog is
    shown.

    The address of a local server is its command line, its folder, and the variables that its entry sets.
    """
    folders = (os.path.abspath(config.cwd or "."),) if config.kind == "stdio" else ()
    variables = (f"{name}={'' if value in config.secrets else value}" for name, value in sorted(config.env.items()))
    address = "\0".join((config.url, config.command, *config.args, *folders, *variables))
    digest = hashlib.sha256(address.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    plain = "".join(c if c.isalnum() or c in "-_" else "_" for c in config.name)[:60]
    return folder / f"{plain}-{digest}.json"


def recall(file: Path) -> Memory:
    """Read a memory; an unreadable, too large or newer file gives an empty memory."""
    value = read_object(file, largest=_LARGEST)
    if value.get("version") != _FORMAT:
        return Memory()
    memory = Memory(str(value.get("era") or ""))
    for name, into in (("listings", memory.listings), ("seen", memory.seen)):
        lists = mapping(value.get(name))
        into |= {kind: items for kind in KINDS if isinstance(items := lists.get(kind), list)}
    return memory


def remember(file: Path, memory: Memory, redact: Callable[[bytes], bytes] = bytes) -> None:
    """Write a memory without secrets; if the disk refuses, only the memory is lost."""
    value = {"version": _FORMAT, "era": memory.era, "listings": memory.listings, "seen": memory.seen}
    with suppress(OSError):
        write_atomically(file, redact(dumps(value)))


class Memories:
    """The memories of all servers; each file is read once, and written only after a change."""

    def __init__(self, folder: Path, redact: Callable[[bytes], bytes] = bytes) -> None:
        self._folder = folder
        self._redact = redact
        self._known: dict[Path, Memory] = {}
        self._turn = threading.Lock()

    def recall(self, config: ServerConfig) -> Memory:
        """The memory of a server; empty where there is none."""
        file = memory_file(self._folder, config)
        if file not in self._known:
            self._known[file] = recall(file)
        return self._known[file]

    def keep(self, config: ServerConfig, memory: Memory) -> Path | None:
        """Take a new state; returns the file for `write`, or None when nothing changed."""
        file = memory_file(self._folder, config)
        if self.recall(config) == memory:
            return None
        self._known[file] = memory
        return file

    def write(self, file: Path) -> None:
        """Write a memory to the file that `keep` returned; may be called in a thread."""
        with self._turn:  # otherwise the slower of two threads could write the older state last
            remember(file, self._known[file], self._redact)
