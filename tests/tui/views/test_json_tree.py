"""JSON as rows: where children begin, what is shown, and that any bytes at all are borne."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_studio.safetext import is_live
from mcp_studio.tui.views.json_scan import Children
from mcp_studio.tui.views.json_tree import JsonTree, decode
from mcp_studio.tui.views.json_view import JsonView, paint
from tests.tui.views.stage import staged

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
    row = 0
    while row < tree.rows:
        if not tree.is_line(row) and not tree.is_closing(row):
            tree.open(row, width)
            while tree.learn(tree.starts[row], 0):
                pass
        row += 1


def value(tree: JsonTree, row: int) -> Any:
    """A value, put together from what the tree shows."""
    if not tree.is_container(row):
        return json.loads(tree.data[tree.value_start(row) : tree.value_end(row)])
    rows = [inner for inner in range(row + 1, tree.rows) if tree.parent(tree.owner(inner)) == row]
    rows = [inner for inner in rows if tree.owner(inner) == inner]
    keys = [tree.key(inner) for inner in rows]
    if keys[0] is None:
        return [value(tree, inner) for inner in rows]
    return {json.loads(key or b""): value(tree, inner) for key, inner in zip(keys, rows, strict=True)}


@given(VALUES, INDENTS, st.booleans())
def test_any_json_unfolds_to_what_it_says(source: Any, indent: int | None, ascii_only: bool) -> None:
    tree = JsonTree(json.dumps(source, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass"))
    unfold(tree)
    assert value(tree, 0) == source


@given(VALUES, INDENTS)
def test_rows_are_found_by_their_bytes_and_folding_hides_them(source: Any, indent: int | None) -> None:
    tree = JsonTree(json.dumps(source, indent=indent).encode())
    unfold(tree, 5)
    values = [row for row in range(tree.rows) if tree.owner(row) == row]
    assert [tree.row_of(tree.starts[row]) for row in values] == values
    assert list(tree.starts) == sorted(tree.starts)
    if tree.is_open(0):
        change = tree.close(0)
        assert change.moved(change.removed) == 0
    assert tree.rows == 1 and not tree.is_open(0)


def resolve(source: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        source = source[int(key)] if isinstance(source, list) else source[key]
    return source


@given(VALUES)
def test_pointers_lead_to_values(source: Any) -> None:
    tree = JsonTree(json.dumps(source).encode())
    unfold(tree)
    for row in range(tree.rows):
        if tree.owner(row) == row:
            assert resolve(source, tree.pointer(row)) == json.loads(tree.value(row))


@settings(max_examples=300)
@given(st.lists(st.sampled_from([b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b" ", b"1", b"\xff", b"a", b"\n"])))
def test_bytes_that_are_no_json_are_borne(pieces: list[bytes]) -> None:
    tree = JsonTree(b"".join(pieces))
    unfold(tree, 8)
    for row in range(tree.rows):
        if tree.owner(row) == row:
            tree.value_end(row)
            tree.value(row)
            tree.pointer(row)


@pytest.mark.parametrize(
    "source",
    [
        b'{"a": [1, {"b": "' + b"word " * 40 + b'"}], "\xe6\xbc\xa2\xe5\xad\x97": "\x1b[31m", "n": 1.0e400}',
        b'[{"a":[[[[[[1]]]]]},"\\ud83d\\ude00\\u202e",{"' + b"k" * 90 + b'": ""}, tru',
        b"[" * 300,
        b'{"x" 1, "y":: 2,,}',
    ],
)
@pytest.mark.parametrize("width", [8, 30, 60])
async def test_rows_of_any_width_are_safe(source: bytes, width: int) -> None:
    view = JsonView(source)
    async with staged(view, (width + 1, 40)) as (_, pilot):
        await pilot.pause()
        for row in range(view.row_count):
            pieces = view.render_row(row, width, False)
            assert not [char for text, _ in pieces for char in text if is_live(char)]


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
async def test_what_ends_too_soon_says_so(data: bytes) -> None:
    found = children(data)
    assert found.done and found.unfinished
    view = JsonView(data)
    async with staged(view, (60, 10)) as (stage, pilot):
        await pilot.pause()
        assert "unfinished" in "".join(stage.lines())


async def test_numbers_and_double_keys_are_shown_as_typed() -> None:
    view = JsonView(b'{"n": 1.0e400, "n": 12345678901234567890123, "z": -0.0}')
    async with staged(view, (60, 10)) as (stage, pilot):
        await pilot.pause()
        shown = [line.strip() for line in stage.lines()]
        assert shown[1:4] == ['"n": 1.0e400', '"n": 12345678901234567890123', '"z": -0.0']


async def test_a_folded_container_shows_its_begin_and_its_size() -> None:
    view = JsonView(b'[{"id": 1, "list": [' + b"1," * 300 + b'1], "name": "' + b"x" * 5_000 + b'"}, 2]')
    async with staged(view, (41, 10)) as (stage, pilot):
        await pilot.press("down", "left")
        shown = stage.lines()[1]
        assert shown.startswith('  ▸ {"id": 1, "list": [1,') and shown.endswith("… 5.6 KB")


def test_parts_of_json_are_painted_by_kind() -> None:
    looks = {text: look for text, look in paint('{"key": "value", "n": -1.5e3, "t": true, "cut')}
    assert looks['"key"'] == "json--key" and looks['"value"'] == "json--string"
    assert looks["-1.5e3"] == "json--number" and looks["true"] == "json--constant" and looks['"cut'] == "json--string"
    assert "".join(text for text, _ in paint('weird ☃ "text')) == 'weird ☃ "text'


def test_an_open_string_shows_its_lines_and_knows_where_its_bytes_are() -> None:
    data = b'{"text": "first\\nsecond line\\n\\u00e9 third \\ud83d\\ude00\\u001b[31m"}'
    tree = JsonTree(data)
    tree.open(0, 40)
    while tree.learn(0, 1):
        pass
    tree.open(1, 40)
    assert [tree.line(row) for row in (2, 3, 4)] == ["first", "second line", "é third 😀␛[31m"]
    assert tree.line_of(1, data.index(b"line")) == 3 and tree.line_of(1, data.index(b"third")) == 4


def test_a_very_long_string_is_shown_in_part_and_copied_whole() -> None:
    data = json.dumps(["é" * 300_000]).encode()
    tree = JsonTree(data)
    unfold(tree)
    assert "copied" in tree.line(tree.rows - 2)
    assert decode(tree.value(1)[1:-1]) == "é" * 300_000
