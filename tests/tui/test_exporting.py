"""Exporting from the trace: what, as what, where to; never over a file that is there."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from mcp_studio.trace.export.bundle import open_file
from mcp_studio.trace.message import MARKED
from mcp_studio.tui.screens.export_dialog import ExportDialog, new_file
from mcp_studio.tui.tracing import family_of, marked
from tests.trace.export.recorded import morning, recorded
from tests.trace.export.test_collector import listening
from tests.tui.stage import Stage, on_stage, raw


@pytest.fixture(autouse=True)
def nothing_chosen_before(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("last_format", "bundle"), ("last_folder", ""), ("last_address", "http://localhost:4318")):
        monkeypatch.setattr(ExportDialog, name, value)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def opened(stage: Stage) -> None:
    await stage.shows("tools/list")
    await stage.press("f8", "end", "E")
    await stage.until(lambda: isinstance(stage.app.screen, ExportDialog), "the dialog")


async def left(stage: Stage) -> None:
    await stage.until(lambda: stage.app.screen is stage.main, "the end of it")


async def test_what_is_chosen_is_written_and_opens_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async with on_stage(raw()) as stage:
        await opened(stage)
        await stage.shows("exchange", "everything", "bundle", "collector", "Folder", str(tmp_path))
        await stage.press("enter")
        await left(stage)
        (name,) = files(tmp_path)
        assert name.startswith("trace-") and name.endswith("-exchange.mcptrace")
        assert "Wrote 2 messages" in stage.toasts[-1]
        bundle = open_file(tmp_path / name)
        assert len(bundle) == 2 and bundle[0].method == bundle[1].method != ""
        await stage.press("m", "ctrl+e")
        await stage.shows("marked")
        screen = stage.app.screen
        assert isinstance(screen, ExportDialog)
        await stage.press("down", "down", "down", "down", "enter")
        await left(stage)
        jsonl = next(name for name in files(tmp_path) if name.endswith(".jsonl"))
        assert len((tmp_path / jsonl).read_text().splitlines()) > 2


async def test_a_filter_can_be_exported_and_problems_are_told(tmp_path: Path) -> None:
    async with on_stage(raw()) as stage:
        await stage.shows("tools/list")
        await stage.press("f8", "slash", *"method:prompts/list", "enter")
        await stage.until(lambda: stage.main.trace.table.row_count == 2, "two rows")
        await stage.press("E")
        await stage.until(lambda: isinstance(stage.app.screen, ExportDialog), "the dialog")
        dialog = stage.app.screen
        assert isinstance(dialog, ExportDialog)
        await stage.shows("filtered", "what the filter shows")
        dialog.what.go_to_key("filtered")
        dialog.formats.go_to_key("markdown")
        (tmp_path / "file").touch()
        dialog.place.value = str(tmp_path / "file")
        await stage.press("enter")
        await stage.shows("is there already")
        dialog.place.value = str(tmp_path / "new")
        await stage.press("enter")
        await left(stage)
        (name,) = files(tmp_path / "new")
        assert "prompts/list" in (tmp_path / "new" / name).read_text()


async def test_spans_are_sent_to_the_address_that_is_named() -> None:
    async with listening() as collector, on_stage(raw()) as stage:
        await opened(stage)
        dialog = stage.app.screen
        assert isinstance(dialog, ExportDialog)
        dialog.formats.go_to_key("collector")
        await stage.shows("Address of the collector", "http://localhost:4318")
        dialog.place.value = "localhost"
        await stage.press("enter")
        await stage.shows("begins with http://")
        dialog.place.value = collector.url
        await stage.press("enter")
        await left(stage)
        assert "Sent 1 span to the collector." in stage.toasts[-1]
        assert "mcp.method.name" in json.dumps(collector.bodies)


async def test_escape_stops_what_takes_long_and_then_leaves() -> None:
    waiting: list[asyncio.StreamWriter] = []

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        waiting.append(writer)
        await reader.read()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server, on_stage(raw()) as stage:
        await opened(stage)
        dialog = stage.app.screen
        assert isinstance(dialog, ExportDialog)
        dialog.formats.go_to_key("collector")
        await stage.shows("Address of the collector")
        dialog.place.value = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await stage.press("enter", "enter", "escape")
        await stage.shows("Stopped; what was sent is sent.")
        await stage.press("escape")
        await left(stage)
        for writer in waiting:
            writer.close()
            await writer.wait_closed()


def test_an_exchange_has_all_that_belongs_to_it() -> None:
    recording = recorded(morning())
    assert list(family_of(recording, 5)) == list(family_of(recording, 8)) == [4, 5, 6, 8]
    assert list(family_of(recording, 3)) == [3]


def test_what_is_marked_is_found() -> None:
    recording = recorded(morning())
    recording.mark(2, True)
    assert list(marked(recording.columns)) == [2, 8]
    assert recording.columns.flags[1] == MARKED


def test_names_of_files_are_ours_and_new(tmp_path: Path) -> None:
    first = new_file(str(tmp_path), "../x y\x1b", "har")
    assert first.parent == tmp_path and first.name.endswith("-x-y.har")
    first.write_text("")
    stem = first.name.removesuffix(".har")
    (tmp_path / f"{stem}.har").write_text("")
    assert new_file(str(tmp_path), "../x y\x1b", "har") != first
