"""How much of the house one call runs through: what a newcomer has to read to follow it."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from types import CodeType, FrameType

from textual import timer

import mcp_studio
from mcp_studio.call.call import Succeeded
from mcp_studio.tui.panes.trace import TracePane
from mcp_studio.tui.views.rows import VirtualList
from mcp_studio.tui.views.trace_table import TraceTable
from tests.studio_support import stdio
from tests.tui.stage import on_stage

OURS = str(Path(mcp_studio.__file__).parent)
CALLBACK = str(Path(timer.__file__).with_name("_callback.py"))
FILES, FUNCTIONS = 60, 250


def of_clock(frame: FrameType | None) -> bool:
    """Whether a clock of ours has it done: that is done without a call, too, and falls into some calls only.

    Timers of widgets are clocks, and that of the trace: its pane is drawn a moment after any message, and the list of
    tools with its new figures once a second. What is imported for the first time is none of it either.
    """
    called = ""
    while frame is not None and (file := frame.f_code.co_filename) != timer.__file__:
        owner = frame.f_locals.get("self")
        draws = isinstance(owner, VirtualList) and frame.f_code.co_name == "render_line"
        if draws or file.startswith("<frozen importlib") or isinstance(owner, (TracePane, TraceTable)):
            return True
        called = called if file == CALLBACK else file
        frame = frame.f_back
    return frame is not None and called.startswith(OURS)


async def test_a_call_without_arguments_enters_few_files_and_functions() -> None:
    entered: set[CodeType] = set()

    def note(frame: FrameType, event: str, arg: object) -> None:
        code = frame.f_code
        is_function = event == "call" and code.co_flags & inspect.CO_OPTIMIZED  # the body of a class is none
        if is_function and code.co_filename.startswith(OURS) and code not in entered and not of_clock(frame):
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
