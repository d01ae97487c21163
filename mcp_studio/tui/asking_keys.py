"""The rows of the table of actions that are about what servers ask: id, keys, method, title, title in the footer."""

from __future__ import annotations

Row = tuple[str, str, str, str, str]
_SEND = "!ctrl+j,alt+enter,ctrl+enter"

QUESTION: tuple[Row, ...] = (
    ("question-accept", _SEND, "accept", "Accept and send", "Accept"),
    ("question-decline", "alt+d", "decline", "Decline", "Decline"),
    ("question-cancel", "alt+c", "cancel", "Cancel what is waiting", "Cancel"),
    ("question-later", "escape", "later", "Later; what was typed is kept", "Later"),
    ("question-decline-all", "alt+a", "decline_all", "Decline all that this server asks, after asking", ""),
)
PAGE: tuple[Row, ...] = (
    ("page-open", "o", "open_page", "Open the page in the browser", "Open"),
    ("page-copy", "y", "copy", "Copy the address, to open it yourself", "Copy"),
    ("page-done", _SEND, "done", "The page is done: send the call again", ""),
    ("page-decline", "d", "decline", "Decline", "Decline"),
    ("page-cancel", "c", "cancel", "Cancel what is waiting", "Cancel"),
    ("page-later", "escape", "later", "Later", "Later"),
    ("page-decline-all", "alt+a", "decline_all", "Decline all that this server asks, after asking", ""),
)
SAMPLING: tuple[Row, ...] = (
    ("sampling-send", _SEND, "accept", "Send the reply", "Send"),
    ("sampling-text", "alt+n", "add_text", "Add a block of text to the reply", ""),
    ("sampling-tool", "alt+u", "add_tool", "Add a block to the reply that uses a tool", ""),
    ("sampling-remove", "alt+x", "remove_block", "Take the block with the cursor out of the reply", ""),
    ("sampling-json", "alt+j", "turn", "The whole reply as JSON, and back", "JSON"),
    ("sampling-decline", "alt+d", "decline", "Decline", "Decline"),
    ("sampling-cancel", "alt+c", "cancel", "Cancel: the server is told that it was declined, too", ""),
    ("sampling-later", "escape", "later", "Later; what was typed is kept", "Later"),
    ("sampling-decline-all", "alt+a", "decline_all", "Decline all that this server asks, after asking", ""),
)
APPROVAL: tuple[Row, ...] = (
    ("approval-run", "y", "run", "Run it once", "Run once"),
    ("approval-deny", "n", "deny", "Do not run it", "Do not"),
    ("approval-later", "escape", "later", "Later", "Later"),
)
BOARD: tuple[Row, ...] = (
    ("board-open", "!enter", "open", "Answer the question, or go to the call", "Open"),
    ("board-decline", "d", "decline", "Decline the question", "Decline"),
    ("board-decline-all", "D", "decline_all", "Decline all that its server asks, after asking", "All"),
    ("board-cancel", "x", "cancel", "Stop what is running", "Stop"),
    ("board-copy", "y", "copy", "Copy the address of the page, or the rule", ""),
    ("board-close", "escape,q", "close", "Close", "Close"),
)
RULE: tuple[Row, ...] = (
    ("rule-save", _SEND, "save", "Make the rule", "Make it"),
    ("rule-back", "escape", "back", "Back, without a rule", "Back"),
)
ROOTS: tuple[Row, ...] = (
    ("roots-save", _SEND, "save", "Use them, and save them where the server's entry is", "Save"),
    ("roots-add", "alt+n", "add", "Add a root", "Add"),
    ("roots-remove", "alt+x", "remove", "Remove the root with the cursor", "Remove"),
    ("roots-back", "escape", "back", "Back, without saving", "Back"),
)
