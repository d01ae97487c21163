"""Exporting from the trace: what, as what, where to; never over a file that is there."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from textual.widgets import Input, RadioButton, Select

from mcp_studio.trace.export.bundle import open_file
from mcp_studio.trace.message import MARKED
from mcp_studio.trace.tree import family_of
from mcp_studio.tui.screens.export import Export, marked, new_file
from tests.trace.export.recorded import morning, recorded
from tests.trace.export.test_collector import listening
from tests.tui.stage import Stage, on_stage, raw


@pytest.fixture(autouse=True)
def nothing_chosen_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Export, "last_format", "bundle")
    monkeypatch.setattr(Export, "last_places", {False: "", True: "http://localhost:4318"})


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def dialog(stage: Stage) -> Export:
    await stage.press("s")
    return await stage.dialog(Export)


async def home(stage: Stage) -> None:
    await stage.until(lambda: stage.app.screen is stage.main, "the main screen")


async def test_what_is_chosen_is_written_and_opens_again_and_problems_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with on_stage(raw(), size=(80, 24)) as stage:
        await stage.press("5", "home")
        await dialog(stage)
        await stage.shows("Export the trace", "● The whole trace")
        assert "This exchange" not in stage.text, "the first entry is a note"
        await stage.press("escape", "end")
        await dialog(stage)
        await stage.shows("● This exchange: .+ 2 messages", "○ The whole trace", "Format", "Folder", "Export +Cancel")
        await stage.press("ctrl+j")
        await home(stage)
        (name,) = files(tmp_path)
        assert name.startswith("trace-") and name.endswith("-exchange.mcptrace")
        await stage.told("Wrote 2 messages")
        bundle = open_file(tmp_path / name)
        assert len(bundle) == 2 and bundle[0].method == bundle[1].method != ""

        await stage.press("m", "slash", *"method:prompts/list", "enter")
        await stage.until(lambda: stage.main.trace.table.row_count == 2, "two rows")
        screen = await dialog(stage)
        await stage.shows("What is marked +1 message", "What the query shows +2 messages")
        buttons = list(screen.query(RadioButton))
        next(button for button in buttons if "query" in str(button.label)).value = True
        screen.query_one(Select).value = "markdown"
        await stage.pilot.pause()
        (tmp_path / "file").touch()
        screen.query_one(Input).value = str(tmp_path / "file")
        await stage.press("ctrl+j")
        await stage.shows("is there already")
        screen.query_one(Input).value = str(tmp_path / "no" / "such")
        await stage.hides("is there already")
        await stage.press("ctrl+j")
        await stage.shows("There is no folder")
        screen.query_one(Input).value = str(tmp_path / "new")
        await stage.press("ctrl+j")
        await home(stage)
        (name,) = files(tmp_path / "new")
        assert "prompts/list" in (tmp_path / "new" / name).read_text()
        again = await dialog(stage)
        await stage.until(lambda: again.query_one(Input).value == str(tmp_path / "new"), "the folder of last time")
        assert again.query_one(Select).value == "markdown"
        again.query_one(Input).value = str(tmp_path / "no" / "such")
        await stage.press("ctrl+j")
        await stage.shows("There is no folder")
        await stage.press("escape")
        again = await dialog(stage)
        await stage.until(lambda: again.query_one(Input).value == str(tmp_path / "new"), "no folder that was refused")


async def test_spans_are_sent_to_a_collector_and_escape_stops_that_before_it_leaves() -> None:
    asked, released, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await released.wait()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()
        await writer.wait_closed()
        ended.set()

    async with (
        await asyncio.start_server(slow, "127.0.0.1", 0) as server, listening() as collector,
        on_stage(raw(), size=(80, 24)) as stage,
    ):  # fmt: skip
        await stage.press("5", "end")
        screen = await dialog(stage)
        screen.query_one(Input).value = "/kept"
        await stage.pilot.pause()
        screen.query_one(Select).value = "collector"
        await stage.shows("Address of the collector", "http://localhost:4318")
        screen.query_one(Select).value = "bundle"
        await stage.shows("/kept")
        screen.query_one(Select).value = "collector"
        await stage.shows("Address of the collector")
        screen.query_one(Input).value = "localhost"
        await stage.press("ctrl+j")
        await stage.shows("begins with http://")
        screen.query_one(Input).value = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await stage.press("ctrl+j")
        await stage.until(asked.is_set, "what is sent")
        await stage.press("escape")
        await stage.shows("Stopped; what was sent is sent.")
        screen.query_one(Input).value = collector.url
        await stage.press("ctrl+j")
        await home(stage)
        await stage.told("Sent 1 span to the collector.")
        assert "mcp.method.name" in json.dumps(collector.bodies)
        released.set()
        await stage.until(ended.is_set, "the end of what was stopped")


def test_an_exchange_has_all_that_belongs_to_it_and_what_is_marked_is_found() -> None:
    recording = recorded(morning())
    assert list(family_of(recording, 5)) == list(family_of(recording, 8)) == [4, 5, 6, 8]
    assert list(family_of(recording, 3)) == [3]
    recording.mark(2, True)
    assert list(marked(recording.columns)) == [2, 8] and recording.columns.flags[1] == MARKED


def test_names_of_files_are_ours(tmp_path: Path) -> None:
    first = new_file(str(tmp_path), "../x y\x1b", "har")
    assert first.parent == tmp_path and first.name.endswith("-x-y.har")
