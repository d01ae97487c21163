"""Addresses, headers and bodies of HTTP without what is secret in them: each has its own rules."""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Protocol
from urllib.parse import unquote_plus

from mcp_studio.secret_forms import MARK

_QUERY = frozenset(
    "key code sig signature auth state session ticket jwt assertion devicecode usercode clientassertion subjecttoken"
    " actortoken".split()
)
"""Secret as the name of a query parameter or of a field of a form, though not elsewhere."""
_SESSION = frozenset(("sessionid", "mcpsessionid"))
"""Whoever has one speaks in its session (specification 2025-06-18, basic/transports; HTTP+SSE has it in an address)."""
_SESSIONS, _LEARNED = 10_000, 20
_ID = r"(?=\D*\d)[\x21-\x7e]{16,200}"
_MARKED = r"‹session [0-9]+›\Z"
_PAIR = r"([?&#;])([^=&#;?]+)=([^&#;]+)"
_FIELD = rb"(\A|&)([^=&]+)=([^&]*)"
_USER = r"(?<=://)[^/?#@\s]*(?=@)"
_PROOF = 16_384
_FORM = "application/x-www-form-urlencoded"


class Cleaner(Protocol):
    """What of the redactor is needed here."""

    def text(self, text: str) -> str:
        """See `Redactor.text`."""
        ...

    def bytes(self, data: bytes) -> bytes:
        """See `Redactor.bytes`."""
        ...

    def is_secret(self, name: str) -> bool:
        """See `Redactor.is_secret`."""
        ...


class Sessions:
    """Names sessions, so that a person sees which are the same.

    Args:
        learn: told the ids of the first ones, where they look like nothing else: servers repeat them in their errors.
    """

    def __init__(self, learn: Callable[[str], None]) -> None:
        self._known: dict[str, int] = {}
        self._learn = learn

    def name(self, session: str) -> str:
        """`‹session 2›`."""
        if re.match(_MARKED, session):
            return session
        if session not in self._known and len(self._known) >= _SESSIONS:
            return MARK
        if session not in self._known:
            self._known[session] = len(self._known) + 1
            if len(self._known) <= _LEARNED and re.fullmatch(_ID, session):
                self._learn(session)
        return f"‹session {self._known[session]}›"


def clean_header(redactor: Cleaner, sessions: Sessions, name: str, value: str) -> str:
    """A header's value without what is secret; the scheme of an authorization stays readable."""
    if _plain(name) in _SESSION:
        return sessions.name(value)
    if name.lower() == "dpop":
        return _proof(redactor, value)
    if not redactor.is_secret(name):
        return clean_url(redactor, sessions, value) if "://" in value else redactor.text(value)
    scheme, space, _ = value.partition(" ")
    return f"{scheme} {MARK}" if space and name.lower().endswith("authorization") else MARK


def clean_url(redactor: Cleaner, sessions: Sessions, url: str) -> str:
    """A URL without its user information and secret query values."""

    def value(found: re.Match[str]) -> str:
        before, name, given = found.groups()
        plain = _plain(name)
        if plain in _SESSION:
            return f"{before}{name}={sessions.name(given)}"
        return f"{before}{name}={MARK if plain in _QUERY or redactor.is_secret(name) else given}"

    return redactor.text(re.sub(_PAIR, value, re.sub(_USER, MARK, url)))


def clean_body(redactor: Cleaner, media_type: str, body: bytes) -> bytes:
    """The body of an exchange of signing in: the fields of a form by their names, anything else as it is redacted."""

    def field(found: re.Match[bytes]) -> bytes:
        name = unquote_plus(found[2].decode("utf-8", "replace"))
        secret = found[3] and (_plain(name) in _QUERY or redactor.is_secret(name))
        return b"%b%b=%b" % (found[1], found[2], MARK.encode() if secret else found[3])

    form = media_type.split(";", 1)[0].strip().lower() == _FORM
    return redactor.bytes(re.sub(_FIELD, field, body) if form else body)


@lru_cache(1_024)
def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", unquote_plus(name).lower())


def _proof(redactor: Cleaner, value: str) -> str:
    """A DPoP proof (RFC 9449 4.2) as what it says: that is no secret, but with its signature it could be used."""
    parts = value.split(".")
    if len(parts) != 3 or len(value) > _PROOF:
        return value if MARK in value else MARK
    told = [_decoded(part) for part in parts[:2]]
    return redactor.text(f"{told[0]}.{told[1]}.{MARK}") if all(told) else MARK


def _decoded(part: str) -> str:
    try:
        found = json.loads(binascii.a2b_base64(part.translate({45: 43, 95: 47}) + "=" * (-len(part) % 4)))
        return json.dumps(found, separators=(",", ":"), ensure_ascii=True) if isinstance(found, dict) else ""
    except (ValueError, RecursionError):
        return ""
