"""HTTP exchanges of signing in as they may be shown, and what in them is secret."""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator
from typing import cast
from urllib.parse import parse_qsl

from mcp_studio.auth.fields import body_of
from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import JsonProblem
from mcp_studio.redact import MARK, Redactor
from mcp_studio.transport.tap import Headers

_SHOWN = 64 * 1024
"""Characters of a body that are kept for showing."""
_SECRET = frozenset(
    "access_token refresh_token id_token client_secret registration_access_token assertion client_assertion code"
    " device_code user_code subject_token actor_token code_verifier".split()
)
_NAMED = re.compile(
    r"(?:access|refresh|id|registration_access)_token|client_secret|(?:client_)?assertion|code_verifier", re.IGNORECASE
)
_WRITTEN = re.compile(r"""[\s\\"'=:>]{1,12}([^\s\\"'&,;<>{}\[\]]{8,})""")
"""What stands behind the name of a secret, however that is written: in quotes of any kind, in XML."""
_BEYOND = 4 * 1024
_LONGEST = 64 * 1024
"""Of a secret that is learned; tokens that are longer are not taken (`answers.LONGEST`)."""
_DEPTH = 4
_MANY = 16
"""Secrets that are learned of one answer: a flood of them would make the redactor slow and large."""
_ODD = 200
"""Characters of one that is none of a header: those are stored whole, in many forms."""
_FIELDS = re.compile(rb"\s*+[\w.~%+*\[\]-]{1,80}+=[^\s&=<>\"']*+(?:&[\w.~%+*\[\]-]{1,80}+=[^\s&=<>\"']*+)*+\s*+\Z")
"""A form; a value that is not quoted as it should be makes none of it."""
_BARE = re.compile(r"[\x21-\x7e]+\Z")
_WORD = re.compile(r"[A-Za-z_ -]{1,40}\Z")


def shown(headers: Headers, body: str, clean: Callable[[str], str] = str) -> str:
    """Headers and body as one text. `clean` takes out of the body what is secret, which takes its time."""
    lines = "\n".join(f"{name}: {value}" for name, value in headers)
    if len(body) > _SHOWN + _BEYOND:
        # What the cut leaves of a secret cannot be known for one: it goes with the end.
        begin = clean(body[: _SHOWN + _BEYOND])[:-_BEYOND]
        return f"{lines}\n\n{begin}\n… {len(body) - _SHOWN:,} characters more"
    return f"{lines}\n\n{clean(body)}" if body else lines


def readable(body: bytes) -> bytes:
    """An answer in UTF-8: one in UTF-16, which nobody takes, could be read by people, secrets and all."""
    marked = body[:2] in (BOM_UTF16_LE, BOM_UTF16_BE)
    if not marked and b"\0" not in body[:2]:
        return body
    kind = "utf-16" if marked else "utf-16-be" if body[:1] == b"\0" else "utf-16-le"
    return body.decode(kind, "replace").replace("\0", "").encode("utf-8", "replace")  # UTF-32 has twice as many NULs


def tellable(method: str, media_type: str, body: bytes) -> bytes:
    """The body as it may be told on: one that was posted, or answers that, is masked whole unless it is understood.

    What is neither a JSON object nor a form (a page of HTML, half an answer) may repeat a secret in any shape.
    """
    if method == "GET" or not body.strip():
        return body
    try:
        if isinstance(body_of(body, most=64, values=10_000), dict):
            return body
    except (JsonProblem, LimitExceeded):
        if media_type.split(";", 1)[0].strip().lower() == "application/x-www-form-urlencoded" and _FIELDS.match(body):
            return body
    return f"{MARK} ({len(body):,} bytes that are neither a JSON object nor a form)".encode()


def secrets_in(body: bytes) -> list[str]:
    """The values in an answer that must not be shown: tokens, codes, client secrets, also where it is wrong."""
    if not body:
        return []
    try:
        value = body_of(body, most=64, values=10_000)
    except (JsonProblem, LimitExceeded):
        value = None
    found = list(_values(value, _DEPTH))
    if not isinstance(value, (dict, list)):
        text = body.removeprefix(BOM_UTF8)[: _SHOWN + _BEYOND].decode("utf-8", "replace")
        found += [value for name, value in _form(body) if name in _SECRET]
        found += [at[1] for name in _NAMED.finditer(text) if (at := _WRITTEN.match(text, name.end()))]
    return [one for one in dict.fromkeys(found) if len(one) <= (_LONGEST if _BARE.match(one) else _ODD)][:_MANY]


def learn(redactor: Redactor, body: bytes, server: str) -> None:
    """Have the redactor know what in an answer must not be shown; what is kept of it is learned once more then."""
    for secret in secrets_in(body):
        redactor.learn(secret, f"answers about {server}")


def _form(body: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(body.decode("utf-8", "replace"), max_num_fields=100)
    except ValueError:
        return []


def _values(value: object, depth: int, *, secret: bool = False) -> Iterator[str]:
    """The texts that are called secret, or stand in what is: a token may come as a list, or an object."""
    if isinstance(value, str):
        if secret:
            yield value
    elif depth == 0:
        return
    elif isinstance(value, dict):
        for name, inner in cast("dict[str, object]", value).items():
            word = name == "code" and isinstance(inner, str) and _WORD.match(inner)  # an error has one, too
            yield from _values(inner, depth - 1, secret=secret or (name.lower() in _SECRET and not word))
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _values(inner, depth - 1, secret=secret)
