"""What of two values may differ without being a difference: ids and times, and what a person adds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from mcp_studio.errors import UsageError

At = tuple[Any, Any] | None
"""A place as a chain: the place above it, and the last step; None is the whole value."""
Step = str | int
USUAL = (
    "_meta", "requestId", "request_id", "etag", "traceparent", "tracestate", "uuid", "*timestamp*", "*Timestamp*",
    "*_at", "createdAt", "updatedAt", "modifiedAt", "startedAt", "endedAt", "finishedAt", "expiresAt", "lastUpdatedAt",
    "lastModified", "last_modified", "uptime", "duration", "duration_ms", "durationMs", "elapsed", "elapsed_ms",
    "elapsedMs", "took", "took_ms", "tookMs", "latency", "latency_ms", "latencyMs",
)  # fmt: skip
"""Members that are ignored unless everything is to count. Times and UUIDs inside of texts are too."""
_CHANGING = re.compile(
    r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}"
    r"(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?(?: ?(?:Z|[+-][0-9]{2}:?[0-9]{2}))?"
    r"|\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"
)
_LONGEST = 4_000_000
"""Characters of a text in which times and ids are looked for."""
_STEP = re.compile(r'\[(\*|[0-9]+)\]|\["([^"]*)"\]|\.?([^.\[\]]+)')
_NAMES = 20_000


class _Pattern(NamedTuple):
    steps: tuple[re.Pattern[str] | int | None, ...]
    """From the last to the first; a number is an index, None any index."""
    whole: bool
    """It begins at the top of the value."""


class Ignore:
    """A list of patterns; a place that one of them matches is ignored, with all that is below it.

    A pattern is a path such as `created_at`, `content[*].text` or `structuredContent.items[0].id` and matches wherever
    a place ends like it; with `$.` before it, only from the top of the value. `*` stands for any characters of a name,
    as a whole step for any name or index, and `[*]` for any index; `["a.b"]` is a name with a dot in it.

    Args:
        patterns: what is ignored besides.
        usual: ignore `USUAL` too, and times and UUIDs inside of texts.

    Raises:
        UsageError: a pattern cannot be read.
    """

    def __init__(self, patterns: Iterable[str] = (), *, usual: bool = True) -> None:
        self.usual = usual
        self.patterns = tuple(patterns)
        self._patterns = [_read(text) for text in (*self.patterns, *(USUAL if usual else ()))]
        self._ends: dict[Step, tuple[_Pattern, ...]] = {}

    def hides(self, above: At, step: Step) -> bool:
        """Whether the place `step` below `above` is ignored."""
        found = self._ends.get(step)
        if found is None:
            found = tuple(one for one in self._patterns if _fits(one.steps[0], step))
            if len(self._ends) < _NAMES:
                self._ends[step] = found
        return bool(found) and any(_ends_like(one, above) for one in found)

    def plain(self, text: str) -> str:
        """A text without what changes each time."""
        if not self.usual or not 16 <= len(text) <= _LONGEST:
            return text
        return _CHANGING.sub("…", text)


def _read(text: str) -> _Pattern:
    whole = text.startswith("$")
    rest = text[1:] if whole else text.removeprefix("*.")
    steps: list[re.Pattern[str] | int | None] = []
    place = 0
    while place < len(rest):
        found = _STEP.match(rest, place)
        if found is None:
            break
        index, quoted, name = found.groups()
        if index is not None:
            steps.append(None if index == "*" else int(index))
        else:
            steps.append(re.compile(re.escape(quoted) if quoted is not None else re.escape(name).replace(r"\*", ".*")))
        place = found.end()
    if not steps or place < len(rest):
        raise UsageError(
            f"`{text}` is no pattern of what to ignore.", hint="Such as created_at, content[*].text or $.items[0].id"
        )
    return _Pattern(tuple(reversed(steps)), whole)


def _fits(wanted: re.Pattern[str] | int | None, step: Step) -> bool:
    if isinstance(step, int):
        return wanted is None or wanted == step or (isinstance(wanted, re.Pattern) and wanted.pattern == ".*")
    return isinstance(wanted, re.Pattern) and wanted.fullmatch(step) is not None


def _ends_like(pattern: _Pattern, above: At) -> bool:
    """Whether all but the last step of a pattern, which is known to fit, fit too."""
    for wanted in pattern.steps[1:]:
        if above is None or not _fits(wanted, above[1]):
            return False
        above = above[0]
    return above is None or not pattern.whole
