"""A trace that is written down: old entries are read from disk as they were, and memory holds the newest alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_studio.protocol.events import Outgoing
from mcp_studio.protocol.message import parse
from mcp_studio.redact import Redactor
from mcp_studio.trace import message as bits
from mcp_studio.trace.disk.format import Batch
from mcp_studio.trace.disk.session import Session
from mcp_studio.trace.disk.writer import Writer
from mcp_studio.trace.message import Recording
from mcp_studio.trace.server_tap import ServerTap
from mcp_studio.trace.store import TraceStore
from tests.support import run, wait_until

SECRET = "very-secret-value-1"


def made(folder: Path) -> tuple[TraceStore, ServerTap, Writer]:
    redactor = Redactor()
    redactor.learn(SECRET)
    writer = Writer(folder, "test")
    store = TraceStore(redactor, disk=writer)
    return store, ServerTap(store, redactor, "s"), writer


def call(tap: ServerTap, number: int, tool: str = "echo", answer: bytes = b'{"isError":false}') -> None:
    frame = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call"}' % number
    tap.expect(Outgoing(frame, "request", number, "tools/call", tool))
    tap.sent(frame)
    if answer:
        receive(tap, b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (number, answer))


def receive(tap: ServerTap, frame: bytes) -> None:
    tap.received(frame)
    tap.understood(parse(frame))


def flood(tap: ServerTap, count: int) -> None:
    frame = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}'
    for number in range(count):
        receive(tap, frame % number)


async def written(store: TraceStore, writer: Writer) -> None:
    """Wait until all of it is on disk, and what has to leave the memory has left."""
    await wait_until(lambda: writer.written >= store.total)
    flood(ServerTap(store, Redactor(), "other"), 1)
    await wait_until(lambda: writer.written >= store.total)


def in_memory(store: TraceStore) -> int:
    return sum(1 for entry in store if isinstance(entry.held, bytes))


def same(recording: Recording, other: Recording) -> None:
    """Every entry of both says the same."""
    assert (recording.first_number, recording.total) == (other.first_number, other.total)
    for number in range(recording.first_number, recording.total + 1):
        one, two = recording.entry(number), other.entry(number)
        assert one is not None and two is not None
        fields = ("number", "time", "server", "direction", "kind", "size", "method", "target", "id", "exchange",
                  "probe", "by_hand", "findings", "body")  # fmt: skip
        assert [getattr(one, field) for field in fields] == [getattr(two, field) for field in fields]
        assert (one.span is None) == (two.span is None)
        if one.span is not None and two.span is not None:
            assert (one.span.outcome, one.span.round, one.span.asked) == (
                two.span.outcome, two.span.round, two.span.asked)  # fmt: skip
            ends = [(span.request.number, span.response and span.response.number) for span in (one.span, two.span)]
            assert ends[0] == ends[1]


async def test_old_entries_leave_the_memory_and_come_back_as_they_were(tmp_path: Path) -> None:
    store, tap, writer = made(tmp_path)
    call(tap, 1, "first")
    call(tap, 2, "open", b"")
    request = store[2]
    flood(tap, 5_000)
    await written(store, writer)
    assert in_memory(store) <= 2_000 and store.first_number == 1 and len(store) == store.total
    old = store.entry(1)
    assert old is not None and old.target == "first" and old.id == 1
    assert old.body == b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}' and request.body.startswith(b'{"jsonrpc"')
    assert old.span is not None and old is old.span.request and store.entry(2) is old.span.response
    assert store.entry(2) is store[1] and old.span.outcome == "ok"
    receive(tap, b'{"jsonrpc":"2.0","id":2,"result":{}}')  # an answer after all that
    again = store.entry(3)
    assert again is not None and again.span is not None and again.span.response is store[store.total - 1]
    assert store.columns.outcome_of(2) == "ok"
    reader = store.reader()
    assert sum(len(block.bodies) for block in reader.blocks(store.total + 1)) == store.total
    assert reader.body(1) == old.body and reader.body(store.total) == store[store.total - 1].body
    reader.close()
    await store.close(5)


async def test_what_is_alone_and_large_goes_to_the_disk_as_soon(tmp_path: Path) -> None:
    store, _, writer = made(tmp_path)
    store.add("s", "in", "notification", b"x" * 700_000)
    await wait_until(lambda: writer.written == 1)
    await store.close(5)


@pytest.mark.parametrize("targets", [("a\0b", "a\0c", "plain"), ("\ud800", "\ud801", "plain")])
async def test_names_that_a_disk_cannot_keep_spoil_no_others(tmp_path: Path, targets: tuple[str, ...]) -> None:
    store, tap, writer = made(tmp_path)
    for number, target in enumerate(targets):
        call(tap, number, target)
    await store.close(5)
    past = Session(writer.path or tmp_path)
    same_ends = [(past[2 * place].target, past[2 * place + 1].target) for place in range(3)]
    assert past.problem == "" and all(one == two for one, two in same_ends)
    assert same_ends[2] == ("plain", "plain") and "…" not in same_ends[0]
    past.close()
    past.close()


def test_a_large_body_is_in_memory_no_longer_than_it_takes(tmp_path: Path) -> None:
    async def go() -> None:
        store, tap, writer = made(tmp_path)
        text = b"lorem " * 500_000
        call(tap, 1, "big", b'{"content":[],"x":"%b","y":"%b"}' % (text, SECRET.encode()))
        entry = store[1]
        assert entry.held == b""
        body = await store.body(entry)
        assert text in body and SECRET.encode() not in body
        reader = store.reader()  # before it is on disk
        assert reader.body(2) == body
        reader.close()
        flood(tap, 1)
        receive(tap, b'{"jsonrpc":"2.0","method":"m","params":"%b"}' % (b"x" * 9_000_000))
        await wait_until(lambda: not isinstance(entry.held, bytes))
        assert await store.body(entry) == entry.body == body
        await store.close(5)
        past = Session(writer.path or tmp_path)
        assert past[1].body == body and past[1].id == 1
        past.close()

    run(go())
    assert not [file for file in tmp_path.iterdir() if SECRET.encode() in file.read_bytes()]


async def test_findings_of_old_entries_are_kept_and_added_to(tmp_path: Path) -> None:
    store, tap, writer = made(tmp_path)
    receive(tap, b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"bad","data":1}}')
    said = store[0].findings
    flood(tap, 3_000)
    await written(store, writer)
    old = store.entry(1)
    assert said and old is not None and old.findings == said
    await store.look([old])
    assert store.columns.flags[0] >> bits.SEVERITY & 3 == 3
    await store.close(5)
    past = Session(writer.path or tmp_path)
    assert past[0].findings == old.findings
    past.close()


async def test_a_folder_that_cannot_be_written_is_said_once_and_the_trace_goes_on_in_memory(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("")

    store, tap, _ = made(place)
    told: list[str] = []
    store.troubled.connect(told.append)
    flood(tap, 10)
    await wait_until(lambda: told)
    flood(tap, 20_000)
    store.mark(store.total, True)
    assert len(told) == 1 and told[0] == store.problem and "no longer recorded" in told[0]
    assert len(store) == 10_000 and store.first_number == 10_011 and len(store.columns) == 10_000
    assert store[0].number == 10_011 and store.entry(1) is None
    await store.close(1)


class Slow:
    """A disk that takes everything and has not written anything yet."""

    def __init__(self) -> None:
        self.written = self.trimmed = self.lost = 0
        self.failed = ""
        self.path: Path | None = None
        self.taken: list[Batch] = []

    def put(self, batch: Batch) -> None:
        self.taken.append(batch)

    def close(self, timeout: float) -> bool:
        return True


async def test_nothing_leaves_the_memory_before_it_is_written() -> None:
    disk = Slow()
    store = TraceStore(Redactor(), disk=disk)
    flood(ServerTap(store, Redactor(), "s"), 5_000)
    await wait_until(lambda: sum(len(batch.bodies) for batch in disk.taken) == store.total)
    assert in_memory(store) == 5_000
    reader = store.reader()
    assert sum(len(block.bodies) for block in reader.blocks(10_000)) == 5_000
    disk.written = 5_000
    await wait_until(lambda: in_memory(store) == 2_000)
    disk.trimmed = 4_000
    flood(ServerTap(store, Redactor(), "s"), 1)
    await wait_until(lambda: store.first_number == 4_001)
    assert store.columns.first == 4_001 == store.first_number
    disk.lost = 2
    assert "2 messages" in store.problem


async def test_the_memory_is_bounded_although_the_disk_does_not_answer() -> None:
    disk = Slow()
    store = TraceStore(Redactor(), disk=disk)
    body = b"x" * 1_000_000
    for _ in range(200):
        store.add("s", "in", "stderr", body)
    store.flush()
    assert 100 < in_memory(store) < 150 and store.total == len(store) == 200
    assert store[0].body == b"" and store[199].body == body
    assert sum(len(batch.bodies) for batch in disk.taken) == 200


@pytest.mark.parametrize("size", [10, 300_000])
def test_batches_are_of_bounded_size_and_none_is_missing(size: int) -> None:
    disk = Slow()
    store = TraceStore(Redactor(), disk=disk)
    for _ in range(20):
        store.add("s", "in", "stderr", b"x" * size)
    run(store.close())
    assert sum(len(batch.bodies) for batch in disk.taken) == 20
    assert all(sum(map(len, batch.bodies)) <= 1_000_000 for batch in disk.taken)
    assert disk.taken[0].first == 1
    assert [name[2] for batch in disk.taken for name in batch.names if name[0] == "server"] == ["s"]
