"""Which of several alternatives a wrong value was meant to be, and what to say when that is not known."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from mcp_studio.jsontext import ExactFloat, Json
from mcp_studio.schema import wording


def meant(context: list[Any]) -> list[Any]:
    """The errors of the alternative that was meant; empty when none or several could have been."""
    branches: dict[Any, list[Any]] = {}
    for error in context:
        branches.setdefault(error.schema_path[0], []).append(error)
    weights = sorted((sum(map(_weight, errors)), index) for index, errors in branches.items())
    least = weights[0][0]
    if least >= _OTHER_TYPE or (len(weights) > 1 and weights[1][0] == least):
        return []
    return branches[weights[0][1]]


_OTHER_TYPE = 1_000


def _weight(error: Any) -> int:
    """How much an error tells against its alternative: most the wrong type, much another constant in a property."""
    if error.validator in ("type", "const", "enum"):
        return _OTHER_TYPE if not error.relative_path else 100 if error.validator != "type" else 10
    return 1


def told_apart(error: Any) -> tuple[list[Any], str] | None:
    """Where the property that tells the alternatives apart has the constant of none: its place, and which there are."""
    wanted: dict[tuple[Any, ...], dict[Any, list[Any]]] = {}
    value: Any = None
    for inner in error.context:
        if inner.validator in ("const", "enum") and inner.relative_path:
            values = [inner.validator_value] if inner.validator == "const" else inner.validator_value
            wanted.setdefault(tuple(inner.relative_path), {})[inner.schema_path[0]] = values
    for path, by_branch in wanted.items():
        if len(by_branch) == len(error.validator_value) > 1:
            value = error.instance
            for part in path:
                value = value[part]
            options = [option for values in by_branch.values() for option in values]
            return list(path), wording.not_among(plain(options), plain(value))
    return None


def of_no_kind(error: Any) -> str:
    """Why a value is none of the alternatives: its type, or what it lacks."""
    value = plain(error.instance)
    kinds = [problem.validator_value for problem in error.context if problem.validator == "type"]
    if len(kinds) == len(error.context) == len(error.validator_value) and not any(
        problem.relative_path for problem in error.context
    ):
        return wording.wrong_type(
            [name for kind in kinds for name in (kind if isinstance(kind, list) else [kind])], value
        )
    return f"{wording.NO_KIND}, got {wording.got(value)}"


def needed(error: Any) -> str:
    """What a value must have one of, where the alternatives ask for nothing but properties; else empty."""
    branches: list[Any] = error.validator_value
    if not all(isinstance(branch, dict) and "required" in branch and branch.keys() <= _ONLY for branch in branches):
        return ""
    if not all(problem.validator == "required" for problem in error.context):
        return ""
    return f"needs {', or '.join(' and '.join(map(str, branch['required'])) for branch in branches[:8])}"


_ONLY = frozenset(("required", "title", "description", "$comment"))


def plain(value: Any) -> Json:
    """Decimals as numbers that know how they were written."""
    if isinstance(value, Decimal):
        return ExactFloat(str(value))
    return [plain(item) for item in value] if isinstance(value, list) else value
