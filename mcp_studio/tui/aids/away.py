"""Giving the terminal to another program for a while; servers, the trace and everything else go on."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from textual.app import SuspendNotSupported

from mcp_studio.record import record

if TYPE_CHECKING:
    from textual.app import App

_TYPED = ("SIGINT", "SIGQUIT")
"""What keys in a terminal send to everyone in it: they are for the program in front."""
_GRACE = 1.0


@record(frozen=True)
class Ended:
    """How the program ended."""

    code: int
    seconds: float


async def run_away(app: App[Any], argv: Sequence[str]) -> Ended:
    """Run a program on the terminal, and come back when it has ended.

    Where the terminal cannot be given away, the program runs without one, as those with windows can. Belongs into a
    worker of the app: one of a screen would end with it.

    Raises:
        OSError: it cannot be started.
    """
    began = time.monotonic()
    failure: OSError | None = None
    code = 0
    with _typed_signals_unheard(), _away(app) as terminal:
        try:
            code = await _run(argv, None if terminal else subprocess.DEVNULL)
        except OSError as problem:
            failure = problem  # inside, it would leave the app away
    if failure is not None:
        raise failure
    return Ended(code, time.monotonic() - began)


async def _run(argv: Sequence[str], stream: int | None) -> int:
    process = await asyncio.create_subprocess_exec(*argv, stdin=stream, stdout=stream, stderr=stream)
    try:
        return await process.wait()
    except asyncio.CancelledError:
        await _end(process)
        raise


async def _end(process: asyncio.subprocess.Process) -> None:
    """The app ends: so does what it gave its terminal to."""
    with suppress(ProcessLookupError):
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), _GRACE)
        except TimeoutError:
            process.kill()
            await process.wait()


@contextmanager
def _away(app: App[Any]) -> Generator[bool]:
    """The app is off the terminal, and draws nothing; says whether it has left it."""
    try:
        with app.suspend(), app.batch_update():
            yield True
    except SuspendNotSupported:
        yield False


@contextmanager
def _typed_signals_unheard() -> Generator[None]:
    """Ctrl+C in the editor is not ours. A handler of ours is not handed on to programs, unlike being ignored."""
    before = {number: signal.getsignal(number) for name in _TYPED if (number := getattr(signal, name, None))}
    for number in before:
        signal.signal(number, _unheard)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


def _unheard(number: int, frame: object) -> None:
    """Nothing."""
