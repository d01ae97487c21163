"""Frames for people to start from: requests, notifications and answers, stamped where their era wants it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from mcp_studio.jsontext import Json

NONE = object()
"""No such member at all, where null is a value too."""


def request(
    method: str, params: Json = NONE, *, identity: Json = NONE, meta: Mapping[str, Json] | None = None
) -> dict[str, Json]:
    """A request, or without an `identity` a notification.

    Args:
        meta: added to the `_meta` of params that are an object or absent; what stands there already stays.
    """
    message: dict[str, Json] = {"jsonrpc": "2.0"}
    if identity is not NONE:
        message["id"] = identity
    message["method"] = method
    given: Json = {} if params is NONE else params
    if meta and isinstance(given, dict):
        body = cast("dict[str, Json]", given)
        own = body.get("_meta", {})
        if isinstance(own, dict):
            given = {**body, "_meta": {**meta, **cast("dict[str, Json]", own)}}
    if params is not NONE or given:
        message["params"] = given
    return message
