"""Which scopes are asked for: specification 2026-07-28, basic/authorization, scope selection strategy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MOST = 200
"""Scopes that are asked for at once."""
LONGEST = 4_000
"""Characters of all of them."""
OFFLINE = "offline_access"
"""What some authorization servers want to be asked for a refresh token (OpenID Connect Core 11)."""
_TOLD = 300
"""Characters of scopes in a sentence."""
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+\Z")


def parse(text: str | Iterable[str]) -> tuple[str, ...]:
    """Scopes out of what a server wrote, each once; what can be none (RFC 6749 3.3) is left out, as is too much."""
    words = text[: 2 * LONGEST].split(" ") if isinstance(text, str) else list(text)
    kept: list[str] = []
    length = 0
    for word in dict.fromkeys(word for word in words if _SCOPE.match(word)):
        length += len(word) + 1
        if len(kept) >= MOST or length > LONGEST:
            break
        kept.append(word)
    return tuple(kept)


def select(
    challenge: str,
    supported: Iterable[str] | None,
    *,
    configured: Iterable[str] = (),
    offered: Iterable[str] | None = None,
    renewable: bool = True,
) -> tuple[str, ...]:
    """What to ask for: what the challenge names; else what the resource supports; else nothing.

    Args:
        challenge: `scope` of the challenge.
        supported: `scopes_supported` of the protected resource metadata.
        configured: what the person wants besides.
        offered: `scopes_supported` of the authorization server: `offline_access` is asked for only where it is listed
            there, and not by itself, as it would stand in for what is given by default.
        renewable: a refresh token is of use.
    """
    found = union(parse(challenge) or parse(supported or ()), configured)
    own = parse(configured)
    offers = offered is not None and OFFLINE in offered
    if offers and renewable and found:
        return union(found, (OFFLINE,))
    return tuple(scope for scope in found if scope != OFFLINE or offers or OFFLINE in own)


def union(old: Iterable[str], new: str | Iterable[str]) -> tuple[str, ...]:
    """What was there and what is wanted besides, each once: asking for more must not lose what was granted."""
    return parse([*parse(old), *parse(new)])


def missing(granted: Iterable[str], wanted: Iterable[str]) -> tuple[str, ...]:
    """What of `wanted` is not granted."""
    have = set(granted)
    return tuple(scope for scope in wanted if scope not in have)


def text(scopes: Iterable[str]) -> str:
    """As they are sent (RFC 6749 3.3)."""
    return " ".join(scopes)


def brief(scopes: Sequence[str]) -> str:
    """As they are told in a sentence: not for pages, however many there are."""
    whole = text(scopes)
    return whole if len(whole) <= _TOLD else f"{whole[:_TOLD]}… ({len(scopes):,} in all)"
