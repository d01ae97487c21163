"""`[servers.NAME.tls]`: which certificates are accepted, and which is shown."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from mcp_studio.config.model import Tls
from mcp_studio.config.table import Table

FIELDS = tuple(item.name for item in fields(Tls))
FILES = ("ca", "cert", "key")
"""Keys that name files."""
_BARE = Tls()


def read_tls(table: Table) -> Tls:
    """The inner table `tls`, with problems noted."""
    before = len(table.problems)
    inner = table.inner("tls")
    tls = Tls(
        **{key: inner.take_text(key) for key in (*FILES, "password")},
        insecure=inner.take_flag("insecure"),
    )
    inner.refuse_rest()
    for key in ("key", "password"):
        if len(table.problems) == before and getattr(tls, key) and not tls.cert:
            inner.problem(key, "is given without a client certificate.", "Add `cert`.")
    return tls


def tls_table(tls: Tls) -> dict[str, Any]:
    """As it is written, without what is the default anyway."""
    return {key: value for key in FIELDS if (value := getattr(tls, key)) != getattr(_BARE, key)}
