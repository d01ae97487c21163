"""Looks for secrets wherever they could have been left: files, recorded sessions as they are read, processes, texts."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

from mcp_studio.redact import SHORTEST, forms
from tests.test_secrets import everything

Piece = tuple[str, bytes]


def whole(secrets: Iterable[str]) -> set[str]:
    """The secrets, and of JWTs their signatures besides."""
    known = {secret for secret in secrets if len(secret) >= SHORTEST}
    return known | {secret.rpartition(".")[2] for secret in known if secret.count(".") == 2}


def found(secrets: Iterable[str], pieces: Iterable[Piece]) -> list[str]:
    """Where any of the secrets stands, in any of its forms."""
    parts = list(pieces)
    joined = b"\0".join(data for _, data in parts)
    bad = [(secret, form) for secret in whole(secrets) for form in set(forms(secret)) if form in joined]
    return sorted({f"{form!r} in {name}" for _, form in bad for name, data in parts if form in data})


def files(folder: Path) -> list[Piece]:
    """Every file below a folder, and what is in those that are compressed."""
    pieces: list[Piece] = []
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink():
            pieces.append((str(file), data := file.read_bytes()))
            if data.startswith(b"\x1f\x8b"):
                pieces.append((f"what is in {file}", gzip.decompress(data)))
    return pieces


def left(home: Path) -> list[Piece]:
    """Every file below the home of a test, and each body of its recorded sessions."""
    return [*everything(home), *files(home)]


@contextmanager
def watched(first: Callable[[], int | None]) -> Generator[list[Piece], None, None]:
    """What the process list tells of a process and all that it starts, looked at again and again."""
    pieces: set[Piece] = set()
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(0.02):
            root = first()
            for pid in _family(root) if root else ():
                for name in ("cmdline", "environ"):
                    try:
                        pieces.add((f"{name} of {pid}", Path(f"/proc/{pid}/{name}").read_bytes()))
                    except OSError:
                        continue

    told: list[Piece] = []
    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield told
    finally:
        stop.set()
        thread.join()
        told += sorted(pieces)


def _family(root: int) -> set[int]:
    """A process and all that came of it."""
    family, more = {root}, [root]
    while more:
        with suppress(OSError):  # it may have ended
            for file in Path(f"/proc/{more.pop()}/task").glob("*/children"):
                with suppress(OSError):
                    found = {int(pid) for pid in file.read_text().split()} - family
                    family |= found
                    more += found
    return family
