"""The writer never waits or raises: bounds, slow and full disks, other studios, a killed process."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from mcp_studio.trace.disk import format
from mcp_studio.trace.disk.format import Batch
from mcp_studio.trace.disk.session import Session
from mcp_studio.trace.disk.sessions import describe, is_locked, release_lock, sessions, take_lock
from mcp_studio.trace.disk.writer import SessionFile, Writer
from tests.support import ROOT
from tests.trace.disk.batches import batch, bodies, body, wait, write

MB = 1 << 20


def test_files_are_private_and_only_one_is_left_in_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "trace"
    writer = Writer(folder)
    assert not folder.exists()
    writer.put(batch(1, bodies(1, 3)))
    assert wait(writer, 3) and writer.path
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    assert len(list(folder.iterdir())) == 4
    assert writer.close() and list(folder.iterdir()) == [writer.path]


def test_without_an_entry_there_is_no_file(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "trace")
    assert writer.close() and not (tmp_path / "trace").exists() and writer.path is None


def test_two_studios_write_their_own_sessions(tmp_path: Path) -> None:
    one, other = (write(tmp_path, batch(1, bodies(1, 3)), close=False) for _ in range(2))
    other.put(batch(4, [b"more"], names=()))
    assert one.path != other.path and {info.state for info in sessions(tmp_path)} == {"running"}
    assert one.close() and other.close()
    assert sorted(info.entries for info in sessions(tmp_path)) == [3, 4]


def test_a_session_that_alone_is_too_large_loses_its_oldest_entries(tmp_path: Path) -> None:
    writer = Writer(tmp_path, max_bytes=2 * MB)
    first = 1
    for _ in range(20):
        writer.put(
            batch(first, [b"%07d" % n * 100 for n in range(first, first + 500)], names=None if first == 1 else ())
        )
        first += 500
        assert wait(writer, first - 1)
    assert 0 < writer.trimmed < writer.written == 10_000 and writer.lost == 0
    assert writer.close() and writer.path and writer.path.stat().st_size < 3 * MB
    session = Session(writer.path)
    assert session.first_number == writer.trimmed + 1 and session.total == 10_000 and session.problem == ""
    entry = session.entry(session.first_number)
    assert entry and entry.body == b"%07d" % session.first_number * 100
    assert describe(writer.path).entries == len(session)
    session.close()


def test_what_a_slow_disk_cannot_take_is_counted_and_keeps_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, really = threading.Event(), SessionFile.write

    def slow(self: SessionFile, batch: Batch, lost: int) -> None:
        assert go.wait(20)
        really(self, batch, lost)

    monkeypatch.setattr(SessionFile, "write", slow)
    writer = Writer(tmp_path, queue_bytes=1 * MB)
    for number in range(1, 31):
        writer.put(batch(number, [b"x" * 100_000], names=None if number == 1 else ()))
    assert writer.lost == 20 and not writer.failed
    go.set()
    assert writer.close(20) and writer.written == 30 and writer.path
    session = Session(writer.path)
    kept = [number for number in range(1, 31) if session[number - 1].body]
    assert kept == list(range(1, 11)) and session[29].size == 100_000
    assert session.info.lost == 20 and "20 messages" in session.problem
    session.close()


def test_a_disk_that_does_not_answer_at_all_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    monkeypatch.setattr(SessionFile, "write", lambda *_: go.wait(20))
    writer = Writer(tmp_path, queue_bytes=10_000)
    for number in range(1, 400):
        writer.put(batch(number, [b"x"]))
    assert "does not answer" in writer.failed
    go.set()
    assert not writer.close(20)


def test_a_full_disk_is_told_and_what_was_written_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really = format.create

    def small(path: Path) -> sqlite3.Connection:
        db = really(path)
        db.execute("PRAGMA max_page_count=50")
        return db

    monkeypatch.setattr(format, "create", small)
    writer = Writer(tmp_path)
    first = 1
    for _ in range(100):
        writer.put(batch(first, bodies(first, 100), names=None if first == 1 else ()))
        first += 100
        assert wait(writer, first - 1) or writer.failed
    assert not writer.close(20) and writer.written > 100
    assert writer.failed == "The trace is no longer recorded: the disk is full."
    writer.put(batch(first, bodies(first, 100)))
    assert writer.path
    session = Session(writer.path)
    assert session.total == writer.written and session.problem == ""
    session.close()


def test_what_cannot_be_stored_is_told(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.put(batch(1, [b"x"], extras={(1, "comment"): float("nan")}))
    assert not writer.close(20) and "JSON" in writer.failed


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("a file")
    writer = Writer(tmp_path / "trace")
    writer.put(batch(1, [b"x"]))
    assert not wait(writer, 1) and writer.path is None
    assert writer.failed == f"The trace is no longer recorded: {tmp_path / 'trace'} cannot be written, File exists."
    assert not writer.close()


WRITE = """
import sys
from pathlib import Path
from mcp_studio.trace.disk.writer import Writer
from tests.trace.disk.batches import batch, bodies, wait
writer = Writer(Path(sys.argv[1]))
first, seed = 1, int(sys.argv[2])
while True:
    count = 1 + (first * 7919 + seed) % 200
    writer.put(batch(first, bodies(first, count), names=None if first == 1 else ()))
    assert wait(writer, first + count - 1)
    print(writer.written, flush=True)
    first += count
"""


def test_a_killed_process_loses_only_what_was_not_handed_over(tmp_path: Path) -> None:
    chance = random.Random(1)
    for round_ in range(4):
        folder = tmp_path / str(round_)
        command = [sys.executable, "-c", WRITE, str(folder), str(chance.randrange(1000))]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as process:
            assert process.stdout
            stop = time.monotonic() + chance.random() * 0.3
            told = [process.stdout.readline()]
            (info,) = sessions(folder)
            assert (info.state, info.pid) == ("running", process.pid)
            while time.monotonic() < stop:
                told.append(process.stdout.readline())
            os.kill(process.pid, signal.SIGKILL)
            told += process.stdout.readlines()
        whole = [line for line in told if line.endswith("\n")]
        (info,) = sessions(folder)
        assert info.state == "crashed" and info.problem == "" and info.ended is None
        session = Session(info.path)
        assert session.problem == "" and session.total == len(session) >= int(whole[-1])
        reader = session.reader()
        blocks = reversed(list(reader.blocks(session.total + 1)))
        assert [body for block in blocks for body in block.bodies] == list(bodies(1, session.total))
        reader.close()
        session.close()
        later = write(folder, batch(1, bodies(1, 2)))  # the next one tidies up
        assert later.path and sorted(folder.iterdir()) == sorted([info.path, later.path])
        (again,) = [one for one in sessions(folder) if one.path == info.path]
        assert (again.state, again.entries) == ("crashed", info.entries)


def test_a_lock_is_seen_while_it_is_held_and_goes_with_its_holder(tmp_path: Path) -> None:
    file = tmp_path / "x.lock"
    handle = take_lock(file)
    assert handle is not None and is_locked(file) and take_lock(file) is None
    release_lock(file, handle)
    assert not is_locked(file) and not file.exists()


def test_bodies_of_any_bytes_come_back(tmp_path: Path) -> None:
    odd = [b"", bytes(range(256)), b"\x00" * 5_000, b"x" * 16_384, b"y" * 16_385, b"\xff\xfe", body(1)]
    path = write(tmp_path, batch(1, odd)).path
    assert path
    session = Session(path)
    assert [session[n].body for n in range(len(odd))] == odd
    session.close()


def test_what_stands_beside_many_entries_is_written_while_the_event_loop_is_busy(tmp_path: Path) -> None:
    many = 3_000
    found = {(number, "comment"): f"about {number}" for number in range(1, many + 1)}
    later = {(5, "comment"): None, (6, "comment"): "last"}
    writer = Writer(tmp_path, "test")
    writer.put(batch(1, bodies(1, many), extras={**found, **later}))
    began = time.thread_time()
    while writer.written < many:
        assert time.thread_time() - began < 5, "each row takes a turn of the interpreter"
    assert writer.close(20) and writer.path
    session = Session(writer.path)
    with closing(session), closing(session.reader()) as reader:
        told = [reader.extra(number, "comment") for number in (1, 5, 6, many)]
    assert told == ["about 1", None, "last", f"about {many}"]
