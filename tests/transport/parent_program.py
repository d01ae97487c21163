"""A program that keeps servers running until it is ended: `parent_program.py COMMAND ARGS… [-- COMMAND ARGS…]…`.

Prints `ready` once every server has answered.
"""

from __future__ import annotations

import asyncio
import sys
from itertools import groupby

from tests.transport.stdio_kit import Ear, call, transport


async def main() -> None:
    """Start all, wait for their answers, stay."""
    words = [list(group) for last, group in groupby(sys.argv[1:], lambda word: word == "--") if not last]
    running = []
    for argv in words:
        ear = Ear()
        subject = transport(argv, ear)
        await subject.open(ear)
        await subject.send(call(1))
        await ear.frames_are(1)
        running.append(subject)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
