"""However a program ends that has started servers: nothing of them is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support import ROOT, python_server, run, wait_until
from tests.transport.stdio_kit import alive, below, command, faulty

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


@contextmanager
def parent(*servers: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A program with these servers running, in a session of its own; killed afterwards if it still lives."""
    argv = [word for server in servers for word in ("--", *server)]
    started = [sys.executable, "-m", "tests.transport.parent_program", *argv]
    process = subprocess.Popen(started, cwd=ROOT, stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def nobody_left(pids: dict[int, str]) -> None:
    """Fails if one of them still lives after half a minute."""
    run(wait_until(lambda: not any(map(alive, pids)), timeout=60, what=f"the end of {pids}"))


FAMILIES = [faulty("grandchildren"), faulty("stubborn"), faulty("leaves-child"), python_server("raw_server")]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGSEGV])
def test_nothing_is_left_after_the_program_is_ended_by(number: signal.Signals) -> None:
    with parent(*FAMILIES) as program:
        pids = below(program.pid)
        # The guard, four keepers, four servers, and the four children of two of them (a daemon's shell is gone).
        assert len(pids) == 1 + 4 + 4 + 4, pids
        program.send_signal(number)
        nobody_left(pids)


def test_a_signal_to_the_whole_terminal_group_lets_the_guard_do_its_work() -> None:
    with parent(faulty("grandchildren")) as program:
        pids = below(program.pid)
        os.killpg(program.pid, signal.SIGHUP)
        nobody_left(pids)


def test_interrupting_the_terminal_does_not_reach_servers_or_guard() -> None:
    with parent(python_server("raw_server")) as program:
        for pid in below(program.pid):
            assert os.getpgid(pid) != os.getpgid(program.pid)
            assert os.getsid(pid) != os.getsid(program.pid)


def test_guard_and_keepers_ignore_what_a_logout_sends() -> None:
    with parent(python_server("raw_server")) as program:
        ours = [pid for pid, line in below(program.pid).items() if "guard_program" in line]
        assert len(ours) == 2
        for pid in ours:
            for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
                os.kill(pid, number)
        assert all(map(alive, ours))
        assert len(below(program.pid)) == 3


def test_killing_the_guard_itself_ends_keepers_and_servers() -> None:
    with parent(*FAMILIES) as program:
        pids = below(program.pid)
        (guard,) = (pid for pid, line in pids.items() if "guard_program" in line and pid == min(pids))
        os.kill(guard, signal.SIGKILL)
        nobody_left(pids)
        assert program.poll() is None


def test_killing_a_keeper_ends_its_server() -> None:
    with parent(python_server("raw_server")) as program:
        guard, keeper, server = sorted(below(program.pid))
        assert "guard_program" in command(keeper)
        os.kill(keeper, signal.SIGKILL)
        nobody_left({keeper: "", server: ""})
        assert alive(guard)
