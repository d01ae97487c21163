"""Every storage keeps the same promises; several processes may write at once."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_studio.errors import UsageError
from mcp_studio.registry.record import ToolRecord
from mcp_studio.registry.registry import ToolRegistry, copy
from mcp_studio.registry.storage import JsonStorage, StorageProblem, Uses, open_storage
from tests.registry.kit import tools
from tests.search.index_kit import package
from tests.support import ROOT

FULL = ToolRecord(
    "files.read", "files", "Reads a file ☃.", "Read", ("io", "safe"), "disk", {"type": "object"}, {"type": "object"},
    {"readOnlyHint": True}, 3, 1e9, "hot", "server", False,
)  # fmt: skip


def test_what_is_saved_is_loaded_by_whoever_opens_it(address: str) -> None:
    storage = open_storage(address)
    assert storage.load_all() == () and storage.revision() == 0
    storage.save([FULL, *tools("b", "a")])
    again = open_storage(address)
    assert again.load_all() == (*tools("a", "b"), FULL)
    assert again.revision() == 1
    again.delete(["a", "nothing"])
    storage.count({"b": Uses(2, 5.0), "nothing": Uses(1, 1.0)})
    assert storage.load_all() == (*tools("b", uses=2, last_used=5.0), FULL)
    assert storage.revision() == again.revision() == 3


def test_use_that_others_have_counted_is_not_lost_by_a_save(address: str) -> None:
    one, other = open_storage(address), open_storage(address)
    one.save(tools("a"))
    other.count({"a": Uses(5, 7.0)})
    one.save(tools("a", tags=("x",)))
    assert other.load_all() == tuple(tools("a", tags=("x",), uses=5, last_used=7.0))


WRITER = """
import sys
from mcp_studio.registry.record import ToolRecord
from mcp_studio.registry.storage import open_storage
from mcp_studio.registry.storage import Uses
storage = open_storage(sys.argv[1])
for number in range(25):
    storage.save([ToolRecord(f"{sys.argv[2]}{number}")])
    storage.count({"shared": Uses(1, 1.0)})
"""


def test_two_processes_that_write_at_once_lose_nothing(address: str) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, address, name], cwd=ROOT) for name in ("x", "y")]
    storage = open_storage(address)
    storage.save(tools("shared"))
    assert [writer.wait(120) for writer in writers] == [0, 0]
    found = {one.name: one for one in storage.load_all()}
    assert len(found) == 51
    # Who counted before there was the tool had nothing to count.
    assert 0 <= found["shared"].uses <= 50
    storage.count({"shared": Uses(100, 2.0)})
    assert open_storage(address).load_all()[0].uses == found["shared"].uses + 100


def test_ten_thousand_tools_are_one_batch(address: str) -> None:
    many = tools(*(f"tool{number:05}" for number in range(10_000)))
    open_storage(address).save(many)
    assert open_storage(address).load_all() == tuple(many)


def test_a_storage_is_copied_into_another_which_keeps_what_else_it_has(address: str, tmp_path: Path) -> None:
    source, target = open_storage(tmp_path / "source.json"), open_storage(address)
    source.save([FULL, *tools("a", tags=("new",))])
    target.save(tools("a", "b", uses=4))
    assert copy(source, target) == 2
    assert target.load_all() == (*tools("a", tags=("new",), uses=4), *tools("b", uses=4), FULL)


def test_what_a_newer_version_has_written_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "registry.json"
    file.write_text('{"version": 2, "tools": []}')
    with pytest.raises(StorageProblem, match="its format is 2, and this version knows 1 alone"):
        JsonStorage(file).load_all()
    import sqlite3

    place = tmp_path / "registry.sqlite"
    open_storage(place).save(tools("a"))
    with sqlite3.connect(place) as database:
        database.execute("UPDATE registry_state SET version = 2")
    database.close()
    with pytest.raises(StorageProblem, match="has format 2"):
        open_storage(place).load_all()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("r.json", "{", "r.json cannot be read: it is not JSON"),
        ("r.json", '{"version": "x"}', "cannot be read: its format is x"),
        ("r.sqlite", "no database at all, but a text", "r.sqlite cannot be used: file is not a database"),
    ],
)
def test_a_broken_file_is_told_and_left_as_it_is(name: str, content: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(content)
    with pytest.raises(StorageProblem, match=said):
        open_storage(file).save(tools("a"))
    assert file.read_text() == content


def test_entries_of_a_file_that_are_none_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    file.write_text('{"tools": [1, {}, {"name": "a\\u202eb"}, {"name": "good", "uses": "many", "pinned": 7}]}')
    assert JsonStorage(file).load_all() == (ToolRecord("good", source="file"),)


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("r.json", "r.sqlite"):
        with pytest.raises(StorageProblem, match=r"The registry .*cannot be") as caught:
            open_storage(tmp_path / "file" / name).save(tools("a"))
        assert "Move it away" not in caught.value.hint  # there is nothing to move


def test_an_address_of_no_kind_is_told() -> None:
    with pytest.raises(UsageError, match="There is no storage for 'redis'"):
        open_storage("redis://somewhere")


def test_a_database_that_is_not_there_is_told_without_the_password() -> None:
    pytest.importorskip("psycopg")
    storage = open_storage("postgresql://me:secret@127.0.0.1:1/tools?password=secret")
    with pytest.raises(StorageProblem, match=r"postgresql://127\.0\.0\.1:1/tools cannot be used") as caught:
        storage.load_all()
    assert "secret" not in f"{caught.value.message}{caught.value.hint}"


def test_packages_add_storages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from mcp_studio.registry.storage import JsonStorage\nfrom pathlib import Path\n"
    code += (
        "def made(address):\n    return JsonStorage(Path(address.partition(':')[2]))\ndef broken(address):\n    1 / 0\n"
    )
    package(
        tmp_path, "own_storage", code, ["own = own_storage:made", "bad = own_storage:broken"], "mcp_studio.registry"
    )
    monkeypatch.syspath_prepend(tmp_path)
    registry = ToolRegistry(f"own:{tmp_path}/kept")
    registry.add(tools("a"))
    assert JsonStorage(tmp_path / "kept").load_all() == tuple(tools("a"))
    with pytest.raises(StorageProblem, match="The storage 'bad' of a package cannot be opened: ZeroDivisionError"):
        open_storage("bad:")


def test_a_record_says_the_same_after_a_change_of_its_definition() -> None:
    changed = FULL.defined(replace(FULL, description="new", tags=(), uses=0))
    assert (changed.description, changed.tags, changed.uses, changed.listed) == ("new", ("io", "safe"), 3, True)
