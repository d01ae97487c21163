"""A lock between processes: one holder at a time, a bound for waiting, and it goes with its process. And `beside`."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mcp_studio.vault.base import LockHeld, beside, file_lock
from tests.support import ROOT

HOLDER = """
import sys
from pathlib import Path
from mcp_studio.vault.base import file_lock
with file_lock(Path(sys.argv[1]), "it"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_holds_it_at_a_time_also_within_a_process(tmp_path: Path) -> None:
    file = tmp_path / "new" / "a.lock"
    for patience in (0, 0.05):
        with (
            file_lock(file, "it"),
            pytest.raises(LockHeld, match=rf"busy with the tokens of h for more than {patience:g} s") as raised,
            file_lock(file, "the tokens of h", patience),
        ):
            pytest.fail("two hold it")
        assert str(file) in raised.value.hint
    with file_lock(file, "it", 0):
        assert file.stat().st_mode & 0o077 == 0


def test_it_goes_with_its_process_however_that_ends(tmp_path: Path) -> None:
    file = tmp_path / "a.lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    assert holder.stdin is not None and holder.stdout is not None
    with holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(LockHeld), file_lock(file, "it", 0):
            pytest.fail("two hold it")
        holder.kill()
    with file_lock(file, "it"):
        assert file.exists()


async def test_what_is_raised_beside_the_loop_comes_back_whatever_it_is() -> None:
    """A library of the system may raise anything: nobody waits for an answer that never comes."""

    def fails(kind: type[Exception]) -> None:
        raise kind("no")

    assert await beside(lambda: 1) == 1
    for kind in (OSError, ValueError, KeyError, MemoryError):
        with pytest.raises(kind):
            await beside(fails, kind)


async def test_whoever_leaves_is_not_held_up() -> None:
    done = threading.Event()
    task = asyncio.create_task(beside(done.wait, 10))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    done.set()
