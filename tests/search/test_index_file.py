"""Who asks once gets an index that was kept, with the same answers; a file that is broken costs time alone."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from mcp_studio.catalog.listing import Ref
from mcp_studio.redact import Redactor
from mcp_studio.search.bm25 import Bm25
from mcp_studio.search.index_file import IndexFile, key_of
from mcp_studio.search.method import Document, Query
from mcp_studio.search.names import Substring
from tests.search.index_kit import Make

WORDS = "create read update delete list issue file user page order größe 文件 \ud800".split()
DOCUMENTS = [
    Document(
        Ref("tool", f"s{number // 50}", f"{WORDS[number % 7]}_{WORDS[number % 11]}_{number}"),
        {"description": f"{WORDS[number % 13]} some {WORDS[number % 5]}s", "inputSchema": {"properties": {"id": {}}}},
    )
    for number in range(1_050)
]
ASKED = ("list files", "delete_file", "dleete", "größe", "文件", "s3.list", "an order of a user", "zebra")


@pytest.mark.parametrize("kind", [Bm25, Substring])
def test_a_restored_method_answers_as_the_one_that_was_kept(kind: type[Bm25 | Substring], tmp_path: Path) -> None:
    whole, again = kind(), kind()
    whole.index(DOCUMENTS)
    file = IndexFile(tmp_path / "a.npz", bytes)
    file.write(whole.state(bytes))
    arrays = file.read()
    assert arrays is not None
    again.restore([document.ref for document in DOCUMENTS], arrays)
    more = Document(Ref("tool", "s1", "list_zebras"), {"description": "Lists all files that zebras have"})
    for text in ASKED:
        assert again.search(Query(text)) == whole.search(Query(text)), text
    for method in (whole, again):
        method.remove([DOCUMENTS[7].ref])
        method.index([more])
    for text in ASKED:
        assert again.search(Query(text)) == whole.search(Query(text)), text


def asked(indexes: Make, cache: Path, documents: list[Document], text: str = "list files", once: bool = True) -> object:
    index = indexes(cache=cache)
    for server in dict.fromkeys(document.ref.server for document in documents):
        index.list(server, "tool", documents)
    return index.ask_now(text, once=once).hits


def kept(cache: Path) -> list[str]:
    return sorted(file.name.partition("-")[0] for file in cache.glob("search/*"))


def test_an_index_is_kept_for_who_asks_once_and_made_anew_where_anything_changed(indexes: Make, tmp_path: Path) -> None:
    asked(indexes, tmp_path, DOCUMENTS, once=False)
    asked(indexes, tmp_path, DOCUMENTS[:100])
    assert kept(tmp_path) == []
    first = asked(indexes, tmp_path, DOCUMENTS)
    files = {file: file.stat().st_mtime_ns for file in tmp_path.glob("search/*")}
    assert kept(tmp_path) == ["bm25", "substring"]
    assert asked(indexes, tmp_path, DOCUMENTS) == first
    assert files == {file: file.stat().st_mtime_ns for file in tmp_path.glob("search/*")}
    other = [*DOCUMENTS[:-1], DOCUMENTS[-1]._replace(raw={"description": "list files, list files"})]
    assert asked(indexes, tmp_path, other) != first
    assert kept(tmp_path) == ["bm25", "bm25", "substring", "substring"]


@pytest.mark.parametrize("damage", ["cut", "empty", "foreign", "folder"])
def test_a_file_that_is_broken_is_no_reason_to_fail(indexes: Make, tmp_path: Path, damage: str) -> None:
    first = asked(indexes, tmp_path, DOCUMENTS)
    for file in tmp_path.glob("search/*"):
        data = file.read_bytes()
        file.unlink()
        if damage == "folder":
            file.mkdir()
        elif damage == "foreign":
            with file.open("wb") as out:
                np.savez(out, words=np.zeros(3, np.uint8), rows=np.zeros(3, np.uint8))
        else:
            file.write_bytes(data[: len(data) // 2] if damage == "cut" else b"")
    assert asked(indexes, tmp_path, DOCUMENTS) == first


@pytest.mark.skipif(os.name == "nt", reason="a folder has no such mode there")
def test_a_disk_that_refuses_costs_nothing_else(indexes: Make, tmp_path: Path) -> None:
    (tmp_path / "search").write_text("no folder")
    assert asked(indexes, tmp_path, DOCUMENTS)


def test_secrets_are_not_kept(indexes: Make, tmp_path: Path) -> None:
    redactor = Redactor()
    redactor.learn("hush-hush-hush")
    secret = Document(Ref("tool", "s0", "show"), {"description": "Says hushhushhush or hush-hush-hush"})
    redactor.learn("hushhushhush")
    index = indexes(cache=tmp_path, redact=redactor.bytes)
    index.list("s0", "tool", [secret, *(one._replace(ref=Ref("tool", "s0", one.ref.name)) for one in DOCUMENTS)])
    assert index.ask_now("says", once=True).hits
    files = [IndexFile(file, bytes).read() or {} for file in tmp_path.glob("search/*")]
    arrays = [array.tobytes() for file in files for array in file.values()]
    assert any(b"says" in data for data in arrays)
    assert not any(b"hush-hush" in data or b"hushhush" in data for data in arrays)


def test_only_the_newest_few_are_kept(tmp_path: Path) -> None:
    files = [tmp_path / f"bm25-{key_of(DOCUMENTS[:number])}.npz" for number in range(12)]
    for number, file in enumerate(files):
        IndexFile(file, bytes).write({"deeds": np.zeros(1, np.uint8)})
        os.utime(file, (number, number))
    assert sorted(tmp_path.iterdir()) == sorted(files[4:])
