"""Indexes kept on disk: a command that searches once need not read ten thousand tools anew."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

from mcp_studio import __version__
from mcp_studio.paths import write_atomically
from mcp_studio.search.method import Document

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[Any]]

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


def read(file: Path) -> Arrays | None:
    """What is kept; None where nothing usable is."""
    import numpy as np

    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, EOFError, ValueError, BadZipFile):
        return None


def write(file: Path, arrays: Arrays) -> None:
    """Keep an index, and remove the oldest of many; a disk that refuses costs the next search some time."""
    import numpy as np

    data = BytesIO()
    np.savez(data, **arrays)
    if data.tell() > _LARGEST:
        return
    try:
        write_atomically(file, data.getvalue())
        kept = sorted(file.parent.glob("*.npz"), key=lambda one: one.stat().st_mtime)
        for old in kept[:-_MOST_FILES]:
            old.unlink()
    except OSError:
        return


def packed(texts: Iterable[str], redact: Redact) -> NDArray[Any]:
    """Texts without line ends as an array of bytes, without secrets."""
    import numpy as np

    return np.frombuffer(redact("\n".join(texts).encode("utf-8", "surrogatepass")), np.uint8)


def unpacked(array: NDArray[Any]) -> list[str]:
    """The texts of such an array."""
    return array.tobytes().decode("utf-8", "surrogatepass").split("\n")
