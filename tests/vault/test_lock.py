"""A lock between processes: one holder at a time, a bound for waiting, and it goes with its process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_studio.vault.base import FileLock, LockHeld, beside
from tests.support import ROOT, run

HOLDER = """
import sys
from pathlib import Path
from mcp_studio.vault.base import FileLock
FileLock(Path(sys.argv[1])).acquire()
print("held", flush=True)
sys.stdin.read()
"""


def test_one_holds_it_at_a_time_also_within_a_process(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "new" / "a.lock", "the tokens of h"), FileLock(tmp_path / "new" / "a.lock")
    first.acquire()
    with pytest.raises(LockHeld, match=r"busy with a\.lock for more than 0 s"):
        second.acquire(0)
    first.release()
    first.release()
    with second, pytest.raises(LockHeld, match=r"busy with the tokens of h for more than 0\.05 s") as raised:
        first.acquire(0.05)
    assert str(tmp_path / "new" / "a.lock") in raised.value.hint
    first.acquire(0)
    first.release()


def test_it_goes_with_its_process_however_that_ends(tmp_path: Path) -> None:
    file = tmp_path / "a.lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    assert holder.stdin is not None and holder.stdout is not None
    with holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(LockHeld):
            FileLock(file).acquire(0)
        holder.kill()
    with FileLock(file):
        assert file.exists()


def test_waiting_for_it_beside_the_loop_holds_up_nothing(tmp_path: Path) -> None:
    async def go() -> None:
        held, wanted = FileLock(tmp_path / "a.lock"), FileLock(tmp_path / "a.lock")
        await beside(held.acquire)
        task = asyncio.ensure_future(beside(wanted.acquire, 20.0))
        await asyncio.sleep(0)
        assert not task.done()
        held.release()
        await task
        wanted.release()

    run(go())


def test_what_it_raises_beside_the_loop_arrives_there(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    async def go() -> None:
        with pytest.raises(OSError):
            await beside(FileLock(tmp_path / "file" / "a.lock").acquire)
        with FileLock(tmp_path / "a.lock"), pytest.raises(LockHeld):
            await beside(FileLock(tmp_path / "a.lock").acquire, patience=0)

    run(go())
