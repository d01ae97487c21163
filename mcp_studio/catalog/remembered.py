"""What a server offered last time, kept on disk so that it is there at the first paint."""

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
    """One server's last known state."""

    era: str = ""
    """`legacy` or `modern`: what worked last time."""
    listings: dict[EntryKind, list[Json]] = field(default_factory=dict[EntryKind, list[Json]])
    seen: dict[EntryKind, list[Json]] = field(default_factory=dict[EntryKind, list[Json]])
    """Lists as the person saw them last, where that is not how they are now."""


def memory_file(folder: Path, config: ServerConfig) -> Path:
    """The file for a server: it changes with the server's address, so that no other server's catalog is shown.

    The address of a program is its command line, the folder that it runs in, and the variables that its entry sets.
    """
    folders = (os.path.abspath(config.cwd or "."),) if config.kind == "stdio" else ()
    variables = (f"{name}={'' if value in config.secrets else value}" for name, value in sorted(config.env.items()))
    address = "\0".join((config.url, config.command, *config.args, *folders, *variables))
    digest = hashlib.sha256(address.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    plain = "".join(c if c.isalnum() or c in "-_" else "_" for c in config.name)[:60]
    return folder / f"{plain}-{digest}.json"


def recall(file: Path) -> Memory:
    """Read a memory; anything unreadable, too large or of a newer format reads as nothing remembered."""
    value = read_object(file, largest=_LARGEST)
    if value.get("version") != _FORMAT:
        return Memory()
    memory = Memory(str(value.get("era") or ""))
    for name, into in (("listings", memory.listings), ("seen", memory.seen)):
        lists = mapping(value.get(name))
        into |= {kind: items for kind in KINDS if isinstance(items := lists.get(kind), list)}
    return memory


def remember(file: Path, memory: Memory, redact: Callable[[bytes], bytes] = bytes) -> None:
    """Write a memory without secrets; a disk that refuses costs the memory and nothing else."""
    value = {"version": _FORMAT, "era": memory.era, "listings": memory.listings, "seen": memory.seen}
    with suppress(OSError):
        write_atomically(file, redact(dumps(value)))


class Memories:
    """The memories of all servers; a file is read once and written only when something changed."""

    def __init__(self, folder: Path, redact: Callable[[bytes], bytes] = bytes) -> None:
        self._folder = folder
        self._redact = redact
        self._known: dict[Path, Memory] = {}
        self._turn = threading.Lock()

    def recall(self, config: ServerConfig) -> Memory:
        """What is remembered of a server; empty where nothing is."""
        file = memory_file(self._folder, config)
        if file not in self._known:
            self._known[file] = recall(file)
        return self._known[file]

    def keep(self, config: ServerConfig, memory: Memory) -> Path | None:
        """Take a new state; the file that has to be written by `write`, or None when nothing changed."""
        file = memory_file(self._folder, config)
        if self.recall(config) == memory:
            return None
        self._known[file] = memory
        return file

    def write(self, file: Path) -> None:
        """Write a memory that `keep` named; may be called in a thread."""
        with self._turn:  # or of two threads the slower one could write the older state last
            remember(file, self._known[file], self._redact)
