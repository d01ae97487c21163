"""The formats that elicitation asks for (client/elicitation: email, uri, date, date-time), and a few alike."""

from __future__ import annotations

import re
from datetime import date

_DATE = r"\d{4}-\d{2}-\d{2}"
_TIME = r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d{1,12})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)"
# Compiled when first asked for, which at most starts is never.
_PATTERNS = {
    "email": r"[^@\s<>,;]{1,64}@[^@\s<>,;]{1,255}",
    "uri": r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`\x00-\x20\x7f]+",
    "date": _DATE,
    "date-time": f"{_DATE}[Tt]{_TIME}".replace("Z", "[Zz]"),
    "time": _TIME,
    "uuid": r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
}
_WANTED = {
    "email": "an email address, such as ada@example.com",
    "uri": "a URI, such as https://example.com/page",
    "date": "a date, such as 2027-01-31",
    "date-time": "a date and time with its zone, such as 2027-01-31T09:30:00Z",
    "time": "a time with its zone, such as 09:30:00Z",
    "uuid": "a UUID",
}


def wrong_format(format: str, text: str) -> str:
    """Why a text is not of its format, as a sentence; empty when it is, or when the format is unknown."""
    pattern = _PATTERNS.get(format)
    if pattern is None or (len(text) <= 10_000 and re.fullmatch(pattern, text) and _exists(format, text)):
        return ""
    return f"must be {_WANTED[format]}"


def _exists(format: str, text: str) -> bool:
    if not format.startswith("date"):
        return True
    try:
        date.fromisoformat(text[:10])
    except ValueError:
        return False
    return True
