"""The rows of the table of actions that move in lists and viewers; part of the table in `actions`."""

from __future__ import annotations

LIST = (
    ("list-up", "up,k", "move(-1)", "Up", ""),
    ("list-down", "down,j", "move(1)", "Down", ""),
    ("list-page-up", "pageup", "page(-1)", "Page up", ""),
    ("list-page-down", "pagedown", "page(1)", "Page down", ""),
    ("list-first", "home,g", "first", "First", ""),
    ("list-last", "end,G", "last", "Last", ""),
)
VIEWER = (
    ("viewer-find", "slash", "open_find", "Find", ""),
    ("viewer-next", "n", "find_next(1)", "Next match", ""),
    ("viewer-previous", "N", "find_next(-1)", "Previous match", ""),
    ("viewer-up", "up,k", "scroll_by(-1)", "Up", ""),
    ("viewer-down", "down,j", "scroll_by(1)", "Down", ""),
    ("viewer-page-up", "pageup", "page(-1)", "Page up", ""),
    ("viewer-page-down", "pagedown", "page(1)", "Page down", ""),
    ("viewer-first", "home,g", "first", "Begin", ""),
    ("viewer-last", "end,G", "last", "End", ""),
    ("json-open", "right,l", "unfold", "JSON: open, or go inside", ""),
    ("json-close", "left,h", "fold", "JSON: close, or go outside", ""),
    ("json-close-all", "z", "fold_all", "JSON: close all", ""),
    ("json-open-all", "Z", "unfold_all", "JSON: open one level more", ""),
    ("json-copy-path", "Y", "copy_path", "JSON: copy the path", ""),
)
