"""JSON as people and editors write it: with comments and trailing commas, between fences."""

from __future__ import annotations

import re

from mcp_studio.jsontext import Json, loads

_PARTS = re.compile(
    r'("(?:[^"\\]|\\.)*(?:"|\Z))|(//[^\n]*|/\*.*?(?:\*/|\Z))|(,)(?=(?:\s|//[^\n]*\n|(?>/\*.*?\*/))*[}\]])', re.DOTALL
)
_FENCE = re.compile(r"```[^`\n]*+\n")


def loads_lenient(text: str, *, exact: bool = False) -> Json:
    """Read one JSON value; comments and commas before a closing bracket are ignored, line numbers stay right.

    Args:
        exact: as `jsontext.loads` has it.

    Raises:
        JsonProblem: it is not JSON even so.
        LimitExceeded: it is nested too deeply.
    """
    return loads(_PARTS.sub(_blank, text.removeprefix("\ufeff")), exact=exact)


def unfenced(text: str) -> str:
    """What stands between the fences of a block of Markdown; the text itself where it is no such block."""
    # No search for the end: one that looks ahead at every place takes hours in a megabyte of blank lines.
    begun = _FENCE.match(text)
    closed = begun is not None and len(text) >= begun.end() + 3 and text.endswith("```")
    return text[begun.end() : -3].rstrip() if begun and closed else text


def _blank(part: re.Match[str]) -> str:
    return part[1] or re.sub(r"[^\n]", " ", part[0])
