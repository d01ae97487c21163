"""The folders that are served, and safe access to paths below them.

A path is walked name by name, and each name is opened relative to the descriptor of its folder; this code follows
links, never the kernel. So the checked file is the opened file, even if somebody renames things meanwhile.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from operator import attrgetter
from typing import Literal, NamedTuple
from urllib.parse import quote, unquote

from mcp_studio.errors import StudioError

Kind = Literal["file", "directory", "link", "other"]
DEEPEST = 100
"""The most names of one path, after its links are followed."""
ENTRIES = 100_000
"""The most entries of one folder that are read."""
_LINKS = 40
_THROUGH = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_LIST = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_NO_LINK = (errno.EINVAL, errno.ENOENT)
_REASONS = {
    errno.ENOENT: ("There is no {}.", "List the folder to see what is there."),
    errno.ENOTDIR: ("{} is not a folder, or goes through something that is none.", ""),
    errno.EISDIR: ("{} is a folder.", "List it, or name a file in it."),
    errno.EEXIST: ("{} exists already.", "Choose another name, or delete it first."),
    errno.ENOTEMPTY: ("The folder {} is not empty.", "With recursive = true it is deleted with all that is in it."),
    errno.EACCES: ("The server may not do that to {}.", "Its permissions belong to the person who runs the server."),
    errno.EPERM: ("The server may not do that to {}.", "Its permissions belong to the person who runs the server."),
    errno.EROFS: ("{} is on a filesystem that can only be read.", ""),
    errno.ENOSPC: ("The disk of {} is full.", ""),
    errno.ELOOP: ("{} was replaced by a link while it was used, or has too many links.", "Try again."),
    errno.ENAMETOOLONG: ("A name in {} is too long.", ""),
    errno.EXDEV: ("{} is on another filesystem.", "Copy it, and delete the original."),
}


def shown(path: str) -> str:
    """A path as valid Unicode; bytes that are no UTF-8 become replacement marks."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "replace")


def uri_of(path: str) -> str:
    """A path as `file://` address, which can also express names that are no UTF-8."""
    return f"file://{quote(os.fsencode(path))}"


def path_of(text: str) -> str:
    """The path of a `file://` address, or the text itself. An address with a host gives NUL, which no path contains."""
    if not text.startswith("file://"):
        return text
    host, slash, rest = text.removeprefix("file://").partition("/")
    return unquote(slash + rest, errors="surrogateescape") if host in ("", "localhost") else "\0"


class Place(NamedTuple):
    """A name in a folder that was reached without leaving a root."""

    folder: int
    """The descriptor of the folder."""
    name: str
    """`.` for the folder itself: a root, or a path that ends in `..`."""
    path: str
    """The path of the place, without links."""

    def open(self, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
        """Open the file with this name, unless it is a link."""
        # Not blocking: opening a pipe without a writer would never end.
        flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
        return os.open(self.name, flags, mode, dir_fd=self.folder)

    def stat(self) -> os.stat_result:
        """The status of the file with this name; of a link the link's own."""
        return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)

    @contextmanager
    def listed(self) -> Generator[int]:
        """A descriptor of the folder with this name."""
        folder = os.open(self.name, _LIST, dir_fd=self.folder)
        try:
            yield folder
        finally:
            os.close(folder)


class Roots:
    """The folders that are served.

    Args:
        folders: their paths; those that are no folders are ignored.
    """

    def __init__(self, folders: Iterable[str]) -> None:
        found = [(os.path.abspath(folder), os.path.realpath(folder)) for folder in folders]
        self._real = {spelling: real for pair in found for spelling in pair if os.path.isdir(real := pair[1])}
        self.paths = list(dict.fromkeys(self._real.values()))

    @contextmanager
    def at(self, path: str, *, follow: bool = True, create: bool = False) -> Generator[Place]:
        """The place that a path names.

        Args:
            path: absolute, or below the first root; or its `file://` address.
            follow: whether to follow a link that is the last name.
            create: whether to create missing folders on the way.

        Raises:
            StudioError: the path is outside of the roots, or an operation in the block fails; the error says which and
                why.
        """
        try:
            place = self._walk(path, follow, create)
            try:
                yield place
            finally:
                os.close(place.folder)
        except OSError as error:
            message, hint = _REASONS.get(error.errno or 0, (f"{{}}: {error.strerror or error}.", ""))
            raise StudioError(message.format(_quoted(path)), hint=hint) from None

    def _walk(self, path: str, follow: bool, create: bool) -> Place:
        links = 0
        root, names = self._locate(path)
        queue = deque(names)
        folders, trail = [_root(root)], list[str]()
        try:
            while queue:
                if len(folders) > DEEPEST:
                    raise StudioError(f"{_quoted(path)} has more than {DEEPEST} names.")
                name = queue.popleft()
                if name == "..":
                    if not trail:
                        raise self._outside(path)
                    os.close(folders.pop())
                    trail.pop()
                    continue
                target = None
                if queue:
                    folder, target = _step(folders[-1], name, create)
                    if folder is not None:
                        folders.append(folder)
                        trail.append(name)
                elif not follow or (target := _link(folders[-1], name)) is None:
                    return Place(folders.pop(), name, os.path.join(root, *trail, name))
                if target is not None:
                    links += 1
                    if links > _LINKS:
                        raise OSError(errno.ELOOP, "")
                    if target.startswith("/"):
                        root, names = self._locate(target, path)
                        _close(folders)
                        folders, trail = [_root(root)], []
                    else:
                        names = _names(target)
                    queue.extendleft(reversed(names))
            return Place(folders.pop(), ".", os.path.join(root, *trail))
        finally:
            _close(folders)

    def _locate(self, path: str, original: str = "") -> tuple[str, list[str]]:
        """The root of a path, and the names below it."""
        path = path_of(path)
        try:
            readable = b"\0" not in os.fsencode(path)
        except UnicodeEncodeError:
            readable = False
        if not self.paths:
            raise StudioError("No folder is served.", hint="Start the server with --root, or tell it roots.")
        if not readable:
            raise StudioError("That is no path.", hint="A path has no NUL character, and no host in its address.")
        if not path.startswith("/"):
            return self.paths[0], _names(path)
        within = [one for one in self._real if path == one or path.startswith(one.rstrip("/") + "/")]
        if not within:
            raise self._outside(original or path)
        root = max(within, key=len)
        return self._real[root], _names(path[len(root) :])

    def _outside(self, path: str) -> StudioError:
        served = ", ".join(shown(one) for one in self.paths[:5])
        return StudioError(f"{_quoted(path)} is outside of what is served, or a link leads there.",
                           hint=f"Served: {served}.")  # fmt: skip


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]


def _root(path: str) -> int:
    return os.open(path, _THROUGH)


def _close(folders: list[int]) -> None:
    for folder in folders:
        os.close(folder)


def _link(folder: int, name: str) -> str | None:
    """The target of a link; None if the name is no link, or does not exist."""
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno in _NO_LINK:
            return None
        raise


def _step(folder: int, name: str, create: bool) -> tuple[int | None, str | None]:
    """Open a folder; if the name is a link, return its target instead."""
    try:
        return os.open(name, _THROUGH, dir_fd=folder), None
    except FileNotFoundError:
        if not create:
            raise
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
        return os.open(name, _THROUGH, dir_fd=folder), None
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP) or (target := _link(folder, name)) is None:
            raise
        return None, target


def _quoted(path: str) -> str:
    text = path.encode("utf-8", "replace").decode() or "the root"
    return f"`{text if len(text) <= 300 else text[:300] + '…'}`"


class Found(NamedTuple):
    """An entry below a folder."""

    path: str
    """The path relative to that folder."""
    name: str
    depth: int
    """1 for an entry of the folder itself."""
    kind: Kind
    folder: int
    """The descriptor of the entry's folder, valid until the walk continues."""

    def open(self) -> int:
        """A descriptor of the file, which is no link."""
        return Place(self.folder, self.name, self.path).open()


def entries(folder: int) -> list[os.DirEntry[str]]:
    """The entries of a folder, by name."""
    with os.scandir(folder) as entries:
        return sorted(islice(entries, ENTRIES), key=attrgetter("name"))


def below(folder: int, depth: int, wanted: Callable[[str], bool], path: str = "", level: int = 1) -> Iterator[Found]:
    """Walk over everything below a folder, each folder before its entries; links are never followed.

    Args:
        depth: how many folders deep.
        wanted: returns whether to include a path and everything below it.
    """
    for entry in entries(folder):
        here = path + entry.name
        if not wanted(here):
            continue
        kind: Kind = (
            "file" if entry.is_file(follow_symlinks=False)
            else "directory" if entry.is_dir(follow_symlinks=False)
            else "link" if entry.is_symlink()
            else "other"
        )  # fmt: skip
        yield Found(here, entry.name, level, kind, folder)
        if kind == "directory" and level < depth:
            with suppress(PermissionError, FileNotFoundError), Place(folder, entry.name, here).listed() as inner:
                yield from below(inner, depth, wanted, f"{here}/", level + 1)


def kind_of(mode: int) -> Kind:
    """The kind of a file, by its mode."""
    return (
        "link" if stat.S_ISLNK(mode)
        else "directory" if stat.S_ISDIR(mode)
        else "file" if stat.S_ISREG(mode)
        else "other"
    )  # fmt: skip
