"""Sessions in a folder: listed, found, deleted, and kept within bounds."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from mcp_studio.errors import StudioError, UsageError
from mcp_studio.trace.disk.sessions import delete, find, prune, sessions, used
from tests.trace.disk.batches import NAMES, batch, bodies, write

DAY = 86_400


def ended(folder: Path, name: str, *, age: float = 0, count: int = 3) -> Path:
    """A session of this name that was last written so many seconds ago."""
    path = write(folder, batch(1, bodies(1, count))).path
    assert path
    moved = path.rename(folder / f"{name}.trace")
    os.utime(moved, (time.time() - age, time.time() - age))
    return moved


def test_what_is_listed_of_a_session(tmp_path: Path) -> None:
    before = time.time()
    writer = write(tmp_path, batch(1, bodies(1, 3), names=(*NAMES, ("server", 3, "git"))), title="A try")
    (tmp_path / "notes.txt").write_text("not a session")
    (tmp_path / "broken.trace").write_text("not a session either")
    broken, info = sessions(tmp_path)
    assert info.path == writer.path and (info.state, info.origin, info.title) == ("ended", "test", "A try")
    assert info.ended is not None and before <= info.began <= info.ended <= time.time()
    assert (info.entries, info.first, info.servers, info.pid) == (3, 1, ("files", "git"), os.getpid())
    assert info.bytes == info.path.stat().st_size and info.problem == ""
    assert (broken.state, broken.problem) == ("unreadable", "broken.trace is not a session of the studio.")
    assert used(tmp_path) == (2, info.bytes + broken.bytes)
    assert sessions(tmp_path / "nowhere") == [] and used(tmp_path / "nowhere") == (0, 0)


def test_a_session_is_found_by_its_name_or_how_that_begins(tmp_path: Path) -> None:
    one, other = ended(tmp_path, "20260101-100000-1"), ended(tmp_path, "20260102-100000-1")
    assert find(tmp_path, one.stem) == find(tmp_path, one.name) == one
    assert find(tmp_path, "20260102") == other
    with pytest.raises(UsageError, match="2 sessions begin with `2026`"):
        find(tmp_path, "2026")
    with pytest.raises(UsageError) as none:
        find(tmp_path, "2027")
    assert none.value.hint == "The newest one is 20260102-100000-1."
    with pytest.raises(UsageError):
        find(tmp_path / "nowhere", "")


def test_the_newest_is_one_that_has_something_in_it_and_is_not_our_own(tmp_path: Path) -> None:
    full, empty = ended(tmp_path, "20200101-100000-1"), write(tmp_path, batch(1, [])).path
    assert empty and sessions(tmp_path)[0].path == empty and find(tmp_path, "last") == full
    with pytest.raises(UsageError, match="Nothing is being recorded now"):
        find(tmp_path, "running")
    ours = write(tmp_path, batch(1, bodies(1, 3)), close=False)
    assert find(tmp_path, "running") == ours.path and find(tmp_path, "last") == full
    assert ours.close() and find(tmp_path, "last") == ours.path


def test_the_oldest_go_first_and_those_being_written_stay(tmp_path: Path) -> None:
    running = write(tmp_path, batch(1, bodies(1, 3)), close=False)
    assert running.path
    os.utime(running.path, (0, 0))
    files = [ended(tmp_path, f"2026010{n}-100000-1", age=(9 - n) * DAY) for n in range(1, 6)]
    now = time.time()
    assert prune(tmp_path, 1 << 40, now - 7.5 * DAY) == 1
    assert [file.exists() for file in files] == [False, True, True, True, True]
    total = used(tmp_path)[1]
    assert prune(tmp_path, total - 1, 0) == 1 and not files[1].exists()
    assert prune(tmp_path, 1 << 40, 0, most=2) == 2 and files[4].exists()
    assert prune(tmp_path, 0, now) == 1
    assert [info.path for info in sessions(tmp_path)] == [running.path]
    assert running.close()


def test_a_new_session_prunes_the_old_ones(tmp_path: Path) -> None:
    old = ended(tmp_path, "20250101-100000-1", age=15 * DAY)
    (tmp_path / "20250101-110000-2.lock").write_text("")
    young = ended(tmp_path, "20260101-100000-1")
    writer = write(tmp_path, batch(1, bodies(1, 3)), max_age=14 * DAY)
    assert writer.path and not old.exists()
    assert sorted(tmp_path.iterdir()) == sorted([young, writer.path])


def test_a_running_session_is_not_deleted(tmp_path: Path) -> None:
    writer = write(tmp_path, batch(1, bodies(1, 3)), close=False)
    assert writer.path
    with pytest.raises(StudioError, match="still being recorded"):
        delete(writer.path)
    assert writer.close()
    delete(writer.path)
    delete(writer.path)
    assert list(tmp_path.iterdir()) == []
