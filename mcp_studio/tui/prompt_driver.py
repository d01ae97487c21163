"""Textual's driver for Linux and macOS with an input thread that is woken instead of looking around.

Leans on Textual's inside: imported by `driver` alone, which knows what to do where that is different.
"""

from __future__ import annotations

import os
import selectors
import sys
from codecs import getincrementaldecoder
from contextlib import suppress
from typing import IO, cast

from textual._parser import ParseError
from textual._time import get_time
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

from mcp_studio.transport.pace import PACE
from mcp_studio.tui import skeleton

_ALTERNATE = "\x1b[?1049h"
"""Switches to the alternate screen and clears it."""


class Lasting:
    """The terminal as a file that takes everything, also when it has gone: the thread that writes must not end.

    What is written waits in a short queue for that thread; without it the loop would wait for ever.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> None:
        """Write, as long as there is a terminal."""
        with suppress(OSError, ValueError):
            self._file.write(text)

    def flush(self) -> None:
        """Send what was written."""
        with suppress(OSError, ValueError):
            self._file.flush()

    def fileno(self) -> int:
        """The number of the file."""
        return self._file.fileno()


class PromptDriver(LinuxDriver):
    """Takes keys and mouse from the terminal; ends at once, and knows a lone Esc when its time is up."""

    _wake: tuple[int, int] | None = None
    _frame_stands = False

    def start_application_mode(self) -> None:
        """Take the terminal; also after it was given back for a while."""
        if self._wake is None:
            self._wake = os.pipe()
        if not isinstance(self._file, Lasting):
            self._file = cast("IO[str]", Lasting(self._file))
        self._frame_stands = skeleton.give_back()
        super().start_application_mode()

    def resume_application_mode(self) -> None:
        """Take the terminal again; also when no word came of stopping, as with SIGSTOP: not a second time then."""
        if self._wake is not None:
            self.suspend_application_mode()
            self._must_signal_resume = True
        super().resume_application_mode()

    def write(self, data: str) -> None:
        """Write to the terminal; the first frame stays until it is painted over."""
        if self._frame_stands and data == _ALTERNATE:
            self._frame_stands = False
            return
        if self._writer_thread is not None:  # while another program has the terminal, nobody takes what is written
            super().write(data)

    def close(self) -> None:
        """Write the rest; what comes later is for nobody, and would wait for ever."""
        super().close()
        self._writer_thread = None

    def disable_input(self) -> None:
        """End the input thread and wait for it."""
        if self._wake is not None:
            os.write(self._wake[1], b"!")
        super().disable_input()
        for end in self._wake or ():
            os.close(end)
        self._wake = None

    def run_input_thread(self) -> None:
        """Read keys and mouse until `disable_input` wakes the thread."""
        assert self._wake is not None
        wake = self._wake[0]
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        # Neither works everywhere: select knows no descriptor above 1023, poll no terminal on macOS.
        selector = selectors.PollSelector() if sys.platform == "linux" else selectors.SelectSelector()
        with selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            selector.register(wake, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                due = parser._timeout_time  # pyright: ignore[reportPrivateUsage]
                ready = {key.fd for key, _ in selector.select(None if due is None else max(0.0, due - get_time()))}
                if wake in ready:
                    break
                events = list(parser.tick())
                if self.fileno in ready:
                    data = self._read()
                    if not data:
                        selector.unregister(self.fileno)
                    elif text := decode(data):  # the half of a character is nothing yet, and nothing means the end
                        events += parser.feed(text)
                        PACE.key()
                for event in events:
                    self.process_message(event)
        with suppress(EOFError, ParseError):
            for _ in parser.feed(""):
                pass

    def _read(self) -> bytes:
        """What was typed; nothing for ever once input has ended, and when a terminal has gone the app goes too."""
        try:
            data = os.read(self.fileno, 4096)
        except OSError:
            data = b""
        if not data and self.input_tty:
            self._app.call_later(self._app.exit)
        return data


def fits() -> bool:
    """Whether Textual is inside as this driver expects it."""
    names = set(LinuxDriver.__init__.__code__.co_names) | set(LinuxDriver.disable_input.__code__.co_names)
    return (
        {"exit_event", "fileno", "join", "_key_thread"} <= names
        and hasattr(LinuxDriver, "run_input_thread")
        and hasattr(LinuxDriver, "_run_input_thread")
        and hasattr(XTermParser(False), "_timeout_time")
        and hasattr(XTermParser, "tick")
    )
