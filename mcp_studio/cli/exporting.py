"""Exporting a recording from the command line: to a file, to standard output, or to a collector."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from mcp_studio.config.nearest import nearest
from mcp_studio.errors import UsageError
from mcp_studio.limits import Limits
from mcp_studio.redact import Redactor
from mcp_studio.trace.export.collector import address, send
from mcp_studio.trace.export.formats import FORMATS, export
from mcp_studio.trace.recording import Recording

_EVERY = 50_000
"""Entries between two words about how far it is."""
Note = Callable[[str], None]


class Exporting(NamedTuple):
    """What was asked for."""

    format: str
    output: str
    """A file, or `-` for standard output."""
    to: str
    """The address of a collector; empty for a file."""
    headers: tuple[tuple[str, str], ...] = ()
    """For the collector."""


def wanted(format: str, output: str, to: str, headers: Iterable[tuple[str, str]] = ()) -> Exporting:
    """The words of a command line.

    Raises:
        UsageError: they do not fit together.
    """
    if format not in FORMATS:
        names = ", ".join(FORMATS)
        raise UsageError(
            f"--export: there is no format `{format}`.", hint=nearest(format, FORMATS) or f"One of {names}."
        )
    if to:
        if format != "otlp":
            raise UsageError("--to names a collector, and that takes --export otlp alone.")
        if output:
            raise UsageError("--to and --output cannot both be given.")
        address(to)
    elif headers:
        raise UsageError("--header is for the collector that --to names.")
    output = output or "-"
    if output == "-" and format == "bundle" and not to and sys.stdout.isatty():
        raise UsageError("A bundle is no text for a terminal.", hint="--output FILE writes it.")
    return Exporting(format, output, to, tuple(headers))


async def carry_out(
    what: Exporting, recording: Recording, numbers: Iterable[int] | None, redactor: Redactor, limits: Limits, note: Note
) -> None:
    """Export the entries with these numbers, or all; `note` is told what came of it.

    Raises:
        StudioError: see `formats.export` and `collector.send`.
    """

    def told(done: int, total: int) -> None:
        if done // _EVERY > (done - 1) // _EVERY > 0 and done < total:
            note(f"{done:,} of {total:,} messages")

    if what.to:
        sent = await send(
            recording, numbers, what.to, redactor, headers=what.headers, limits=limits, told=told
        )  # fmt: skip
        note(f"sent {_spans(sent.spans)} to the collector")
        if sent.rejected:
            note(f"it did not want {_spans(sent.rejected)}. {sent.message}".strip())
    elif what.output == "-":
        await export(recording, numbers, what.format, sys.stdout.buffer, redactor, told=told)
    else:
        path = Path(what.output)
        written = await export(recording, numbers, what.format, path, redactor, told=told)
        note(f"wrote {written.entries:,} messages to {path}")


def _spans(count: int) -> str:
    return f"{count:,} span{'' if count == 1 else 's'}"
