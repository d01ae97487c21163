"""The ends of a pipe: order is kept, nothing is lost at the end."""

from __future__ import annotations

import asyncio
import os

import pytest

from mcp_studio.protocol.lines import Line
from mcp_studio.transport import stdio
from mcp_studio.transport.stdio import LineReader, PipeWriter
from tests.support import run, wait_until


async def pipe() -> tuple[int, PipeWriter]:
    theirs, ours = os.pipe()
    return theirs, await PipeWriter.open(ours, patience=5.0)


async def test_order_is_kept_however_large_the_messages_and_whoever_reads_late() -> None:
    sizes = [10, 700_000, 5, 16_384, 7, 16_385, *range(60), 300_000, 3]

    theirs, writer = await pipe()
    messages = [b"%d:" % index + b"x" * size + b"\n" for index, size in enumerate(sizes)]
    wanted = b"".join(messages)
    first = [asyncio.create_task(writer.write(message)) for message in messages]
    got = b""
    while len(got) < len(wanted):
        got += await asyncio.to_thread(os.read, theirs, 1 << 16)
    await asyncio.gather(*first)
    assert got == wanted
    writer.close()
    os.close(theirs)


def test_what_was_taken_is_written_before_the_pipe_is_closed() -> None:
    async def talk() -> bytes:
        theirs, writer = await pipe()
        await writer.write(b"one\n")
        await writer.write(b"two\n")
        writer.close()
        return os.read(theirs, 1 << 16)

    assert run(talk()) == b"one\ntwo\n"


@pytest.mark.parametrize("slices", [1.0, 0.0], ids=["one slice", "a slice for each line"])
def test_a_line_that_fails_costs_none_of_those_behind_it(slices: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "SLICE", slices)
    told: list[object] = []
    lines: list[Line] = []

    def take(line: Line) -> None:
        lines.append(line)
        if line == b"bad":
            raise ZeroDivisionError

    async def listen() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, about: told.append(about["exception"]))
        ours, theirs = os.pipe()
        reader = LineReader(ours, 1_000, take)
        os.write(theirs, b"one\nbad\ntwo\nbad\n")
        await wait_until(lambda: len(lines) == 4)
        os.write(theirs, b"three\nbad\nfour")
        os.close(theirs)
        await reader.ended

    run(listen())
    assert lines == [b"one", b"bad", b"two", b"bad", b"three", b"bad", b"four"]
    assert [type(error) for error in told] == [ZeroDivisionError] * 3
