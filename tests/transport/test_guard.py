"""The guard as its client sees it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from mcp_studio.errors import Unreachable
from mcp_studio.transport.guard import Guard, GuardedChild, StartFailure
from tests.support import wait_until
from tests.transport.stdio_kit import alive

ENV = {"PATH": os.environ["PATH"]}


@asynccontextmanager
async def guard() -> AsyncIterator[Guard]:
    """A guard of one's own."""
    subject = Guard()
    try:
        yield subject
    finally:
        subject.stop()
        assert subject.pid == 0


def close_pipes(child: GuardedChild) -> None:
    for fd in (child.stdin_fd, child.stdout_fd, child.stderr_fd):
        os.close(fd)


async def output(child: GuardedChild) -> bytes:
    """All that it writes, once it is gone."""
    await child.gone
    got = os.read(child.stdout_fd, 1_000_000)
    close_pipes(child)
    return got


async def started(subject: Guard, *argv: str) -> GuardedChild:
    return await subject.spawn(argv, ENV, "/")


async def test_a_child_is_started_and_its_exit_code_told() -> None:
    async with guard() as subject:
        child = await started(subject, "sh", "-c", "echo $$; exit 5")
        assert await child.exited == 5
        assert int(await output(child)) == child.pid


@pytest.mark.parametrize(
    ("argv", "cwd", "step", "number"),
    [
        (["no-such-thing"], "/", "exec", 2),
        (["/etc/passwd"], "/", "exec", 13),
        (["sh"], "/no/such/folder", "cwd", 2),
        (["sh"], "/etc/passwd", "cwd", 20),
    ],
)
async def test_what_failed_at_the_start_is_told(argv: list[str], cwd: str, step: str, number: int) -> None:
    async with guard() as subject:
        before = len(os.listdir("/dev/fd"))
        with pytest.raises(StartFailure) as caught:
            await subject.spawn(argv, ENV, cwd)
        assert (caught.value.step, caught.value.errno) == (step, number)
        assert len(os.listdir("/dev/fd")) <= before + 1  # the guard's own socket
        assert await (await started(subject, "true")).exited == 0


async def test_stopping_ends_the_child_and_what_it_started() -> None:
    async with guard() as subject:
        child = await started(subject, "sh", "-c", "setsid sleep 600 & echo $!; wait")
        os.set_blocking(child.stdout_fd, True)
        inner = int(os.read(child.stdout_fd, 100))
        child.stop()
        await child.gone
        assert child.exited.result() == -signal.SIGTERM
        assert not alive(inner)
        close_pipes(child)


async def test_killing_does_not_wait_for_manners() -> None:
    async with guard() as subject:
        child = await started(subject, "sh", "-c", "trap '' TERM; echo; while :; do sleep 600; done")
        began = time.monotonic()
        child.kill()
        await child.gone
        assert time.monotonic() - began < 10
        assert child.exited.result() == -signal.SIGKILL
        close_pipes(child)


async def test_releasing_leaves_the_rest_to_the_keeper() -> None:
    async with guard() as subject:
        child = await started(subject, "sleep", "600")
        child.release()
        child.release()
        close_pipes(child)
        await wait_until(lambda: not alive(child.pid))


async def test_left_over_processes_are_counted() -> None:
    async with guard() as subject:
        child = await started(subject, "sh", "-c", "setsid sleep 600 & sleep 600 & exit 0")
        await child.gone
        assert child.left == 2
        close_pipes(child)


async def test_a_child_has_no_descriptors_but_its_own_three() -> None:
    async with guard() as subject:
        others = [await started(subject, "sleep", "600") for _ in range(3)]
        child = await started(subject, sys.executable, "-c", "import os; print(sorted(os.listdir('/dev/fd')))")
        # The fourth is the one that reads the folder.
        assert await output(child) == b"['0', '1', '2', '3']\n"
        for other in others:
            other.release()
            close_pipes(other)


async def test_descriptors_that_our_own_parent_left_open_do_not_reach_a_child() -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    async with guard() as subject:
        child = await started(subject, "sleep", "600")
        os.close(writing)
        assert os.read(reading, 1) == b""
        child.release()
        close_pipes(child)
    os.close(reading)


async def test_signals_are_as_a_fresh_program_expects_them() -> None:
    code = "print(*(line.split()[1] for line in open('/proc/self/status') if line[:6] in ('SigBlk', 'SigIgn')))"

    async with guard() as subject:
        child = await started(subject, sys.executable, "-c", code)
        blocked, ignored = (int(word, 16) & 0x7FFFFFFF for word in (await output(child)).split())
        assert blocked == 0
        assert ignored == 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1  # by Python itself


async def test_a_request_larger_than_the_socket_arrives_whole() -> None:
    async with guard() as subject:
        words = [str(number) * 25_000 for number in range(10)]
        child = await started(subject, sys.executable, "-c", "import sys; print(len(''.join(sys.argv[1:])))", *words)
        assert await output(child) == b"250000\n"


async def test_many_children_start_at_once() -> None:
    async with guard() as subject:
        children = await asyncio.gather(*(started(subject, "sh", "-c", f"exit {n}") for n in range(30)))
        assert [await child.exited for child in children] == list(range(30))
        for child in children:
            await child.gone
            close_pipes(child)


async def test_a_killed_guard_is_replaced() -> None:
    async with guard() as subject:
        child = await started(subject, "sleep", "600")
        os.kill(subject.pid, signal.SIGKILL)
        await child.gone
        close_pipes(child)
        assert not alive(child.pid)
        other = await started(subject, "true")
        assert await other.exited == 0
        await other.gone
        close_pipes(other)


async def test_a_cancelled_start_leaves_nobody() -> None:
    async with guard() as subject:
        subject.start()
        before = len(os.listdir("/dev/fd"))
        starting = asyncio.create_task(subject.spawn(["sleep", "600"], ENV, "/"))
        await asyncio.sleep(0)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert len(os.listdir("/dev/fd")) == before


def test_windows_is_told_that_it_has_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "name", "nt")
        with pytest.raises(Unreachable, match="on Windows yet") as caught:
            Guard().start()
    assert "URL" in caught.value.hint
