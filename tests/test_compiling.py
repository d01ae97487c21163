"""What several processes compile before they import it."""

from __future__ import annotations

from importlib.util import cache_from_source
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

from tests.compiling import compile_share


def test_shares_make_the_whole_and_nothing_is_compiled_twice(
    tmp_path: Path, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    folder = tmp_path / "tests"
    folder.mkdir()
    names = ("kit", "test_one", "test_two", "test_wrong")
    for name in names:
        (folder / f"{name}.py").write_text("def is not\n" if name == "test_wrong" else "def test(): assert 1\n")
    assert [compile_share(pytestconfig, number, 3, tmp_path) for number in range(3)] == [1, 1, 1]
    assert [compile_share(pytestconfig, number, 3, tmp_path) for number in range(3)] == [0, 0, 0]
    assert Path(cache_from_source(str(folder / "kit.py"))).is_file()
    for name in ("test_one", "test_two"):
        file = folder / f"{name}.py"
        compiled = rewrite.get_cache_dir(file) / f"{name}{rewrite.PYC_TAIL}"
        assert rewrite._read_pyc(file, compiled) is not None, "pytest itself takes it for its own"
