"""Large messages: their structure is found while they come; what is large in them stays unread until asked."""

from __future__ import annotations

import copy
import json
import pickle
import random
from typing import Any

import pytest

from mcp_studio import jsontext
from mcp_studio.protocol.message import (
    LARGE,
    SMALL,
    LargeObject,
    Malformed,
    Node,
    Response,
    Skim,
    Skimmed,
    hint_at,
    parse,
    read_large,
)
from mcp_studio.transport.lines import LineSplitter

BIG = 'a "quoted" line \\ with é and 😀\n' * (LARGE // 30)


def skim(data: bytes, size: int = 1_000_003) -> Node | None:
    """The structure of some bytes that come in parts of a size."""
    found = Skim()
    for end in range(size, len(data) + size, size):
        found.advance(data[:end])
    return found.known(LARGE)


def frame(result: Any, **more: Any) -> bytes:
    """An answer."""
    return json.dumps({"jsonrpc": "2.0", "id": 7, "result": result, **more}).encode()


def values(seed: int, depth: int = 0) -> Any:
    """Some JSON value."""
    rng = random.Random(seed)
    pick = rng.randrange(9 if depth < 6 else 5)
    if pick < 5:
        return [None, True, -1.5e3, 'x"\\{[,]}:', "é😀\n"][pick]
    inner = [values(seed * 31 + place + 1, depth + 1) for place in range(rng.randrange(5))]
    return inner if pick < 7 else {f'k{{"{place}': one for place, one in enumerate(inner)}


@pytest.mark.parametrize("seed", range(60))
def test_any_object_has_the_structure_that_reading_it_gives(seed: int) -> None:
    value = {"a": values(seed), "b": values(seed + 1_000), "c": [values(seed + n) for n in range(3)]}
    text = json.dumps(value, indent=seed % 3 or None, ensure_ascii=seed % 2 == 0).encode()
    root = skim(text, 1 + seed % 7)
    assert root is not None and root.end == len(text)
    assert LargeObject(text, root) == value


WRONG = (b"[1]", b"{} {}", b"{", b'{"a": "', b'{"a": [}', b"x", b'{{{"a":' + b"[" * 600)


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_whole_object_is_left_to_the_usual_reader(text: bytes) -> None:
    root = skim(text, 1)
    assert root is None or read_large(text, root) is None or text == b'{"a": [}'


def test_a_large_answer_is_sorted_without_being_read() -> None:
    result = {"content": [{"type": "text", "text": BIG}], "structuredContent": {"rows": [{"n": 1}] * 400_000}}
    data = frame({**result, "isError": False})
    (answer,) = parse(data, root=skim(data)).messages
    assert isinstance(answer, Response) and answer.id == 7
    large = answer.result
    assert isinstance(large, LargeObject) and large["isError"] is False and list(large) == [*result, "isError"]
    span = large.span("structuredContent")
    assert span is not None and json.loads(span.text()) == result["structuredContent"]
    (block,) = large["content"]
    text = block.span("text")
    assert text is not None and text.is_string and json.loads(text.text()) == BIG and block["text"] == BIG
    assert hint_at(block, "text") == "" and hint_at(large, "isError") is False and hint_at(large, "none") is None


def test_it_is_a_dict_in_all_that_is_asked_of_it() -> None:
    value = {"a": BIG, "b": 1, "c": {"d": BIG}, "e": [1, 2]}
    data = json.dumps(value).encode()
    root = skim(data)
    assert root is not None
    large = LargeObject(data, root)
    assert large == value and value == large and not large != value and len(large) == 4 and "a" in large
    assert {**large} == value and dict(large) == value and large | {"x": 1} == value | {"x": 1}
    assert json.loads(json.dumps(large)) == value and jsontext.loads(jsontext.dumps(large)) == value
    assert jsontext.loads(jsontext.printable(large)) == value
    assert copy.deepcopy(large) == value and pickle.loads(pickle.dumps(large)) == value
    assert large.get("nothing") is None and large.get("nothing", 3) == 3 and large.get("b") == 1
    match large:
        case {"b": 1, "c": {"d": str()}}:
            pass
        case _:
            raise AssertionError("it does not match")


def test_what_is_no_json_inside_is_given_as_it_stands() -> None:
    bad = b'{"jsonrpc":"2.0","id":1,"result":{"a":[' + b"nonsense, " * (LARGE // 10) + b'1],"b":2}}'
    root = skim(bad)
    (answer,) = parse(bad, root=root).messages
    assert isinstance(answer, Response) and answer.result["b"] == 2
    assert answer.result["a"].startswith("[nonsense, ")
    worse = b'{"jsonrpc":"2.0","id":1,"result":{"a":"' + b"x" * SMALL + b'", nonsense}}'
    assert isinstance(parse(worse, root=skim(worse)).messages[0], Malformed)


def test_lines_carry_their_structure_when_they_are_large() -> None:
    data = frame({"content": [{"type": "text", "text": BIG}]})
    splitter = LineSplitter(1 << 30, skim=True)
    lines: list[Any] = []
    for at in range(0, len(data), 65_536):
        lines += splitter.feed(data[at : at + 65_536])
    lines += splitter.feed(b'\n{"id":1}\n[2')
    assert isinstance(lines[0], Skimmed) and lines[0].data == data and lines[0].root.end == len(data)
    assert lines[1] == b'{"id":1}' and splitter.finish() == [b"[2"]
    assert not any(isinstance(one, Skimmed) for one in LineSplitter(1 << 30).feed(data + b"\n"))
