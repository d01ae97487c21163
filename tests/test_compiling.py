"""What several processes compile before they import it."""

from __future__ import annotations

import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from tests.compiling import compile_share, import_share


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


def test_shares_of_the_tests_are_imported_and_what_fails_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    monkeypatch.syspath_prepend(tmp_path)
    room = tmp_path / "anteroom"
    (room / "corner").mkdir(parents=True)
    texts = {"kit": "", "test_one": "", "corner/test_two": "", "test_skipped": "import pytest\npytest.skip('', True)\n"}
    for name, text in {**texts, "test_wrong": "def is not\n"}.items():
        (room / f"{name}.py").write_text(text)
    found = [name for number in range(2) for name in import_share(number, 2, [room, room / "corner"], tmp_path)]
    names = [f"anteroom.{name}" for name in ("corner.test_two", "test_one", "test_skipped", "test_wrong")]
    assert sorted(found) == names
    assert [name for name in names if sys.modules.pop(name, None)] == names[:2]
    assert len(list(room.glob("**/test_*pytest*.pyc"))) == 3, "as pytest compiles them"
