"""Spans as OTLP in JSON: a file of lines, each of which a collector takes by itself (OTLP file exporter)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO

from mcp_studio import __version__
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json, dumps
from mcp_studio.trace.export.item import Item
from mcp_studio.trace.export.spans import Spans
from mcp_studio.trace.export.writer import Source
from mcp_studio.trace.message import KINDS
from mcp_studio.trace.tree import signs_in

BATCH = 500
"""Spans of one line."""
_LINE = 2 << 20
"""Bytes from which on a line ends."""
_REQUEST = KINDS.index("request")


class Otlp:
    """Requests as spans, also those of signing in; lines of standard error and the like have no place in it."""

    def begin(self, source: Source, out: IO[bytes]) -> None:
        """Nothing stands before the first line.

        Raises:
            UsageError: none of what was chosen is a request or an answer.
        """
        columns = source.columns
        ends = (number - columns.first for number in source.numbers)
        if not any(
            columns.outcome[row] or columns.kind[row] & 15 == _REQUEST or signs_in(columns, row) for row in ends
        ):
            raise UsageError("None of it is a request or an answer, and OTLP has spans alone.")
        self._spans = Spans(source)
        self._out = out
        self._waiting: list[bytes] = []
        self._size = 0
        self.count = 0
        """Spans so far."""

    def write(self, items: Iterable[Item]) -> None:
        """The spans of these entries."""
        for item in items:
            span = self._spans.of(item)
            if span is not None:
                self._waiting.append(dumps(span))
                self._size += len(self._waiting[-1])
                self.count += 1
                if len(self._waiting) >= BATCH or self._size > _LINE:
                    self._line()

    def end(self) -> None:
        """The last line."""
        self._line()

    def _line(self) -> None:
        if self._waiting:
            self._out.write(message(self._waiting) + b"\n")
            self._waiting, self._size = [], 0


def message(spans: list[bytes]) -> bytes:
    """An `ExportTraceServiceRequest` with these spans, which are JSON already."""
    about: dict[str, Json] = {"service.name": "mcp-studio", "service.version": __version__}
    resource = {"attributes": [{"key": key, "value": {"stringValue": value}} for key, value in about.items()]}
    scope = {"name": "mcp-studio", "version": __version__}
    return b'{"resourceSpans":[{"resource":%b,"scopeSpans":[{"scope":%b,"spans":[%b]}]}]}' % (
        dumps(resource), dumps(scope), b",".join(spans)
    )  # fmt: skip
