"""Whatever goes on, an entry says the same in memory, made again from the disk, and in the past session."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from mcp_studio.protocol.events import Outgoing
from mcp_studio.protocol.message import parse
from mcp_studio.redact import Redactor
from mcp_studio.trace.disk.session import Session
from mcp_studio.trace.disk.writer import Writer
from mcp_studio.trace.message import Recording, WireMessage
from mcp_studio.trace.server_tap import ServerTap
from mcp_studio.trace.store import TraceStore
from tests.support import wait_until

RESULTS = (b'{"resultType":"input_required"}', b'{"isError":true}', b'{"c":"%b"}' % (b"z" * 20_000), b"{}")


class Traffic:
    """Two servers with the same ids; all entries are remembered as they are in memory."""

    def __init__(self, store: TraceStore, writer: Writer, seed: int) -> None:
        self.store, self.writer, self.chance = store, writer, random.Random(seed)
        self.entries: list[WireMessage] = []
        self.taps = [ServerTap(store, Redactor(), name) for name in "ab"]
        self.open: list[list[int]] = [[], []]
        self.asking: list[list[int]] = [[], []]
        self.asked: list[list[str]] = [[], []]
        self.step = 0

    async def go(self, steps: int) -> None:
        acts = (self.ask, self.ask, self.answer, self.question, self.reply, self.give_up, self.look, self.mark)
        for self.step in range(1, steps):
            which = self.chance.randrange(2)
            self.chance.choice(acts)(which, self.taps[which])
            if self.chance.random() < 0.02:
                self.end(which)
            self.entries += [self.store[number - 1] for number in range(len(self.entries) + 1, self.store.total + 1)]
            if self.chance.random() < 0.1:
                await self.write()

    async def write(self) -> None:
        """All goes to the disk, and what need not stay in memory leaves it."""
        for entry in self.entries:
            await self.store.body(entry)
        self.store.flush()
        await wait_until(lambda: self.writer.written == self.store.total)
        self.store.flush()

    def ask(self, which: int, tap: ServerTap) -> None:
        body = b"y" * (1_200_000 if self.chance.random() < 0.02 else 500_000 * self.chance.randrange(2))
        frame = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"x":"%b"}}' % (self.step, body)
        asking = self.asking[which]
        follows = asking.pop() if asking and self.chance.random() < 0.7 else None
        under = self.chance.randrange(self.store.total + 1)
        tap.expect(Outgoing(frame, "request", self.step, "tools/call", "x"), follows, under)
        tap.sent(frame)
        self.open[which].append(self.step)

    def answer(self, which: int, tap: ServerTap) -> None:
        if self.open[which]:
            identity = self.one_of(self.open[which])
            result = self.chance.choice(RESULTS)
            if result is RESULTS[0]:
                self.asking[which].append(identity)
            self.receive(tap, b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (identity, result))

    def question(self, which: int, tap: ServerTap) -> None:
        self.receive(tap, b'{"jsonrpc":"2.0","id":"q%d","method":"roots/list"}' % self.step)
        self.asked[which].append(f"q{self.step}")

    def reply(self, which: int, tap: ServerTap) -> None:
        if self.asked[which]:
            identity = self.asked[which].pop(0)
            frame = b'{"jsonrpc":"2.0","id":"%b","result":{}}' % identity.encode()
            tap.expect(Outgoing(frame, "response", identity))
            tap.sent(frame)

    def give_up(self, which: int, tap: ServerTap) -> None:
        tap.stderr(b"line")
        if self.open[which]:
            tap.gave_up(self.one_of(self.open[which]), lost=self.chance.random() < 0.5)

    def look(self, which: int, tap: ServerTap) -> None:
        if self.store.total:
            facts(self.store, self.chance.randrange(self.store.total) + 1)

    def mark(self, which: int, tap: ServerTap) -> None:
        self.store.mark(self.chance.randrange(self.store.total + 2), self.chance.random() < 0.7)
        self.store.comment(self.chance.randrange(self.store.total + 2), self.chance.choice(("", "why?")))

    def end(self, which: int) -> None:
        self.taps[which].ended()
        for kept in (self.open, self.asking, self.asked):
            kept[which].clear()

    def receive(self, tap: ServerTap, frame: bytes) -> None:
        tap.received(frame)
        if self.chance.random() < 0.1:
            assert len(self.store.columns) == self.store.total  # taken up before it is understood
        tap.understood(parse(frame))

    def one_of(self, numbers: list[int]) -> int:
        return numbers.pop(self.chance.randrange(len(numbers)))


def facts(recording: Recording | Sequence[WireMessage], number: int) -> tuple[object, ...]:
    """All that an entry says."""
    one = recording[number - 1]
    span = one.span
    said = (one.number, one.time, one.server, one.direction, one.kind, one.method, one.target,
            one.id if one.size < 65_536 else None, one.size,
            one.probe, one.by_hand, one.body, one.findings)  # fmt: skip
    if span is None:
        return said
    assert one is span.request or one is span.response
    linked = (span.request, span.response, span.parent)
    return (*said, span.outcome, span.asked, span.round, span.ms, *(other and other.number for other in linked))


@pytest.mark.parametrize("seed", range(3))
async def test_an_entry_says_the_same_wherever_it_is(tmp_path: Path, seed: int) -> None:
    writer = Writer(tmp_path)
    store = TraceStore(Redactor(), disk=writer)
    traffic = Traffic(store, writer, seed)
    await traffic.go(300)
    await traffic.write()
    assert sum(1 for entry in store if isinstance(entry.held, bytes)) < store.total * 2 / 3
    known = [facts(traffic.entries, number) for number in range(1, store.total + 1)]
    assert [facts(store, number) for number in range(1, store.total + 1)] == known
    flags, parents, follows = store.columns.flags, store.columns.parents, store.columns.follows
    await store.close(10)
    assert writer.written == store.total
    past = Session(writer.path or tmp_path)
    assert [facts(past, number) for number in range(1, store.total + 1)] == known
    assert (past.columns.flags, past.columns.parents, past.columns.follows) == (flags, parents, follows)
    comments = [[one.comment_on(number) for number in range(1, store.total + 1)] for one in (store, past)]
    assert comments[0] == comments[1] and any(comments[0]) and past.problem == ""
    past.close()
