"""The actions of the console; part of the table in `actions`."""

from __future__ import annotations

CONSOLE = (
    ("console-send", "!ctrl+j,alt+enter,ctrl+enter", "send", "Send the frame as it stands", "Send"),
    ("console-template", "!ctrl+t", "template", "Start from a method, an answer or a broken frame", "Template"),
    ("console-earlier", "!ctrl+up,alt+p", "recall(-1)", "The frame that was sent before", "Earlier"),
    ("console-later", "!ctrl+down,alt+n", "recall(1)", "The frame that was sent after it", ""),
    ("console-alone", "!ctrl+o", "alone", "Connect without a handshake, or end that", "No handshake"),
    ("console-copy", "y", "copy", "Copy the message under the cursor", ""),
    ("console-close", "escape", "close", "Back; what is typed is kept", "Back"),
)
SERVERS = (("server-console", "c", "console", "Console: send any message by hand", ""),)
TRACE = (("trace-by-hand", "e", "by_hand", "Edit it and send it again by hand", ""),)
PART = (("part-by-hand", "e", "by_hand", "Edit the message and send it again by hand", ""),)
DETAIL = (("detail-by-hand", "e", "by_hand", "Edit it and send it again by hand", "Edit"),)
