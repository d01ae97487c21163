"""JSON as people and editors write it: with comments and trailing commas."""

from __future__ import annotations

import re

from mcp_studio.jsontext import Json, loads

_PARTS = re.compile(
    r'("(?:[^"\\]|\\.)*(?:"|\Z))|(//[^\n]*|/\*.*?(?:\*/|\Z))|(,)(?=(?:\s|//[^\n]*\n|(?>/\*.*?\*/))*[}\]])', re.DOTALL
)


def loads_lenient(text: str, *, exact: bool = False) -> Json:
    """Read one JSON value; comments and commas before a closing bracket are ignored, line numbers stay right.

    Args:
        exact: as `jsontext.loads` has it.

    Raises:
        JsonProblem: it is not JSON even so.
        LimitExceeded: it is nested too deeply.
    """
    return loads(_PARTS.sub(_blank, text.removeprefix("\ufeff")), exact=exact)


def _blank(part: re.Match[str]) -> str:
    return part[1] or re.sub(r"[^\n]", " ", part[0])
