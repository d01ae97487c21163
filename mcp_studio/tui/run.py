"""Runs the studio in the terminal: the engine around the app, the log file, and an orderly end in every case."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Generator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import partial
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_studio.config.model import Config
from mcp_studio.paths import Paths
from mcp_studio.present.browser import open_page
from mcp_studio.redact import Redactor
from mcp_studio.safetext import safe
from mcp_studio.transport.guard import guard
from mcp_studio.vault import keyring
from mcp_studio.vault.file import file_in

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp

_MOST = 200_000
"""Characters of a crash report."""
_LARGEST_LOG = 1_000_000
_AGAIN = 20.0
"""Seconds after an answer in which a second question means that the passphrase was wrong."""
_REST = 10.0
"""Seconds without a new question after the person gave no passphrase."""
_START = 3.0
"""Seconds until the first screen is surely drawn: to collect garbage before takes a twelfth of the start."""


def run(config: Config, paths: Paths) -> int:
    """Run the studio on the terminal until the person leaves; returns the exit code."""
    # Textual reads its settings when it is imported; collecting garbage meanwhile costs a tenth of the start.
    os.environ.setdefault("TEXTUAL_FPS", "240")
    os.environ.setdefault("ESCDELAY", "25")
    gc.disable()
    if sys.platform != "win32" and any(one.command and one.enabled for one in config.servers.values()):
        guard.start()  # it starts while the engine is imported
    with first_frame():
        code, failure, redactor = asyncio.run(_open(config, paths))
    if failure is not None:
        sys.stderr.write(crash_report(failure, paths.state, redactor) + "\n")
        return 1
    return code


@contextmanager
def first_frame() -> Generator[None]:
    """Show the name before Textual is imported, because the screen would be blank for a third of a second.

    The header has it at the same place. Keys that come meanwhile wait for Textual unchanged. If the studio ends before
    Textual takes the terminal over, this function restores the terminal.
    """
    terminal = sys.__stderr__  # the stream that Textual draws on
    if terminal is None or not terminal.isatty() or sys.platform == "win32":
        yield
        return
    import termios

    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    before = termios.tcgetattr(terminal)
    inward, outward, control, local, *rest = before
    inward &= ~(termios.IXON | termios.ICRNL)
    local &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
    termios.tcsetattr(terminal, termios.TCSANOW, [inward, outward, control, local, *rest])
    terminal.write("\x1b[?1049h\x1b[?25l\x1b[1;1H mcp-studio\x1b[1;1H")
    terminal.flush()
    try:
        yield
    finally:
        with suppress(OSError, termios.error):  # the terminal may be gone
            terminal.write("\x1b[?1049l\x1b[?25h")
            terminal.flush()
            termios.tcsetattr(terminal, termios.TCSANOW, before)


async def _open(config: Config, paths: Paths) -> tuple[int, BaseException | None, Redactor]:
    from mcp_studio.studio import Studio

    asker = PassphraseAsker()
    keyring.ask_with(asker.ask)
    page = partial(open_page, browser=config.settings.browser)
    try:
        async with Studio.open(config, paths, can_ask=True, origin="studio", breakpoints=True, browser=page) as studio:
            _log_to(paths.state / "mcp-studio.log", studio.redactor)
            await asyncio.sleep(0)  # servers start while Textual is imported
            from mcp_studio.tui.app import StudioApp
            from mcp_studio.tui.main_screen import MainScreen

            loop = asyncio.get_running_loop()
            loop.call_later(_START, gc.freeze)  # so that no key waits while the collector walks 10,000 tools
            loop.call_later(_START, gc.enable)
            app = StudioApp(studio, lambda: MainScreen(asker.ask_in))
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, app.exit, 128 + number)
            threading.Thread(target=_watch_terminal, args=(app, loop), name="terminal", daemon=True).start()
            code = await app.run_async() or 0
            gc.freeze()  # so that Python does not walk it all once more at its end
            return code, app.failure, studio.redactor
    finally:
        asker.ask_in(None)


class PassphraseAsker:
    """Asks for the passphrase of the encrypted file, one question at a time.

    It belongs to the app's loop. Servers may need the passphrase before there is a screen; the question waits for one.
    """

    def __init__(self) -> None:
        self._app: StudioApp | None = None
        self._begun = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._turn = asyncio.Lock()
        self._answered = self._refused = -_REST

    def ask_in(self, app: StudioApp | None) -> None:
        """Ask in this app from now on; with None, nobody can be asked any more."""
        self._app = app
        self._begun.set()

    def ask(self, new: bool) -> str:
        """Ask for the passphrase; empty if the person gives none. Blocks, so other threads than the app's run it."""
        try:
            return asyncio.run_coroutine_threadsafe(self._ask(new), self._loop).result()
        except (CancelledError, RuntimeError):  # the app has ended meanwhile
            return ""

    async def _ask(self, new: bool) -> str:
        async with self._turn:
            await self._begun.wait()
            now, app = time.monotonic(), self._app
            if app is None or (now - self._refused < _REST and not new):
                return ""
            from mcp_studio.tui.screens.secrets import Passphrase

            file, again = file_in(app.studio.paths.state), now - self._answered < _AGAIN
            reason = f"Tokens and secrets are stored in {file}, which is encrypted. Its passphrase opens it."
            if new:
                reason = f"Tokens and secrets will be stored in {file}, encrypted under the passphrase that you choose."
            elif again:
                reason = f"That was not the passphrase of the file. {reason}"

            done: asyncio.Future[str | None] = self._loop.create_future()
            dialog = Passphrase(reason, new=new)
            app.call_later(app.push_screen, dialog, lambda text: done.done() or done.set_result(text))
            text = await done
            self._answered, self._refused = (time.monotonic(), -_REST) if text else (-_AGAIN, time.monotonic())
            return text or ""


def _watch_terminal(app: StudioApp, loop: asyncio.AbstractEventLoop) -> None:
    """End the app when the terminal is gone, also without a signal, as when another program had opened the terminal."""
    poll = select.poll()
    poll.register(sys.stdin.fileno(), 0)
    if any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll()):  # macOS may not poll a terminal
        # Textual draws on standard error. Its writing thread would end with its first error, and the app wait for it.
        os.dup2(os.open(os.devnull, os.O_RDWR), 2)
        loop.call_soon_threadsafe(app.exit, 128 + signal.SIGHUP)


class _Redacting(logging.Formatter):
    """Redacts and sanitizes each log record."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return safe(self._redactor.text(super().format(record)), 20_000, lines=True)


def _log_to(file: Path, redactor: Redactor) -> None:
    """Write all logging and warnings to a file, redacted and bounded, because the app has the terminal."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handler = RotatingFileHandler(
        file, maxBytes=_LARGEST_LOG, backupCount=1, encoding="utf-8", delay=True, errors="backslashreplace"
    )
    handler.setFormatter(_Redacting(redactor))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.captureWarnings(True)


def crash_report(error: BaseException, folder: Path, redactor: Redactor) -> str:
    """Write the traceback, without local variables, to a file; returns the sentence for the terminal."""
    what = type(error).__name__
    text = "".join(traceback.format_exception(error))[-_MOST:]
    file = folder / f"crash-{time.strftime('%Y%m%d-%H%M%S')}.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(safe(redactor.text(text), _MOST, lines=True) + "\n", encoding="utf-8")
    except OSError as problem:
        return f"mcp-studio crashed ({what}), and the details could not be written: {problem}"
    return f"mcp-studio crashed ({what}). Nothing of yours is lost; the details are in {file}"
