"""The content of one file: parts of it, edits with their difference, and atomic writing."""

from __future__ import annotations

import base64
import difflib
import os
import re
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from io import BytesIO
from itertools import islice
from typing import BinaryIO, NamedTuple

from mcp_studio.errors import StudioError
from mcp_studio.limits import KB, MB, size_text
from mcp_studio.servers.files.beneath import Place, shown

LARGEST = 10 * MB
"""The most bytes of one answer, and of one file that is written."""
_SMALL = 64 * KB
_COMPARED = 5_000
"""The most lines that are compared, and that a difference has."""
_CONTEXT = 3
_HEADER = re.compile(r"^@@ -(\d+)(.*) \+(\d+)(.*) @@$", re.MULTILINE)


class Part(NamedTuple):
    """Some bytes of a file."""

    data: bytes
    first_line: int = 0
    """The number of the first line, from 1; 0 if the request was not for lines."""
    more: bool = False
    """Whether the request was for more than an answer holds."""

    @property
    def last_line(self) -> int:
        """The number of the last line."""
        return self.first_line + self.data.count(b"\n") - (self.data[-1:] in (b"\n", b""))


@contextmanager
def opened(place: Place) -> Generator[BinaryIO]:
    """Open a file to read it.

    Raises:
        StudioError: it is no regular file.
    """
    _check_regular(place.path, place.stat())  # before opening it, which may have an effect on a device
    with os.fdopen(place.open(), "rb") as file:
        _check_regular(place.path, os.fstat(file.fileno()))
        yield file


def _check_regular(path: str, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise StudioError(f"`{shown(path)}` is a folder.", hint="List it, or name a file in it.")
    if not stat.S_ISREG(status.st_mode):
        raise StudioError(f"`{shown(path)}` is a pipe, device or link, not a file.")


def whole(path: str, file: BinaryIO) -> bytes:
    """The whole content of a file.

    Raises:
        StudioError: the file is larger than an answer may be.
    """
    data = file.read(_SMALL)  # as most files are: making room for 10 MB takes longer than reading them
    data += file.read(LARGEST + 1 - _SMALL) if len(data) == _SMALL else b""
    if len(data) > LARGEST:
        size = size_text(os.fstat(file.fileno()).st_size)
        hint = "Read a part of it: head, tail, start_line and end_line, or offset and length."
        raise StudioError(f"`{shown(path)}` has {size}, and an answer at most {size_text(LARGEST)}.", hint=hint)
    return data


def some_bytes(file: BinaryIO, offset: int, length: int) -> Part:
    """The bytes from `offset`; a length of 0 reads to the end."""
    file.seek(offset)
    data = file.read(min(length or LARGEST, LARGEST))
    return Part(data, more=len(data) == LARGEST)


def lines(file: BinaryIO, first: int, last: int) -> Part:
    """The lines `first` to `last`; 0 is the end."""
    for _ in range(first - 1):
        while (line := file.readline(MB)) and not line.endswith(b"\n"):
            continue
        if not line:
            return Part(b"", first)
    lines, room = list[bytes](), LARGEST
    while not last or len(lines) <= last - first:
        line = file.readline(room + 1)
        if len(line) > room:
            return Part(b"".join(lines) or line[:room], first, True)
        if not line:
            break
        lines.append(line)
        room -= len(line)
    return Part(b"".join(lines), first)


def last_lines(file: BinaryIO, count: int) -> Part:
    """The last lines."""
    size, block = file.seek(0, os.SEEK_END), 64 * KB
    while True:
        start = file.seek(max(0, size - block))
        lines = BytesIO(file.read(block)).readlines()
        if start == 0 or len(lines) > count or block == LARGEST:
            return Part(b"".join(lines[-count:]), more=start > 0 and len(lines) <= count)
        block = min(4 * block, LARGEST)


def text_of(path: str, data: bytes, *, cut: bool = False) -> str:
    """Bytes as text. `cut` says that they may begin and end within a character.

    Raises:
        StudioError: the bytes are no UTF-8.
    """
    try:
        return data.decode("utf-8", "replace" if cut else "strict")
    except UnicodeDecodeError as problem:
        hint = 'Read it with encoding = "base64".'
        raise StudioError(f"`{shown(path)}` is no UTF-8 text (byte {problem.start:,}).", hint=hint) from None


def bytes_of(content: str, encoding: str) -> bytes:
    """The bytes to write.

    Raises:
        StudioError: the content cannot be decoded, or is too large.
    """
    try:
        data = base64.b64decode(content, validate=True) if encoding == "base64" else content.encode()
    except ValueError:
        raise StudioError(f"The content is no valid {'Base64' if encoding == 'base64' else 'Unicode'}.") from None
    if len(data) > LARGEST:
        raise StudioError(f"The content has {size_text(len(data))}; at most {size_text(LARGEST)} are written.")
    return data


def replace(edit: str, text: str, old: str, new: str, every: bool) -> str:
    """Replace a text: in all places with `every`, otherwise in the only place.

    Raises:
        StudioError: the old text is missing, or occurs several times.
    """
    if "\r\n" in text and "\r" not in old + new:  # models rarely see line ends
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    count = text.count(old)
    if count == 0:
        hint = "Read the file again: blanks and line ends count. Nothing was changed."
        raise StudioError(f"{edit}: the old text is not in the file.", hint=hint)
    if count > 1 and not every:
        hint = "Give more of the lines around it, or every = true. Nothing was changed."
        raise StudioError(f"{edit}: the old text is {count} times in the file.", hint=hint)
    if len(text) + count * (len(new) - len(old)) > LARGEST:
        raise StudioError(f"{edit}: the file would have more than {size_text(LARGEST)}.")
    return text.replace(old, new)


def difference(name: str, before: str, after: str) -> str:
    """The changes as a unified diff."""
    texts = (text.split("\n") for text in (before, after))
    old, new = ([*lines, f"{last}\n\\ No newline at end of file"] if last else lines for *lines, last in texts)
    same = _same(old, new)
    end = _same(old[same:][::-1], new[same:][::-1])
    if max(len(old), len(new)) - same - end > _COMPARED:
        return f"More than {_COMPARED:,} lines lie between the first change and the last: they are not compared.\n"
    # Comparing takes quadratic time: only the lines around the changes are compared, and the line numbers adjusted.
    start, rest = max(0, same - _CONTEXT), max(0, end - _CONTEXT)
    lines = difflib.unified_diff(
        old[start : len(old) - rest], new[start : len(new) - rest], f"a/{shown(name)}", f"b/{shown(name)}",
        n=_CONTEXT, lineterm="",
    )  # fmt: skip
    text = "\n".join(islice(lines, _COMPARED))[:MB]
    return _HEADER.sub(lambda at: f"@@ -{int(at[1]) + start}{at[2]} +{int(at[3]) + start}{at[4]} @@", text)


def _same(one: list[str], two: list[str]) -> int:
    """The number of equal lines at the beginning."""
    return next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


def write(place: Place, data: bytes, before: os.stat_result | None = None) -> bool:
    """Write a whole file; returns whether it is new.

    Args:
        before: the status of the file when it was read; a file that has changed since is not replaced.

    Raises:
        StudioError: the file has changed since, or is no file.
    """
    now: os.stat_result | None = None
    with suppress(FileNotFoundError):
        now = place.stat()
        _check_regular(place.path, now)
    if before is not None and (now is None or signature(now) != signature(before)):
        raise StudioError(f"`{shown(place.path)}` was changed meanwhile.", hint="Read it again, and edit that.")
    with atomic_file(place, now, replace=True) as file:
        file.write(data)
    return now is None


@contextmanager
def atomic_file(place: Place, like: os.stat_result | None, *, replace: bool) -> Generator[BinaryIO]:
    """A new file that gets its name once it is complete, so that nobody ever sees half of it.

    It is not synced to the disk: that would take many times as long, and only protect against a power cut.

    Args:
        like: a file whose permissions the new one gets.
    """
    temporary, mode = place._replace(name=f".{secrets.token_hex(8)}.part"), like.st_mode & 0o777 if like else 0o666
    with os.fdopen(temporary.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        try:
            yield file
            file.flush()
            if like:
                os.fchmod(file.fileno(), mode)
            put(temporary, place, replace=replace)
        except BaseException:
            os.unlink(temporary.name, dir_fd=temporary.folder)
            raise


def put(temporary: Place, place: Place, *, replace: bool) -> None:
    """Give a file its final name in the same filesystem.

    Raises:
        FileExistsError: a file has that name, and `replace` is false.
    """
    if replace:
        os.rename(temporary.name, place.name, src_dir_fd=temporary.folder, dst_dir_fd=place.folder)
    else:  # a rename would replace a file that was created meanwhile
        os.link(temporary.name, place.name, src_dir_fd=temporary.folder, dst_dir_fd=place.folder, follow_symlinks=False)
        os.unlink(temporary.name, dir_fd=temporary.folder)


def signature(status: os.stat_result) -> tuple[int, ...]:
    """A value that differs between states of a file."""
    return status.st_ino, status.st_size, status.st_mtime_ns
