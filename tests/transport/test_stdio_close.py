"""Closing: in bounded time, with everything that the server started."""

from __future__ import annotations

import asyncio
import time

import pytest

from mcp_studio.errors import ConnectionLost
from mcp_studio.transport.guard import GuardedChild
from tests.support import python_server, run, wait_until
from tests.transport.stdio_kit import Ear, alive, call, faulty, opened, python, transport


async def children(ear: Ear) -> list[int]:
    """The pids that the server tells on standard error."""
    await wait_until(lambda: ear.all("stderr"))
    return [int(word) for word in ear.all("stderr")[0].split()[1:]]


async def test_a_server_that_leaves_at_the_end_of_input_is_not_signalled() -> None:
    code = "import signal\nsignal.signal(15, lambda *_: os._exit(9))\nsay(b'{}\\n')\nos.read(0, 1)\ntime.sleep(0.05)"

    async with opened(python(code), close=20, leave=15) as (_, ear):
        await ear.frames_are(1)
    assert ear.all("note")[-1] == "it was closed: it ended with exit code 0"


async def test_a_server_that_stays_gets_sigterm_at_once() -> None:
    async with opened(faulty("never-reads")) as (subject, ear):
        began = time.monotonic()
        await subject.close()
        assert time.monotonic() - began < 5
    assert ear.all("note")[-1] == "it was closed: it was ended by SIGTERM"


@pytest.mark.parametrize(("limit", "hurried"), [(20.0, False), (0.4, True)])
async def test_a_server_that_ignores_sigterm_is_killed_in_time(
    limit: float, hurried: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second later by its keeper, or when the limit is over, if that is sooner."""
    kills: list[object] = []
    kill = GuardedChild.kill
    monkeypatch.setattr(GuardedChild, "kill", lambda child: (kills.append(child), kill(child)))

    async with opened(faulty("stubborn"), close=limit) as (subject, ear):
        await subject.send(call(1))
        await ear.frames_are(1)
        began = time.monotonic()
        await subject.close()
        assert time.monotonic() - began < 15 and bool(kills) is hurried
    assert ear.all("note")[-1] == "it was closed: it was ended by SIGKILL"


async def test_children_daemons_and_other_sessions_end_with_their_server() -> None:
    async with opened(faulty("grandchildren")) as (subject, ear):
        pids = await children(ear)
        assert len(pids) == 3
        assert all(alive(pid) for pid in pids)
        await subject.close()
        assert not any(alive(pid) for pid in pids)


async def test_a_child_left_behind_by_a_server_that_leaves_well_ends_too() -> None:
    async with opened(faulty("leaves-child")) as (subject, ear):
        (pid,) = await children(ear)
        assert alive(pid)
        await subject.close()
        assert not alive(pid)


async def test_a_server_that_ends_by_itself_takes_its_children_along() -> None:
    code = """
import subprocess
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
os.write(2, b"child %d\\n" % child.pid)
"""

    async with opened(python(code)) as (_, ear):
        (pid,) = await children(ear)
        assert "exit code 0" in (await ear.the_end()).message
        assert not alive(pid)
        assert ear.all("note")[-1] == "ended 1 more of its processes, which it had left behind"


async def test_closing_twice_at_once_and_again_is_one_closing() -> None:
    async with opened(python_server("raw_server")) as (subject, ear):
        await asyncio.gather(subject.close(), subject.close())
        await subject.close()
        with pytest.raises(ConnectionLost):
            await subject.send(call(1))
    assert ear.ends == []
    assert len([note for note in ear.all("note") if "ended" in note]) == 1


async def test_closing_goes_on_when_its_caller_is_cancelled() -> None:
    ear = Ear()
    subject = transport(faulty("never-reads"), ear)
    pid = (await subject.open(ear)).pid
    closing = asyncio.create_task(subject.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert alive(pid)
    await subject.close()
    assert not alive(pid)


def test_a_loop_that_ends_without_closing_leaves_nobody() -> None:
    async def go() -> int:
        ear = Ear()
        subject = transport(faulty("never-reads"), ear)
        pid = (await subject.open(ear)).pid
        closing = asyncio.create_task(subject.close())
        await asyncio.sleep(0)
        assert not closing.done()
        return pid

    pid = run(go())
    run(wait_until(lambda: not alive(pid)))


async def test_closing_what_never_opened_does_nothing() -> None:
    ear = Ear()
    subject = transport(["/no/such"], ear)
    await subject.close()
    with pytest.raises(ConnectionLost, match="not connected"):
        await subject.send(call(1))


async def test_frames_after_closing_has_begun_reach_the_tap_alone() -> None:
    code = "os.read(0, 1)\nsay(b'{\"bye\":1}\\n')"

    async with opened(python(code)) as (_, ear):
        pass
    assert ear.all("received") == [b'{"bye":1}']
    assert ear.frames == []
