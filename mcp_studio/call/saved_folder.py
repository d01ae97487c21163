"""Folders of saved calls: one of the project, to be committed with it, and one of the person."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import replace as replace_fields
from pathlib import Path
from typing import NamedTuple

from mcp_studio.atomic import write_atomically
from mcp_studio.call.saved import SavedCall, Where, check_name, usable
from mcp_studio.call.saved_edit import changed_text
from mcp_studio.call.saved_text import read_saved, saved_text
from mcp_studio.config.model import Problem
from mcp_studio.config.nearest import nearest
from mcp_studio.config.trust import TrustStore, digest
from mcp_studio.errors import ConfigError, UsageError
from mcp_studio.paths import Paths
from mcp_studio.record import record

PROJECT_FILE = ".mcp-studio.toml"
PROJECT_FOLDER = ".mcp-studio"
CALLS = "calls"
_LARGEST = 1024 * 1024
_MOST = 5_000
_PATIENCE = 5.0
"""Seconds for reading all files of the folders."""


class Loaded(NamedTuple):
    """What is in the folders: those of the project first, each folder by name."""

    calls: tuple[SavedCall, ...] = ()
    failed: tuple[Problem, ...] = ()


@record(frozen=True)
class Folders:
    """Where saved calls are."""

    project: Path
    """The folder of the project, or where it would be made."""
    personal: Path
    in_project: bool
    """There is a project: its folder is read, and written where nothing else is said."""
    trust: TrustStore

    @property
    def usual(self) -> Where:
        """Where a new call is saved where nothing is said."""
        return "project" if self.in_project else "personal"

    def path(self, where: Where) -> Path:
        """One of the folders."""
        return self.project if where == "project" else self.personal

    def load(self) -> Loaded:
        """All that is there; a file that cannot be used costs none of the others."""
        problems: list[Problem] = []
        found: list[SavedCall] = []
        end = time.monotonic() + _PATIENCE
        for where in self._places:
            for file in _files(self.path(where), problems):
                if time.monotonic() > end:
                    problems.append(Problem(str(file), "", f"and what comes after it took more than {_PATIENCE:g} s."))
                    break
                if (saved := _read(file, where, problems)) is not None:
                    found.append(saved)
        return Loaded(tuple(found), tuple(problems))

    @property
    def _places(self) -> tuple[Where, ...]:
        return ("project", "personal") if self.project != self.personal else ("personal",)

    def find(self, name: str) -> SavedCall:
        """The call of this name; `project:NAME` and `personal:NAME` say whose.

        Raises:
            ConfigError: its file is broken; the sentence says how.
            UsageError: there is none.
        """
        where, bare = split(name)
        broken: list[Problem] = []
        for whose in self._places:
            file = self.path(whose) / f"{bare}.toml"
            # Its file alone: what else lies in a project's folder does not matter.
            if where in ("", whose) and usable(bare) and os.path.lexists(file):
                if (saved := _read(file, whose, broken)) is not None:
                    return saved
        for problem in broken:
            raise ConfigError(str(problem), file=problem.file, key=problem.key)
        loaded = self.load()
        hint = nearest(bare, (saved.name for saved in loaded.calls)) or "`mcp-studio list saved` shows them."
        raise UsageError(f"There is no saved call `{bare[:80]}`.", hint=hint)

    def write(self, saved: SavedCall, *, replace: bool) -> SavedCall:
        """Save a call under its name, `where` it says; gives it with its file.

        Raises:
            UsageError: there is one of that name, or the name cannot be used.
            ConfigError: it cannot be written.
        """
        file = self.path(saved.where) / f"{check_name(saved.name)}.toml"
        new = replace_fields(saved, file=file)
        try:
            before = file.read_bytes() if file.exists() else None
            if before is not None and not replace:
                raise UsageError(f"There is a saved call `{saved.name}` already.", hint=str(file))
            text = saved_text(new) if before is None else changed_text(before.decode("utf-8", "replace"), new)
            write_atomically(file, text.encode(), mode=0o644)
        except OSError as problem:
            raise ConfigError(f"It cannot be written: {problem.strerror or problem}.", file=str(file)) from None
        new = replace_fields(new, seen=digest(file, text.encode()))
        self.agree(new)
        return new

    def rename(self, saved: SavedCall, name: str) -> SavedCall:
        """Give a call another name.

        Raises:
            UsageError, ConfigError: as `write`.
        """
        file = saved.file.with_name(f"{check_name(name)}.toml")
        agreed = self.agreed(saved)
        try:
            if file.exists() and not (saved.file.exists() and file.samefile(saved.file)):
                raise UsageError(f"There is a saved call `{name}` already.", hint=str(file))
            saved.file.rename(file)
        except OSError as problem:
            raise ConfigError(f"It cannot be renamed: {problem.strerror or problem}.", file=str(saved.file)) from None
        new = replace_fields(saved, name=name, file=file)
        if agreed:
            self._agree_again(saved, new)
        return new

    def _agree_again(self, old: SavedCall, new: SavedCall) -> None:
        """The same file is agreed to under its new name; what somebody has changed meanwhile is asked about."""
        try:
            content = new.file.read_bytes()
        except OSError:
            return
        if digest(old.file, content) == old.seen:
            self.agree(replace_fields(new, seen=digest(new.file, content)))

    def delete(self, saved: SavedCall) -> None:
        """Remove its file.

        Raises:
            ConfigError: it cannot be removed.
        """
        try:
            saved.file.unlink(missing_ok=True)
        except OSError as problem:
            raise ConfigError(f"It cannot be deleted: {problem.strerror or problem}.", file=str(saved.file)) from None

    def agreed(self, saved: SavedCall) -> bool:
        """Whether it may use secrets of this computer: the person's own may, another's once they agreed to the file."""
        return saved.where == "personal" or not saved.references or self.trust.agreed(saved.seen)

    def agree(self, saved: SavedCall) -> None:
        """The person lets it use them, as it was when it was read: not as somebody may have changed it meanwhile."""
        if saved.where == "project" and saved.references and saved.seen:
            try:
                self.trust.agree(saved.seen, str(saved.file))
            except ConfigError:
                return  # it is asked about again


def folders(paths: Paths, cwd: Path, setting: str = "") -> Folders:
    """Where saved calls are for somebody in this folder; `setting` is `calls` of the settings."""
    trust = TrustStore(paths.trust_file)
    personal = paths.config / CALLS
    if setting:
        return Folders(Path(setting), personal, True, trust)
    root = _root(cwd.absolute())
    for folder in (cwd.absolute(), *cwd.absolute().parents):
        if (folder / PROJECT_FILE).is_file() or (folder / PROJECT_FOLDER).is_dir():
            return Folders(folder / PROJECT_FOLDER / CALLS, personal, True, trust)
        if folder == root:
            break
    return Folders(root / PROJECT_FOLDER / CALLS, personal, False, trust)


def split(name: str) -> tuple[Where | str, str]:
    """`project:NAME` or `personal:NAME` in two; a name alone is anybody's."""
    head, colon, bare = name.partition(":")
    return (head, bare) if colon and head in ("project", "personal") else ("", name)


def _root(cwd: Path) -> Path:
    """The top of the repository around a folder; the folder itself where there is none."""
    return next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), cwd)


def _files(folder: Path, problems: list[Problem]) -> Iterable[Path]:
    try:
        found = sorted(file for file in folder.iterdir() if file.suffix == ".toml" and not file.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as problem:
        problems.append(Problem(str(folder), "", f"cannot be read: {problem.strerror or problem}."))
        return ()
    if len(found) > _MOST:
        problems.append(Problem(str(folder), "", f"has {len(found)} files; the first {_MOST} are read."))
    return found[:_MOST]


def _read(file: Path, where: Where, problems: list[Problem]) -> SavedCall | None:
    try:
        check_name(file.stem)
        if not file.is_file():
            raise OSError("it is no file")
        if file.stat().st_size > _LARGEST:
            raise OSError("it is larger than 1 MB")
        data = file.read_bytes()
        text = data.decode("utf-8-sig")
    except UsageError as problem:
        problems.append(Problem(str(file), "", problem.message, problem.hint))
    except UnicodeDecodeError:
        problems.append(Problem(str(file), "", "is not UTF-8 text."))
    except OSError as problem:
        problems.append(Problem(str(file), "", f"cannot be read: {problem.strerror or problem}."))
    else:
        saved = read_saved(text, file.stem, file, where, problems)
        return saved if saved is None or where == "personal" else replace_fields(saved, seen=digest(file, data))
    return None
