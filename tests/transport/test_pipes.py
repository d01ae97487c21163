"""The writer of a pipe: order is kept, little messages of one turn leave together, nothing is lost at the end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import pytest

from mcp_studio.transport.pipes import GATHERED, PipeWriter
from tests.support import run


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
