"""Copying text to the person's clipboard: the desktop's where there is one, else through the terminal."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable

from mcp_studio.safetext import hidden_in

OSC52_LIMIT = 74_000
"""Bytes of text that terminals commonly take in one OSC 52 sequence."""
_HIDDEN = r"[\x00-\x1f\x7f-\x9f]{0,8}"
"""What some terminals drop of a paste: it may stand inside the sequence."""
_END_OF_PASTE = re.compile(rf"(?:\x1b{_HIDDEN}\[|\x9b){_HIDDEN}2{_HIDDEN}0{_HIDDEN}1{_HIDDEN}~")
"""Ends a bracketed paste: what stands behind it would be typed, and a line end would run it."""
_PASSES = 8


def copied(text: str, through_terminal: Callable[[str], None], told: str = "") -> str:
    """Copy text; returns in a few words what happened, for the person, with `told` in the place of how much it is.

    A desktop's clipboard is not the person's when the session came over SSH, so then only the terminal is asked.
    """
    # Half a character, as a server may send or a file's name have, is in no encoding that anybody takes.
    whole = text.encode("utf-8", "replace").decode()
    text = pasteable(whole)
    note = ", without what would end a paste and type the rest" * (text != whole)
    hidden = " It holds control or invisible characters, which are copied as they are." * hidden_in(text)
    if _has_desktop() and _by_desktop(text):
        return f"Copied {told or _amount(text)}{note}.{hidden}"
    if len(text.encode()) > OSC52_LIMIT:
        return f"Not copied: {_amount(text)} is more than terminals take. Save it instead."
    through_terminal(text)
    return f"Copied {told or _amount(text)} through the terminal{note}.{hidden}"


def pasteable(text: str) -> str:
    """The text without the sequence that ends a bracketed paste, also where taking it out makes another one."""
    for _ in range(_PASSES):
        text, found = _END_OF_PASTE.subn("", text)
        if not found:
            return text
    return re.sub("[\x1b\x9b]", "", text)


def _amount(text: str) -> str:
    lines = text.count("\n") + 1
    return f"{len(text):,} characters" if lines == 1 else f"{lines:,} lines"


def _has_desktop() -> bool:
    if os.environ.get("SSH_CONNECTION"):
        return False
    return sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or "microsoft" in os.uname().release.lower()
    )


def _by_desktop(text: str) -> bool:
    import pyperclip

    try:
        pyperclip.copy(text)
    except (pyperclip.PyperclipException, OSError):
        return False
    return True
