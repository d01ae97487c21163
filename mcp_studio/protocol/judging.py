"""Whether a result is valid as a whole, before anybody looks at what it says."""

from __future__ import annotations

from typing import cast

from mcp_studio.jsontext import Json
from mcp_studio.protocol.tasks import has
from mcp_studio.protocol.versions import EXTENSION_TASKS, RESULT_TYPES, TASK_RESULT

_ROUNDS = ("tools/call", "prompts/get", "resources/read")
"""What a server may ask input for before it answers (2026-07-28, multi-round requests)."""


def judge(method: str, result: Json, *, modern: bool, declared: Json) -> tuple[str, ...]:
    """What makes a result invalid, in words.

    Specification 2026-07-28, basic: an unknown `resultType` is invalid. `task` is one only on `tools/call`, and only
    where we have declared the extension.

    Args:
        declared: our capabilities.
    """
    if not isinstance(result, dict):
        return ("The result is not an object.",)
    kind = cast("dict[str, Json]", result).get("resultType") if modern else None
    if kind == "input_required" and method not in _ROUNDS:
        return (f"The server wants input for {method}, which it may want for {', '.join(_ROUNDS)} only.",)
    if kind is None or kind in RESULT_TYPES:
        return ()
    if kind == TASK_RESULT and has(declared, "extensions", EXTENSION_TASKS):
        wrong = f"The server made {method} a task, which only tools/call can become."
        return () if method == "tools/call" else (wrong,)
    return (f"The result has the unknown resultType {str(kind)[:40]!r}, which makes it invalid (2026-07-28).",)
