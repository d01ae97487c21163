"""The verbs, one module each. A verb's module is imported here once it is known which verb runs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PLACES = {
    **dict.fromkeys(("read", "get", "complete"), "call"), "tasks": "call:tasks", "list": "listing",
    "skills": "listing:skills", "approvals": "safety:approvals", "audit": "safety:audit", "pins": "safety:pins",
    "replay": "trace", "dev": "watch:dev", "run": "workflow", "tap": "serve:tap", "worker": "workflow",
}  # fmt: skip
"""Verbs that are not the function `run` of the module with their name."""


def load(module: str) -> Any:
    """A module of verbs."""
    return import_module(f"{__name__}.{module}")


def runner(verb: str) -> Any:
    """Return the function that runs a verb: it takes the output and returns the exit code."""
    module, _, name = _PLACES.get(verb, verb).partition(":")
    return getattr(load(module), name or "run")
