"""The passphrase of the encrypted file, asked for on the terminal: on standard error, and without showing it."""

from __future__ import annotations

import os
import sys
from getpass import getpass

from mcp_studio.cli.lines import can_ask, silent
from mcp_studio.cli.telling import prompt, say

_TRIES = 3
_SHORTEST = 8


class _Asked:
    """How often it was asked for in this process: what opened the file once is not asked for again."""

    times = 0


def ask(new: bool) -> str:
    """Ask for it; empty where nobody is there, or gives none. Blocks.

    Args:
        new: it is to be made up, and typed twice.
    """
    if not can_ask():
        return ""
    try:
        return _new() if new else _known()
    except EOFError:
        return ""


def _known() -> str:
    if _Asked.times:
        say("That passphrase does not open the file.")
    _Asked.times += 1
    return typed("Passphrase of the encrypted secrets: ")


def _new() -> str:
    say("Secrets are kept in a file here that is encrypted under a passphrase. There is none yet: make one up.")
    for _ in range(_TRIES):
        first = typed(f"New passphrase ({_SHORTEST} characters or more): ")
        if not first:
            break
        if len(first) < _SHORTEST:
            say(f"That is too short: it has {len(first)} characters.")
        elif typed("The same again: ") == first:
            return first
        else:
            say("These two are not the same.")
    return ""


def typed(text: str) -> str:
    """One line, not shown.

    Raises:
        EOFError: there is none.
    """
    if sys.platform == "win32":
        return getpass(text)
    prompt(text)
    line = b""
    with silent(0):
        # Byte by byte: what is typed ahead is for whoever reads next.
        while not line.endswith(b"\n"):
            byte = os.read(0, 1)
            if not byte:
                raise EOFError
            line += byte
    say("")
    return line[:-1].decode("utf-8", "replace").rstrip("\r")
