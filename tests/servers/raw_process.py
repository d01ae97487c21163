"""Faults of the process: how it starts, reads and ends, and which processes it leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

STUBBORN = "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.write(1, b'.')\ntime.sleep(600)"


def say(text):
    """A line on standard error."""
    os.write(2, text.encode() + b"\n")


def dies_at_start(server):
    """Ends before it reads anything."""
    say("raw: loading the licence")
    say("raw: fatal: no licence file")
    sys.exit(3)


def slow_start(server):
    """Waits before it reads."""
    time.sleep(server.delay)


def never_reads(server):
    """Lives, but never reads its input."""
    while True:
        time.sleep(600)


def closed_stdin(server):
    """Closes its input at once, and lives on."""
    os.close(0)
    while True:
        time.sleep(600)


def closed_stdout(server):
    """Closes its output at once, and lives on."""
    os.close(1)
    while True:
        time.sleep(600)


def stubborn(server):
    """Serves, but ignores SIGTERM. `raw_faults` also keeps it running when its input ends."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _child(**options):
    """Start a child that ignores SIGTERM; returns as soon as the child ignores it."""
    process = subprocess.Popen([sys.executable, "-S", "-c", STUBBORN], stdout=subprocess.PIPE, **options)
    process.stdout.read(1)
    return process.pid


def grandchildren(server):
    """Starts a child, a child in its own session, and a daemon (double fork, setsid); all ignore SIGTERM."""
    pids = [_child(), _child(start_new_session=True)]
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        pid = _child()
        os.write(writing, str(pid).encode())
        os._exit(0)
    os.wait()
    pids.append(int(os.read(reading, 32)))
    say("children " + " ".join(map(str, pids)))


def leaves_child(server):
    """Ends when its input ends, as npx does, but leaves the working child behind."""
    say(f"children {_child(start_new_session=True)}")


def exits_mid_call(server):
    """Ends with code 7 instead of answering."""
    say("panic: out of cheese")
    os._exit(7)


def killed_mid_call(server):
    """Is killed instead of answering."""
    os.kill(os.getpid(), signal.SIGKILL)


def stderr_flood(server):
    """Ten megabytes of standard error before each answer."""
    for number in range(1_000):
        say(f"{number:05} " + "x" * 10_000)


START = {
    "dies-at-start": dies_at_start,
    "slow-start": slow_start,
    "never-reads": never_reads,
    "closed-stdin": closed_stdin,
    "closed-stdout": closed_stdout,
    "stubborn": stubborn,
    "grandchildren": grandchildren,
    "leaves-child": leaves_child,
}
"""The faults before the first read."""
ON_CALL = {"exits-mid-call": exits_mid_call, "killed-mid-call": killed_mid_call, "stderr-flood": stderr_flood}
"""The faults before the answer to a tool call."""
