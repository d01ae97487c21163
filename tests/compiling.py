"""Compiling all there is before it is imported, where several processes share that work as they share the tests.

In a new checkout nothing is compiled. Processes that begin at once and import the same would all compile everything,
which takes each of them longer than importing does.
"""

from __future__ import annotations

import py_compile
import sys
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def compile_share(number: int, count: int, root: Path = ROOT) -> int:
    """Compile every `count`-th module below `root`, from `number` on, that was not yet; returns how many.

    Tests are left to pytest, which compiles them in a way of its own; what does not compile is told by importing it.
    """
    if sys.dont_write_bytecode:
        return 0
    done = 0
    for file in sorted([*root.glob("mcp_studio/**/*.py"), *root.glob("tests/**/*.py")])[number::count]:
        if file.name.startswith("test_") or file.name == "conftest.py" or Path(cache_from_source(str(file))).exists():
            continue
        with suppress(OSError, SyntaxError, ValueError, py_compile.PyCompileError):
            py_compile.compile(str(file), doraise=True)
            done += 1
    return done
