"""Logging while the app has the terminal: into a file, redacted, bounded in rate and size."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import TextIO

from mcp_studio.redact import Redactor
from mcp_studio.safetext import safe

LARGEST = 1_000_000
"""Bytes; a file that is larger is moved aside once, when the next one is opened."""
BURST = 50
"""Records a second that are written; the rest is counted."""


class StudioLog(logging.Handler):
    """Writes records to a file that is made with the first of them."""

    def __init__(self, file: Path, redactor: Redactor) -> None:
        super().__init__(logging.INFO)
        self._path = file
        self._redactor = redactor
        self._stream: TextIO | None = None
        self._second = 0
        self._count = 0
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; a full disk or an odd record costs that record only."""
        now = int(time.monotonic())
        if now != self._second:
            left, self._second, self._count = self._count - BURST, now, 0
            if left > 0:
                self._write(f"… {left} more records in that second")
        self._count += 1
        if self._count <= BURST:
            try:
                text = self.format(record)
            except (TypeError, ValueError, KeyError) as error:
                text = f"a record of {record.name} that cannot be formatted: {error}"
            self._write(text)

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        super().close()

    def _write(self, text: str) -> None:
        try:
            if self._stream is None:
                self._stream = self._open()
            self._stream.write(safe(self._redactor.text(text), 20_000, lines=True) + "\n")
            self._stream.flush()
        except OSError:
            return

    def _open(self) -> TextIO:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if self._path.exists() and self._path.stat().st_size > LARGEST:
            self._path.replace(self._path.with_suffix(".old.log"))
        return self._path.open("a", encoding="utf-8", errors="backslashreplace")


def install(file: Path, redactor: Redactor) -> StudioLog:
    """Send all logging and all warnings there, and nowhere else; returns the handler, to be closed at the end."""
    handler = StudioLog(file, redactor)
    root = logging.getLogger()
    for other in tuple(root.handlers):
        root.removeHandler(other)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.captureWarnings(True)
    return handler


def uninstall(handler: StudioLog) -> None:
    """Undo `install`."""
    logging.captureWarnings(False)
    logging.getLogger().removeHandler(handler)
    handler.close()
