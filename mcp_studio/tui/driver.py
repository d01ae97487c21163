"""Textual's driver for Linux and macOS, on a terminal that may send anything, and go at any time."""

from __future__ import annotations

from contextlib import suppress
from typing import IO, cast

from textual.drivers.linux_driver import LinuxDriver


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


class StudioDriver(LinuxDriver):
    """Takes keys and mouse from the terminal, and gives it back as it was."""

    _active = False

    def start_application_mode(self) -> None:
        """Take the terminal; also when no word came of stopping, as with SIGSTOP: not a second time then."""
        if self._active:
            self.suspend_application_mode()
            self._must_signal_resume = True
        if not isinstance(self._file, Lasting):
            self._file = cast("IO[str]", Lasting(self._file))
        self._active = True
        super().start_application_mode()

    def stop_application_mode(self) -> None:
        """Give the terminal back."""
        self._active = False
        super().stop_application_mode()

    def run_input_thread(self) -> None:
        """Read keys and mouse; bytes that are no text are passed over."""
        while True:
            try:
                super().run_input_thread()
            except UnicodeDecodeError:
                continue
            except OSError:  # the terminal has gone, which ends the app
                pass
            return
