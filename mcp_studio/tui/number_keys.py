"""The actions of the statistics and of calling many times; part of the table in `actions`."""

from __future__ import annotations

APP = (
    ("statistics", "f11,u", "statistics", "Statistics: how often, how fast (latency), what failed", ""),
    ("load", "alt+j", "load", "Load: run what is open many times, some of them at once", ""),
)
_SORTS = (
    ("1", "name", "name"), ("2", "count", "how often"), ("3", "errors", "errors"), ("4", "p50", "p50"),
    ("5", "p95", "p95"), ("6", "p99", "p99"), ("7", "most", "the longest"), ("8", "rate", "how many a second"),
    ("9", "in", "bytes that came in"), ("0", "last", "when it was last used"),
)  # fmt: skip
STATISTICS = (
    ("stat-open", "!enter", "open", "Its messages in the trace", "Trace"),
    ("stat-next", "right_square_bracket,tab", "turn(1)", "Servers, methods, calls, errors: the next one", "Tab"),
    ("stat-previous", "left_square_bracket,shift+tab", "turn(-1)", "The one before", ""),
    ("stat-sort", "s,right", "sort_next(1)", "Sort by the next column", "Sort"),
    ("stat-sort-back", "S,left", "sort_next(-1)", "Sort by the column before", ""),
    ("stat-reverse", "r", "reverse", "The other way round", ""),
    *((f"stat-by-{name}", key, f"sort('{name}')", f"Sort by {what}", "") for key, name, what in _SORTS),
    ("stat-copy", "y", "copy", "Copy the table", "Copy"),
    ("stat-close", "escape,q", "close", "Back", "Close"),
)
LOAD = (
    ("load-run", "!ctrl+j,alt+enter,ctrl+enter", "start", "Begin", "Begin"),
    ("load-copy", "!alt+c", "copy", "Copy the figures as JSON", "Copy"),
    ("load-close", "escape", "close", "Stop it; once it has ended, back", "Stop, back"),
)
