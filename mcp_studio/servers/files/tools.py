"""The tools of the filesystem server."""

from __future__ import annotations

import base64
import errno
import mimetypes
import os
import secrets
import shutil
import stat
import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Annotated, Literal, NotRequired

import regex
from pydantic import Field
from typing_extensions import TypedDict  # pydantic requires this one before Python 3.12

from mcp_studio.errors import StudioError
from mcp_studio.limits import KB, MB, size_text
from mcp_studio.servers.files import content as contents
from mcp_studio.servers.files.beneath import Found, Kind, Place, Roots, below, entries, kind_of, shown, uri_of
from mcp_studio.servers.files.content import LARGEST
from mcp_studio.servers.toolserver import report, tool

PREFIXES = {"plain": "", "harness": "fs_"}
"""The prefix of the tools' names, by `--names`."""
_DEPTH = 32
_VISITS = 200_000
"""The most entries that one call visits."""
_SECONDS = 30.0
"""The most seconds that one call may search."""
_RESULTS = 1_000
_AT_ONCE = 50
_LINE = 500
"""The most characters of a line that a search shows."""
_PATTERN = 5_000
"""The most characters of a regular expression."""
_PATIENCE = 1.0
"""The most seconds for one pattern on one file."""
_COPIED = 1_024 * MB
_NOISE = (".git", "node_modules")
_TOKEN = r"(\*\*/|\*\*|\*|\?|\[!?[^\]/\\]+\]|\{[^{}/]+\})"
"""The parts of a glob with a meaning."""
_GLOB = "`*` and `?` within a name, `**` over folders, {a,b}, [a-z]; without a slash it matches the last name only"

FilePath = Annotated[str, Field(description="Absolute, below the first root, or a file:// address")]
FolderPath = Annotated[str, Field(description="As for files; empty for the first root")]
Encoding = Literal["text", "base64"]
Count = Annotated[int, Field(ge=0)]
Limit = Annotated[int, Field(ge=1, le=10_000)]
Globs = Annotated[tuple[str, ...], Field(max_length=_AT_ONCE, description="Globs of files and folders to leave out")]
Ended = Annotated[str, Field(description="Why the answer is incomplete; empty if it is complete")]


class Reading(TypedDict):
    """The content that was read."""

    path: str
    size: Annotated[int, Field(description="Bytes of the whole file")]
    content: str
    first_line: NotRequired[int]
    last_line: NotRequired[int]
    truncated: Annotated[bool, Field(description="The answer does not hold all that was requested")]


class Unread(TypedDict):
    """The reason why a file was not read."""

    path: str
    error: str


class Readings(TypedDict):
    """The contents of several files."""

    files: list[Reading | Unread]


class Change(TypedDict):
    """A change."""

    path: str
    source: NotRequired[Annotated[str, Field(description="The old path, or the path that was copied")]]
    size: NotRequired[int]
    created: NotRequired[bool]
    written: NotRequired[Annotated[bool, Field(description="False for a dry run")]]
    diff: NotRequired[str]


class Replacement(TypedDict):
    """One edit."""

    old: Annotated[str, Field(min_length=1, description="Text that occurs once, with its blanks and line ends")]
    new: str
    every: NotRequired[Annotated[bool, Field(description="Replace it everywhere")]]


class Entry(TypedDict):
    """An entry of a folder."""

    path: str
    kind: Kind
    size: int
    modified: str


class Listing(TypedDict):
    """The entries of a folder."""

    entries: list[Entry]
    truncated: bool


class Tree(TypedDict):
    """Everything below a folder."""

    path: str
    tree: str
    files: int
    folders: int
    truncated: Ended


class Match(TypedDict):
    """One match."""

    path: str
    kind: Kind
    line: NotRequired[int]
    text: NotRequired[str]


class Matches(TypedDict):
    """The matches of a search."""

    matches: list[Match]
    skipped: Annotated[int, Field(description="Files that are too large, binary or unreadable")]
    truncated: Ended


class Info(Entry):
    """The facts about a file or folder."""

    uri: str
    mode: str
    mime_type: str
    target: NotRequired[Annotated[str, Field(description="The target of the link")]]


class FileTools:
    """The tools, on the current roots."""

    def __init__(self, roots: Roots) -> None:
        self.roots = roots

    @tool("Read a file", quick=True)
    def read_file(
        self, path: FilePath, encoding: Encoding = "text", head: Count = 0, tail: Count = 0, start_line: Count = 0,
        end_line: Count = 0, offset: Count = 0, length: Count = 0,
    ) -> Reading:  # fmt: skip
        """Read a file of at most 10 MB, or a part of one of any size.

        A part is the first lines (head), the last lines (tail), the lines from start_line to end_line (counted from 1),
        or length bytes from offset.
        """
        if sum(map(bool, (head, tail, start_line or end_line, offset or length))) > 1:
            raise StudioError("Choose one of head, tail, start_line with end_line, and offset with length.")
        with self.roots.at(path) as place, contents.opened(place) as file:
            size = os.fstat(file.fileno()).st_size
            part = (
                contents.lines(file, max(start_line, 1), head or end_line) if head or start_line or end_line
                else contents.last_lines(file, tail) if tail
                else contents.some_bytes(file, offset, length) if offset or length
                else contents.Part(contents.whole(place.path, file))
            )  # fmt: skip
        text = (
            base64.b64encode(part.data).decode() if encoding == "base64"
            else contents.text_of(place.path, part.data, cut=bool(offset or length) or part.more)
        )  # fmt: skip
        reading = Reading(path=shown(place.path), size=size, content=text, truncated=part.more)
        if part.first_line:
            reading["first_line"], reading["last_line"] = part.first_line, part.last_line
        return reading

    @tool("Read several files", quick=True)
    def read_files(
        self, paths: Annotated[list[FilePath], Field(min_length=1, max_length=_AT_ONCE)], encoding: Encoding = "text"
    ) -> Readings:
        """Read several files of at most 10 MB together. A file that cannot be read fails alone, with a reason."""
        found, room = list[Reading | Unread](), LARGEST
        for path in paths:
            try:
                reading = self.read_file(path, encoding)
                room -= len(reading["content"])
                if room < 0:
                    raise StudioError(f"The files up to this one have more than {size_text(LARGEST)}.")
                found.append(reading)
            except StudioError as problem:
                found.append(Unread(path=path, error=f"{problem.message} {problem.hint}".strip()))
        return Readings(files=found)

    @tool("Write a file", changes=True, destroys=True, repeatable=True)
    def write_file(self, path: FilePath, content: str, encoding: Encoding = "text") -> Change:
        """Write a whole file of at most 10 MB in one step, replacing an existing file. Missing folders are created."""
        data = contents.bytes_of(content, encoding)
        with self.roots.at(path, create=True) as place:
            created = contents.write(place, data)
        return Change(path=shown(place.path), size=len(data), created=created)

    @tool("Edit a file", changes=True, destroys=True, quick=True)
    def edit_file(
        self, path: FilePath, edits: Annotated[list[Replacement], Field(min_length=1, max_length=_AT_ONCE)],
        dry_run: Annotated[bool, Field(description="Only show the difference")] = False,
    ) -> Change:  # fmt: skip
        """Replace texts in a file, all or none, and show the difference."""
        with self.roots.at(path) as place, contents.opened(place) as file:
            status = os.fstat(file.fileno())
            before = after = contents.text_of(place.path, contents.whole(place.path, file))
            for number, edit in enumerate(edits, 1):
                after = contents.replace(f"Edit {number}", after, edit["old"], edit["new"], edit.get("every", False))
            if not dry_run:
                contents.write(place, contents.bytes_of(after, "text"), status)
        return Change(path=shown(place.path), written=not dry_run, diff=contents.difference(place.name, before, after))

    @tool("List a folder", quick=True)
    def list_directory(self, path: FolderPath = "", limit: Limit = _RESULTS) -> Listing:
        """List the entries of a folder, by name."""
        listing = list[Entry]()
        with self.roots.at(path) as place, place.listed() as folder:
            found = entries(folder)
            for entry in found[:limit]:
                with suppress(FileNotFoundError):
                    listing.append(_entry(os.path.join(place.path, entry.name), entry.stat(follow_symlinks=False)))
        return Listing(entries=listing, truncated=len(found) > limit)

    @tool("Show a tree")
    def directory_tree(
        self, path: FolderPath = "", depth: Annotated[int, Field(ge=1, le=_DEPTH)] = 3, exclude: Globs = _NOISE,
        limit: Limit = _RESULTS,
    ) -> Tree:  # fmt: skip
        """Show files and folders below a folder, indented; folders end with a slash. Links are shown, not followed."""
        walk, rows, counts = _Walk("Looking at", exclude), list[str](), Counter[str]()
        ends = {"directory": "/", "link": " (link)", "other": " (no file)"}
        with self.roots.at(path) as place, place.listed() as folder, _patience():
            for found in walk.over(folder, depth):
                if len(rows) == limit:
                    walk.ended = f"ended after {limit:,} lines"
                    break
                counts[found.kind] += 1
                rows.append(f"{'  ' * (found.depth - 1)}{shown(found.name)}{ends.get(found.kind, '')}")
        return Tree(path=shown(place.path), tree="\n".join(rows), files=counts["file"], folders=counts["directory"],
                    truncated=walk.ended)  # fmt: skip

    @tool("Search files")
    def search_files(
        self, path: FolderPath = "", glob: Annotated[str, Field(description=_GLOB)] = "**", text: str = "",
        is_regex: bool = False, ignore_case: bool = False, exclude: Globs = _NOISE, limit: Limit = 200,
    ) -> Matches:  # fmt: skip
        """Find files and folders whose path matches a glob; with a text, find the lines in them that contain it."""
        names, walk, matches, skipped = _glob(glob), _Walk("Searching", exclude), list[Match](), 0
        flags = regex.MULTILINE | (regex.IGNORECASE if ignore_case else 0)
        pattern = _compile(text if is_regex else regex.escape(text), flags) if text else None
        with self.roots.at(path) as place, place.listed() as folder, _patience():
            for found in walk.over(folder, _DEPTH):
                if (pattern and found.kind != "file") or not names.fullmatch(found.path, timeout=_PATIENCE):
                    continue
                full = shown(os.path.join(place.path, found.path))
                if pattern is None:
                    matches.append(Match(path=full, kind=found.kind))
                elif (lines := _lines_with(found, pattern, limit + 1)) is not None:
                    matches += [Match(path=full, kind="file", line=number, text=line) for number, line in lines]
                else:
                    skipped += 1
                if len(matches) > limit:
                    walk.ended = f"ended after {limit:,} matches"
                    break
        return Matches(matches=matches[:limit], skipped=skipped, truncated=walk.ended)

    @tool("Describe a file", quick=True)
    def get_file_info(self, path: FilePath) -> Info:
        """Describe kind, size, times, permissions and type of a file or folder; for a link also its target."""
        with self.roots.at(path, follow=False) as place:
            status = place.stat()
            info = Info(**_entry(place.path, status), uri=uri_of(place.path), mode=stat.filemode(status.st_mode),
                        mime_type=mime_of(place.path))  # fmt: skip
            if info["kind"] == "link":
                info["target"] = shown(os.readlink(place.name, dir_fd=place.folder))
        return info

    @tool("Move or rename", changes=True)
    def move_file(self, source: FilePath, destination: FilePath) -> Change:
        """Move or rename a file, folder or link. If the destination exists, the move fails."""
        with self.roots.at(source, follow=False) as old, self.roots.at(destination, follow=False, create=True) as new:
            if _free(old, new) == "directory":
                os.rename(old.name, new.name, src_dir_fd=old.folder, dst_dir_fd=new.folder)
            else:
                contents.put(old, new, replace=False)
        return Change(path=shown(new.path), source=shown(old.path))

    @tool("Copy", changes=True)
    def copy_file(self, source: FilePath, destination: FilePath) -> Change:
        """Copy a file or folder of at most 1 GB to a path that does not exist yet. Links in a folder stay links."""
        with self.roots.at(source) as old, self.roots.at(destination, follow=False, create=True) as new:
            copied = _Copy()
            if _free(old, new) == "directory":
                copied.folder(old, new)
            else:
                copied.file(old, new)
        return Change(path=shown(new.path), source=shown(old.path), size=copied.size)

    @tool("Delete", changes=True, destroys=True)
    def delete_file(
        self, path: FilePath,
        recursive: Annotated[bool, Field(description="Also delete a folder that is not empty, with all in it")] = False,
    ) -> Change:  # fmt: skip
        """Delete a file, a link (not its target), or a folder. This cannot be undone."""
        with self.roots.at(path, follow=False) as place:
            if _kind(place) != "directory":
                os.unlink(place.name, dir_fd=place.folder)
            elif recursive:
                shutil.rmtree(place.name, dir_fd=place.folder)  # rmtree follows no links either
            else:
                os.rmdir(place.name, dir_fd=place.folder)
        return Change(path=shown(place.path))


def mime_of(path: str) -> str:
    """The MIME type of a file, by its name."""
    return mimetypes.guess_type(path)[0] or "application/octet-stream"


def _entry(path: str, status: os.stat_result) -> Entry:
    modified = datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="seconds")
    return Entry(path=shown(path), kind=kind_of(status.st_mode), size=status.st_size, modified=modified)


def _kind(place: Place) -> Kind:
    """The kind of a place, which has to be inside a root."""
    if place.name == ".":
        raise StudioError(f"`{shown(place.path)}` is a root, or named by `..`.", hint="Name something in a root.")
    return kind_of(place.stat().st_mode)


def _free(old: Place, new: Place) -> Kind:
    """Return the kind of the source; refuse an existing destination, and one inside the source."""
    kind = _kind(old)
    if new.path.startswith(f"{old.path}/"):
        raise StudioError(f"`{shown(old.path)}` cannot be put into itself.")
    with suppress(FileNotFoundError):
        _kind(new)
        raise FileExistsError(errno.EEXIST, "")
    return kind


class _Copy:
    """A copy with its bounds and progress."""

    size, _left = 0, _VISITS

    def file(self, old: Place, new: Place) -> None:
        """Copy a file."""
        with contents.opened(old) as file, contents.atomic_file(new, os.fstat(file.fileno()), replace=False) as copy:
            while chunk := file.read(MB):
                self.size += copy.write(chunk)
                report(self.size, f"Copying {shown(old.name)}")
                if self.size > _COPIED:
                    raise StudioError(f"More than {size_text(_COPIED)} are not copied.")

    def folder(self, old: Place, new: Place) -> None:
        """Copy a folder, which gets its name once it is complete."""
        temporary = new._replace(name=f".{secrets.token_hex(8)}.part")
        os.mkdir(temporary.name, dir_fd=temporary.folder)
        try:
            with old.listed() as source, temporary.listed() as target:
                self._inside(source, target, old.path, 1)
            os.rename(temporary.name, new.name, src_dir_fd=temporary.folder, dst_dir_fd=new.folder)
        except BaseException:
            shutil.rmtree(temporary.name, dir_fd=temporary.folder)
            raise

    def _inside(self, source: int, target: int, path: str, depth: int) -> None:
        if depth > _DEPTH or self._left < 0:
            raise StudioError(f"More than {_DEPTH} folders deep, or {_VISITS:,} files, nothing is copied.")
        for entry in entries(source):
            self._left -= 1
            old, new = (Place(folder, entry.name, f"{path}/{entry.name}") for folder in (source, target))
            if entry.is_symlink():
                os.symlink(os.readlink(entry.name, dir_fd=source), entry.name, dir_fd=target)
            elif entry.is_dir(follow_symlinks=False):
                os.mkdir(entry.name, dir_fd=target)
                with old.listed() as inner, new.listed() as copies:
                    self._inside(inner, copies, old.path, depth + 1)
            else:
                self.file(old, new)


class _Walk:
    """A walk over a folder with its bounds and progress."""

    def __init__(self, what: str, exclude: tuple[str, ...]) -> None:
        self.ended = ""
        """The bound that ended the walk; empty if none did."""
        self._what = what
        self._excluded = _glob(*exclude)
        # Checking a timeout costs more than comparing names: only a pattern that can backtrack needs one.
        self._seconds = _PATIENCE if "*" in "".join(exclude) else None

    def over(self, folder: int, depth: int) -> Iterator[Found]:
        """The entries below a folder."""
        began, count = time.monotonic(), 0
        for found in below(folder, depth, self._wanted):
            count += 1
            if count % 500 == 0:
                report(count, f"{self._what} {shown(found.path)[-100:]}")
            if count > _VISITS or time.monotonic() - began > _SECONDS:
                self.ended = f"ended after {count - 1:,} entries"
                return
            yield found

    def _wanted(self, path: str) -> bool:
        return not self._excluded.fullmatch(path, timeout=self._seconds)


@contextmanager
def _patience() -> Generator[None]:
    try:
        yield
    except TimeoutError:
        raise StudioError("A pattern takes too long.", hint="Use a simpler one.") from None


def _compile(pattern: str, flags: int) -> regex.Pattern[str]:
    if len(pattern) > _PATTERN:
        raise StudioError(f"The pattern has more than {_PATTERN:,} characters.")
    try:
        return regex.compile(pattern, flags)
    except regex.error as problem:
        raise StudioError(f"The pattern cannot be read: {problem}.") from None


def _glob(*globs: str) -> regex.Pattern[str]:
    """Globs as one regular expression; without globs it matches nothing."""
    simple, parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}, list[str]()
    for glob in globs:
        parts.append("|" if parts else "")
        for token in regex.split(_TOKEN, glob if "/" in glob else f"**/{glob}"):
            if token[:1] == "[" and len(token) > 1:
                parts.append(token.replace("[!", "[^"))
            elif token[:1] == "{" and len(token) > 1:
                parts.append(f"(?:{'|'.join(map(regex.escape, token[1:-1].split(',')))})")
            else:
                parts.append(simple.get(token) or regex.escape(token))
    return _compile("".join(parts) or "(?!)", regex.DOTALL)


def _lines_with(found: Found, pattern: regex.Pattern[str], most: int) -> list[tuple[int, str]] | None:
    """The lines of a file that match; None if the file is too large, binary, or cannot be read."""
    try:
        with os.fdopen(found.open(), "rb") as file:
            data = file.read(LARGEST + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b"\0"
    except OSError:
        return None
    if len(data) > LARGEST or b"\0" in data[: 8 * KB]:
        return None
    lines, number, at, text = list[tuple[int, str]](), 1, 0, data.decode("utf-8", "replace")
    for match in pattern.finditer(text, timeout=_PATIENCE):
        number += text.count("\n", at, match.start())
        at = match.start()
        if not lines or lines[-1][0] != number:
            start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
            lines.append((number, text[start : end if end >= 0 else None].rstrip("\r")[:_LINE]))
            if len(lines) == most:
                break
    return lines
