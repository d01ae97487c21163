"""Recordings as lines of JSON, and back."""

from __future__ import annotations

import gzip
import io
import json
import os
import tracemalloc
from pathlib import Path

import pytest

from mcp_studio.errors import LimitExceeded, UsageError
from mcp_studio.trace import message as bits
from mcp_studio.trace.disk.session import Bundle
from mcp_studio.trace.export import bundle
from mcp_studio.trace.export.bundle import open_file, read
from mcp_studio.trace.export.jsonl import BadLine, line_of, read_line
from mcp_studio.trace.tree import tree, walk
from tests.support import run
from tests.trace.export.recorded import ANSWER, CALL, FINDING, exported, item, morning, recorded

HEAD = b'{"format":"mcp-studio-trace","version":1}\n'


def test_an_entry_comes_back_as_it_was() -> None:
    for one in morning():
        assert read_line(line_of(one))._replace(ms=None) == one


@pytest.mark.parametrize(
    "body",
    [
        b"", b" ", b"{}", b' {"a": 1.50e400} ', b'{"a":\n1}', b"[1,2", b'{"frame":{"x":1},"frame":2}', b"\xff\xfe\x00",
        b'{"a":"\\ud800"}', b"\xef\xbb\xbf{}", b'{"a":NaN}', b"\x00\x01", "☃\u2028\u202e".encode(), b"[" * 800,
        b'{"a":' * 550 + b"1" + b"}" * 550, b'{"n":' + b"9" * 6_000 + b"}", b'"text"', b'{"a":"\xff"}',
    ],
    ids=range(18),
)  # fmt: skip
def test_no_body_changes_on_the_way(body: bytes) -> None:
    line = line_of(item(1, "invalid", "in", body))
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    json.loads(line.decode(), parse_int=str)
    assert read_line(line).body == body


def test_a_frame_can_be_asked_for_by_programs_that_read_json() -> None:
    lines = exported(recorded(morning()), "jsonl").splitlines()
    known = [json.loads(line) for line in lines]
    assert known[0]["format"] == "mcp-studio-trace" and known[0]["version"] == 1
    assert known[0]["servers"]["shop"] == {
        "transport": "stdio", "version": "2025-11-25", "info": {"name": "shop", "version": "1.2"}
    }  # fmt: skip
    assert known[4]["frame"]["params"]["name"] == "order" and known[4]["answer"] == 8
    assert known[8]["ms"] == 4.0 and known[8]["marked"] is True and known[8]["comment"] == "look at *this*"


def test_a_line_that_another_program_has_written_anew_is_read() -> None:
    known = json.loads(line_of(morning()[3]))
    anew = {"frame": known.pop("frame"), **known}
    assert json.loads(read_line(json.dumps(anew).encode()).body) == json.loads(CALL)


@pytest.mark.parametrize("format", ["jsonl", "bundle"])
def test_a_recording_comes_back_as_it_was(format: str, tmp_path: Path) -> None:
    path = tmp_path / "x.mcptrace"
    path.write_bytes(exported(recorded(morning()), format))
    opened = open_file(path)
    assert isinstance(opened, Bundle) and opened.problem == "" and opened.head["title"] == "a morning"
    assert (opened.first_number, opened.total, len(opened)) == (1, 9, 9)
    call, answer = opened.entry(4), opened.entry(8)
    assert call and answer and call.span is answer.span and call.span
    assert (call.body, answer.body, call.id, call.target) == (CALL, ANSWER, 2, "order")
    assert (call.span.outcome, call.span.ms) == ("ok", pytest.approx(4)) and call.span.asked
    assert answer.findings == (FINDING,) and opened.comment_on(8) == "look at *this*"
    found = tree(opened, 6)
    assert found and [node.number for _, node in walk(found)] == [4, 5]
    assert exported(opened, "jsonl").splitlines()[1:] == exported(recorded(morning()), "jsonl").splitlines()[1:]


def test_what_was_not_chosen_is_gone_and_links_to_it_too() -> None:
    opened = read(io.BytesIO(exported(recorded(morning()), "jsonl", [8, 5, 6])), "x")
    assert [opened[index].method for index in range(3)] == ["elicitation/create", "elicitation/create", "tools/call"]
    assert opened.columns.parents == {} and list(opened.columns.link) == [2, 1, 0]
    assert opened[2].findings and opened[2].span is None


def test_marks_and_comments_can_be_put_on_an_opened_recording() -> None:
    opened = recorded(morning())
    opened.mark(3, True)
    opened.comment(3, "hm")
    assert opened.columns.flags[2] == bits.MARKED | bits.COMMENTED and opened.comment_on(3) == "hm"
    before = opened.revision
    opened.comment(3, "")
    opened.mark(99, True)
    assert opened.columns.flags[2] == bits.MARKED and opened.revision == before + 1


def test_bodies_are_found_in_all_blocks() -> None:
    bodies = [b"%d " % number * (number % 700) for number in range(1, 2_000)]
    opened = recorded([item(number, "stray", "in", body) for number, body in enumerate(bodies, 1)])
    reader = opened.reader()
    assert [reader.body(number) for number in range(1, 2_000)] == bodies
    assert reader.body(0) == reader.body(2_000) == b""
    below: list[bytes] = []
    for block in reader.blocks(1_500):
        below = block.bodies + below
    assert below == bodies[:1_499]
    assert run(opened.body(opened[1_400])) == bodies[1_400]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no recording of mcp-studio"),
        (b"{}\n", "no recording of mcp-studio"),
        (b"\x89PNG\n\n", "no recording of mcp-studio"),
        (b"[" * 90_000, "no recording of mcp-studio"),
        (b'{"format":"mcp-studio-trace","version":"1"}', "no recording of mcp-studio"),
        (b'{"format":"mcp-studio-trace","version":true}', "no recording of mcp-studio"),
        (b'{"format":"mcp-studio-trace","version":7}', "newer mcp-studio: its format is version 7"),
        (HEAD + b"[]\n\n{}\n", "line 2: it is not a JSON object"),
        (HEAD + b"{}\n{}\n", "line 2: its `n`, `time`"),
        (HEAD + b'{"n":1,"time":"x"}\n{}\n', "line 2: its `n`, `time`"),
        (HEAD + b'{"n":1,"time":1e999}\n{}\n', "line 2: its `n`, `time`"),
        (HEAD + b'{"n":1,"time":1,"kind":"x"}\n{}\n', "line 2: its `n`, `time`"),
        (HEAD + b'{"n":1,"time":1,"kind":[]}\n{}\n', "line 2: its `n`, `time`"),
        (HEAD + line_of(item(2, "note", "none", b"x")) * 2 + b"{}\n", "line 3: the numbers of entries have to grow"),
        (HEAD + b'{"a":' * 700 + b"1" + b"}" * 700 + b"\n{}\n", "line 2: it is invalid JSON"),
        (HEAD + b"[" * 90_000 + b"\n{}\n", "line 2: "),
        (b"\x1f\x8bjunk", "no recording of mcp-studio"),
        (gzip.compress(HEAD)[:-9] + b"\xff" * 40, "x.mcptrace cannot be read"),
    ],
    ids=range(18),
)  # fmt: skip
def test_what_is_no_recording_is_refused_in_words(content: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "x.mcptrace"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        open_file(path)
    assert says in caught.value.message


def test_a_file_that_is_not_there_is_told_in_words(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "none", tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(UsageError, match=r"cannot be read|can be opened"):
            open_file(path)


@pytest.mark.parametrize("format", ["jsonl", "bundle"])
def test_a_file_that_broke_off_is_opened_as_far_as_it_goes(format: str, tmp_path: Path) -> None:
    whole = exported(recorded([item(n, "note", "none", b"%032x" % (n * 7**30)) for n in range(1, 2_001)]), format)
    path = tmp_path / "x"
    path.write_bytes(whole[: len(whole) * 2 // 3])
    opened = open_file(path)
    assert 500 < len(opened) < 2_000
    assert opened.problem == "x ends too early: what came before that is shown."


@pytest.mark.parametrize(("bound", "most"), [("LINE", 1_000), ("WHOLE", 4_000), ("ENTRIES", 0)])
def test_what_is_too_large_is_refused(bound: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, bound, most)
    line = line_of(item(1, "note", "none", b"x" * 5_000))
    with pytest.raises(LimitExceeded, match="x is too large, from line 2 on"):
        read(io.BytesIO(HEAD + line), "x")


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.mcptrace"
    path.write_bytes(gzip.compress(HEAD + b'{"n":1,"text":"') + gzip.compress(b"\0" * 1_100_000) * 130)
    with pytest.raises(LimitExceeded, match="too large"):
        open_file(path)


def test_links_of_a_hostile_file_lead_nowhere() -> None:
    lines = [
        {"n": 1, "kind": "request", "direction": "out", "answer": 1, "outcome": "ok", "under": 1, "follows": 3},
        {"n": 2, "kind": "request", "direction": "out", "answer": 4, "outcome": "ok", "under": 99},
        {"n": 3, "kind": "request", "direction": "out", "answer": 4, "outcome": "ok"},
        {"n": 4, "kind": "result", "direction": "in", "request": 3, "outcome": "ok"},
        {"n": 5, "kind": "result", "direction": "in", "request": 2, "outcome": "lost"},
    ]
    opened = opened_from([{"time": 1, **line} for line in lines])
    assert list(opened.columns.link) == [0, 0, 4, 3, 0]
    assert opened.columns.parents == {} and opened.columns.follows == {}
    assert [opened[index].number for index in range(5)] == [1, 2, 3, 4, 5]


def test_requests_under_one_another_without_end_do_not_exhaust_the_stack() -> None:
    known = {"time": 1, "kind": "request", "direction": "out", "outcome": "open"}
    opened = opened_from([{"n": n, "under": n - 1, "follows": n - 1 if n % 3 else 0, **known} for n in range(1, 3_000)])
    assert all(opened.entry(number) for number in (2_999, 1_500, 1))


def test_members_of_wrong_kinds_are_left_out() -> None:
    line: dict[str, object] = {
        "n": 1, "time": 1, "kind": "note", "direction": "none", "server": 5, "size": -1, "exchange": 1 << 40,
        "method": ["x"], "probe": 1, "findings": [1, {"severity": "x"}, {"severity": "hint", "text": 3}],
    }  # fmt: skip
    entry = opened_from([line])[0]
    assert (entry.server, entry.method, entry.exchange, entry.probe) == ("", "", 0, False)
    assert [finding.severity for finding in entry.findings] == ["hint"]


def test_base64_that_is_none_is_told() -> None:
    with pytest.raises(BadLine, match="base64"):
        read_line(b'{"n":1,"time":1,"kind":"note","direction":"none","base64":"%%%"}')


def opened_from(lines: list[dict[str, object]]) -> Bundle:
    return read(io.BytesIO(HEAD + b"".join(json.dumps(line).encode() + b"\n" for line in lines)), "x")


def test_a_line_with_millions_of_values_is_not_made_into_values() -> None:
    known = b'{"n":%d,"time":1,"kind":"%b","direction":"in",'
    many = b"[" + b"[]," * 400_000 + b"[]]"
    lines = [
        known % (1, b"result") + b'"frame":' + many + b"}\n",
        known % (2, b"stray") + b'"text":"' + b"\\u002c," * 400_000 + b'"}\n',
    ]
    tracemalloc.start()
    opened = read(io.BytesIO(HEAD + b"".join(lines)), "x")
    again = exported(opened, "jsonl")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [entry.body for entry in opened] == [many, b",," * 400_000]
    assert most < 40_000_000 and json.loads(again.split(b"\n")[1])["frame"] == json.loads(many)
    for line in (b'"x":%b}' % many, b'"x":%b,"frame":1}' % many, b'"text":%b}' % many, b'"frame":%b' % many):
        with pytest.raises(BadLine, match="too many parts"):
            read_line(known % (1, b"result") + line)


def test_empty_lines_do_not_go_on_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "ENTRIES", 4)
    with pytest.raises(LimitExceeded, match="from line 6 on"):
        read(io.BytesIO(HEAD + b"\n" * 50), "x")


def test_a_last_line_that_is_whole_and_wrong_is_told() -> None:
    with pytest.raises(UsageError, match="line 2: its `n`, `time`"):
        read(io.BytesIO(HEAD + b'{"n":0}\n'), "x")


def test_a_size_that_is_too_small_by_far_is_not_believed() -> None:
    line: dict[str, object] = {"n": 1, "time": 1, "kind": "result", "direction": "in", "size": 1, "text": "x" * 90_000}
    entry = opened_from([line])[0]
    assert (entry.size, entry.id) == (90_000, None)
