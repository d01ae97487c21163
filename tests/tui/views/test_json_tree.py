"""JSON as rows: where children begin, what is shown, and that any bytes at all are borne."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_studio.tui.views.json_draw import draw_row, paint
from mcp_studio.tui.views.json_scan import Children
from mcp_studio.tui.views.json_text import StringText, decode, unit_end
from mcp_studio.tui.views.json_tree import Branch, JsonTree, Place
from rich.cells import cell_len

from mcp_studio.safetext import is_live
from mcp_studio.tui.views.line import width_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)
INDENTS = st.sampled_from([None, 0, 1, 4])


def children(data: bytes, budget: float = 0.0) -> Children:
    found = Children(data, data.index(data.strip()[:1]))
    while not found.advance(budget):
        pass
    return found


def unfold(tree: JsonTree, width: int = 60) -> None:
    """Open everything, learn everything."""
    todo: list[Branch] = [tree.document]
    for branch in todo:
        for place in range(len(branch.children)):
            inner = tree.open(branch, place, width)
            if isinstance(inner, StringText):
                while not inner.done:
                    branch.grow(inner.advance(0))
            elif inner is not None:
                while not tree.index(inner, 0):
                    pass
                todo.append(inner)


def value(tree: JsonTree, branch: Branch, place: int) -> Any:
    """The value of a child, put together from what the tree knows."""
    if tree.is_container(branch, place):
        inner = tree.inside(branch, place)
        items = [value(tree, inner, child) for child in range(len(inner.children))]
        if not inner.children.is_object:
            return items
        keys = [json.loads(tree.key(inner, child) or b"0") for child in range(len(inner.children))]
        return dict(zip(keys, items, strict=True))
    return json.loads(tree.data[tree.value_start(branch, place) : tree.value_end(branch, place)])


@given(VALUES, INDENTS, st.booleans())
def test_any_json_unfolds_to_what_it_says(source: Any, indent: int | None, ascii_only: bool) -> None:
    tree = JsonTree(json.dumps(source, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass"))
    unfold(tree)
    assert value(tree, tree.document, 0) == source


@given(VALUES, INDENTS)
def test_every_row_has_its_place_and_every_place_its_row(source: Any, indent: int | None) -> None:
    tree = JsonTree(json.dumps(source, indent=indent).encode())
    unfold(tree, 5)
    places = [tree.at(row) for row in range(tree.rows)]
    assert len(set(places)) == len(places)
    assert [tree.row_of(place) for place in places] == list(range(tree.rows))
    for branch, place, _ in reversed(places):
        if place < len(branch.children) and branch is not tree.document:
            tree.close(branch, place)
    tree.close(tree.document, 0)
    assert tree.rows == 1


@settings(max_examples=300)
@given(st.lists(st.sampled_from([b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b" ", b"1", b"\xff", b"a", b"\n"])))
def test_bytes_that_are_no_json_are_borne_and_shown(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    tree = JsonTree(data)
    unfold(tree, 8)
    for row in range(tree.rows):
        where = tree.at(row)
        shown = draw_row(tree, where, 30)
        assert not [char for text, _ in shown for char in text if is_live(char)]
        if where.place < len(where.branch.children):
            tree.value_end(where.branch, where.place)


@given(VALUES, st.integers(8, 60))
def test_rows_fit_their_width(source: Any, width: int) -> None:
    tree = JsonTree(json.dumps(source, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    for row in range(tree.rows):
        assert width_of(draw_row(tree, tree.at(row), width)) <= width


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"[]", 0),
        (b" [ ] ", 0),
        (b"[1]", 1),
        (b'{"a":1,"a":2}', 2),
        (b'["a,]","\\"]",[[[[[[1,2],3]]]]],{}]', 4),
        (b'{"a,}":{"b":{"c":{"d":{"e":{}}}}},"x":"\\\\"}', 2),
        (b"[" + b'"' + b"x" * 200_000 + b'",2]', 2),
        (b"[" + b"[" * 50_000 + b"]" * 50_000 + b",2]", 2),
        (b'{"' + b"k" * 200_000 + b'":1,"b":2}', 2),
        (b"[" + b" " * 200_000 + b"1,2]", 2),
        (b"[" + b'"' + b"\\\\" * 100_000 + b'",2]', 2),
    ],
)
def test_children_are_counted_right_at_every_size(data: bytes, count: int) -> None:
    found = children(data)
    assert len(found) == count and not found.unfinished
    assert found.end == len(data.rstrip())


@pytest.mark.parametrize("data", [b"[1,", b'["abc', b"[[[", b'{"a":', b"[1", b'["' + b"x" * 100_000 + b"\\"])
def test_what_ends_too_soon_says_so(data: bytes) -> None:
    found = children(data)
    assert found.done and found.unfinished
    tree = JsonTree(data)
    unfold(tree)
    last = draw_row(tree, tree.at(tree.rows - 1), 60)
    assert "unfinished" in "".join(text for text, _ in last)


def test_numbers_and_double_keys_are_shown_as_typed() -> None:
    tree = JsonTree(b'{"n": 1.0e400, "n": 12345678901234567890123, "z": -0.0}')
    unfold(tree)
    shown = ["".join(text for text, _ in draw_row(tree, tree.at(row), 60)).strip() for row in range(tree.rows)]
    assert shown[1:4] == ['"n": 1.0e400', '"n": 12345678901234567890123', '"z": -0.0']


def test_a_folded_container_shows_its_begin_and_its_size() -> None:
    tree = JsonTree(b'[{"id": 1, "name": "' + b"x" * 5_000 + b'"}, 2]')
    tree.open(tree.document, 0, 40)
    tree.index(tree.inside(tree.document, 0), 1)
    shown = "".join(text for text, _ in draw_row(tree, tree.at(1), 40))
    assert shown.startswith('  ▸ {"id": 1, "name": "xxx') and shown.endswith("… 5.0 KB ") and cell_len(shown) == 40


def test_parts_of_json_are_painted_by_kind() -> None:
    looks = {text: look for text, look in paint('{"key": "value", "n": -1.5e3, "t": true, "cut')}
    assert looks['"key"'] == "json--key" and looks['"value"'] == "json--string"
    assert looks["-1.5e3"] == "json--number" and looks["true"] == "json--constant" and looks['"cut'] == "json--string"
    assert "".join(text for text, _ in paint('weird ☃ "text')) == 'weird ☃ "text'


@given(st.text(max_size=60), st.booleans(), st.integers(1, 40))
def test_a_string_is_decoded_whole_wherever_it_is_parted(source: str, ascii_only: bool, step: int) -> None:
    raw = json.dumps(source, ensure_ascii=ascii_only).encode("utf-8", "backslashreplace")[1:-1]
    at, parts = 0, []
    while at < len(raw):
        end = unit_end(raw, at, min(at + step, len(raw)))
        parts.append(decode(raw[at:end]))
        at = end
    if step > 12:
        assert "".join(parts) == decode(raw)


def test_an_open_string_shows_its_lines_and_knows_where_its_bytes_are() -> None:
    data = b'{"text": "first\\nsecond line\\n\\u00e9 third \\ud83d\\ude00\\u001b[31m"}'
    tree = JsonTree(data)
    tree.open(tree.document, 0, 40)
    branch = tree.inside(tree.document, 0)
    tree.index(branch, 1)
    text = tree.open(branch, 0, 40)
    assert isinstance(text, StringText)
    branch.grow(text.advance(1))
    assert [text.row(number) for number in range(text.inner)] == ["first", "second line", "é third 😀␛[31m"]
    assert text.row_of(data.index(b"line")) == 1 and text.row_of(data.index(b"third")) == 2
    row = tree.row_of(Place(branch, 0, 2))
    assert "".join(part for part, _ in draw_row(tree, tree.at(row), 40)) == "    │ second line"


def test_siblings_of_open_children_keep_their_rows() -> None:
    tree = JsonTree(json.dumps([[1] * 50 for _ in range(100)]).encode())
    tree.open(tree.document, 0, 40)
    root = tree.inside(tree.document, 0)
    tree.index(root, 1)
    for place in range(0, 100, 3):
        tree.open(root, place, 40)
        tree.index(tree.inside(root, place), 1)
    assert tree.rows == 2 + 100 + 34 * 51
    assert tree.at(tree.row_of(Place(root, 99))) == Place(root, 99)
    tree.close(root, 0)
    assert tree.at(2) == Place(root, 1)
