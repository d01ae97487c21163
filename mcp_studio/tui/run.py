"""Running the studio in the terminal: the engine around the app, and every way to an orderly end."""

from __future__ import annotations

import asyncio
import gc
import os
import select
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from mcp_studio.config.model import Config
from mcp_studio.paths import Paths
from mcp_studio.present.browser import open_page
from mcp_studio.redact import Redactor
from mcp_studio.tui import crash, logs
from mcp_studio.tui.gate import Gate
from mcp_studio.vault import keyring

try:
    import termios
except ImportError:  # Windows
    termios = None

if TYPE_CHECKING:
    from textual.app import App
    from textual.driver import Driver

    from mcp_studio.studio import Studio


_STARTING = "mcp-studio"

_GREETING = 0.004
"""Seconds for the first message to each server that was started ahead."""

_CATCHING_UP = 0.02
"""Seconds for taking answers that are there, before the screen is made."""


def run(config: Config, paths: Paths) -> int:
    """Open the studio on the terminal until the person leaves; returns the exit code."""
    with ExitStack() as starting:
        _announce(starting)
        code, failure, redactor = _run(config, paths, starting.close)
    if failure is not None:
        sys.stderr.write(crash.report(failure, paths.state, redactor) + "\n")
        return 1
    return code


def _announce(starting: ExitStack) -> None:
    """Importing takes a while: a line says so, and what is typed waits for the screen unseen."""
    if termios is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    quiet = [*before]
    # Enter would come as ^j, which calls, and ^q is flow control.
    quiet[0] = before[0] & ~(termios.IXON | termios.ICRNL)
    quiet[3] = before[3] & ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(terminal, termios.TCSANOW, quiet)
    starting.callback(termios.tcsetattr, terminal, termios.TCSANOW, before)
    starting.callback(_write, f"\r{' ' * len(_STARTING)}\r")
    _write(_STARTING)


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _run(config: Config, paths: Paths, started: Callable[[], None]) -> tuple[int, BaseException | None, Redactor]:
    with _quick_imports():
        from mcp_studio.studio import Studio

    gate, before = Gate(), keyring.passphrase()
    browser = partial(open_page, browser=config.settings.browser)

    async def main() -> tuple[int, BaseException | None, Redactor]:
        async with Studio.open(config, paths, can_ask=True, origin="studio", browser=browser) as studio:
            handler = logs.install(paths.state / "mcp-studio.log", studio.redactor)
            try:
                # Importing takes longer than a server needs to answer: it is greeted first.
                await asyncio.sleep(_GREETING)
                with _quick_imports():
                    from mcp_studio.tui.app import StudioApp
                await _catch_up(studio)
                app = StudioApp(studio, _driver())
                app.gate, app.taking_terminal = gate, started
                with signals(app):
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


def _driver() -> type[Driver] | None:
    """Ours, where the system has a terminal as it knows it and the environment names no other."""
    if sys.platform == "win32" or "TEXTUAL_DRIVER" in os.environ:
        return None
    from mcp_studio.tui.driver import StudioDriver

    return StudioDriver


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
def signals(app: App[int]) -> Generator[None]:
    """SIGTERM, SIGHUP and a terminal that has gone, of which not everybody gets a SIGHUP, end the app in order."""
    loop = asyncio.get_running_loop()
    with ExitStack() as stack:
        for name in ("SIGTERM", "SIGHUP"):
            if number := getattr(signal, name, None):
                loop.add_signal_handler(number, app.exit, 128 + number)
                stack.callback(loop.remove_signal_handler, number)
        if sys.platform == "linux" and sys.stdin.isatty():
            gone = stack.enter_context(select.epoll())
            gone.register(sys.stdin, 0)  # it tells of nothing but that the terminal has gone

            def leave() -> None:
                loop.remove_reader(gone)
                app.exit(128 + signal.SIGHUP)

            loop.add_reader(gone, leave)
            stack.callback(loop.remove_reader, gone)
        yield
