"""The shape of the house holds: how large each room is, and how it is cut into files.

Code lines are lines that hold code: no blanks, comments or docstrings.
"""

from __future__ import annotations

import ast
import re
import statistics
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support import ROOT
from tests.test_layers import PACKAGE, imports, module_name, modules

ROOMS = {
    "root": 1_000, "protocol": 1_200, "transport": 2_600, "vault": 450, "sandbox": 400, "auth": 2_900, "config": 1_500,
    "gateway": 1_700, "schema": 2_700, "catalog": 900, "session": 3_200, "trace": 5_500, "search": 2_500, "call": 3_300,
    "present": 1_300, "servers": 3_500, "cli": 4_200, "tui": 13_500, "registry": 700, "toolset": 600, "tap": 600,
    "workflow": 1_900,
}  # fmt: skip
"""Code lines that a room may have."""
MEDIAN, P95, LARGEST = 110, 450, 600
"""The least that the middle file may have, and the most that nineteen of twenty and the largest may have."""
SMALL_FILES, LONELY, TORN, PRIVATE = (15, 10), (10, 5), (3, 3), 2
"""The most of each, outside `tui` and in it."""
SMALL = 60
LONGEST_FUNCTION = 56
SAYS_NOTHING = re.compile(
    r"(late\w*|kept|told|said|given|asked|opened|drawn|ended|watched|saying|looking|handling|serving|arranging|calling"
    r"|remembering|tasking|watching|asking|answering|entering|acts|words|news|life|matters?|things?|misc|utils?"
    r"|helpers?|common)"
)
"""Names of modules that nobody would look for."""


FREE = {"_replace", "_asdict", "_fields", "_make", "_exit"}
"""Names of the standard library that are public all the same."""
HIDDEN = re.compile(r"(?:(?<=[\w)\]])(?<!\bself)\.|attr\(.*[\"']|^\s*from mcp_studio.* )(_[a-zA-Z]\w*)", re.M)
"""A name that its owner does not publish, in a line of the tests."""


DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class File(NamedTuple):
    """One module of the package."""

    path: Path
    name: str
    room: str
    nodes: tuple[ast.AST, ...]
    """All of its syntax tree."""
    code: int


def code_lines(source: str, nodes: tuple[ast.AST, ...]) -> int:
    silent: set[int] = set()
    for node in nodes:
        if isinstance(node, (ast.Module, *DEFINITIONS)):
            for text in node.body:
                if isinstance(text, ast.Expr) and isinstance(getattr(text.value, "value", None), str):
                    silent.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    lines = enumerate(map(str.strip, source.splitlines()), 1)
    return sum(1 for number, line in lines if line and not line.startswith("#") and number not in silent)


@cache
def files() -> tuple[File, ...]:
    found: list[File] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text("utf-8")
        nodes = tuple(ast.walk(modules()[module_name(path)]))
        inside = path.relative_to(PACKAGE).parts
        room = inside[0] if len(inside) > 1 else "root"
        found.append(File(path, module_name(path), room, nodes, code_lines(source, nodes)))
    return tuple(found)


def lonely() -> list[str]:
    """Modules that one module of their own folder alone imports: a page torn out of it."""
    users: dict[str, set[str]] = defaultdict(set)
    for one in imports():
        if one.importer != one.target:
            users[one.target].add(one.importer)
    where = {file.name: file.path.parent for file in files()}
    return [
        file.name
        for file in files()
        if file.path.stem not in ("__init__", "__main__")
        and len(users[file.name]) == 1
        and where[next(iter(users[file.name]))] == file.path.parent
    ]


def torn() -> list[str]:
    """Base classes whose one subclass stands in another file: one class in two files."""
    home: dict[str, File] = {}
    below: dict[str, list[File]] = defaultdict(list)
    for file in files():
        for node in file.nodes:
            if isinstance(node, ast.ClassDef):
                names = {ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases}
                if not names & {"Protocol", "ABC", "Enum", "IntEnum", "StrEnum", "TypedDict", "NamedTuple"}:
                    home[node.name] = file
                for name in names:
                    below[name].append(file)
    return [
        f"{file.name}.{name}" for name, file in home.items() if len(below[name]) == 1 and below[name][0] is not file
    ]


@cache
def own_names() -> set[str]:
    own = set(FREE)
    for file in files():
        for node in file.nodes:
            if isinstance(node, DEFINITIONS):
                own.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                own.add(node.attr)
            elif isinstance(node, (ast.AnnAssign, ast.Assign)):
                targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
                own.update(target.id for target in targets if isinstance(target, ast.Name))
    return own


def private() -> list[str]:
    """What other packages keep to themselves, used here: modules and names that begin with an underscore."""
    found: list[str] = []
    for file in files():
        for node in file.nodes:
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith(("mcp_studio", "__future__")):
                names = [node.module or "", *(alias.name for alias in node.names)]
            elif isinstance(node, ast.Attribute) and node.attr not in own_names():
                names = [node.attr]
            found += [f"{file.name}: {name}" for name in names if re.search(r"(^|\.)_(?!_)", name)]
    return found


def few(found: list[str], most: tuple[int, int]) -> bool:
    """Whether there are few enough outside `tui` and in it."""
    inside = sum(name.startswith("mcp_studio.tui.") for name in found)
    return len(found) - inside <= most[0] and inside <= most[1]


def test_every_room_has_a_figure() -> None:
    assert {file.room for file in files()} <= set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_keeps_to_its_code_lines(room: str) -> None:
    assert sum(file.code for file in files() if file.room == room) <= ROOMS[room]


def test_files_have_the_size_of_one_thing() -> None:
    sizes = sorted(file.code for file in files() if file.path.name != "__init__.py")
    assert statistics.median(sizes) >= MEDIAN
    assert sizes[int(0.95 * (len(sizes) - 1))] <= P95
    assert sizes[-1] <= LARGEST
    small = [file.name for file in files() if file.code < SMALL and file.path.stem not in ("__init__", "__main__")]
    assert few(small, SMALL_FILES), small


def test_files_are_cut_where_things_end() -> None:
    assert few(found := lonely(), LONELY), found
    assert few(found := torn(), TORN), found
    assert not [file.name for file in files() if SAYS_NOTHING.fullmatch(file.path.stem)]
    assert len(found := private()) <= PRIVATE, found


def test_no_test_touches_a_private_member() -> None:
    tests = {path.name: path.read_text("utf-8") for path in ROOT.joinpath("tests").rglob("*.py")}
    ours = own_names() - FREE
    assert {name: found for name, text in tests.items() if (found := ours.intersection(HIDDEN.findall(text)))} == {}


def test_functions_can_be_read_at_a_glance() -> None:
    long = [
        f"{file.name}:{node.lineno} {node.name}"
        for file in files()
        for node in file.nodes
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION
    ]
    assert long == []
