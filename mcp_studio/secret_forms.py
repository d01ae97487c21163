"""How a secret may look where it is written down: what the redactor looks for."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from json.encoder import encode_basestring, encode_basestring_ascii
from urllib.parse import quote, quote_plus

MARK = "‹redacted›"
"""What stands in the place of a secret."""
SHORTEST = 6
"""Told secrets with fewer characters are not looked for: they would be found everywhere."""


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
