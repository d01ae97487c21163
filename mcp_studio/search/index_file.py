"""Indexes on disk: a command that searches once need not read ten thousand tools anew."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

from mcp_studio import __version__
from mcp_studio.paths import write_atomically
from mcp_studio.search.method import Document

Arrays = Mapping[str, Any]
"""Arrays of numpy by their names; where nothing is searched numpy is not imported."""
Redact = Callable[[bytes], bytes]
"""Takes secrets out of a text."""
_FORMAT = 1
"""To be raised when words or weights change within a version."""
_MOST_FILES = 8
_LARGEST = 128 << 20


def key_of(documents: Iterable[Document]) -> str:
    """The key of an index over these documents in this order."""
    listed = [[*document.ref, document.tags, document.raw] for document in documents]
    return hashlib.sha256(f"{_FORMAT} {__version__} {json.dumps(listed)}".encode()).hexdigest()[:32]


class IndexFile(NamedTuple):
    """The file of one index. What is wrong with it, or with the disk, costs time and nothing else."""

    path: Path
    redact: Redact

    def read(self) -> Arrays | None:
        """The index; None where nothing usable is there."""
        import numpy as np

        try:
            with self.path.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
                return dict(arrays)
        except (OSError, EOFError, ValueError, BadZipFile):
            return None

    def write(self, arrays: Arrays) -> None:
        """Store an index, and remove the oldest of many."""
        import numpy as np

        data = BytesIO()
        np.savez(data, **arrays)
        if data.tell() > _LARGEST:
            return
        with suppress(OSError):
            write_atomically(self.path, data.getvalue())
            files = sorted(self.path.parent.glob("*.npz"), key=lambda one: one.stat().st_mtime)
            for old in files[:-_MOST_FILES]:
                old.unlink()


def packed(texts: Iterable[str], redact: Redact) -> Any:
    """Texts without line ends as an array of bytes, without secrets."""
    import numpy as np

    return np.frombuffer(redact("\n".join(texts).encode("utf-8", "surrogatepass")), np.uint8)


def unpacked(array: Any) -> list[str]:
    """The texts of such an array."""
    return array.tobytes().decode("utf-8", "surrogatepass").split("\n")
