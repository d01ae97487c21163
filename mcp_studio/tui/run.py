"""Running the studio in the terminal: the engine around the app, and every way to an orderly end."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mcp_studio.config.model import Config
from mcp_studio.paths import Paths
from mcp_studio.redact import Redactor
from mcp_studio.tui import crash, logs, skeleton
from mcp_studio.tui.gate import Gate
from mcp_studio.vault import keyring

if TYPE_CHECKING:
    from mcp_studio.studio import Studio
    from mcp_studio.tui.app import StudioApp


_GREETING = 0.004
"""Seconds for the first message to each server that was started ahead."""

_CATCHING_UP = 0.02
"""Seconds for taking answers that are there, before the screen is made."""


def run(config: Config, paths: Paths) -> int:
    """Open the studio on the terminal until the person leaves; returns the exit code."""
    with skeleton.shown(config, paths):
        code, failure, redactor = _run(config, paths)
    if failure is not None:
        sys.stderr.write(crash.report(failure, paths.state, redactor) + "\n")
        return 1
    return code


def _run(config: Config, paths: Paths) -> tuple[int, BaseException | None, Redactor]:
    with _quick_imports():
        from mcp_studio.studio import Studio

    gate, before = Gate(), keyring.passphrase()

    async def main() -> tuple[int, BaseException | None, Redactor]:
        async with Studio.open(config, paths, can_ask=True, origin="studio") as studio:
            handler = logs.install(paths.state / "mcp-studio.log", studio.redactor)
            try:
                # Importing takes longer than a server needs to answer: it is greeted first.
                await asyncio.sleep(_GREETING)
                with _quick_imports():
                    from mcp_studio.tui.app import StudioApp
                await _catch_up(studio)
                app = StudioApp(studio)
                app.gate = gate
                with _signals(app):
                    code = await app.run_async() or 0
                return code, app.failure, studio.redactor
            finally:
                logs.uninstall(handler)

    keyring.ask_with(gate.ask)
    try:
        return asyncio.run(main())
    finally:
        gate.open(None)
        keyring.ask_with(before)


async def _catch_up(studio: Studio) -> None:
    """Take what servers have answered meanwhile, so that the first real screen shows it."""
    try:
        async with asyncio.timeout(_CATCHING_UP):
            for name in studio.manager.names():
                await studio.manager.settle(name)
                await studio.manager.listed(name)
    except TimeoutError:
        return


@contextmanager
def _quick_imports() -> Generator[None]:
    """Textual reads its settings when it is imported; collecting garbage meanwhile costs a tenth of the start."""
    os.environ.setdefault("TEXTUAL_FPS", "240")
    os.environ.setdefault("ESCDELAY", "25")
    gc.disable()
    try:
        yield
    finally:
        # What is imported stays, and each frame makes thousands of objects: with the defaults a collection in the
        # middle of a flood of messages holds a key for up to a tenth of a second.
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        # Threads that write to the disk or search give the interpreter back sooner when a key waits for it.
        sys.setswitchinterval(0.001)
        gc.enable()


@contextmanager
def _signals(app: StudioApp) -> Generator[None]:
    """SIGTERM and SIGHUP end the app as the person would."""
    loop = asyncio.get_running_loop()
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    for name in names:
        number = getattr(signal, name)
        loop.add_signal_handler(number, lambda number=number: app.exit(128 + number))
    try:
        yield
    finally:
        for name in names:
            loop.remove_signal_handler(getattr(signal, name))
