"""A studio that is killed in the middle of everything leaves all but its last moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from mcp_studio.trace.disk.session import Session
from tests.support import ROOT

FLOOD = ["call", "flood", "count=1000000", "rate=2000", "--", sys.executable, "-m", "tests.bench.quick_server"]
MOMENT = 0.25
BUSY = 2.0
"""Seconds that a machine with other things to do may need besides."""


def test_a_killed_studio_leaves_everything_but_its_last_moment(home: Path) -> None:
    folder = home / "state" / "trace"
    child = subprocess.Popen(
        [sys.executable, "-m", "mcp_studio", *FLOOD], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        end = time.monotonic() + 30
        while not (files := list(folder.glob("*.trace-wal"))) or files[0].stat().st_size < 500_000:
            assert child.poll() is None and time.monotonic() < end
            os.sched_yield()
        killed = time.time()
        child.send_signal(signal.SIGKILL)
    finally:
        child.kill()
        child.wait(10)
    session = Session(next(folder.glob("*.trace")))
    columns, count = session.columns, len(session)
    assert session.info.state == "crashed" and not session.problem and session.first_number == 1
    assert killed - MOMENT - BUSY < columns.time[-1] <= killed + 0.5
    floods = [
        number
        for number in range(1, count + 1)
        if columns.methods.texts[columns.method[number - 1]].endswith("/message")
    ]
    assert len(floods) > 100
    for place, number in enumerate(floods):
        if place in (0, len(floods) // 2, len(floods) - 1):
            entry = session.entry(number)
            assert entry is not None and b'"line %d"' % place in entry.body
    session.close()
