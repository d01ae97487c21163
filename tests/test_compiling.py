"""What several processes compile before they import it."""

from __future__ import annotations

from importlib.util import cache_from_source
from pathlib import Path

import pytest

from tests.compiling import compile_share


def test_shares_make_the_whole_and_nothing_is_compiled_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    folder = tmp_path / "tests"
    folder.mkdir()
    for name in ("kit_a", "kit_b", "kit_c", "test_one", "wrong"):
        (folder / f"{name}.py").write_text("def is not\n" if name == "wrong" else "x = 1\n")
    assert sum(compile_share(number, 3, tmp_path) for number in range(3)) == 3
    assert sum(compile_share(number, 3, tmp_path) for number in range(3)) == 0
    assert all(Path(cache_from_source(str(folder / f"kit_{one}.py"))).is_file() for one in "abc")
    assert not Path(cache_from_source(str(folder / "test_one.py"))).exists()
