"""Which files a result makes, and writing them: names are ours, nothing is overwritten."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from mcp_studio.jsontext import Json, pretty
from mcp_studio.present import blocks

_KEPT = 20
"""Files that were opened stay for programs that read them late."""
_ENDINGS = {
    "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "image/svg+xml": "svg",
    "audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/ogg": "ogg", "application/pdf": "pdf",
    "text/markdown": "md", "text/html": "html", "text/csv": "csv", "application/json": "json", "text/plain": "txt",
}  # fmt: skip


class Part(NamedTuple):
    """One file to be written."""

    name: str
    what: str
    content: Callable[[], bytes]
    """May raise ValueError when the data cannot be decoded."""


def parts_of(result: Json, stem: str) -> list[Part]:
    """The files of a result: its text, each image, sound and file, and the whole as JSON.

    Nothing is written out before its file is: `write` is for a thread.
    """
    found = blocks.blocks_of(result)
    parts: list[Part] = []
    texts = [block for block in found if block.kind == "text"]
    if texts:
        ending = _ENDINGS.get(texts[0].mime, "md" if blocks.is_markdown(found) else "txt")
        text = "\n\n".join(block.text for block in texts)
        parts.append(Part(f"{stem}.{ending}", "the text", lambda: text.encode("utf-8", "backslashreplace")))
    for number, block in enumerate((block for block in found if block.data), 1):
        ending = _ENDINGS.get(block.mime.lower(), "bin")
        parts.append(
            Part(
                f"{stem}-{number}.{ending}",
                blocks.headline(block),
                lambda block=block: blocks.decode(block),
            )
        )
    whole = Part(
        f"{stem}.result.json", "the whole result as JSON", lambda: pretty(result).encode("utf-8", "backslashreplace")
    )
    return [*parts, whole]


def opens_as(block: blocks.Block) -> str:
    """The name of the file that a picture or sound is opened as; empty where its kind is not known."""
    ending = _ENDINGS.get(block.mime.lower(), "")
    known = block.mime.lower().startswith(("image/", "audio/")) and ending not in ("", "svg")
    return f"{block.kind}.{ending}" if known else ""


def decoded(block: blocks.Block) -> bytes:
    """The data of a block (errors as `blocks.decode`)."""
    return blocks.decode(block)


def keep(cache: Path, name: str, data: bytes) -> Path:
    """Write data that another program is to open into the cache folder, readable by the person alone.

    Raises:
        OSError: the folder cannot be written to.
    """
    folder = cache / "opened"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for old in sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime)[:-_KEPT]:
        old.unlink(missing_ok=True)
    return _write_new(folder, name, data)


def write(parts: list[Part], folder: Path) -> list[Path]:
    """Write the files; one that is there already is left alone and the new one gets a number.

    Raises:
        OSError: the folder cannot be written to.
        ValueError: the data of a part cannot be decoded; says which.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for part in parts:
        try:
            content = part.content()
        except ValueError as problem:
            raise ValueError(f"{part.name}: {problem}") from None
        written.append(_write_new(folder, part.name, content))
    return written


def _write_new(folder: Path, name: str, content: bytes) -> Path:
    stem, dot, ending = name.partition(".")
    for number in range(1, 10_000):
        file = folder / (name if number == 1 else f"{stem}-{number}{dot}{ending}")
        try:
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            continue
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        return file
    raise FileExistsError(f"there are too many files called {name}")
