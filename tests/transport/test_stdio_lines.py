"""Lines out of a byte stream, and the answer that stands in for a dropped one."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.limits import size_text
from mcp_studio.protocol.lines import EDGE, LineSplitter, Oversize, answered_request, too_large


def split(chunks: list[bytes], limit: int = 1_000) -> list[bytes | Oversize]:
    splitter = LineSplitter(limit)
    return [line for chunk in chunks for line in splitter.feed(chunk)] + splitter.finish()


@given(st.lists(st.binary(max_size=30)), st.lists(st.integers(0, 200)))
def test_any_cut_of_the_stream_gives_the_same_lines(lines: list[bytes], cuts: list[int]) -> None:
    lines = [line.replace(b"\n", b" ") for line in lines]
    stream = b"".join(line + b"\n" for line in lines)
    places = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    assert split([stream[a:b] for a, b in itertools.pairwise(places)]) == lines


@given(st.lists(st.binary(max_size=40)), st.integers(1, 20), st.integers(1, 17))
def test_lines_over_the_limit_become_their_ends_and_size(lines: list[bytes], limit: int, step: int) -> None:
    lines = [line.replace(b"\n", b" ") for line in lines]
    stream = b"".join(line + b"\n" for line in lines)
    got = split([stream[at : at + step] for at in range(0, len(stream), step)], limit)
    wanted = [line if len(line) <= limit else Oversize(line[:EDGE], line[-EDGE:], len(line)) for line in lines]
    assert got == wanted


def test_a_last_line_without_newline_is_a_line() -> None:
    assert split([b"one\ntw", b"o"]) == [b"one", b"two"]
    assert split([b"one\n"]) == [b"one"]


def test_an_oversize_line_keeps_only_its_ends() -> None:
    splitter = LineSplitter(10_000)
    for _ in range(1_000):
        assert splitter.feed(b"a" * 10_000) == []
    (line,) = splitter.feed(b"tail\nnext")
    assert line == Oversize(b"a" * EDGE, b"a" * (EDGE - 4) + b"tail", 10_000_004)
    assert splitter.finish() == [b"next"]


def over(text: str) -> Oversize:
    line = text.encode()
    return Oversize(line[:EDGE], line[-EDGE:], len(line))


BULK = "x" * 3 * EDGE


@pytest.mark.parametrize(
    ("line", "identity"),
    [
        ('{"jsonrpc":"2.0","id":7,"result":{"a":"%s"}}', 7),
        ('{ "id" : "ab\\"c" , "jsonrpc":"2.0","result":{"a":"%s"}}', 'ab"c'),
        ('{"result":{"id":1,"list":[{"id":2}],"a":"%s"},"jsonrpc":"2.0","id":9}', 9),
        ('{"result":{"a":"%s","id":3}, "id" : -4 } ', -4),
        ('{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"%s"}}', 7),
    ],
)
def test_a_dropped_answer_is_answered_for_its_id(line: str, identity: object) -> None:
    dropped = over(line % BULK)
    out = answered_request(dropped)
    assert out is not None and out.id == identity
    error = too_large(dropped, 64)
    assert error.limit == "message" and "64 B" in error.message


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"a":"%s"}}',
        '{"jsonrpc":"2.0","method":"notifications/message","params":{"a":"%s","id":5}}',
        '{"result":{"id":1,"a":"%s"},"jsonrpc":"2.0"}',
        '{"result":{"a":"%s","text":"\\"id\\":5}"}}',
        '{"result":{"a":"%s"},"id":true}',
        '{"jsonrpc":"2.0","id":null,"result":"%s"}',
        '[{"jsonrpc":"2.0","id":7,"result":"%s"}]',
        "%s",
    ],
)
def test_what_is_not_surely_an_answer_is_answered_by_nobody(line: str) -> None:
    assert answered_request(over(line % BULK)) is None


def test_sizes_read_well() -> None:
    assert [size_text(size) for size in (300, 1024, 1536, 64 << 20)] == ["300 B", "1 KB", "1.5 KB", "64 MB"]
