"""What a progress notification says (basic/utilities/progress)."""

from __future__ import annotations

import math

from mcp_studio.jsontext import Json


def read_progress(params: dict[str, Json]) -> tuple[float, float | None, str] | None:
    """Progress, total and message; None where the progress is no usable number, which a total need not be."""
    done, total, text = _number(params.get("progress")), _number(params.get("total")), params.get("message")
    return None if done is None else (done, total, text if isinstance(text, str) else "")


def _number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        known = float(value)
    except OverflowError:
        return None
    return known if math.isfinite(known) else None
