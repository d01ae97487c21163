"""The actions around servers that ended, and lines that are no protocol; part of the table in `actions`."""

from __future__ import annotations

SERVERS = (
    ("server-ending", "m", "ending", "How it ended or crashed: what was in flight, its last words", ""),
    ("server-stray", "s", "stray", "What it printed to stdout besides the protocol", ""),
)
RESULT = (
    ("result-legacy", "H", "want('legacy')", 'Restart the server in the era with a handshake: era = "legacy"', ""),
)
TRACE = (
    ("trace-endings", "x", "endings", "How servers ended or crashed in it", ""),
    ("trace-stray", "X", "stray", "What the server under the cursor printed besides the protocol", ""),
)
MORTEM = (
    ("mortem-again", "a", "again", "Send the interrupted call again, with the same value", "Again"),
    ("mortem-restart", "r", "restart", "Connect the server again now", "Restart"),
    ("mortem-trace", "!enter,t", "show_trace", "Its end in the trace", "Trace"),
    ("mortem-stray", "s", "stray", "What it printed to stdout besides the protocol", ""),
    ("mortem-earlier", "left_square_bracket", "turn(-1)", "The ending before this one", "Older"),
    ("mortem-later", "right_square_bracket", "turn(1)", "The ending after this one", ""),
    ("mortem-copy", "y", "copy", "Copy all of it", ""),
    ("mortem-close", "escape,q", "close", "Back", "Close"),
)
STRAY = (
    ("stray-open", "!enter", "open", "The line in the trace", "Trace"),
    ("stray-copy", "y", "copy", "Copy the line", "Copy"),
    ("stray-copy-all", "Y", "copy_all", "Copy all lines", ""),
    ("stray-close", "escape,q", "close", "Back", "Close"),
)
