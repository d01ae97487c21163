"""The actions of the log view; part of the table in `actions`."""

from __future__ import annotations

LOG = (
    ("log-open", "!enter", "open", "The message in the trace", ""),
    ("log-filter", "!slash", "filter", "Filter by words", "Filter"),
    ("log-least", "m", "least", "The least level that is shown", "Show level"),
    ("log-server", "s", "server", "Of which server", "Server"),
    ("log-stderr", "e", "stderr", "With lines of standard error, or without", ""),
    ("log-ask", "a", "ask", "Ask a server for another level", "Ask for level"),
    ("log-follow", "f", "follow", "Follow the newest", ""),
    ("log-copy", "y", "copy", "Copy the message", ""),
    ("log-close", "escape,q", "close", "Back", "Close"),
)
