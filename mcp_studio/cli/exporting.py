"""Spans of a recording from the command line to a collector."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcp_studio.cli.output import Output
from mcp_studio.errors import UsageError
from mcp_studio.limits import Limits
from mcp_studio.trace.export.collector import Sent, address, send
from mcp_studio.trace.recording import Recording


def check(format: str, output: str, to: str) -> None:
    """Whether what `--to` goes with fits.

    Raises:
        UsageError: it does not, in words.
    """
    if format != "otlp":
        raise UsageError("--to names a collector, and that takes --export otlp alone.")
    if output:
        raise UsageError("--to and --output cannot both be given.")
    address(to)


async def to_collector(
    recording: Recording, numbers: Sequence[int] | None, to: str, headers: Iterable[tuple[str, str]], out: Output
) -> Sent:
    """Send the requests among these entries, or all, to the collector at an address, and say what it took.

    Raises:
        StudioError: see `collector.send`.
    """
    sent = await send(recording, numbers, to, out.redactor, headers=headers, limits=Limits())
    out.note(f"sent {_spans(sent.spans)} to the collector")
    if sent.rejected:
        out.note(f"it did not want {_spans(sent.rejected)}. {sent.message}".strip())
    return sent


def _spans(count: int) -> str:
    return f"{count:,} span{'' if count == 1 else 's'}"
