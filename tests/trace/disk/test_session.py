"""What was written is read again as it was: entries, spans, bodies, what became known later."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_studio.trace.disk.format import Batch
from mcp_studio.trace.disk.session import Session
from mcp_studio.trace.disk.writer import LARGE, Writer
from mcp_studio.trace.message import MARKED
from tests.support import run
from tests.trace.disk.batches import batch, bodies, body, kind, wait, write


def test_entries_and_spans_come_back_with_what_became_known_later(tmp_path: Path) -> None:
    asked = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search"}}'
    answer = b'{"jsonrpc":"2.0","id":7,"result":{}}'
    first = batch(1, [asked], kind=[kind("request")], outcome=[1])
    second = batch(
        2,
        [answer, b"note"],
        names=(),
        kind=[kind("result", "in"), kind("note", "none")],
        outcome=[2, 0],
        link=[1, 0],
        changes={"outcome": {1: 2}, "link": {1: 2}},
        extras={(2, "findings"): [["warning", "rule", "It is odd.", "server/tools", ""]]},
    )
    writer = write(tmp_path, first, second._replace(columns={**second.columns, "flags": bytes([2 << 5, 0])}))
    assert writer.path
    session = Session(writer.path)
    request, result, note = session[0], session[1], session[2]
    assert (request.server, request.method, request.target, request.body) == ("files", "tools/call", "search", asked)
    assert request.span is not None and request.span is result.span
    assert request.span.response is result and request.span.outcome == "ok"
    assert request.span.ms is not None and abs(request.span.ms - 100) < 0.01
    assert (request.id, result.id, note.kind, note.span) == (7, 7, "note", None)
    assert [finding.text for finding in result.findings] == ["It is odd."] and note.findings == ()
    assert (session.total, len(session), session.first_number, session.problem) == (3, 3, 1, "")
    session.close()


def test_many_small_batches_become_large_blocks_and_stay_the_same_entries(tmp_path: Path) -> None:
    count = 1_500
    writer = write(tmp_path, *(batch(n, [body(n)], names=None if n == 1 else ()) for n in range(1, 100)), close=False)
    for number in range(100, count + 1):
        changes = {"link": {number - 50: number}}
        writer.put(batch(number, [body(number)], names=(), changes=changes))
    assert writer.close(20) and writer.written == count
    assert writer.path
    session = Session(writer.path)
    assert session.total == count and session.problem == ""
    with closing(session.reader()) as counted:
        assert len(list(counted.blocks(count + 1))) <= 5
    found: list[bytes] = []
    reader = session.reader()
    for block in reader.blocks(count + 1):
        assert block.first + len(block.bodies) - 1 + len(found) == count
        found += reversed(block.bodies)
    assert found[::-1] == bodies(1, count)
    assert [reader.body(n) for n in (1, 700, count)] == [body(1), body(700), body(count)]
    assert reader.body(0) == reader.body(count + 1) == b""
    assert list(session.columns.link[:1_450]) == [0] * 49 + list(range(100, 1_501))
    reader.close()
    session.close()


def test_blocks_end_below_the_number_that_is_given(tmp_path: Path) -> None:
    path = write(tmp_path, batch(1, bodies(1, 100)), batch(101, bodies(101, 3), names=())).path
    assert path
    reader = Session(path).reader()
    (block,) = reader.blocks(60)
    assert (block.first, len(block.bodies)) == (1, 59)
    assert block.bodies[-1] == body(59) and list(reader.blocks(1)) == []


def test_large_bodies_stand_once_compressed_and_are_read_when_looked_at(tmp_path: Path) -> None:
    large = b'{"text":"' + b"abcdefgh" * 20_000 + b'"}'
    writer = write(
        tmp_path,
        batch(1, [b"a", large, b"b", large, b""]),
        batch(6, [large], names=()),
    )
    assert writer.path and writer.path.stat().st_size < 200_000
    session = Session(writer.path)
    reader = session.reader()
    (block,) = reader.blocks(7)
    assert block.bodies == [b"a", b"", b"b", b"", b"", b""]
    assert reader.body(2) == reader.body(4) == reader.body(6) == large
    assert reader.body(5) == b"" and reader.body(3) == b"b"
    assert run(session.body(session[1])) == large
    session.close()


def test_marks_and_comments_on_a_session_that_is_over_are_kept_while_it_is_open(tmp_path: Path) -> None:
    known = {"changes": {"flags": {2: 16}}, "extras": {(2, "comment"): "of then"}}
    path = write(tmp_path, batch(1, bodies(1, 3), **known)).path
    assert path
    session = Session(path, lambda text: text.replace("hunter2", "‹redacted›"))
    revision = session.revision
    session.mark(2, True)
    session.comment(3, "why hunter2?")
    session.comment(1, "gone again")
    session.comment(1, "")
    session.mark(99, True)
    assert session.revision > revision
    assert [bool(flags & MARKED) for flags in session.columns.flags] == [False, True, False]
    assert [session.comment_on(n) for n in (1, 2, 3, 4)] == ["", "of then", "why ‹redacted›?", ""]
    session.close()
    with closing(Session(path)) as again:
        assert [again.comment_on(n) for n in (1, 2, 3)] == ["", "of then", ""] and list(again.columns.flags) == [
            0,
            16,
            0,
        ]


def test_what_a_running_writer_adds_is_followed(tmp_path: Path) -> None:
    writer = write(tmp_path, batch(1, bodies(1, 10), extras={(3, "comment"): "one"}), close=False)
    assert writer.path
    session = Session(writer.path)
    assert session.info.state == "running" and session.total == 10 and not session.refresh()
    seen = session.columns.revised_since(0)[0]
    entry = session.entry(3)
    assert entry and entry.body == body(3) and entry.target == "search"
    for number in range(11, 1_500):  # more than one block is made of them
        more = {"changes": {"target": {3: 3}, "flags": {3: 16}}} if number == 1_000 else {}
        writer.put(batch(number, [body(number)], names=(("target", 3, "other"),) if number == 11 else (), **more))
        if number in (500, 1_400):
            assert wait(writer, number) and session.refresh() and session.total == number
    assert writer.close(20)
    assert session.refresh() and session.total == 1_499 and session.problem == ""
    assert set(session.columns.revised_since(seen)[1]) == {3}
    assert session[2].target == "other" and session[2].body == body(3) and session.comment_on(3) == "one"
    newest = session.entry(1_499)
    assert newest and newest.body == body(1_499)
    assert (session.info.state, session.info.entries) == ("ended", 1_499)
    session.close()


def test_numbers_that_were_never_handed_over_leave_empty_places(tmp_path: Path) -> None:
    path = write(tmp_path, batch(1, bodies(1, 3)), batch(10, bodies(10, 2), names=())).path
    assert path
    session = Session(path)
    assert len(session) == 11 and session.problem == ""
    assert (session[5].kind, session[5].body, session[9].body) == ("note", b"", body(10))
    session.close()


STEPS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 2_000).map(lambda size: b"%d " % size * (size // 40)), max_size=700),
        st.lists(st.tuples(st.integers(0, 1_000), st.integers(1, 255)), max_size=5),
    ),
    max_size=25,
)


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_whatever_is_handed_over_comes_back(steps: list[tuple[list[bytes], list[tuple[int, int]]]]) -> None:
    written: list[bytes] = []
    flags: list[int] = []
    with TemporaryDirectory() as folder:
        writer = Writer(Path(folder), queue_bytes=1 << 40)
        for given_bodies, changed in [([b"first"], []), *steps]:
            first = len(written) + 1
            written += given_bodies
            flags += [0] * len(given_bodies)
            changes = {1 + number % len(written): value for number, value in changed}
            for number, value in changes.items():
                flags[number - 1] = value
            writer.put(batch(first, given_bodies, names=None if first == 1 else (), changes={"flags": changes}))
        assert writer.close(20) and writer.written == len(written) and writer.path
        with closing(Session(writer.path)) as session, closing(session.reader()) as reader:
            assert session.problem == "" and list(session.columns.flags) == flags
            assert list(session.columns.size) == [len(one) for one in written]
            blocks = list(reader.blocks(len(written) + 1))
            assert [body for block in reversed(blocks) for body in block.bodies] == [
                one if len(one) <= LARGE else b"" for one in written
            ]
            for number in range(1, len(written) + 1, 37):
                assert reader.body(number) == written[number - 1]


def test_an_empty_batch_only_changes(tmp_path: Path) -> None:
    changes = Batch(4, {}, (), changes={"flags": {1: 8}})
    path = write(tmp_path, batch(1, bodies(1, 3)), changes).path
    assert path
    session = Session(path)
    assert (len(session), session.columns.flags[0]) == (3, 8)
    session.close()
