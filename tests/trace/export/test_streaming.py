"""Exports of what does not fit into memory, beside the event loop; stopped ones leave nothing behind."""

from __future__ import annotations

import asyncio
import threading
import tracemalloc
from collections.abc import Iterable
from pathlib import Path

import pytest

from mcp_studio.errors import UsageError
from mcp_studio.redact import Redactor
from mcp_studio.trace.export.bundle import open_file
from mcp_studio.trace.export.formats import export
from mcp_studio.trace.export.item import Source
from mcp_studio.trace.export.item import run as run_export
from mcp_studio.trace.store import TraceStore
from tests.support import run
from tests.trace.export.recorded import item, morning, recorded

MB = 1 << 20


class Sink:
    """Takes any number of bytes, and keeps none."""

    def __init__(self) -> None:
        self.size = 0

    def writelines(self, parts: Iterable[bytes]) -> None:
        self.size += sum(map(len, parts))

    def flush(self) -> None:
        """Nothing waits."""


@pytest.mark.parametrize("format", ["jsonl", "bundle", "otlp", "markdown"])
def test_large_bodies_are_not_held(format: str) -> None:
    body = b'{"text":"' + b"a" * MB + b'"}'
    whole = recorded([item(number, "request", "out", body, method="m", outcome="lost") for number in range(1, 26)])
    sink = Sink()
    tracemalloc.start()
    try:
        run(export(whole, None, format, sink, Redactor()))  # type: ignore[arg-type]
        assert tracemalloc.get_traced_memory()[1] < 16 * MB
    finally:
        tracemalloc.stop()
    assert sink.size > 1_000


class Slow:
    """Takes the entries, and then waits until it is let go."""

    def __init__(self) -> None:
        self.inside = threading.Event()
        self.go_on = threading.Event()
        self.thread = 0
        self.over = False

    def __call__(self, source: Source) -> None:
        self.thread = threading.get_ident()
        assert sum(1 for _ in source.paced()) == len(source.numbers) == 9
        self.inside.set()
        assert self.go_on.wait(20)
        self.over = True


async def test_writing_is_one_threads_work_and_the_loop_goes_on() -> None:
    slow = Slow()
    task = asyncio.ensure_future(run_export(recorded(morning()), None, Redactor(), slow))
    await asyncio.to_thread(slow.inside.wait, 20)
    slow.go_on.set()
    assert await task == 9
    assert slow.thread not in (0, threading.get_ident())


async def test_an_export_that_is_stopped_waits_for_its_thread() -> None:
    slow = Slow()
    task = asyncio.ensure_future(run_export(recorded(morning()), None, Redactor(), slow))
    await asyncio.to_thread(slow.inside.wait, 20)
    task.cancel()
    slow.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert slow.over


def test_a_stopped_export_leaves_no_file(tmp_path: Path) -> None:
    items = [item(number, "note", "none", b"x" * 1_000) for number in range(1, 5_001)]

    async def main() -> None:
        begun = asyncio.Event()
        work = export(recorded(items), None, "jsonl", tmp_path / "x", Redactor(), progress=lambda *_: begun.set())
        task = asyncio.ensure_future(work)
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        run(export(recorded(morning()), None, "jsonl", file, Redactor()))
    assert file.read_text() == "mine"
    other = tmp_path / "y"
    assert run(export(recorded(morning()), [8, 4, 4, 99], "jsonl", other, Redactor())) == 2
    assert len(other.read_text().splitlines()) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x", "y"]


def test_what_cannot_be_exported_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no format 'xml'"):
        run(export(recorded(morning()), None, "xml", tmp_path / "x", Redactor()))
    for numbers in ([], [99]):
        with pytest.raises(UsageError, match="nothing to export"):
            run(export(recorded(morning()), numbers, "jsonl", tmp_path / "x", Redactor()))
    assert list(tmp_path.iterdir()) == []


def test_a_large_body_that_is_still_being_redacted_is_waited_for(tmp_path: Path) -> None:
    redactor = Redactor()
    redactor.learn("very-secret-1")
    body = b'{"jsonrpc":"2.0","id":1,"result":"' + b"x" * 1_100_000 + b' very-secret-1"}'
    file = tmp_path / "large.mcptrace"

    async def main() -> None:
        store = TraceStore(redactor)
        store.add("s", "in", "result", body)
        await export(store, None, "bundle", file, redactor)

    run(main())
    kept = open_file(file).reader().body(1)
    assert kept == body.replace(b"very-secret-1", "‹redacted›".encode())
