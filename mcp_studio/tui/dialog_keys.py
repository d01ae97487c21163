"""The actions of dialogs around servers and of small ones: yes and no, choosing, saving a result, pages.

Part of the table in `actions`.
"""

from __future__ import annotations

CONFIRM = (
    ("confirm-yes", "y", "yes", "Yes", "Yes"),
    ("confirm-no", "n,escape", "no", "No", "No"),
)
TRUST = (
    ("trust-yes", "y", "yes", "Use this file as it is now", "Use it"),
    ("trust-no", "n,escape", "no", "Do not use it", "Not now"),
)
CHOICE = (
    ("choice-take", "!enter", "choose", "Take what the cursor is on", "Choose"),
    ("choice-close", "escape", "close", "Back", "Back"),
)
SAVE = (
    ("save-write", "!enter,ctrl+j", "write", "Write the files", "Save"),
    ("save-close", "escape", "close", "Back, without saving", "Back"),
)
PAGES = (
    ("pages-next", "right_square_bracket,ctrl+pagedown", "next", "Next page", "Next page"),
    ("pages-previous", "left_square_bracket,ctrl+pageup", "previous", "Page before", "Before"),
    ("pages-again", "r", "again", "Begin anew with the first page", "Anew"),
    ("pages-copy", "y", "copy", "Copy the value under the cursor", "Copy"),
    ("pages-close", "escape,q", "close", "Back", "Close"),
)
SERVER = (
    ("server-test", "!ctrl+t", "test", "Try it without saving", "Test"),
    ("server-save", "!ctrl+j,alt+enter,ctrl+enter", "save", "Save it", "Save"),
    ("server-keep", "alt+k", "keep", "Put secrets that stand in clear into the keyring", ""),
    ("server-import", "!ctrl+o", "import_files", "Import from other clients' files", "Import"),
    ("server-back", "escape", "back", "Back, without saving", "Back"),
)
IMPORT = (
    ("import-toggle", "space", "toggle_entry", "Take it, or leave it", "Mark"),
    ("import-save", "!ctrl+j,alt+enter,enter", "save", "Add what is marked", "Add"),
    ("import-back", "escape", "back", "Back", "Back"),
)
