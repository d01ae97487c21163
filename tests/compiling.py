"""Compiling all there is once, where several processes share that work as they share the tests.

In a new checkout nothing is compiled. Processes that begin at once and import the same would all compile everything,
which takes each of them longer than importing does.
"""

from __future__ import annotations

import py_compile
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from importlib.util import cache_from_source
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def compile_share(number: int, count: int, root: Path = ROOT) -> int:
    """Compile every `count`-th module below `root`, from `number` on, that was not yet; returns how many.

    Not the tests, which pytest compiles in its own way; what does not compile is told by importing it.
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


def import_share(number: int, count: int, folders: Iterable[Path], root: Path = ROOT) -> list[str]:
    """Import every `count`-th test module below some folders of `root`, from `number` on; returns their names.

    Pytest's hook for imports compiles them and keeps the result, and its collection takes what is imported already. So
    each process finds most tests compiled by another one when it comes to them.
    """
    files = sorted({file for folder in folders for file in folder.glob("**/test_*.py")})[number::count]
    names = [".".join(file.relative_to(root).with_suffix("").parts) for file in files]
    for name in names:
        with suppress(Exception, pytest.skip.Exception):  # the collection imports it again, and tells why it fails
            import_module(name)
    return names
