"""The actions of copying a call as something else, and of filling one from it; part of the table in `actions`."""

from __future__ import annotations

_COMMAND = "Copy the call as a command line"
_AS = "Copy it as Python, a test, curl, JSON-RPC, JSON …"
_PASTE = "Fill in a pasted call: JSON, a request, a command …"

APP = (
    ("copy-as", "alt+c", "copy_as", "Copy the open call as Python, a test, curl, JSON-RPC …", ""),
    ("paste-call", "alt+u", "paste_call", _PASTE, ""),
)
CATALOG = (
    ("catalog-copy", "y", "copy('name')", "Copy its name", ""),
    ("catalog-command", "c", "copy('command')", "Copy it as a command line", ""),
    ("catalog-copy-as", "C", "copy('as')", _AS, ""),
)
CALL = (
    ("call-command", "c", "copy_command", _COMMAND, ""),
    ("call-copy-as", "C", "copy_as", _AS, ""),
    ("call-paste", "P", "paste_call", _PASTE, ""),
)
RESULT = (
    ("result-command", "c", "want('command')", _COMMAND, ""),
    ("result-copy-as", "C", "want('as')", _AS, ""),
)
TRACE = (
    ("trace-command", "c", "copy_call(False)", _COMMAND, ""),
    ("trace-copy-as", "C", "copy_call(True)", _AS, ""),
)
DETAIL = (
    ("detail-command", "c", "copy_call(False)", _COMMAND, ""),
    ("detail-copy-as", "C", "copy_call(True)", _AS, ""),
)
PART = (
    ("part-command", "c", "copy_call(False)", _COMMAND, ""),
    ("part-copy-as", "C", "copy_call(True)", _AS, ""),
)
COPY = (
    ("copy-take", "!enter,ctrl+j,c", "take", "Copy the text", "Copy"),
    ("copy-secrets", "!ctrl+t,s", "secrets", "Write secret arguments too, or leave them out", "Secrets"),
    ("copy-turn", "!tab", "turn", "Go to the text, or back to the forms", "Text"),
    ("copy-close", "escape,q", "close", "Back", "Back"),
)
FILL = (
    ("fill-take", "!ctrl+j,alt+enter,ctrl+enter", "take", "Fill it in", "Fill in"),
    ("fill-here", "!ctrl+t", "here", "Fill what is open, though the text names something else", "Here"),
    ("fill-close", "escape", "close", "Back, as it was", "Back"),
)
