"""A hit says why: which fields, which pieces of their own text, and what was asked where it is another word."""

from __future__ import annotations

import time

import pytest

from mcp_studio.catalog.listing import Ref
from mcp_studio.jsontext import Json
from mcp_studio.search.bm25 import Bm25
from mcp_studio.search.method import Document, Query, Reason
from mcp_studio.search.why import MOST, reasons

SCHEMA: dict[str, Json] = {"properties": {"filePath": {"type": "string", "description": "Where on disk it lies."}}}
ROUND: dict[str, Json] = {"properties": {"shape": {"enum": ["square", "round"]}}}


def document(
    name: str = "readFile", description: str = "", title: str = "", server: str = "storage", schema: Json = SCHEMA
) -> Document:
    raw: dict[str, Json] = {"name": name, "title": title, "description": description, "inputSchema": schema}
    return Document(Ref("tool", server, name), raw, ("work",))


def told(question: str, found: Document, typing: bool = False) -> tuple[Reason, ...]:
    words = Bm25()
    words.index([found])
    return reasons(found, words.sources(Query(question, typing=typing)))


def why(question: str, found: Document, typing: bool = False) -> dict[str, tuple[str, ...]]:
    return {reason.field: reason.words for reason in told(question, found, typing)}


@pytest.mark.parametrize(
    ("question", "found", "expected"),
    [
        ("read a file", document(), {"name": ("read", "File"), "parameter": ("file",)}),
        ("reading files", document("read_file"), {"name": ("read", "file"), "parameter": ("file",)}),
        ("disk", document(), {"parameter": ("disk",)}),
        ("storage", document(), {"server": ("storage",)}),
        ("work", document(), {"tag": ("work",)}),
        ("place", document("x", "Tells the Weather of a Place."), {"description": ("Place",)}),
        ("ﾃﾞｰﾀ", document("x", "ﾃﾞｰﾀ"), {"description": ("ﾃﾞｰﾀ",)}),
        ("a", document("x", "Reads a file.", schema=None), {"description": ("a",)}),
        ("天气", document("tianqi", "获取实时天气数据"), {"description": ("天气",)}),
        ("天文", document("tianqi", "获取实时天气数据"), {"description": ("天",)}),
        ("w", document("x", "All it is.", schema=None), {"tag": ("work",)}),
        ("round", document(schema=ROUND), {"parameter": ("round",)}),
        ("zebra", document(), {}),
        ("the of a", document(), {}),
        ("", document(), {}),
    ],
)
def test_pieces_of_its_own_text_are_named(question: str, found: Document, expected: dict[str, tuple[str, ...]]) -> None:
    assert why(question, found) == expected


def test_while_typing_the_last_word_is_a_beginning() -> None:
    found = document("get_forecast")
    assert why("forec", found, typing=True) == {"name": ("forecast",)}
    assert why("forec ", found, typing=True) == {}


def test_where_there_is_no_such_word_a_beginning_is_said_as_well() -> None:
    assert why("forec", document("get_forecast")) == {"name": ("forecast",)}
    assert why("forec", document("forec", "The forecast.")) == {"name": ("forec",)}


def test_another_word_for_the_same_is_named_as_it_stands_there() -> None:
    (reason, *_) = told("remove record", document("delete_record"))
    assert reason == Reason("name", ("delete", "record"))
    (reason,) = told("天气", document("get_weather"))
    assert reason == Reason("name", ("weather",))


def test_the_stretch_is_round_the_hit_on_one_line_and_cut_at_words() -> None:
    found = document("x", "Something else entirely. " * 20 + "Here the\nweather is told. " + "And more of this. " * 20)
    (reason,) = told("weather", found)
    assert "Here the weather is told." in reason.text
    assert reason.text.startswith("…") and reason.text.endswith("…")
    assert len(reason.text) <= 122
    assert set(reason.text.strip("…").replace(".", "").split()) <= set(
        found.raw["description"].replace(".", "").split()
    )


def test_the_stretch_has_most_of_what_was_asked() -> None:
    text = "A file. " + "Nothing of it. " * 20 + "Read the file from disk."
    (reason,) = told("read file", document("x", text, server="s"))[:1]
    assert reason.field == "description"
    assert set(reason.words) == {"Read", "file"}


def test_only_the_best_fields_are_named_and_names_come_first() -> None:
    found = document("file", "A file.", "File", "file")
    assert [reason.field for reason in told("file", found)] == ["name", "title", "description"]
    assert MOST == 3


def test_a_hit_costs_little_whatever_its_size() -> None:
    found = document("x" * 10_000, "word " * 200_000 + "needle")
    sources = {"needle": "needle", "word": "word"}
    began = time.process_time()
    for _ in range(20):
        reasons(found, sources)
    assert time.process_time() - began < 1
