"""HTTP exchanges of signing in as they may be shown, and what in them is secret."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast
from urllib.parse import parse_qsl

from mcp_studio.auth.fields import body_of
from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import JsonProblem
from mcp_studio.transport.tap import Headers

_SHOWN = 64 * 1024
"""Characters of a body that are kept for showing; the trace has all of it."""
_SECRET = frozenset(
    "access_token refresh_token id_token client_secret registration_access_token assertion client_assertion code"
    " device_code user_code subject_token actor_token code_verifier".split()
)
_BEYOND = 4 * 1024
_LONGEST = 64 * 1024
"""Of a secret that is learned; tokens that are longer are not taken (`answers.LONGEST`)."""
_DEPTH = 4
_MANY = 64
"""Secrets that are learned of one answer: a flood of them would make the redactor slow."""


def shown(headers: Headers, body: str, clean: Callable[[str], str] = str) -> str:
    """Headers and body as one text. `clean` takes out of the body what is secret, which takes its time."""
    lines = "\n".join(f"{name}: {value}" for name, value in headers)
    rest = f"\n… {len(body) - _SHOWN:,} characters more" if len(body) > _SHOWN else ""
    # A secret that begins before the end has to be known by its beginning.
    return f"{lines}\n\n{clean(body[: _SHOWN + _BEYOND])[:_SHOWN]}{rest}" if body else lines


def secrets_in(body: bytes) -> list[str]:
    """The values in an answer, JSON or a form, that must not be shown: tokens, codes, client secrets."""
    if not body:
        return []
    try:
        found = list(_values(body_of(body, most=64, values=10_000), _DEPTH))
    except (JsonProblem, LimitExceeded):
        found = [value for name, value in _form(body) if name in _SECRET]
    return [one for one in dict.fromkeys(found) if len(one) <= _LONGEST][:_MANY]


def _form(body: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(body.decode("utf-8", "replace"), max_num_fields=100)
    except ValueError:
        return []


def _values(value: object, depth: int) -> Iterator[str]:
    if depth == 0:
        return
    if isinstance(value, dict):
        for name, inner in cast("dict[str, object]", value).items():
            if isinstance(inner, str) and name.lower() in _SECRET:
                yield inner
            else:
                yield from _values(inner, depth - 1)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _values(inner, depth - 1)
