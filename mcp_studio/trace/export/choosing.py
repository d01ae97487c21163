"""Which entries an export is of, and how its file is called."""

from __future__ import annotations

import time
from array import array
from pathlib import Path

from mcp_studio.paths import file_stem
from mcp_studio.trace.columns import MARKED, Columns
from mcp_studio.trace.recording import Recording
from mcp_studio.trace.tree import tree, walk

_MARKED = bytes(bool(flags & MARKED) for flags in range(256))
_TRIES = 1_000


def exchange(recording: Recording, number: int) -> array[int]:
    """All that belongs to what an entry belongs to: requests and their answers, HTTP heads, notes."""
    columns = recording.columns
    found = tree(recording, number)
    numbers = {number} if found is None else {node.number for _, node in walk(found)}
    rows = (one - columns.first for one in tuple(numbers))
    numbers.update(columns.link[row] for row in rows if 0 <= row < len(columns) and columns.link[row])
    return array("I", sorted(numbers))


def marked(columns: Columns) -> array[int]:
    """The entries that a person has marked."""
    flags = columns.flags.tobytes().translate(_MARKED)
    found: array[int] = array("I")
    at = flags.find(1)
    while at >= 0:
        found.append(columns.first + at)
        at = flags.find(1, at + 1)
    return found


def new_file(folder: str, what: str, ending: str) -> Path:
    """A file that is not there yet: `trace-20260728-120107-marked.jsonl`; letters, digits and dashes alone are ours."""
    within = Path(folder.strip() or ".").expanduser()
    plain = file_stem(what, "")
    stem = f"trace-{time.strftime('%Y%m%d-%H%M%S')}{f'-{plain}' if plain else ''}"
    names = (f"{stem}{'' if number == 1 else f'-{number}'}.{ending}" for number in range(1, _TRIES))
    return next((path for name in names if not (path := within / name).exists()), within / f"{stem}.{ending}")
