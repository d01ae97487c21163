"""A server whose entry says `watch` starts again when its files change, and a toast says what that changed."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.cli.test_dev import SERVER, write
from tests.studio_support import stdio
from tests.tui.stage import on_stage, ref


async def test_a_toast_and_the_trace_say_what_a_change_of_files_has_changed(tmp_path: Path) -> None:
    write(tmp_path, SERVER)
    server = stdio([sys.executable, str(tmp_path / "server.py")], "made", cwd=str(tmp_path), watch=("*.py",))
    async with on_stage(server) as stage:
        add = ref("add", server="made")
        await stage.until(lambda: stage.studio.catalog.find(add), "the tool")
        write(tmp_path, SERVER.replace("b: int = 1", "b: int"))
        await stage.told("1 breaking: tool add: b is required now")
        notes = [entry.body.decode() for entry in stage.studio.trace if entry.kind == "note"]
        assert any("made was started again" in note for note in notes)
        write(tmp_path, "raise SystemExit(3)")
        await stage.told("made was started again and failed: made ended with exit code 3")
