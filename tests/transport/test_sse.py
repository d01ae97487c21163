"""Event streams: the format's corners, any cutting into chunks, bounds, and cost."""

from __future__ import annotations

import time
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_studio.protocol.lines import Line, Oversize
from mcp_studio.transport.sse import SseEvent, SseParser


def parsed(*chunks: bytes, limit: int = 1_000_000) -> tuple[list[SseEvent], SseParser]:
    parser = SseParser(limit)
    return [event for chunk in chunks for event in parser.feed(chunk)], parser


def data(*chunks: bytes) -> list[Line]:
    return [event.data for event in parsed(*chunks)[0]]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_every_line_ending_is_understood(end: bytes) -> None:
    stream = end.join((b"event: message", b"data: one", b"", b"data: two", b"", b""))
    assert data(stream) == [b"one", b"two"]


@pytest.mark.parametrize(
    ("chunks", "came"),
    [
        ((b"data: a\r", b"\ndata: b\r", b"\n", b"\r", b"\n"), [b"a\nb"]),
        ((b"data: a\ndata:b\ndata:  c\ndata\n\n",), [b"a\nb\n c\n"]),
        ((b"data: whole\n\ndata: cut\n",), [b"whole"]),
        ((b"\xef\xbb", b"\xbfdata: x\n\n\xef\xbb\xbfdata: y\n\ndata: z\n\n"), [b"x", b"z"]),
        ((b": hello\nfoo: bar\nnonsense\ndata: x\n:\n\n: only a comment\n\n",), [b"x"]),
    ],
    ids=["a line ending cut in two", "lines of one event", "cut off at the end", "byte order marks", "comments"],
)
def test_events_are_read_as_the_format_says(chunks: tuple[bytes, ...], came: list[bytes]) -> None:
    assert data(*chunks) == came


@pytest.mark.parametrize(
    ("stream", "last", "events"),
    [
        (b"id: 7\n\n", "7", 0),
        (b"id: 7\ndata:\n\n", "7", 0),
        (b"id: a\ndata: 1\n\ndata: 2\n\nid: b\ndata: 3\n", "a", 2),
        (b"id: a\ndata: 1\n\nid: b\x00c\ndata: 2\n\n", "a", 2),
        (b"id: a\ndata: 1\n\nid\ndata: 2\n\n", "", 2),
    ],
    ids=["without data", "with empty data", "an event that does not end", "nul is ignored", "an empty one forgets"],
)
def test_an_id_counts_when_its_event_ends_and_stays_until_another(stream: bytes, last: str, events: int) -> None:
    found, parser = parsed(stream)
    assert (parser.cursor.last_id, len(found)) == (last, events)


@pytest.mark.parametrize(("text", "wait"), [(b"300", 0.3), (b"-1", 1.0), (b"1.5", 1.0), (b"x", 1.0), (b"9" * 30, 1.0)])
def test_retry_takes_digits_only(text: bytes, wait: float) -> None:
    assert parsed(b"retry: " + text + b"\n\n")[1].cursor.retry == wait


@pytest.mark.parametrize(("given", "kept"), [("a:1/ü", "a:1/ü"), ("a\x01", ""), ("x" * 5000, ""), ("a ", "")])
def test_an_id_that_no_header_can_carry_resumes_nothing(given: str, kept: str) -> None:
    assert parsed(f"id: {given}\ndata: 1\n\n".encode())[1].cursor.last_id == kept


def test_the_kind_is_that_of_its_event_alone() -> None:
    events, _ = parsed(b"event: ping\ndata: 1\n\ndata: 2\n\nevent:\ndata: 3\n\n")
    assert [event.kind for event in events] == ["ping", "message", "message"]


def test_the_limit_is_for_one_event_not_for_the_stream() -> None:
    assert len(parsed(b"data: 0123456789\n\n" * 1000, limit=100)[0]) == 1000


def test_an_endless_comment_is_held_nowhere() -> None:
    parser = SseParser(1000)
    tracemalloc.start()
    for _ in range(1000):
        assert not list(parser.feed(b":" + b"x" * 10_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200_000
    assert [event.data for event in parser.feed(b"\ndata: then\n\n")] == [b"then"]


def test_a_large_event_in_small_chunks_costs_linear_time() -> None:
    def cost(size: int) -> float:
        stream = b"data: " + b"x" * size + b"\n\n"
        chunks = [stream[start : start + 1000] for start in range(0, len(stream), 1000)]
        began = time.process_time()
        assert parsed(*chunks, limit=100_000_000)[0][0].data == b"x" * size
        return time.process_time() - began

    cost(1_000_000)
    assert cost(20_000_000) < 40 * max(cost(1_000_000), 0.005)


LINES = st.lists(
    st.sampled_from([b"data: a", b"data:b", b"data", b"", b"", b"id: 1", b"id", b": c", b"event: e", b"retry: 5", b"?"])
)


@given(LINES, st.sampled_from([b"\n", b"\r", b"\r\n"]), st.data())
def test_cutting_a_stream_anywhere_changes_nothing(lines: list[bytes], end: bytes, draw: st.DataObject) -> None:
    stream = end.join(lines) + end
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    chunks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    whole, at_once = parsed(stream)
    cut, piecemeal = parsed(*chunks)
    assert cut == whole
    assert piecemeal.cursor == at_once.cursor


@given(st.lists(st.binary(max_size=60), max_size=10))
@example([b"data: \xff\xfe\n", b"\n"])
def test_garbage_never_raises_and_keeps_within_what_came(chunks: list[bytes]) -> None:
    events, _ = parsed(*chunks)
    assert sum(len(event.data) for event in events if isinstance(event.data, bytes)) <= sum(map(len, chunks))


# ---------------------------------------------------------------------- too large, and left out


def kept_and_dropped(stream: bytes, cuts: list[int], limit: int) -> tuple[list[bytes], list[Oversize]]:
    parser = SseParser(limit)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    found = [event.data for start, end in pairwise(edges) for event in parser.feed(stream[start:end])]
    return [one for one in found if isinstance(one, bytes)], [one for one in found if isinstance(one, Oversize)]


@given(st.lists(st.integers(0, 1_000)), st.sampled_from([b"\n", b"\r", b"\r\n"]), st.booleans())
def test_an_event_that_is_too_large_is_left_out_wherever_the_stream_is_cut(
    cuts: list[int], end: bytes, several: bool
) -> None:
    large = end.join([b"data: " + b"x" * 20] * 20) if several else b"data: [" + b"x" * 400
    stream = end.join((b"data: one", b"", b": c", b"event: message", large, b"id: 9", b"", b"data: two", b"", b""))
    kept, dropped = kept_and_dropped(stream, cuts, 100)
    assert kept == [b"one", b"two"]
    (one,) = dropped
    assert one.size > 400 - 7 and one.head.startswith(b"x" if several else b"[x")


def test_what_was_left_out_keeps_its_two_ends() -> None:
    body = b'{"id":1,"result":"' + b"x" * 50_000 + b'"}'
    kept, (one,) = kept_and_dropped(b"data: " + body + b"\n\n", list(range(0, 50_000, 1_000)), 10_000)
    assert not kept
    assert body.startswith(one.head) and body.endswith(one.tail) and len(one.head) > 4_000 < len(one.tail)


def test_leaving_out_is_linear_and_bounded() -> None:
    parser = SseParser(1_000_000)
    tracemalloc.start()
    began = time.process_time()
    list(parser.feed(b"data: "))
    for _ in range(1_000):
        list(parser.feed(b"x" * 60_000))
    assert time.process_time() - began < 2
    assert tracemalloc.get_traced_memory()[1] < 4_000_000
    tracemalloc.stop()
    large, after = parser.feed(b"\n\ndata: on\n\n")
    assert isinstance(large.data, Oversize) and after.data == b"on"
