"""Trace context in `_meta` (2026-07-28, basic, `_meta`; W3C Trace Context): whose request belongs to which trace."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads, mapping

KEYS = ("traceparent", "tracestate", "baggage")
"""The members of `_meta` that it consists of; without prefix, unlike all others."""
Params = dict[str, Json] | None
_KEY = b'"traceparent"'
_LARGE = 1 << 20
_SHAPE = r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?\Z"


class Context(NamedTuple):
    """What a `traceparent` says."""

    trace: str
    """The id of the whole, 32 hexadecimal digits."""
    span: str
    """The id of whoever sends it, 16 digits."""
    sampled: bool = True

    @property
    def text(self) -> str:
        """As it is written."""
        return f"00-{self.trace}-{self.span}-{'01' if self.sampled else '00'}"


def fresh(trace: str = "") -> Context:
    """A new span, of a trace that there is or of a new one."""
    return Context(trace or os.urandom(16).hex(), os.urandom(8).hex())


def read(text: Json) -> Context | None:
    """What a `traceparent` says; None where it is none (W3C Trace Context, 3.2.2)."""
    found = re.match(_SHAPE, text) if isinstance(text, str) else None
    if found is None or found[1] == "ff" or (found[1] == "00" and found[5]):
        return None
    if not found[2].strip("0") or not found[3].strip("0"):
        return None
    return Context(found[2], found[3], bool(int(found[4], 16) & 1))


def of_frame(frame: bytes) -> dict[str, Json]:
    """The trace context in the `_meta` of a message, the members that are texts; empty where there is none."""
    if not any(b'"%b"' % key.encode() in frame for key in KEYS) or len(frame) > _LARGE:
        return {}
    try:
        message = mapping(loads(frame))
    except (JsonProblem, LimitExceeded):
        return {}
    meta = mapping(mapping(message.get("params", message.get("result"))).get("_meta"))
    return {key: meta[key] for key in KEYS if isinstance(meta.get(key), str)}


def begun(params: dict[str, Json]) -> dict[str, Json]:
    """The parameters of a request in a trace: the one that they name, else a new one."""
    meta = mapping(params.get("_meta"))
    return params if "traceparent" in meta else {**params, "_meta": {**meta, "traceparent": fresh().text}}


def continued(params: Params, earlier: bytes) -> Params:
    """The parameters of a request that goes on with an earlier one: in the same trace, where that was in one."""
    context = read(of_frame(earlier).get("traceparent")) if _KEY in earlier else None
    meta = mapping((params or {}).get("_meta"))
    if context is None or "traceparent" in meta:
        return params
    return {**(params or {}), "_meta": {**meta, "traceparent": fresh(context.trace).text}}
