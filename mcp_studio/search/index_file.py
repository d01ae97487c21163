"""Index files, so that a command that searches once need not index ten thousand tools."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from mcp_studio import __version__
from mcp_studio.paths import write_atomically
from mcp_studio.search.method import Document

Arrays = Mapping[str, Any]
"""Numpy arrays by name; numpy is imported only where somebody searches."""
Redact = Callable[[bytes], bytes]
"""Removes secrets from a text."""
_FORMAT = 1
"""To be raised when words or weights change within a version."""
_MOST_FILES = 8
_LARGEST = 128 << 20


def key_of(documents: Iterable[Document]) -> str:
    """The key of an index over these documents in this order."""
    listed = [[*document.ref, document.tags, document.raw] for document in documents]
    return hashlib.sha256(f"{_FORMAT} {__version__} {json.dumps(listed)}".encode()).hexdigest()[:32]


class IndexFile(NamedTuple):
    """The file of one index. A fault of the file or the disk costs only time."""

    path: Path
    redact: Redact

    def read(self) -> Arrays | None:
        """The index; None where there is no usable file."""
        from zipfile import BadZipFile

        import numpy as np

        try:
            with self.path.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
                return dict(arrays)
        except (OSError, EOFError, ValueError, BadZipFile):
            return None

    def write(self, arrays: Arrays) -> None:
        """Write an index, and delete the oldest files beyond the limit."""
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
    """The texts of an array that `packed` made."""
    return array.tobytes().decode("utf-8", "surrogatepass").split("\n")
