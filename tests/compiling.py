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

import pytest
from _pytest.assertion import rewrite

ROOT = Path(__file__).resolve().parent.parent


def compile_share(config: pytest.Config, number: int, count: int, root: Path = ROOT) -> int:
    """Compile every `count`-th module below `root`, from `number` on, that was not yet; returns how many.

    Tests are compiled as pytest does it, for which it has no public way; what does not compile is told by importing it.
    """
    if sys.dont_write_bytecode:
        return 0
    done = 0
    for file in sorted([*root.glob("mcp_studio/**/*.py"), *root.glob("tests/**/*.py")])[number::count]:
        with suppress(OSError, SyntaxError, ValueError, py_compile.PyCompileError):
            if file.name.startswith("test_") or file.name == "conftest.py":
                done += _compile_test(file, config)
            elif not Path(cache_from_source(str(file))).exists():
                py_compile.compile(str(file), doraise=True)
                done += 1
    return done


def _compile_test(file: Path, config: pytest.Config) -> bool:
    folder = rewrite.get_cache_dir(file)
    compiled = folder / (file.stem + rewrite.PYC_TAIL)
    if compiled.exists() or not rewrite.try_makedirs(folder):
        return False
    stat, code = rewrite._rewrite_test(file, config)
    return rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, stat, compiled)
