"""What is known to be wrong with a value, by the rows that can tell it. No widget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from mcp_studio.jsontext import Json
from mcp_studio.schema.field import SchemaProblem
from mcp_studio.schema.keywords import REQUIRED
from mcp_studio.schema.place import Path, path_of


class RowProblems:
    """Problems spread over the rows of an outline.

    Each is told at the row of its place, or of the nearest place around it that has a row. `at` has them by the number
    of the row; `errors` and `warnings` count those in folded and open parts, by place.
    """

    def __init__(
        self,
        problems: Iterable[SchemaProblem],
        rows: Mapping[Path, int],
        value: Json,
        *,
        touched: Set[Path],
        asked: bool,
    ) -> None:
        self.at: dict[int, list[SchemaProblem]] = {}
        self.errors: dict[Path, int] = {}
        self.warnings: dict[Path, int] = {}
        self.loose: list[SchemaProblem] = []
        """What no row tells."""
        self._places: list[tuple[int, Path]] = []
        for problem in dict.fromkeys(problems):  # fields and schema may know the same
            path = path_of(problem.pointer, value)
            if problem.message == REQUIRED and not asked and path not in touched:
                continue
            self._add(path, problem, rows)

    def _add(self, path: Path, problem: SchemaProblem, rows: Mapping[Path, int]) -> None:
        counts = self.errors if problem.severity == "error" else self.warnings
        for depth in range(len(path)):
            counts[path[:depth]] = counts.get(path[:depth], 0) + 1
        for depth in range(len(path), -1, -1):
            row = rows.get(path[:depth])
            if row is not None:
                if problem.severity == "error":
                    self._places.append((row, path))
                known = self.at.setdefault(row, [])
                if depth < len(path):
                    place = " › ".join(str(part) for part in path[depth:])
                    problem = SchemaProblem(problem.pointer, f"{place} {problem.message}", problem.severity)
                if all(one.message != problem.message for one in known):
                    known.append(problem)
                return
        sentence = problem.sentence
        if all(one.message != sentence for one in self.loose):
            self.loose.append(SchemaProblem("", sentence, problem.severity))

    def of(self, row: int) -> Sequence[SchemaProblem]:
        """What is told at a row."""
        return self.at.get(row, ())

    def next_error(self, after: int, *, inside: bool) -> Path | None:
        """The place of the next error behind a row, around the end; `inside`: one that the row itself has folded."""
        ordered = sorted(self._places, key=lambda one: one[0])
        for row, place in ordered:
            if row > after or (row == after and inside):
                return place
        return ordered[0][1] if ordered else None


def still_true(known: Iterable[SchemaProblem], edited: Path, value: Json) -> tuple[SchemaProblem, ...]:
    """What a whole check said that an edit did not overtake: nothing about the place, what is in it or around it."""
    kept: list[SchemaProblem] = []
    for problem in known:
        path = path_of(problem.pointer, value)
        if path[: len(edited)] != edited and edited[: len(path)] != path:
            kept.append(problem)
    return tuple(kept)
