"""Frames to and from real child processes."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import time

import pytest

from mcp_studio.errors import ConnectionLost, LimitExceeded
from mcp_studio.protocol.events import Outgoing
from mcp_studio.transport import stdio
from tests.support import python_server, run, wait_until
from tests.transport.stdio_kit import Ear, alive, call, faulty, message, opened, python, transport

ECHO = python("data = b'-'\nwhile data:\n    data = os.read(0, 65536)\n    say(data)")
FRAME = b'{"jsonrpc":"2.0","method":"x"}'


async def test_a_request_gets_its_answer() -> None:
    async with opened(python_server("raw_server")) as (subject, ear):
        await subject.send(call(1, text="hello"))
        (frame,) = await ear.frames_are(1)
        assert json.loads(frame)["result"]["content"][0]["text"] == "hello"
        kinds = [kind for kind, _ in ear.heard]
        assert kinds == ["note", "sent", "received", "frame"]


async def test_opening_tells_command_and_pid() -> None:
    ear = Ear()
    subject = transport(["/bin/cat", "-u"], ear)
    opened = await subject.open(ear)
    assert opened.target == "/bin/cat -u"
    assert alive(opened.pid)
    await subject.close()
    assert not alive(opened.pid)
    assert ear.ends == []
    assert ear.all("note")[-1] == "it was closed: it ended with exit code 0"


async def test_messages_sent_at_once_arrive_whole_and_in_order() -> None:
    async with opened(ECHO) as (subject, ear):
        sizes = [10, 300_000, 5, 70_000, 0, 1_000_000, 20]
        frames = [b'{"n":"' + str(size).encode() + b"x" * size + b'"}' for size in sizes]
        await asyncio.gather(*(subject.send(Outgoing(frame, "notification")) for frame in frames))
        assert await ear.frames_are(len(frames)) == frames


async def test_a_newline_inside_a_message_does_not_break_it_in_two() -> None:
    async with opened(ECHO) as (subject, ear):
        await subject.send(Outgoing(b'{"a":\n1}', "notification"))
        assert await ear.frames_are(1) == [b'{"a": 1}']


async def test_a_cancelled_sender_does_not_cut_its_message() -> None:
    slow = python("time.sleep(0.2)\nwhile data := os.read(0, 65536): say(data)")

    async with opened(slow) as (subject, ear):
        big = Outgoing(b'{"big":"' + b"x" * 3_000_000 + b'"}', "notification")
        sending = asyncio.create_task(subject.send(big))
        await asyncio.sleep(0)
        sending.cancel()
        await subject.send(Outgoing(FRAME, "notification"))
        assert await ear.frames_are(2) == [big.frame, FRAME]


async def test_output_that_is_no_json_is_stray_and_never_a_frame() -> None:
    lines = (
        rb"'Welcome\n\n  \r\n{\"a\":1}\r\n\xef\xbb\xbf {\"b\":2}\n  [3]\nnull\n{oops\n\"text\"\n\x1b[31m{\n{\"end\":1}'"
    )

    async with opened(python(f"say(b{lines.decode()})")) as (_, ear):
        assert await ear.frames_are(4) == [b'{"a":1}', b'{"b":2}', b"  [3]", b'{"end":1}']
        assert ear.all("received") == ear.frames
        assert ear.all("stray") == [b"Welcome", b"null", b"{oops", b'"text"', b"\x1b[31m{"]


async def test_invalid_utf8_stays_as_it_came() -> None:
    async with opened(faulty("invalid-utf8")) as (subject, ear):
        await subject.send(call(1))
        (frame,) = await ear.frames_are(1)
        assert b"caf\xe9 \xff\xfe" in frame
        await subject.send(call(2))
        assert len(await ear.frames_are(2)) == 2


async def test_twenty_megabytes_on_one_line() -> None:
    async with opened(faulty("big-result")) as (subject, ear):
        await subject.send(call(1))
        (frame,) = await ear.frames_are(1)
        assert len(json.loads(frame)["result"]["content"][0]["text"]) == 20_000_000


@pytest.mark.parametrize("fault", ["big-result", "big-result-id-last"])
async def test_a_line_over_the_limit_is_dropped_and_its_caller_answered(fault: str) -> None:
    async with opened(faulty(fault, "--size", "3000000"), message=100_000) as (subject, ear):
        await subject.send(call(41))
        await wait_until(lambda: ear.undeliverable)
        ((out, error),) = ear.undeliverable
        assert out.id == 41 and isinstance(error, LimitExceeded) and error.limit == "message"
        assert ear.all("received") == []
        assert "2.9 MB" in ear.all("note")[-1]
        await subject.send(message("ping", 42))
        assert json.loads((await ear.frames_are(1))[0]) == {"jsonrpc": "2.0", "id": 42, "result": {}}


async def test_standard_error_comes_by_line_and_long_lines_are_cut() -> None:
    code = "os.write(2, b'one\\r\\n\\xfftwo\\n' + b'x' * 100_000 + b'\\nlast'); say(b'{}')"

    async with opened(python(code)) as (_, ear):
        await ear.the_end()
        first, second, long, last = ear.all("stderr")
        assert (first, second, last) == (b"one", b"\xfftwo", b"last")
        assert len(long) < 20_000
        assert long.endswith("… 93.7 KB more".encode())


async def test_a_stderr_flood_does_not_hold_up_the_answer() -> None:
    async with opened(faulty("stderr-flood")) as (subject, ear):
        await subject.send(call(1))
        await ear.frames_are(1)
        await wait_until(lambda: len(ear.all("stderr")) == 1_000)


async def test_a_server_that_never_reads_ends_the_connection_in_time() -> None:
    async with opened(faulty("never-reads"), write=0.3) as (subject, ear):
        big = Outgoing(b'{"big":"' + b"x" * 5_000_000 + b'"}', "request", 1)
        began = time.monotonic()
        results = await asyncio.gather(*(subject.send(big) for _ in range(3)), return_exceptions=True)
        assert all(isinstance(result, ConnectionLost) for result in results)
        assert time.monotonic() - began < 12
        assert "has not read its input for 0.3 seconds" in (await ear.the_end()).message
    assert len(ear.ends) == 1


async def test_a_slow_reader_is_waited_for_as_long_as_it_reads() -> None:
    slow = python(
        "left = 1_800_011\nwhile left:\n    time.sleep(0.05)\n    left -= len(os.read(0, 150_000))\nsay(b'{}')"
    )

    async with opened(slow, write=0.3) as (subject, ear):
        await subject.send(Outgoing(b'{"big":"' + b"x" * 1_800_000 + b'"}', "request", 1))
        assert await ear.frames_are(1) == [b"{}"]


async def test_a_server_that_closes_its_input_is_lost_without_waiting_for_a_write() -> None:
    async with opened(faulty("closed-stdin")) as (subject, ear):
        assert "closed its standard input" in (await ear.the_end()).message
        with pytest.raises(ConnectionLost, match="closed its standard input"):
            await subject.send(call(1))
    assert len(ear.ends) == 1


async def test_a_server_that_closes_its_output_is_lost() -> None:
    async with opened(faulty("closed-stdout")) as (_, ear):
        assert "closed its standard output" in (await ear.the_end()).message


@pytest.mark.parametrize(
    ("fault", "words"), [("exits-mid-call", "exit code 7; it said last: panic"), ("killed-mid-call", "SIGKILL")]
)
async def test_an_end_in_the_middle_of_a_call_says_how(fault: str, words: str) -> None:
    async with opened(faulty(fault)) as (subject, ear):
        await subject.send(call(1))
        assert words in (await ear.the_end()).message


async def test_an_old_line_on_standard_error_is_no_reason_for_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "RECENT", 0.0)
    async with opened(faulty("exits-mid-call")) as (subject, ear):
        await subject.send(call(1))
        assert (await ear.the_end()).message.endswith("exit code 7.")


async def test_what_was_written_before_the_end_is_delivered_before_it_is_told() -> None:
    code = "say(b'{\"n\":1}\\n' * 50_000 + b'{\"last\":1}')"

    async with opened(python(code)) as (_, ear):
        await ear.the_end()
        assert len(ear.frames) == 50_001
        assert ear.frames[-1] == b'{"last":1}'


async def test_a_flood_leaves_the_loop_to_others() -> None:
    code = 'line = b\'{"jsonrpc":"2.0","method":"n"}\\n\' * 2000\nwhile True: say(line)'

    async with opened(python(code)) as (_, flood), opened(ECHO) as (quiet, ear):
        await flood.frames_are(100_000)
        turns: list[float] = []

        async def turn() -> None:
            while True:
                began = time.thread_time()  # what holds up the loop is work of its thread
                await asyncio.sleep(0)
                turns.append(time.thread_time() - began)

        gc.disable()  # in a process with much else in it a collection takes longer than a turn
        turning = asyncio.create_task(turn())
        try:
            for count in range(1, 51):
                await quiet.send(Outgoing(FRAME, "notification"))
                await ear.frames_are(count)
        finally:
            gc.enable()
            turning.cancel()
        assert flood.ends == []
        assert max(turns) < 0.2


async def test_a_server_cannot_reach_our_terminal() -> None:
    code = """
try:
    os.open("/dev/tty", os.O_RDWR)
    say(b'{"tty":true}')
except OSError:
    say(b'{"tty":false}')
"""

    async with opened(python(code)) as (_, ear):
        assert await ear.frames_are(1) == [b'{"tty":false}']


def test_nothing_is_left_open_after_closing() -> None:
    async def go() -> None:
        async with opened(ECHO) as (subject, _):
            await subject.send(Outgoing(FRAME, "notification"))
        before = len(os.listdir("/dev/fd"))
        for _ in range(5):
            async with opened(ECHO) as (subject, ear):
                await subject.send(Outgoing(FRAME, "notification"))
                await ear.frames_are(1)
        async with opened(faulty("dies-at-start")) as (_, ear):
            await ear.the_end()
        assert len(os.listdir("/dev/fd")) == before
        assert [
            task for task in asyncio.all_tasks() if "stdio" in task.get_name() or "closing" in task.get_name()
        ] == []

    run(go())
    gc.collect()
