"""Foreign text made safe to draw: no character of it can move, colour, hide or reorder what a person sees.

Widgets and printers take text from servers only after `safe`. Characters that act on the terminal or are invisible
become visible marks; the trace keeps the raw text.
"""

from __future__ import annotations

import json
import re
from itertools import islice

_LIVE_RANGES: tuple[tuple[int, int], ...] = (
    # Unicode categories Cc without the line feed, Cf, Cs, Co, Zl, Zp, neighbouring ranges joined, …
    (0x00, 0x09), (0x0B, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x600, 0x605), (0x61C, 0x61C), (0x6DD, 0x6DD),
    (0x70F, 0x70F), (0x890, 0x891), (0x8E2, 0x8E2), (0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F),
    (0xD800, 0xF8FF), (0xFEFF, 0xFEFF), (0x110BD, 0x110BD), (0x110CD, 0x110CD), (0x13430, 0x1343F), (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A), (0xF0000, 0x10FFFF),
    # … letters and marks that fonts draw as nothing (fillers, joiners, selectors without a use here), …
    (0x34F, 0x34F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x3164, 0x3164), (0xFFA0, 0xFFA0),
    # … tags and further characters that Unicode tells programs to ignore, but no variation selectors; noncharacters.
    (0xE0000, 0xE00FF), (0xE01F0, 0xE0FFF), (0xFDD0, 0xFDEF), (0xFFF0, 0xFFFB), (0xFFFE, 0xFFFF),
    *((plane + 0xFFFE, plane + 0xFFFF) for plane in range(0x10000, 0xF0000, 0x10000)),
)  # fmt: skip
_SELECTORS = ((0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
_MARKS = (
    (0x300, 0x36F), (0x483, 0x489), (0x591, 0x5BD), (0x610, 0x61A), (0x64B, 0x65F), (0x6D6, 0x6DC), (0x6DF, 0x6E4),
    (0x730, 0x74A), (0x816, 0x82D), (0x8D3, 0x8E1), (0x8E3, 0x902), (0xE34, 0xE3A), (0xE47, 0xE4E), (0xEB4, 0xEBC),
    (0xF71, 0xF84), (0x1AB0, 0x1ACE), (0x1DC0, 0x1DFF), (0x20D0, 0x20F0), (0x302A, 0x302D), (0x3099, 0x309A),
    (0xFE20, 0xFE2F),
)  # fmt: skip


def _set(ranges: tuple[tuple[int, int], ...]) -> str:
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


# The patterns stay text until they are used: they take 8 ms to compile, and ASCII needs none of them.
# A class with many ranges beyond U+FFFF takes ten times as long for every character of a text: the lookbehind checks
# those characters one by one.
_NEAR = tuple((first, min(last, 0xFFFF)) for first, last in _LIVE_RANGES if first <= 0xFFFF)
LINES_LIVE = f"[{_set(_NEAR)}\U00010000-\U0010ffff](?<=[{_set(_LIVE_RANGES)}])"
"""Matches one character that acts on a terminal or is invisible; line feeds are left out."""
# One selector after an emoji, a CJK character or a keycap's base selects its look; any other selector hides data.
_HIDDEN = f"(?<![^\x00-\x22\x24-\x29\x2b-\x2f\x3a-\x7f{_set(_SELECTORS)}])[{_set(_SELECTORS)}]"
_FLOOD = f"([{_set(_MARKS)}]{{8}})([{_set(_MARKS)}]+)"
_TAB = 4


class SafeText(str):
    """Text that `safe` made: widgets and printers accept foreign text only as this type."""

    __slots__ = ()


def is_live(char: str) -> bool:
    """Whether one character acts on a terminal or is invisible: C0, C1, bidi, zero-width, tag, surrogate, …"""
    return char == "\n" or re.match(LINES_LIVE, char) is not None


def hidden_in(text: str) -> bool:
    """Whether `safe` replaces some characters of this text by marks; line breaks and tabs do not count."""
    return not text.isprintable() and re.search(LINES_LIVE, text.replace("\t", " ").replace("\r\n", "\n")) is not None


def safe(text: object, limit: int = 2_000, *, lines: bool = False) -> SafeText:
    """Make foreign text visible and harmless.

    C0 becomes control pictures (`␛`), C1 `\\x9b`, every other live or invisible character `⟦U+202E⟧`, a long run of
    combining marks `⟦37 marks⟧`. A text longer than `limit` characters is cut, and a mark says how much was cut. `text`
    may be any JSON value: None is empty, containers are shown as JSON.

    Args:
        lines: keep line breaks and expand tabs; otherwise a line break becomes `⏎` and a tab a space.
    """
    if isinstance(text, SafeText) and len(text) <= limit + 24 and (lines or "\n" not in text):
        return text
    raw = text if isinstance(text, str) else _spell(text, limit)
    tail = ""
    if len(raw) > limit:
        raw, tail = raw[:limit], f"… {_size(raw[limit:])} more"
    if raw.isascii() and (raw.replace("\n", "") if lines else raw).isprintable():
        return SafeText(raw + tail)
    raw = raw.replace("\r\n", "\n")
    return SafeText(_visible(raw.expandtabs(_TAB) if lines else raw.replace("\n", "⏎").replace("\t", " ")) + tail)


def escape_live(text: str) -> str:
    """JSON text with every live character as a `\\u` escape: the same value, safe to print. Line breaks stay."""
    return text if text.isascii() and "\x7f" not in text else re.sub(LINES_LIVE, _escape, text)


def _escape(found: re.Match[str]) -> str:
    return "\\u007f" if found[0] == "\x7f" else json.dumps(found[0])[1:-1]


def _visible(text: str) -> str:
    text = re.sub(LINES_LIVE, _mark, text)
    if text.isascii():
        return text
    return re.sub(_FLOOD, lambda found: f"{found[1]}⟦{len(found[2])} marks⟧", re.sub(_HIDDEN, _mark, text))


def _mark(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return f"\\x{code:02x}" if code < 0xA0 else f"⟦U+{code:04X}⟧"


def _size(cut: str) -> str:
    # A rough size is enough: it is not worth counting the bytes of 20 MB that nobody sees.
    count = len(cut) if cut.isascii() or len(cut) > 1_000_000 else len(cut.encode("utf-8", "surrogatepass"))
    if count < 1_000:
        return f"{count} B"
    return f"{count / 1_000:.1f} KB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def _spell(value: object, limit: int) -> str:
    """The text of a value that is not a string, in plain words or JSON, hardly longer than `limit`."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if not isinstance(value, (dict, list, bool, int, float)):
        return str(value)
    pieces = json.JSONEncoder(ensure_ascii=False, default=str).iterencode(value)
    try:
        return "".join(islice(pieces, limit + 1))  # no piece is empty
    except (RecursionError, ValueError):
        return "…"
