"""The actions of the tab History, of saving a call and of choosing a saved one; part of the table in `actions`."""

from __future__ import annotations

MAIN = (
    ("save-call", "!ctrl+s", "save_call", "Save the call that is open under a name", ""),
    ("saved-calls", "!alt+n", "saved_calls", "Saved calls: fill the form with one, run it, change it", ""),
)
HISTORY = (
    ("past-fill", "!enter", "ask('fill')", "Fill the form with it", "Fill"),
    ("past-run", "r", "ask('run')", "Run it again, or run the saved call", "Run"),
    ("past-copy", "c", "ask('command')", "Copy it as a command line", ""),
    ("past-copy-as", "C", "ask('as')", "Copy it as Python, a test, curl, JSON-RPC, JSON …", ""),
    ("past-copy-arguments", "y", "ask('copy')", "Copy its arguments as JSON", ""),
    ("past-rename", "e", "ask('rename')", "Rename the saved call", ""),
    ("past-open", "o", "ask('open')", "Open the file of the saved call in your editor", ""),
    ("past-delete", "d", "ask('delete')", "Delete it, after asking where it is a saved call", "Delete"),
)
SAVED = (
    ("saved-fill", "!enter", "take('fill')", "Fill the form with it", "Fill"),
    ("saved-run", "!ctrl+j,alt+enter,ctrl+enter", "take('run')", "Run it", "Run"),
    ("saved-rename", "!ctrl+r", "take('rename')", "Rename it", "Rename"),
    ("saved-delete", "!ctrl+d", "take('delete')", "Delete it, after asking", "Delete"),
    ("saved-open", "!ctrl+o", "take('open')", "Open its file in your editor", ""),
    ("saved-close", "escape", "close", "Back", "Back"),
)
ASK = (
    ("ask-done", "!ctrl+j,alt+enter,ctrl+enter", "accept", "Go on with what is filled in", "OK"),
    ("ask-back", "escape", "back", "Back", "Back"),
)
