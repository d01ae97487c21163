"""A process that is to be killed: `python -m tests.workflow.durable_process DATABASE NAME PLAN LOG MODE[-ANSWER] ID`.

MODE is run, resume or work; ANSWER is what is said to every question. It says on standard output that it is ready.
`work` goes on until its input ends.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path

from mcp_studio.config.model import Config
from mcp_studio.paths import Paths
from mcp_studio.studio import Studio
from mcp_studio.workflow import Workflow
from mcp_studio.workflow.durable import DurableRuns
from tests.studio_support import PATIENT
from tests.workflow.kit import server


async def main(database: str, name: str, plan: str, log: str, mode: str, identity: str = "") -> None:
    one = server(Path(log))
    mode, _, answer = mode.partition("-")
    async with Studio.open(Config(PATIENT, {"s": one}), Paths.default(), can_ask=False) as studio:
        await studio.manager.settle("s")
        await studio.manager.listed("s")
        if answer:
            studio.inbox.changed.connect(lambda request: request.answer(answer))  # type: ignore[arg-type]
        async with DurableRuns(studio, database, "" if name == "-" else name, approved=True) as runs:
            print("ready", flush=True)
            if mode == "run":
                await runs.run(Workflow.load(plan), {}, identity)
            elif mode == "resume":
                await runs.resume(identity)
            else:
                done, loop = asyncio.Event(), asyncio.get_running_loop()
                threading.Thread(
                    target=lambda: (sys.stdin.read(), loop.call_soon_threadsafe(done.set)), daemon=True
                ).start()
                await done.wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
