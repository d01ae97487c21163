"""The file of vectors: what was computed is there again, and whatever befalls the file costs time only."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mcp_studio.search.model import SIZE
from mcp_studio.search.semantic import FILE, Packed, VectorCache, key_of
from tests.support import ROOT


def vectors(count: int, first: int = 0) -> dict[bytes, Packed]:
    """Vectors of made-up texts."""
    return {
        key_of("model", f"text {number}"): Packed(np.full(SIZE, number % 100, np.int8), number / 7)
        for number in range(first, first + count)
    }


def put(cache: VectorCache, given: dict[bytes, Packed]) -> None:
    for key, vector in given.items():
        cache.put(key, vector)


def have(cache: VectorCache, given: dict[bytes, Packed]) -> int:
    """How many of them it has, each as it was."""
    found = cache.get(list(given))
    assert all((found[key][0] == given[key][0]).all() and found[key][1] == given[key][1] for key in found)
    return len(found)


def test_what_was_put_is_there_again_in_half_a_kilobyte_each(tmp_path: Path) -> None:
    given = vectors(1_000)
    first = VectorCache(tmp_path)
    put(first, given)
    assert have(first, given) == 1_000
    first.close()
    assert have(VectorCache(tmp_path), given) == 1_000
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 600 * 1_000


def test_text_and_model_both_count() -> None:
    assert len({key_of("a", "b"), key_of("a", "c"), key_of("b", "b"), key_of("a", "\ud800")}) == 4


def test_only_so_many_are_kept_those_used_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = vectors(60), vectors(60, first=1_000)
    for day, work in ((1, lambda c: put(c, old)), (3, lambda c: put(c, new))):
        monkeypatch.setattr("time.time", lambda day=day: day * 86_400.0)
        cache = VectorCache(tmp_path, most=100)
        work(cache)
        cache.close()
    cache = VectorCache(tmp_path, most=100)
    assert have(cache, new) == 60
    assert have(cache, old) < 60
    cache.close()


def test_a_file_that_is_none_is_thrown_away(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"this is not a database " * 1_000)
    cache = VectorCache(tmp_path)
    assert cache.get([b"x"]) == {}
    put(cache, vectors(100))
    cache.close()
    assert have(VectorCache(tmp_path), vectors(100)) == 100


def test_a_file_that_breaks_in_the_middle_is_thrown_away(tmp_path: Path) -> None:
    first = VectorCache(tmp_path)
    put(first, vectors(500))
    first.close()
    file = tmp_path / FILE
    whole = file.read_bytes()
    file.write_bytes(whole[:4_096] + b"\xff" * (len(whole) - 4_096))
    cache = VectorCache(tmp_path)
    assert have(cache, vectors(500)) == 0
    put(cache, vectors(100))
    cache.close()
    assert have(VectorCache(tmp_path), vectors(100)) == 100


@pytest.mark.parametrize("wrong", [(b"short", 0.5), ("text", 0.5), (bytes(SIZE), None)])
def test_a_row_of_another_shape_is_not_taken(tmp_path: Path, wrong: tuple[object, object]) -> None:
    given = vectors(2)
    cache = VectorCache(tmp_path)
    put(cache, given)
    cache.close()
    db = sqlite3.connect(tmp_path / FILE)
    with db:
        db.execute("UPDATE vector SET numbers = ?, scale = ? WHERE key = ?", (*wrong, next(iter(given))))
    db.close()
    again = VectorCache(tmp_path)
    assert have(again, given) == 1
    again.close()


def test_a_folder_that_cannot_be_written_costs_time_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    cache = VectorCache(tmp_path / "file")
    given = vectors(100)
    put(cache, given)
    assert len(cache.get(list(given))) < 64
    cache.close()


def test_while_another_one_writes_it_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_studio.search.semantic.BUSY", 0.01)
    given = vectors(100)
    first = VectorCache(tmp_path)
    put(first, given)
    first.close()
    other = sqlite3.connect(tmp_path / FILE)
    other.execute("BEGIN EXCLUSIVE")
    cache = VectorCache(tmp_path)
    put(cache, vectors(100, first=500))
    assert have(cache, given) == 0
    other.close()
    assert have(cache, given) == 100
    cache.close()


def test_several_processes_use_it_at_once(tmp_path: Path) -> None:
    code = (
        "import sys\nimport numpy as np\nfrom pathlib import Path\n"
        "from mcp_studio.search.semantic import Packed, VectorCache, key_of\n"
        "sys.stdin.readline()\n"
        "for start in range(0, 400, 80):\n"
        "    cache = VectorCache(Path(sys.argv[1]))\n"
        "    for n in range(start, start + 80):\n"
        "        cache.put(key_of('model', f'text {n}'), Packed(np.full(384, n % 100, np.int8), n / 7))\n"
        "    cache.close()\n"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, cwd=ROOT) for _ in range(2)
    ]
    for one in both:
        assert one.stdin is not None
        one.stdin.write(b"go\n")
        one.stdin.close()
    assert [one.wait(60) for one in both] == [0, 0]
    assert have(VectorCache(tmp_path), vectors(400)) == 400
