"""Verbs, a module each. The door: the module of a verb is imported here, once it is known which one is run."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = {
    **dict.fromkeys(("list", "skills"), "listing"),
    **dict.fromkeys(("read", "get", "complete", "tasks"), "call"),
    **dict.fromkeys(("approvals", "audit", "pins"), "safety"),
    **dict.fromkeys(("run", "worker"), "workflow"),
    "replay": "trace",
    "dev": "watch",
}
"""Verbs whose module has another name."""


def load(verb: str) -> Any:
    """The module of a verb; its `run(options, out)` does it and returns the exit code."""
    return import_module(f"{__name__}.{_MODULES.get(verb, verb)}")
