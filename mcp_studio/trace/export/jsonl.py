"""A recording as JSON lines (see `lines`), as they are or compressed into a bundle."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from typing import IO

from mcp_studio import __version__
from mcp_studio.trace.export.item import Item
from mcp_studio.trace.export.lines import head_line, line_of
from mcp_studio.trace.export.writer import Source


class JsonLines:
    """One line for each entry."""

    def begin(self, source: Source, out: IO[bytes]) -> None:
        """The line that says what the file is."""
        self._out = out
        out.write(head_line(source.servers, source.title, source.made, f"mcp-studio {__version__}"))

    def write(self, items: Iterable[Item]) -> None:
        """Their lines."""
        for item in items:
            self._out.write(line_of(item))

    def end(self) -> None:
        """Nothing comes after them."""


class Bundle(JsonLines):
    """The same, compressed; `bundle.open_bundle` opens it."""

    def begin(self, source: Source, out: IO[bytes]) -> None:
        """The line that says what the file is."""
        # No name and no time: the same recording makes the same bundle.
        self._packed = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=out, mtime=0)
        super().begin(source, self._packed)  # pyright: ignore[reportArgumentType]

    def end(self) -> None:
        """What gzip puts behind."""
        self._packed.close()
