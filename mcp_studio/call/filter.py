"""Secrets and personal data in results: counted, and on request masked, before results are shown or stored.

The trace keeps personal data; of its messages only secrets are removed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Literal, cast

from mcp_studio.call.call import ANSWERED, CallOutcome, Rejected
from mcp_studio.config.model import ServerConfig
from mcp_studio.jsontext import Json
from mcp_studio.limits import MB
from mcp_studio.protocol.message import whole
from mcp_studio.redact import MARK, Redactor

_MOST = 16 * MB
"""Characters that are searched; further texts are masked completely."""
_BINARY = ("data", "blob")
"""Members whose texts are base64."""
_KINDS = {
    "secret": "secrets", "email": "e-mail addresses", "phone": "phone numbers", "card": "card numbers",
    "iban": "account numbers", "unread": "texts beyond the first 16 MB",
}  # fmt: skip
_UNREAD = "‹not looked at›"
_PERSONAL = {
    # Each match starts where nothing of its kind precedes it and has a bounded length, so the search takes linear time.
    "email": (r"(?<![\w.+-])[\w.+-]{1,64}+@(?:[\w-]{1,63}\.){1,10}[^\W\d_]{2,24}(?![\w-])", "‹e-mail›"),
    "iban": (r"(?<!\w)[A-Z]{2}\d\d(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)", "‹IBAN›"),
    "card": (r"(?<![\w.+-])\d(?:[ \xa0\u202f-]?\d){12,39}+(?!\w)", "‹card›"),
    "phone": (
        r"(?<![\w+])(?:\+[1-9]|00[1-9]\d{0,2}[ /-])(?:[ ()./-]{0,2}\d){6,14}(?!\w)"
        r"|(?<![\w.-])\(?[2-9]\d\d\)?[ .-]\d{3}[.-]\d{4}(?![\w-])",
        "‹phone›",
    ),
}
_NEEDED = r"@|\d(?:\D{0,3}\d){7}"
"""A part that every one of the patterns contains."""


class ResultFilter:
    """Filters results as `filter` of their server's entry says, else that of the settings; blocks for large results."""

    def __init__(
        self, redactor: Redactor, config: Callable[[str], ServerConfig], usual: Literal["off", "mark", "mask"]
    ) -> None:
        self._redactor = redactor
        self._config = config
        self._usual = usual

    def shown(self, server: str, value: Json) -> Json:
        """A value from a server, masked if the configuration asks for it."""
        return _Look(self._redactor).mask(value) if (self._config(server).filter or self._usual) == "mask" else value

    def apply(self, server: str, outcome: CallOutcome) -> CallOutcome:
        """The outcome with a note on findings, and masked if the configuration asks for it."""
        if not isinstance(outcome, ANSWERED) or (mode := self._config(server).filter or self._usual) == "off":
            return outcome
        refused = isinstance(outcome, Rejected)
        look = _Look(self._redactor)
        masked: Any = look.mask([outcome.message, outcome.data] if refused else whole(outcome.result))
        if not look.counts:
            return outcome
        listed = ", ".join(f"{_KINDS[kind]} {count:,}" for kind, count in look.counts.items())
        note = f"{'Masked' if mode == 'mask' else 'Found'} in the result: {listed}."
        parts: dict[str, Any] = dict(zip(("message", "data"), masked, strict=True)) if refused else {"result": masked}
        notes = (*outcome.notes, note)
        return replace(outcome, sensitive=dict(look.counts), notes=notes, **(parts if mode == "mask" else {}))


class _Look:
    """The search through one value."""

    def __init__(self, redactor: Redactor) -> None:
        # Names of members repeat often.
        self._redacted, self._is_secret = lru_cache(4_096)(redactor.text), lru_cache(4_096)(redactor.is_secret)
        self._left = _MOST
        self.counts: Counter[str] = Counter()

    def mask(self, value: Json, name: str = "") -> Json:
        """The value with masked findings; one frame for each level."""
        if isinstance(value, dict):
            members: dict[str, Json] = {}
            for key, item in cast("dict[str, Json]", value).items():
                clean = self._text(key)
                while clean in members:  # two names became the same
                    clean += "*"
                members[clean] = self.mask(item, key)
            return members
        if isinstance(value, list):
            return list(map(self.mask, cast("list[Json]", value)))  # a comprehension would cost another frame
        if isinstance(value, int) and not isinstance(value, bool):  # it may be a card number
            return value if (text := self._text(str(value))) == str(value) else text
        if not isinstance(value, str) or not value or name in _BINARY:
            return value
        return self._found("secret", MARK) if name and self._is_secret(name) else self._text(value)

    def _text(self, text: str) -> str:
        self._left -= len(text)
        if self._left < 0:
            return self._found("unread", _UNREAD)
        clean = self._redacted(text)
        if clean != text:
            self.counts["secret"] += clean.count(MARK) - text.count(MARK)
        for kind, (pattern, _) in _PERSONAL.items() if re.search(_NEEDED, clean) else ():
            clean = re.sub(pattern, partial(self._personal, kind), clean)
        return clean

    def _personal(self, kind: str, found: re.Match[str]) -> str:
        text, (pattern, mask) = found[0], _PERSONAL[kind]
        start, end = _card(text) if kind == "card" else (0, _iban(text) if kind == "iban" else len(text))
        if not end:
            return text
        return text[:start] + self._found(kind, mask) + re.sub(pattern, partial(self._personal, kind), text[end:])

    def _found(self, kind: str, mask: str) -> str:
        self.counts[kind] += 1
        return mask


def _card(text: str) -> tuple[int, int]:
    """The span of a card number in groups of digits, by issuers' prefixes and Luhn's check digit; (0, 0) for none."""
    at = [place for place, sign in enumerate(text) if sign.isdigit()]
    for first, start in enumerate(at):
        begins = text[start] in "3456" or 2_221 <= int("".join(text[one] for one in at[first : first + 4])) <= 2_720
        for last in at[first + 12 : first + 19] if begins and not text[start - 1 : start].isdigit() else ():
            digits = [int(sign) for sign in text[start : last + 1] if sign.isdigit()]
            doubled = (sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
            if not text[last + 1 : last + 2].isdigit() and (sum(digits[::-2]) + sum(doubled)) % 10 == 0:
                return start, last + 1
    return 0, 0


def _iban(text: str) -> int:
    """The length of an IBAN at the beginning of a text (ISO 13616: the remainder by 97 is 1), or 0."""
    while len(text) > 14:
        plain = text.replace(" ", "")
        if 15 <= len(plain) <= 34 and int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1:
            return len(text)
        text = text.rpartition(" ")[0]  # words in capitals may follow it
    return 0
