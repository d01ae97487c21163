"""The ends of a pipe: order is kept, little messages of one turn leave together, nothing is lost at the end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import pytest

from mcp_studio.transport import pipes
from mcp_studio.transport.lines import Line
from mcp_studio.transport.pipes import GATHERED, HEAD_START, LineReader, Pace, PipeWriter
from tests.support import run, wait_until


def pipe() -> tuple[int, PipeWriter]:
    theirs, ours = os.pipe()
    os.set_blocking(ours, False)
    return theirs, PipeWriter(ours, patience=5.0)


def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    sizes: list[int] = []
    write = os.write

    def counting(fd: int, data: bytes) -> int:
        sizes.append(len(data))
        return write(fd, data)

    monkeypatch.setattr("mcp_studio.transport.pipes.os.write", counting)
    return lambda: len(sizes)


def test_messages_of_one_turn_leave_in_two_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk() -> bytes:
        theirs, writer = pipe()
        writes = counted(monkeypatch)
        await asyncio.gather(*(writer.write(b"%d\n" % number) for number in range(50)))
        await asyncio.sleep(0)
        assert writes() == 2
        return os.read(theirs, 1 << 16)

    assert run(talk()) == b"".join(b"%d\n" % number for number in range(50))


def test_order_is_kept_however_large_the_messages_and_whoever_reads_late() -> None:
    sizes = [10, GATHERED * 40, 5, GATHERED, 7, GATHERED + 1, *range(60), GATHERED * 20, 3]

    async def talk() -> None:
        theirs, writer = pipe()
        messages = [b"%d:" % index + b"x" * size + b"\n" for index, size in enumerate(sizes)]
        wanted = b"".join(messages)
        first = [asyncio.create_task(writer.write(message)) for message in messages]
        got = b""
        while len(got) < len(wanted):
            got += await asyncio.to_thread(os.read, theirs, 1 << 16)
        await asyncio.gather(*first)
        assert got == wanted

    run(talk())


def test_what_was_taken_is_written_before_the_pipe_is_closed() -> None:
    async def talk() -> bytes:
        theirs, writer = pipe()
        await writer.write(b"one\n")
        await writer.write(b"two\n")
        writer.close()
        return os.read(theirs, 1 << 16)

    assert run(talk()) == b"one\ntwo\n"


@pytest.mark.parametrize("slices", [1.0, 0.0], ids=["one slice", "a slice for each line"])
def test_a_line_that_fails_costs_none_of_those_behind_it(slices: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "SLICE", slices)
    told: list[object] = []
    lines: list[Line] = []

    def take(line: Line) -> None:
        lines.append(line)
        if line == b"bad":
            raise ZeroDivisionError

    async def listen() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, about: told.append(about["exception"]))
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)
        reader = LineReader(ours, 1_000, take)
        os.write(theirs, b"one\nbad\ntwo\nbad\n")
        await wait_until(lambda: len(lines) == 4)
        os.write(theirs, b"three\nbad\nfour")
        os.close(theirs)
        await reader.ended

    run(listen())
    assert lines == [b"one", b"bad", b"two", b"bad", b"three", b"bad", b"four"]
    assert [type(error) for error in told] == [ZeroDivisionError] * 3


def test_a_flood_waits_while_a_key_is_drawn_and_nothing_of_it_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    pace = Pace()
    monkeypatch.setattr(pipes, "PACE", pace)
    lines: list[Line] = []
    flood = b"".join(b"%d\n" % number for number in range(pipes.FLOOD))

    async def listen() -> None:
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)
        LineReader(ours, 1_000, lines.append)
        os.write(theirs, flood)
        await wait_until(lambda: len(lines) == pipes.FLOOD)
        pace.key()
        os.write(theirs, flood)
        for _ in range(20):
            await asyncio.sleep(0)
        if pace.wait():  # a machine that stood still meanwhile tells nothing
            assert len(lines) == pipes.FLOOD
        await wait_until(lambda: len(lines) == 2 * pipes.FLOOD)
        assert not pace.wait()
        os.close(theirs)

    run(listen())


def test_a_server_that_sends_little_never_waits_for_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    pace = Pace()
    monkeypatch.setattr(pipes, "PACE", pace)
    lines: list[Line] = []

    async def listen() -> None:
        ours, theirs = os.pipe()
        os.set_blocking(ours, False)
        LineReader(ours, 1_000, lines.append)
        monkeypatch.setattr(pace, "wait", lambda: pytest.fail("it was asked to wait"))
        os.write(theirs, b"answer\n")
        await wait_until(lambda: len(lines) == 1)
        os.write(theirs, b"answer\n")
        await wait_until(lambda: len(lines) == 2)
        os.close(theirs)

    run(listen())


def test_keys_without_end_leave_servers_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("mcp_studio.transport.pipes.monotonic", lambda: now)
    pace, waited, steps = Pace(), 0, 1_000
    for _ in range(steps):
        now += HEAD_START / 10
        pace.key()
        waited += pace.wait() > 0
    assert steps * 0.3 < waited < steps * 0.7
