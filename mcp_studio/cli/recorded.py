"""One entry of a recording, as a line and as JSON."""

from __future__ import annotations

import time

from mcp_studio.jsontext import Json
from mcp_studio.safetext import safe
from mcp_studio.trace import columns as bits
from mcp_studio.trace.columns import Columns
from mcp_studio.trace.lines import beginning
from mcp_studio.trace.recording import Reader, Recording

_WORDY = ("stderr", "stray", "note", "invalid")
"""Kinds of entries that say themselves what they are about."""
_SERVER, _METHOD, _TARGET = 20, 26, 60
_DAY = 86_400
_SEVERITIES = (None, "hint", "warning", "error")


class Lines:
    """Entries as lines of a table whose columns do not depend on what is in them."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        columns = recording.columns
        self._reader: Reader | None = None
        names = columns.servers.texts[2:]
        self._server = min(_SERVER, max((len(safe(name, 80)) for name in names), default=0))
        self._server = max(self._server, len("server"))
        times = columns.time
        far = len(times) > 0 and _day(times[0]) != _day(times[-1])
        self._clock = "%Y-%m-%d %H:%M:%S" if far else "%H:%M:%S"

    def head(self) -> str:
        """The names of the columns."""
        clock = "time".ljust(23 if "%Y" in self._clock else 12)
        return (
            f"{'number':>8}  {clock}  {'server':<{self._server}}  dir  {'kind':<12}  {'method':<{_METHOD}}"
            f"  {'ms':>8}  {'bytes':>9}  {'status':<10}  target"
        )

    def line(self, number: int) -> str:
        """One entry."""
        columns = self._recording.columns
        row = number - columns.first
        ms, kind = columns.ms(row), columns.kind_of(row)
        server = safe(columns.servers.texts[columns.server[row]], self._server)
        method = safe(columns.methods.texts[columns.method[row]], 80)
        target = columns.targets.texts[columns.target[row]]
        if kind in _WORDY and not target:
            target = self._words(number)
        stamp = columns.time[row]
        clock = time.strftime(self._clock, time.localtime(stamp)) + f".{int(stamp * 1000) % 1000:03}"
        return (
            f"{number:>8}  {clock}  {server:<{self._server}}  {columns.direction_of(row).replace('none', '-'):<3}"
            f"  {kind:<12}  {method:<{_METHOD}}  {'' if ms is None else f'{ms:.1f}':>8}  {columns.size[row]:>9}"
            f"  {status(columns, row):<10}  {safe(target, _TARGET)}"
        ).rstrip()

    def close(self) -> None:
        """No more lines."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _words(self, number: int) -> str:
        if self._reader is None:
            self._reader = self._recording.reader()
        return beginning(self._reader.body(number), _TARGET)


def status(columns: Columns, row: int) -> str:
    """How it stands with an entry, in a word or two."""
    kind, outcome = columns.kind_of(row), columns.outcome_of(row)
    if outcome:
        return outcome
    return {"error": "error", "result": "unasked", "invalid": "no message", "stray": "stray"}.get(kind, "")


def facts(recording: Recording, number: int) -> dict[str, Json]:
    """One entry without its body."""
    columns = recording.columns
    row = number - columns.first
    flags, ms, link = columns.flags[row], columns.ms(row), columns.link[row]
    asks = columns.kind_of(row) == "request"
    return {
        "number": number, "time": round(columns.time[row], 6), "server": columns.servers.texts[columns.server[row]],
        "direction": columns.direction_of(row), "kind": columns.kind_of(row),
        "method": columns.methods.texts[columns.method[row]] or None,
        "target": columns.targets.texts[columns.target[row]] or None,
        "size": columns.size[row], "ms": None if ms is None else round(ms, 3), "status": status(columns, row) or None,
        "request": link or None if not asks else None, "answer": link or None if asks else None,
        "finding": _SEVERITIES[flags >> bits.SEVERITY & 3], "marked": bool(flags & bits.MARKED),
        "comment": recording.comment_on(number) or None if flags & bits.COMMENTED else None,
    }  # fmt: skip


def _day(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(moment))
