"""Validation errors of unions, reduced to the arm that was meant; pure functions over error locations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from mcp_studio.jsontext import Json

Path = tuple[str | int, ...]
_TELLING = ("type", "resultType", "mode", "method")
"""Members whose value decides which arm of a union is meant."""


class Flaw(NamedTuple):
    """One error, its location divided into the way through the value and the arms of unions on it."""

    path: Path
    arms: tuple[tuple[Path, str], ...]
    kind: str
    text: str
    """What is wrong with the last step of the path, to follow its name."""


def placed(root: Json, location: Sequence[str | int], kind: str, message: str) -> Flaw:
    """Find out which steps of an error's location lead through the value; the others name arms of unions."""
    node, path, arms = root, list[str | int](), list[tuple[Path, str]]()
    for at, step in enumerate(location):
        last = at == len(location) - 1
        if isinstance(node, dict) and isinstance(step, str):
            known = cast("dict[str, Json]", node)
            if step in known:
                node = known[step]
                path.append(step)
                continue
            if last and kind == "missing":
                path.append(step)
                continue
        elif isinstance(node, list) and isinstance(step, int) and step < len(cast("list[Json]", node)):
            node = cast("list[Json]", node)[step]
            path.append(step)
            continue
        arms.append((tuple(path), str(step)))
    return Flaw(tuple(path), tuple(arms), kind, _words(kind, message))


def meant(flaws: Sequence[Flaw], level: int = 0) -> list[Flaw]:
    """The errors without those of arms that were not meant."""
    kept: list[Flaw] = []
    unions: dict[Path, dict[str, list[Flaw]]] = {}
    for flaw in flaws:
        if len(flaw.arms) <= level:
            kept.append(flaw)
        else:
            place, arm = flaw.arms[level]
            unions.setdefault(place, {}).setdefault(arm, []).append(flaw)
    for place, arms in unions.items():
        best = min(arms.values(), key=lambda found: _tells(found, place))  # the first, where nothing tells them apart
        if _tells(best, place) and len(arms) > 1:
            kept.append(Flaw(place, (), "union", "is of no known kind"))
        else:
            kept += meant(best, level + 1)
    return kept


def _tells(flaws: Sequence[Flaw], place: Path) -> bool:
    """Whether an arm is out of the question: the value names another one."""
    return any(flaw.kind == "literal_error" and flaw.path[:-1] == place and flaw.path[-1] in _TELLING for flaw in flaws)


def _words(kind: str, message: str) -> str:
    if kind == "missing":
        return "is missing"
    if kind in ("model_type", "dict_type", "model_attributes_type"):
        return "must be an object"
    text = (
        message.split(", unable to")[0].replace("Input should be a valid", "must be a").replace("Input should", "must")
    )
    return text.replace("a array", "an array").replace("a integer", "an integer").replace("a list", "an array")[:200]
