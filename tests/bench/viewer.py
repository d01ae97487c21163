"""How large results arrive in the whole program: real server, real app (without a terminal), each in a fresh process.

    python -m tests.bench.viewer [--sizes 1,20,100] [--kinds text,lines,json,structured]

From the moment the frame is in: until its outcome is there, until its first rows are drawn, until a search has found
something at its end; the worst time that the loop was held meanwhile, in CPU time, and the memory that came to it, at
its peak and afterwards, in times of the frame's bytes. Nothing here is a verdict.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from mcp_studio.call.call import Lost
from mcp_studio.tui.views.rows import SearchView

SERVER = Path(__file__).with_name("large_server.py")
MB = 1_000_000
WANTED = "needle at"


def resident() -> float:
    """Megabytes of memory in use."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MB


class Watch:
    """Notes how long the loop was held, and the peak of memory."""

    def __init__(self) -> None:
        self.peak = 0.0
        self.held = 0.0
        self._on = True
        self._task = asyncio.create_task(self._beat())
        threading.Thread(target=self._sample, daemon=True).start()

    async def _beat(self) -> None:
        last = time.thread_time()
        while self._on:
            await asyncio.sleep(0.001)
            now = time.thread_time()
            self.held, last = max(self.held, now - last), now

    def _sample(self) -> None:
        while self._on:
            self.peak = max(self.peak, resident())
            time.sleep(0.005)

    async def stop(self) -> None:
        """No more."""
        self._on = False
        await self._task


async def measure(kind: str, size: int) -> dict[str, Any]:
    """One call in a fresh app."""
    from mcp_studio.config.model import Settings
    from mcp_studio.limits import DEFAULT
    from mcp_studio.trace.server_tap import ServerTap
    from tests.studio_support import stdio
    from tests.support import wait_until
    from tests.tui.stage import on_stage

    came: list[float] = []
    received = ServerTap.received

    def noted(tap: ServerTap, frame: bytes, exchange: int = 0) -> None:
        if len(frame) > size // 2:
            came.append(time.perf_counter())
        received(tap, frame, exchange)

    ServerTap.received = noted  # type: ignore[method-assign]
    settings = Settings(limits=replace(DEFAULT, message=size * 3, values=size, call_idle=300))
    gc.set_threshold(20_000, 20, 50)
    async with on_stage(stdio([sys.executable, str(SERVER), str(size)], "s"), settings=settings) as stage:
        await stage.open(kind)
        before = resident()
        watch = Watch()
        stage.main.call.action_submit()
        facts: dict[str, Any] = {}
        await wait_until(lambda: (call := stage.main.result.call) and call.outcome, 120)
        facts["outcome"] = time.perf_counter() - came[0]
        call = stage.main.result.call
        if call is not None and isinstance(call.outcome, Lost):
            raise SystemExit(f"not shown: {call.outcome.error.message}")
        await wait_until(lambda: shown(stage), 120)
        view = shown(stage)
        drawn = asyncio.Event()
        stage.app.call_after_refresh(drawn.set)
        await drawn.wait()
        facts["shown"] = time.perf_counter() - came[0]
        began = time.perf_counter()
        view.action_last()
        view.find(WANTED)
        await wait_until(lambda: view.hit_offset is not None, 120)
        facts["found"] = time.perf_counter() - began
        await asyncio.sleep(3)
        view.find("")
        await watch.stop()
        return facts | {"held": watch.held, "peak": (watch.peak - before) * MB / size,
                        "after": (resident() - before) * MB / size}  # fmt: skip


def shown(stage: Any) -> Any:
    """The viewer that shows something."""
    if (tabs := stage.main.result.tabs_line).active == "table":
        tabs.active = "structured"
    found = stage.main.result.query(SearchView)
    return next((view for view in found if view.row_width and view.row_count > 1), None)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1,20,100")
    parser.add_argument("--kinds", default="text,lines,json,structured")
    parser.add_argument("--one", nargs=2)
    options = parser.parse_args()
    if options.one:
        os.environ["MCP_STUDIO_HOME"] = tempfile.mkdtemp()
        print(json.dumps(asyncio.run(measure(options.one[0], int(options.one[1])))))
        return
    print(f"load {os.getloadavg()[0]:.1f}; ms from the frame's end, memory in times of its bytes")
    for kind in options.kinds.split(","):
        for size in options.sizes.split(","):
            argv = [sys.executable, "-m", "tests.bench.viewer", "--one", kind, str(int(float(size) * MB))]
            done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
            if done.returncode:
                print(kind, size, done.stderr[-600:])
                continue
            facts = json.loads(done.stdout.splitlines()[-1])
            times = "  ".join(f"{name} {facts[name] * 1000:6.0f}" for name in ("outcome", "shown", "found", "held"))
            print(
                f"{kind:11}{size:>5} MB  {times} ms  peak {facts['peak']:5.2f}  after {facts['after']:5.2f}", flush=True
            )


if __name__ == "__main__":
    main()
