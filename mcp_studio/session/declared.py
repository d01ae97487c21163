"""What a server may ask us for, judged by what we have declared to it and not by what we could do."""

from __future__ import annotations

from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.versions import INVALID_PARAMS, METHOD_NOT_FOUND

_NEEDS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


def undeclared(capabilities: Json, method: str, params: dict[str, Json]) -> tuple[int, str] | None:
    """Code and message of the refusal of a request that we have not declared to answer; None where it is declared.

    Specification: client/elicitation (an undeclared mode is -32602), client/sampling (tools need `sampling.tools`),
    client/roots (-32601). Methods that need no capability are not judged.
    """
    known = mapping(capabilities)
    need = "tasks" if method.startswith("tasks/") else _NEEDS.get(method, "")
    if not need:
        return None
    if need not in known:
        return METHOD_NOT_FOUND, f"This client has not declared {need}, so it does not answer {method}"
    inner = mapping(known[need])
    if need == "elicitation":
        mode = str(params.get("mode") or "form")
        # Before 2025-11-25 there were no modes: a bare object stands for forms.
        if mode not in inner and not (mode == "form" and "url" not in inner):
            return INVALID_PARAMS, f"This client has not declared elicitation in {mode[:40]} mode"
    if need == "sampling" and params.get("tools") is not None and "tools" not in inner:
        return INVALID_PARAMS, "This client has not declared sampling with tools"
    return None
