"""Files that are cut, garbled or made by somebody else: what can be read is read, the rest is told in a sentence."""

from __future__ import annotations

import contextlib
import sqlite3
import zlib
from array import array
from collections.abc import Callable
from functools import cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_studio.errors import StudioError, UsageError
from mcp_studio.trace.disk import format
from mcp_studio.trace.disk import session as loading
from mcp_studio.trace.disk.session import Session
from mcp_studio.trace.disk.sessions import describe
from mcp_studio.trace.export.bundle import open_file
from mcp_studio.trace.tree import root_of, tree, walk
from tests.trace.disk.batches import batch, bodies, kind, write


@cache
def honest() -> bytes:
    """A session with something of everything."""
    with TemporaryDirectory() as folder:
        extras = {(1, "comment"): "one", (2, "findings"): [["error", "rule", "text", "", ""]]}
        first = batch(1, [*bodies(1, 200), b"large" * 10_000], extras=extras, flags=[16, 96] + [0] * 199)
        changes = {"link": {5: 6, 6: 5}, "outcome": {5: 2, 6: 2}, "parent": {9: 5}, "follows": {10: 9}}
        path = write(Path(folder), first, batch(202, bodies(202, 100), names=(), changes=changes)).path
        assert path
        return path.read_bytes()


def look(path: Path) -> Session:
    """Read everything there is, as the front ends do."""
    describe(path)
    session = Session(path)
    with contextlib.closing(session), contextlib.closing(session.reader()) as reader:
        for index in range(min(len(session), 400)):
            entry = session[index]
            assert (entry.number, entry.span, entry.body, entry.id, entry.findings) and entry.time >= 0
            session.comment_on(entry.number)
        for block in reader.blocks(session.total + 1):
            for number, body in enumerate(block.bodies[:5], block.first):
                assert reader.body(number) or not body
        session.refresh()
    return session


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_damage_anywhere_is_no_crash(data: st.DataObject) -> None:
    raw = bytearray(honest())
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place : place + 8] = data.draw(st.binary(min_size=1, max_size=8))
    del raw[data.draw(st.one_of(st.just(len(raw)), st.integers(0, len(raw)))) :]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.trace"
        path.write_bytes(raw)
        with contextlib.suppress(StudioError):
            look(path)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 40), st.binary(min_size=1, max_size=300))
def test_a_page_of_nonsense_is_no_crash(page: int, nonsense: bytes) -> None:
    raw = bytearray(honest())
    raw[page * 4096 : page * 4096 + 4096] = (nonsense * 4096)[:4096]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.trace"
        path.write_bytes(raw)
        with contextlib.suppress(StudioError):
            look(path)


NUMBER = st.integers(0, 20)
ENTRY = st.tuples(st.integers(0, 255), st.integers(0, 255), st.integers(0, 7), NUMBER, NUMBER)
FIELD = st.sampled_from(["link", "outcome", "flags", "kind", "method", "target", "parent", "follows"])


@settings(max_examples=25, deadline=None)
@given(st.lists(ENTRY, min_size=1, max_size=12), st.lists(st.tuples(NUMBER, FIELD, st.integers(0, 300)), max_size=12))
def test_entries_may_be_linked_in_any_way(
    entries: list[tuple[int, int, int, int, int]], changes: list[tuple[int, str, int]]
) -> None:
    kinds, flags, outcomes, links, exchanges = zip(*entries, strict=True)
    known: dict[str, dict[int, int]] = {}
    for number, field, value in changes:
        known.setdefault(field, {})[number] = value
    made = batch(
        5, bodies(5, len(entries)), kind=kinds, flags=flags, outcome=outcomes, link=links, exchange=exchanges,
        changes=known,
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        path = write(Path(folder), made).path
        assert path
        session = look(path)
        for number in range(5, session.total + 1):
            entry = session.entry(number)
            assert entry is not None
            above, steps = entry.span, 0
            while above is not None and steps < 20:
                above, steps = above.parent, steps + 1
            assert steps < 20 and (entry.span is None or entry.span.round <= 12)
            node = tree(session, number)
            assert node is None or len(list(islice(walk(node), 1_000))) < 1_000
            assert 0 <= root_of(session.columns, number) <= session.total


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "x.trace"
    file.write_bytes(honest())
    return file


def test_the_honest_file_is_whole(path: Path) -> None:
    session = look(path)
    assert (len(session), session.problem) == (301, "")


def changed(path: Path, *statements: str, values: tuple[object, ...] = ()) -> Path:
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            db.execute(statement, values)
    return path


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON change BEGIN DELETE FROM block; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE more(a)",
        "CREATE INDEX i ON block(count)",
        "DROP TABLE extra",
        "ALTER TABLE extra RENAME COLUMN value TO worth",
        "PRAGMA application_id=1",
        "PRAGMA user_version=0",
    ],
)
def test_a_database_that_is_not_just_a_session_is_refused(path: Path, statement: str) -> None:
    changed(path, statement)
    with pytest.raises(StudioError, match=r"x\.trace is not a session of the studio\."):
        Session(path)
    assert describe(path).problem == "x.trace is not a session of the studio."


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello " * 1_000)
    (tmp_path / "empty").touch()
    for name in ("text", "empty", "."):
        with pytest.raises(StudioError, match="is not a session of the studio"):
            Session(tmp_path / name)
    with pytest.raises(StudioError, match="There is no session"):
        Session(tmp_path / "none")
    assert (tmp_path / "empty").stat().st_size == 0


def test_what_may_be_a_session_is_told_apart(path: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text('{"a": 1}\n' * 100)
    (tmp_path / "empty").touch()
    renamed = path.rename(tmp_path / "renamed")
    with contextlib.closing(open_file(renamed)) as session:
        assert len(session)
    for name in ("text", "empty", ".", "none"):
        with pytest.raises(UsageError):
            open_file(tmp_path / name)


def test_a_newer_session_is_refused_with_a_sentence(path: Path) -> None:
    changed(path, f"PRAGMA user_version={format.FORMAT + 1}")
    with pytest.raises(StudioError, match="was written by a newer version of the studio") as told:
        Session(path)
    assert str(format.FORMAT) in told.value.hint


@pytest.mark.parametrize(
    ("statement", "kept"),
    [
        ("UPDATE block SET count = 60000 WHERE first = 1", 0),
        ("UPDATE block SET count = 4000000000 WHERE first = 1", 0),
        ("UPDATE block SET columns = x'00' WHERE first = 1", 0),
        ("UPDATE block SET columns = 'text'", 0),
        ("UPDATE block SET columns = randomblob(length(columns))", 0),
        ("UPDATE block SET first = -5", 0),
        ("INSERT INTO block VALUES (4000000000, 1, x'00')", 301),
        ("INSERT INTO block VALUES (900000, 5, randomblob(5 * 33))", 301),
        ("UPDATE bodies SET ends = x'ffffffff'", 301),
        ("UPDATE bodies SET data = NULL", 301),
        ("DELETE FROM bodies", 301),
        ("DELETE FROM name", 0),
        ("INSERT INTO name VALUES ('server', 3, x'ff00')", 0),
        ("INSERT INTO name VALUES ('target', 70000, 'far')", 0),
        ("UPDATE extra SET value = '{'", 301),
        ("UPDATE extra SET value = x'00'", 301),
        ("UPDATE extra SET value = printf('%.*c', 100000, '[')", 301),
        ("UPDATE change SET numbers = randomblob(length(numbers))", 301),
        ("UPDATE change SET news = randomblob(length(news))", 301),
        ("UPDATE change SET news = x'00'", 301),
        ("UPDATE change SET field = 'time'", 301),
        ("UPDATE change SET field = 'kind'", 301),
        ("UPDATE meta SET value = 1e300", 301),
        ("UPDATE meta SET value = x'00'", 301),
        ("UPDATE body SET packed = x'00'", 301),
        ("UPDATE body SET size = -1", 301),
        ("UPDATE large SET hash = 'none'", 301),
    ],
)
def test_what_stands_before_a_value_that_means_nothing_is_shown(path: Path, statement: str, kept: int) -> None:
    assert len(look(changed(path, statement))) == kept


def _packed(numbers: list[int]) -> bytes:
    return array("I", numbers).tobytes()


def test_requests_cannot_come_under_each_other_in_a_circle(path: Path) -> None:
    for field in ("parent", "follows"):
        row = (field, _packed([3, 4, 5, 5]), _packed([4, 3, 5, 2]))
        changed(path, "INSERT INTO change(field, numbers, news) VALUES (?, ?, ?)", values=row)
    session = look(path)
    assert session.columns.parents == {9: 5, 4: 3, 5: 2} and session.columns.follows == {10: 9, 4: 3, 5: 2}


def test_a_small_body_that_would_become_enormous_is_cut(path: Path) -> None:
    bomb = zlib.compress(bytes(20_000_000))
    changed(path, "UPDATE body SET packed = ?, size = 100000", values=(bomb,))
    session = Session(path)
    assert len(session[200].body) == 100_000
    session.close()


def test_answers_link_only_to_what_is_there(path: Path) -> None:
    row = ("link", _packed([1, 2, 400]), _packed([4_000_000_000, 2, 1]))
    changed(path, "INSERT INTO change(field, numbers, news) VALUES (?, ?, ?)", values=row)
    row = ("kind", _packed([1, 2]), _packed([kind("request"), 255]))
    changed(path, "INSERT INTO change(field, numbers, news) VALUES (?, ?, ?)", values=row)
    session = look(path)
    assert (session.columns.ms(0), session.columns.ms(1), session.columns.kind_of(0)) == (None, 0.0, "request")


def test_an_endless_file_is_read_for_a_while(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "PATIENCE", -1.0)
    with contextlib.closing(Session(path)) as session:
        assert session.problem == "The session x.trace is too long: only its beginning is read."


def test_a_file_made_to_waste_time_is_given_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(format, "PATIENCE", -1.0)
    slow: Callable[[sqlite3.Connection], object] = lambda db: db.execute(  # noqa: E731
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    ).fetchone()
    with contextlib.closing(format.connect(path)) as db:
        with pytest.raises(StudioError, match="interrupted"), format.as_studio_errors(path):
            slow(db)
