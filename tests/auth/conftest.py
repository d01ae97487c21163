"""Names of cases stay short, however large what a server sends in them."""

from __future__ import annotations


def pytest_make_parametrize_id(val: object) -> str | None:
    if not isinstance(val, (str, bytes, int)):
        return None
    text = ascii(val)
    return f"{text[:40]}…{len(text)}" if len(text) > 60 else None
