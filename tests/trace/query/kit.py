"""A recording in memory for tests of queries: bodies in blocks, large ones apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mcp_studio.trace import message as bits
from mcp_studio.trace.capture import Capture
from mcp_studio.trace.lint.rules import Finding
from mcp_studio.trace.message import Block, Columns, Reader, Span, WireMessage


class Blocks:
    """Reads the bodies; `read` counts the blocks that were asked for."""

    def __init__(self, recording: Fake) -> None:
        self._recording = recording

    def blocks(self, below: int) -> Iterator[Block]:
        recording = self._recording
        stop = below - recording.columns.first
        size = recording.block
        while stop > 0:
            start = max(0, (stop - 1) // size * size)
            bodies = [b"" if len(one.body) > recording.large else one.body for one in recording.entries[start:stop]]
            recording.read += 1
            yield Block(recording.columns.first + start, bodies)
            stop = start

    def body(self, number: int) -> bytes:
        entry = self._recording.entry(number)
        return entry.body if entry is not None else b""

    def findings(self, number: int) -> tuple[Finding, ...]:
        entry = self._recording.entry(number)
        return entry.findings if entry is not None else ()

    def close(self) -> None:
        self._recording.closed += 1


class Fake:
    """A recording of given entries, numbered without gaps."""

    def __init__(self, entries: Sequence[WireMessage], *, block: int = 4, large: int = 2_000) -> None:
        self.entries = list(entries)
        self.block = block
        self.large = large
        self.read = self.closed = self.revision = 0
        self.comments: dict[int, str] = {}
        self.capture = Capture(Columns(entries[0].number if entries else 1))
        for entry in self.entries:
            self._take(entry)

    @property
    def columns(self) -> Columns:
        return self.capture.columns

    @property
    def total(self) -> int:
        return self.first_number + len(self.entries) - 1

    @property
    def first_number(self) -> int:
        return self.capture.columns.first

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, index: int) -> WireMessage:
        return self.entries[index]

    def add(self, *entries: WireMessage) -> None:
        self.entries += entries
        for entry in entries:
            self._take(entry)
        self.revision += 1

    def _take(self, entry: WireMessage) -> None:
        self.capture.append(entry)
        self.capture.update(entry)
        self.capture.findings(entry)

    def changed(self, entry: WireMessage) -> None:
        self.capture.update(entry)
        self.revision += 1

    def entry(self, number: int) -> WireMessage | None:
        place = number - self.first_number
        return self.entries[place] if 0 <= place < len(self.entries) else None

    async def body(self, entry: WireMessage) -> bytes:
        return entry.body

    def reader(self) -> Reader:
        return Blocks(self)

    def mark(self, number: int, on: bool) -> None:
        self.capture.flag(number, bits.MARKED, on)
        self.revision += 1

    def comment(self, number: int, text: str) -> None:
        self.comments[number] = text
        self.capture.flag(number, bits.COMMENTED, bool(text))
        self.revision += 1

    def comment_on(self, number: int) -> str:
        return self.comments.get(number, "")


def entry(number: int, kind: str = "request", body: bytes = b"{}", **more: object) -> WireMessage:
    """One entry, of the server `s` a second after the one before it."""
    values = {"time": 1_000_000.0 + number, "server": "s", "direction": "out", "size": len(body), **more}
    return WireMessage(number=number, kind=kind, held=body, **values)  # type: ignore[arg-type]


def span(request: WireMessage, response: WireMessage | None, outcome: str) -> None:
    """Make them the ends of one."""
    made = Span(request.number, request.server, request.direction, request.method, request.target, request)
    made.response, made.outcome = response, outcome  # type: ignore[assignment]
    request.span = made
    if response is not None:
        response.span, response.method, response.target = made, made.method, made.target
