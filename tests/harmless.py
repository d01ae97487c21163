"""What may reach a terminal: exactly what the program itself writes, and nothing else that acts."""

from __future__ import annotations

import base64
import re

from mcp_studio.safetext import is_live

_COLOUR = rb"[34]8;2;\d{1,3};\d{1,3};\d{1,3}"
_SCREEN = rb"""
    \x1b\[(?:(?:[1-9];){0,6}%(colour)s(?:;%(colour)s)?|0)m   # looks: attributes with true colours, never a bare 31
  | \x1b\[\d{1,3};\d{1,3}H                                  # the cursor's place
  | \x1b\[\?(?:7|25|1000|1003|1004|1006|1015|1049|2004|2026)[hl]   # wrapping, cursor, mouse, paste, screen, frames
  | \x1b\[>25u | \x1b\[<u | \x1b\[\?20(?:26|48)\$p          # keys, and two questions
  | \x1b\]22;[a-z-]*\x07                                    # the shape of the pointer
""" % {b"colour": _COLOUR}
SCREEN = re.compile(_SCREEN, re.VERBOSE)
"""What the studio writes to draw itself."""
LINES = re.compile(rb"\x1b\[(?:31merror|33mwarning|2m|1m|3[0-7]m)|\x1b\[0m")
"""What the command line writes on a terminal."""
COPIED = re.compile(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07")


def copied(data: bytes) -> list[str]:
    """The texts that went to the clipboard through the terminal."""
    return [base64.b64decode(found[1]).decode() for found in COPIED.finditer(data)]


def live_in(data: bytes, own: re.Pattern[bytes] = SCREEN, *, clipboard: int = 0) -> list[str]:
    """Everything in some output that acts on a terminal or hides in it, each with what stands around it.

    `clipboard` is how many times something was copied; more than that is found too.
    """
    rest = COPIED.sub(b"", data, count=clipboard)
    text = own.sub(b"", rest).decode("utf-8", "surrogateescape")
    found = [place for place, char in enumerate(text) if char not in "\r\n" and is_live(char)]
    return [f"{text[place]!r} in {text[max(0, place - 30) : place + 30]!r}" for place in found[:10]]
