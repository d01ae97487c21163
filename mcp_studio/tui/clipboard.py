"""Copying text to the person's clipboard: the desktop's where there is one, else through the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

OSC52_LIMIT = 74_000
"""Bytes of text that terminals commonly take in one OSC 52 sequence."""


def copy(text: str, through_terminal: Callable[[str], None], told: str = "") -> str:
    """Copy text; returns in a few words what happened, for the person, with `told` in the place of how much it is.

    A desktop's clipboard is not the person's when the session came over SSH, so then only the terminal is asked.
    """
    # Half a character, as a server may send or a file's name have, is in no encoding that anybody takes.
    text = text.encode("utf-8", "replace").decode()
    if _has_desktop() and _by_desktop(text):
        return f"Copied {told or _amount(text)}."
    if len(text.encode()) > OSC52_LIMIT:
        return f"Not copied: {_amount(text)} is more than terminals take. Save it instead."
    through_terminal(text)
    return f"Copied {told or _amount(text)} through the terminal."


def paste(own: str) -> str:
    """The text of the desktop's clipboard, else what was copied here; may wait for another program."""
    if not _has_desktop():
        return own
    import pyperclip

    try:
        return pyperclip.paste() or own
    except (pyperclip.PyperclipException, OSError, UnicodeDecodeError):
        return own


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
