"""Names of cases stay short, however large what a server sends in them."""

from __future__ import annotations


def pytest_make_parametrize_id(val: object) -> str | None:
    return f"{ascii(val)[:40]}…{len(val)}" if isinstance(val, (str, bytes)) and len(val) > 60 else None
