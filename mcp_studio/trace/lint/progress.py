"""Rules about progress notifications (specification, basic, "Progress")."""

from __future__ import annotations

import math
from typing import cast

from mcp_studio.jsontext import Json
from mcp_studio.trace.lint.finding import Spot
from mcp_studio.trace.lint.requests import Requests
from mcp_studio.trace.lint.words import kind_of


def check_progress(params: dict[str, Json], requests: Requests) -> list[Spot]:
    """Types, whether the token is one of a running request, and whether it went forward."""
    token, done, total = params.get("progressToken"), params.get("progress"), params.get("total")
    if isinstance(token, bool) or not isinstance(token, (int, str)):
        what = kind_of(cast("Json", token)) if "progressToken" in params else "missing"
        return [Spot("progress-type", f"The progressToken is {what}.", "/params/progressToken")]
    spots: list[Spot] = []
    for name, value in (("progress", done), ("total", total)):
        if (value is not None or name == "progress" or name in params) and not _usable(value):
            what = kind_of(value) if name in params else "missing"
            spots.append(Spot("progress-type", f"{name} is {what}; it must be a usable number.", f"/params/{name}"))
    text = params.get("message")
    if "message" in params and not isinstance(text, str):
        spots.append(Spot("progress-type", f"The message is {kind_of(text)}.", "/params/message"))
    running = requests.with_token(token)
    if running is None:
        return spots + _idle(token, requests)
    if spots or not isinstance(done, (int, float)):
        return spots
    if running.progress is not None and done <= running.progress:
        how = "stays the same" if done == running.progress else "goes backwards"
        spots.append(Spot("progress-not-increasing", f"Progress of {running.method} {how}.", "/params/progress"))
    if isinstance(total, (int, float)) and done > total:
        spots.append(Spot("progress-beyond-total", f"Progress of {running.method} is beyond its total.", "/params"))
    running.progress = done
    return spots


def _idle(token: int | str, requests: Requests) -> list[Spot]:
    where = "/params/progressToken"
    method = requests.ended_with_token(token)
    if method is None:
        return [Spot("progress-without-token", "No request carried the token of this progress.", where)]
    if not method:
        return []  # we no longer want it; the server could not know in time
    return [Spot("progress-after-end", f"There is progress of {method} after its answer.", where)]


def _usable(value: Json) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False
