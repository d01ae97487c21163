"""What of a recording is exported, and the names of the files."""

from __future__ import annotations

from pathlib import Path

from mcp_studio.trace.export.formats import exchange, marked, new_file
from mcp_studio.trace.message import MARKED
from tests.trace.export.recorded import morning, recorded


def test_an_exchange_has_all_that_belongs_to_it() -> None:
    recording = recorded(morning())
    assert list(exchange(recording, 5)) == list(exchange(recording, 8)) == [4, 5, 6, 8]
    assert list(exchange(recording, 3)) == [3]


def test_what_is_marked_is_found() -> None:
    recording = recorded(morning())
    recording.mark(2, True)
    assert list(marked(recording.columns)) == [2, 8]
    assert recording.columns.flags[1] == MARKED


def test_names_of_files_are_ours_and_new(tmp_path: Path) -> None:
    first = new_file(str(tmp_path), "../x y\x1b", "jsonl")
    assert first.parent == tmp_path and first.name.endswith("-x-y.jsonl")
    first.write_text("")
    stem = first.name.removesuffix(".jsonl")
    (tmp_path / f"{stem}.jsonl").write_text("")
    assert new_file(str(tmp_path), "../x y\x1b", "jsonl") != first
