"""How a secret may look where it is written down: what the redactor looks for."""

from __future__ import annotations

import binascii
import re
import threading
from collections.abc import Iterator
from json.encoder import encode_basestring, encode_basestring_ascii
from urllib.parse import quote, quote_plus

MARK = "‹redacted›"
"""What stands in the place of a secret."""
SHORTEST = 6
"""Told secrets with fewer characters are not looked for: they would be found everywhere."""
_BEGINNING = 48
"""Characters of a long token that are looked for; what follows them in a text goes with them."""
_TOKEN = re.compile(r"[\w.~+/=-]+", re.ASCII)
_FEW = 24
"""Secrets of one series that are known: some renewals of a sign-in, each with two or three tokens."""

Literal = tuple[bytes, bool]
"""What is looked for, and whether that is only the beginning of a long one."""


class Told:
    """The secrets that a redactor was told, for good or until newer ones of the same series have taken their place."""

    def __init__(self) -> None:
        self._lasting: dict[Literal, None] = {}
        self._passing: dict[str, dict[str, dict[Literal, None]]] = {}
        self._guard = threading.Lock()
        self.literals: tuple[Literal, ...] = ()
        """All that is looked for."""

    def add(self, secret: str, series: str = "") -> None:
        """Know one more; of a `series` the newest are known. From any thread."""
        found = dict.fromkeys(_literals(secret))
        with self._guard:
            if series:
                known = self._passing.setdefault(series, {})
                known.pop(secret, None)
                known[secret] = found
                if len(known) > _FEW:
                    del known[next(iter(known))]
            else:
                self._lasting.update(found)
            passing = (one for known in self._passing.values() for literals in known.values() for one in literals)
            self.literals = tuple(dict.fromkeys((*self._lasting, *passing)))


def _literals(secret: str) -> Iterator[Literal]:
    for value in (secret, *secret.splitlines()):
        value = value.strip()
        if len(value) > _BEGINNING and _TOKEN.fullmatch(value):
            yield from ((one, True) for one in forms(value[:_BEGINNING]))
        elif len(value) >= SHORTEST:
            yield from ((one, False) for one in forms(value))


def forms(secret: str) -> Iterator[bytes]:
    """As it is, escaped as in JSON, quoted as in URLs by whoever quotes, and as base64 wherever it begins there."""
    raw = secret.encode("utf-8", "surrogatepass")
    yield raw
    for text in (encode_basestring(secret)[1:-1], encode_basestring_ascii(secret)[1:-1]):
        yield text.encode("utf-8", "surrogatepass")
        yield encode_basestring(text)[1:-1].encode("utf-8", "surrogatepass")
    yield encode_basestring(secret)[1:-1].replace("/", "\\/").encode("utf-8", "surrogatepass")
    for safe in ("", "/", "!'()*"):  # what is quoted depends on who quotes
        for quoted in (quote(raw, safe=safe), quote_plus(raw, safe=safe)):
            yield quoted.encode()
            yield re.sub("%..", lambda found: found[0].lower(), quoted).encode()
    yield quote(quote(raw, safe=""), safe="").encode()
    go = {"<": r"\u003c", ">": r"\u003e", "&": r"\u0026"}
    yield encode_basestring(secret)[1:-1].translate(str.maketrans(go)).encode("utf-8", "surrogatepass")
    for shift in range(3):
        # Inside a longer text the secret starts at any of three positions of a base64 group; the outer groups vary.
        whole = binascii.b2a_base64(b"\0" * shift + raw, newline=False)
        inner = whole[(0, 2, 3)[shift] : len(whole) - (0, 3, 2)[(shift + len(raw)) % 3]]
        if shift == 0:
            yield whole
        if len(inner) >= SHORTEST:
            yield inner
            yield inner.translate(bytes.maketrans(b"+/", b"-_"))
