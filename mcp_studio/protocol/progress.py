"""What a progress notification says (basic/utilities/progress)."""

from __future__ import annotations

import math

from mcp_studio.jsontext import Json


def read_progress(params: dict[str, Json]) -> tuple[float, float | None, str] | None:
    """Progress, total and message; None where the progress is no usable number, which a total need not be."""
    done, total, text = _number(params.get("progress")), _number(params.get("total")), params.get("message")
    return None if done is None else (done, total, text if isinstance(text, str) else "")


def progress_text(done: float, total: float | None) -> str:
    """How far something is, as people read it: `17,861 of 1,000,000`; a total that is none is left out."""
    return f"{_digits(done)} of {_digits(total)}" if total and total > 0 else _digits(done)


def _digits(number: float) -> str:
    if abs(number) >= 1e15 or 0 < abs(number) < 0.01:
        return f"{number:.4g}"
    return f"{number:,.2f}".rstrip("0").rstrip(".")


def _number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        known = float(value)
    except OverflowError:
        return None
    return known if math.isfinite(known) else None
