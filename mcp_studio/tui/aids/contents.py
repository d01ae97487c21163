"""What is in a file, and how it goes into a string: as it is, as base64, as a `data:` URI."""

from __future__ import annotations

import base64
import codecs
import mimetypes
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import mapping
from mcp_studio.limits import KB, MB
from mcp_studio.record import record
from mcp_studio.schema.field import Field, Text

Shape = Literal["text", "base64", "base64url", "base32", "base16", "data"]
_HEAD = 64 * KB
_BINARY = ("byte", "binary", "base64", "base64url")
_URIS = ("uri", "uri-reference", "iri", "iri-reference", "url", "data", "data-uri", "data-url")
_ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "base64": base64.b64encode,
    "base64url": base64.urlsafe_b64encode,
    "base32": base64.b32encode,
    "base16": base64.b16encode,
}
_BOMS = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_SIGNS = (
    (b"\x89PNG\r\n", "PNG picture"), (b"\xff\xd8\xff", "JPEG picture"), (b"GIF8", "GIF picture"), (b"%PDF", "PDF"),
    (b"PK\x03\x04", "ZIP archive"), (b"\x1f\x8b", "gzip"), (b"RIFF", "RIFF sound or picture"), (b"OggS", "Ogg sound"),
    (b"\x7fELF", "ELF program"), (b"SQLite format 3", "SQLite database"),
)  # fmt: skip


class NoContents(StudioError):
    """The file cannot be taken; says why."""


@record(frozen=True)
class Found:
    """A file that can be read."""

    size: int
    """Bytes."""
    encoding: str
    """`utf-8`, `utf-16`, or empty for what is no text as far as it was looked at."""
    kind: str
    """For people: `UTF-8 text`, `binary: PNG picture`."""


def look(file: Path) -> Found:
    """What a file is, by its beginning. Never waits for a pipe or a device.

    Raises:
        NoContents: there is none, it cannot be read, or it is no file.
    """
    size, head = _read(file, _HEAD)
    encoding = _encoding(head, whole=size <= len(head))
    if encoding:
        return Found(size, encoding, "empty" if not head and not size else f"{encoding.upper()} text")
    sign = next((words for start, words in _SIGNS if head.startswith(start)), "")
    return Found(size, "", f"binary: {sign}" if sign else "binary")


def take(file: Path, shape: Shape, most: int = 8 * MB) -> str:
    """The text that goes into the field.

    Raises:
        NoContents: as `look`; it is larger than `most`, or it is no text where text is wanted.
    """
    size, data = _read(file, most + 1)
    if len(data) > most or size > most:
        raise NoContents(
            f"The file has {max(size, len(data)):,} bytes; more than {most:,} are not put into a field.",
            hint="The limit is field_file in config.toml.",
        )
    if shape == "text":
        encoding = _encoding(data, whole=True, strict=False)
        if not encoding:
            raise NoContents("The file is no text in UTF-8 or UTF-16.", hint="Take it as base64.")
        return data.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    if shape == "data":
        kind = mimetypes.guess_type(file.name)[0] or ("text/plain" if _encoding(data, whole=True) else "")
        return f"data:{kind or 'application/octet-stream'};base64,{base64.b64encode(data).decode()}"
    return _ENCODERS[shape](data).decode()


def shapes(field: Field | None) -> tuple[Shape, ...]:
    """The shapes that make sense for a field, the one that its schema asks for first; text where it asks for none."""
    schema = mapping(field.schema if field is not None else None)
    coded = str(schema.get("contentEncoding", "")).casefold()
    format = field.format.casefold() if isinstance(field, Text) else str(schema.get("format", ""))
    if coded in ("base64url", "base32", "base16"):
        return (coded, "base64", "text")  # pyright: ignore[reportReturnType]
    if coded == "base64" or format in _BINARY:
        return ("base64url", "base64", "text") if format == "base64url" else ("base64", "text")
    return ("data", "text", "base64") if format in _URIS else ("text", "base64")


def asks_for_code(field: Field | None) -> bool:
    """Whether the schema says how bytes are to be written, or that an address is."""
    return shapes(field)[0] != "text"


def length(size: int, shape: Shape) -> int:
    """About how many characters it becomes."""
    factor = {"text": 1.0, "base32": 1.6, "base16": 2.0}.get(shape, 4 / 3)
    return int(size * factor)


def _read(file: Path, most: int) -> tuple[int, bytes]:
    """Its size, and its first bytes."""
    try:
        _refuse(os.stat(file).st_mode)
        # Whatever it has become meanwhile: opening waits for nobody.
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as stream:
            now = os.fstat(stream.fileno())
            _refuse(now.st_mode)
            return now.st_size, stream.read(most)
    except FileNotFoundError:
        raise NoContents("There is no such file.") from None
    except (OSError, ValueError) as problem:
        words = problem.strerror if isinstance(problem, OSError) else ""
        raise NoContents(f"It cannot be read: {words or problem}.") from None


def _refuse(mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
    raise NoContents(f"That is {next((name for test, name in kinds if test(mode)), 'a device')}, no file.")


def _encoding(data: bytes, *, whole: bool, strict: bool = True) -> str:
    """How the bytes can be read as text; empty when they cannot. `strict` wants no zero bytes in it."""
    encoding = next((name for bom, name in _BOMS if data.startswith(bom)), "utf-8")
    if strict and encoding == "utf-8" and b"\0" in data:
        return ""
    try:
        codecs.getincrementaldecoder(encoding)().decode(data, final=whole)
    except UnicodeDecodeError:
        return ""
    return encoding
