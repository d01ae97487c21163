"""Completing a path as it is typed: folders and files, `~` expanded, hidden ones when asked."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

from mcp_studio.record import record

_MOST = 2_000
"""Entries of one folder that are looked at."""


@record(frozen=True)
class Offer:
    """One entry of the folder that is being typed."""

    name: str
    folder: bool
    size: int = -1
    """Bytes, where it is a file."""


@record(frozen=True)
class Offers:
    """What a typed path could go on with."""

    entries: tuple[Offer, ...] = ()
    problem: str = ""
    more: bool = False
    """The folder has more than were looked at."""


def place(typed: str, base: Path) -> Path:
    """The file that is meant; a path that begins nowhere begins at `base`."""
    return base / _home(typed)


def offers(typed: str, base: Path, *, hidden: bool = False) -> Offers:
    """Entries of the folder typed so far that begin with the rest: the exact one, then folders. Reads the disk."""
    folder, _, start = _parts(typed)
    hidden = hidden or start.startswith(".")
    found: list[Offer] = []
    try:
        with os.scandir(base / _home(folder)) as entries:
            looked = list(islice(entries, _MOST + 1))
    except (OSError, ValueError) as problem:
        words = problem.strerror if isinstance(problem, OSError) else ""
        return Offers(problem=f"The folder cannot be read: {words or problem}.")
    for entry in looked[:_MOST]:
        if _fits(entry.name, start) and (hidden or not entry.name.startswith(".")):
            found.append(_offer(entry))
    found.sort(key=lambda one: (one.name != start, not one.folder, not one.name.startswith(start), one.name.casefold()))
    return Offers(tuple(found), more=len(looked) > _MOST)


def taken(typed: str, offer: Offer) -> str:
    """The typed path with an entry in the place of its last part; a folder is gone into."""
    folder, separator, _ = _parts(typed)
    return f"{folder}{separator}{offer.name}{'/' if offer.folder else ''}"


def completed(typed: str, entries: tuple[Offer, ...]) -> str:
    """The typed path as far as all entries that fit agree."""
    folder, separator, start = _parts(typed)
    exact = [one for one in entries if one.name.startswith(start)] or list(entries)
    if len(exact) == 1:
        return taken(typed, exact[0])
    length = 0
    for letters in zip(*(one.name for one in exact), strict=False):
        if len(set(letters)) > 1:
            break
        length += 1
    return f"{folder}{separator}{exact[0].name[:length]}" if length > len(start) else typed


def _parts(typed: str) -> tuple[str, str, str]:
    """The folder, the separator after it, and the beginning of a name."""
    if typed == "~":
        return "~", "/", ""
    at = max(typed.rfind("/"), typed.rfind("\\") if os.name == "nt" else -1)
    return (typed[:at] or typed[: at + 1], "/" if at > 0 else "", typed[at + 1 :]) if at >= 0 else ("", "", typed)


def _home(path: str) -> Path:
    return Path(os.path.expanduser(path))


def _fits(name: str, start: str) -> bool:
    return name.casefold().startswith(start.casefold())


def _offer(entry: os.DirEntry[str]) -> Offer:
    try:
        folder = entry.is_dir()
        return Offer(entry.name, folder, -1 if folder or not entry.is_file() else entry.stat().st_size)
    except OSError:
        return Offer(entry.name, folder=False)
