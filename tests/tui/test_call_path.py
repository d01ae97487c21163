"""How much of the house one call runs through: what a newcomer has to read to follow it."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from types import CodeType, FrameType

from textual import timer

import mcp_studio
from mcp_studio.call.call import Succeeded
from tests.studio_support import stdio
from tests.tui.stage import on_stage

OURS = str(Path(mcp_studio.__file__).parent)
CALLBACK = str(Path(timer.__file__).with_name("_callback.py"))
FILES, FUNCTIONS = 70, 340


def of_timer(frame: FrameType | None) -> bool:
    """Whether a timer of ours has it done: that is done without a call, too, and falls into some calls only."""
    called = ""
    while frame is not None and (file := frame.f_code.co_filename) != timer.__file__:
        called = called if file == CALLBACK else file
        frame = frame.f_back
    return frame is not None and called.startswith(OURS)


async def test_a_call_without_arguments_enters_few_files_and_functions() -> None:
    entered: set[CodeType] = set()

    def note(frame: FrameType, event: str, arg: object) -> None:
        code = frame.f_code
        is_function = event == "call" and code.co_flags & inspect.CO_OPTIMIZED  # the body of a class is none
        if is_function and code.co_filename.startswith(OURS) and code not in entered and not of_timer(frame):
            entered.add(code)

    async with on_stage(stdio([sys.executable, "-m", "mcp_studio.servers.demo"]), size=(140, 40)) as stage:
        await stage.open("show_markdown")
        await stage.pilot.pause()
        sys.setprofile(note)
        try:
            outcome = await stage.call()
        finally:
            sys.setprofile(None)
        assert isinstance(outcome, Succeeded)
    functions = {code for code in entered if not code.co_name.startswith("<")}
    files = {code.co_filename for code in functions}
    listed = "\n".join(sorted(f"{code.co_filename.removeprefix(OURS)} {code.co_qualname}" for code in functions))
    assert len(files) <= FILES and len(functions) <= FUNCTIONS, f"{len(files)} files, {len(functions)}\n{listed}"
