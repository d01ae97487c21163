"""What the search palette shows of a hit: its row, what it takes, why it matched; and what it says besides."""

from __future__ import annotations

from typing import Any, cast

import pytest
from mcp_studio.tui.screens.search_asking import Answer
from mcp_studio.tui.screens.search_preview import preview
from mcp_studio.tui.screens.search_question import Question, next_kind, way
from mcp_studio.tui.screens.search_rows import Row, draw, rows_of
from mcp_studio.tui.screens.search_signature import MOST, signature, type_text
from rich.cells import cell_len

from mcp_studio.catalog.listing import KINDS, Entry, EntryKind, Ref, salvage
from mcp_studio.jsontext import Json
from mcp_studio.search.method import Found, Hit, MethodInfo, Query, Reason, SearchProblem, Used
from mcp_studio.tui.screens import search_words


def entry(kind: EntryKind = "tool", remembered: bool = False, server: str = "files", **raw: Any) -> Entry:
    raw.setdefault("name", "read_file")
    if kind == "tool":
        raw.setdefault("inputSchema", {"type": "object"})
    return salvage(server, kind, [cast("Json", raw)], remembered=remembered)[0]


def hit(one: Entry, *reasons: Reason, used: int = 0) -> Hit:
    return Hit(one.ref, 1.0, reasons, one, Used(used, 0.0) if used else None)


def line(one: Hit, width: int = 80) -> str:
    return "".join(text for text, _ in draw(Row(one), width))


def test_a_row_has_name_risk_use_and_description() -> None:
    text = line(hit(entry(description="Reads\n a  file.", annotations={"readOnlyHint": True}), used=42))
    assert text.split() == ["files.read_file", "r", "42×", "Reads", "a", "file."]


def test_kinds_are_told_apart() -> None:
    template = entry("template", uriTemplate="log://{day}", name="Log of a day")
    assert line(hit(template)).split()[:6] == ["files.Log", "of", "a", "day", "tpl", "–"]
    assert " pr " in line(hit(entry("prompt")))


def test_what_is_remembered_or_malformed_says_so() -> None:
    assert line(hit(entry(remembered=True))).rstrip().endswith("◐")
    assert "inputSchema is not an object" in line(hit(entry(inputSchema=7)))


def test_words_that_matched_are_marked_in_the_field_in_which_they_did() -> None:
    one = hit(entry(description="Reads a file"), Reason("name", ("file",)), Reason("description", ("Reads",)))
    marked = [text for text, look in draw(Row(one), 80) if look == "match"]
    assert marked == ["file", "Reads"]


@pytest.mark.parametrize("width", [20, 40, 72, 160])
@pytest.mark.parametrize(
    ("server", "name"),
    [
        ("s", "n"),
        ("long-server" * 9, "n" * 500),
        ("服务器", "读取文件" * 30),
        ("s", "\x1b[31m\u202eevil\n"),
        ("s", "e\u0301" * 99),
    ],
)
def test_every_row_has_exactly_the_width(server: str, name: str, width: int) -> None:
    text = line(hit(entry(server=server, name=name, description=name * 3), used=4_321), width)
    assert cell_len(text) <= width
    assert "\x1b" not in text and "\u202e" not in text and "\n" not in text


def test_a_long_server_gives_way_to_the_name() -> None:
    assert "read_file" in line(hit(entry(server="a-very-long-name-of-a-server-that-nobody-would-type")), 72)


def test_long_names_are_told_apart_by_their_ends_and_stand_whole_below() -> None:
    name = "mcp-of-somebody_for-a-tracker_create_issue_"
    label, comment = (hit(entry(server="s", name=name + end)) for end in ("label", "comment"))
    assert line(label, 80).split()[0].endswith("_issue_label") and line(label, 80).startswith("s.mcp-of-")
    assert "…" in line(comment, 80) and line(comment, 80).split()[0].endswith("_comment")
    assert preview(comment, 32).plain.startswith(f"s.{name}comment\n")
    assert preview(comment, 80).plain == preview(hit(entry()), 32).plain == "any JSON"


def test_without_a_question_what_was_used_stands_under_a_heading() -> None:
    rows = rows_of([hit(entry(), used=2), hit(entry(name="other"))], " ")
    assert [row.heading for row in rows] == ["Used last and most", "", "Not used yet", ""]
    assert [row.heading for row in rows_of([hit(entry())], "words")] == [""]


# What it takes


def takes(schema: Json) -> list[str]:
    found = signature(entry(inputSchema=schema))
    return [f"{one.name}: {one.type}{'*' if one.required else ''}" for one in found.parameters] or [found.note]


def test_a_signature_names_types_and_what_is_required_first() -> None:
    schema: Json = {
        "type": "object",
        "properties": {
            "encoding": {"type": "string"},
            "range": {"anyOf": [{"$ref": "#/$defs/Range"}, {"type": "null"}]},
            "path": {"type": "string"},
            "tags": {"type": "array", "items": {"type": ["string", "null"]}},
            "mode": {"enum": ["r", "w", 3]},
        },
        "required": ["path"],
        "$defs": {"Range": {"type": "object"}},
    }
    assert takes(schema) == [
        "path: string*", "encoding: string", "range: object | null", "tags: (string | null)[]", 'mode: "r" | "w" | 3',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "object", "properties": {}}, "no parameters"),
        (True, "any JSON"),
        (None, "any JSON"),
        ({"$ref": "#"}, "any JSON"),
        ({"properties": [1]}, "no parameters"),
    ],
)
def test_a_signature_of_any_schema(schema: Json, said: str) -> None:
    assert takes(schema) == [said]


def test_a_huge_schema_costs_no_more_than_what_is_shown() -> None:
    many: dict[str, Json] = {f"p{number}": {"type": "string"} for number in range(30_000)}
    found = signature(entry(inputSchema={"type": "object", "properties": many, "required": ["p29999"]}))
    assert (len(found.parameters), found.more, found.parameters[0].name) == (MOST, 30_000 - MOST, "p0")


def test_a_type_that_contains_itself_ends() -> None:
    loop: Json = {"$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}
    assert type_text(loop, loop).count("[]") <= 4


def test_templates_prompts_and_resources_say_what_they_take() -> None:
    assert signature(entry("template", uriTemplate="log://{day}{?level}")).parameters[0].name == "day"
    prompt = signature(entry("prompt", arguments=[{"name": "a"}, {"name": "b", "required": True}]))
    assert [(one.name, one.required) for one in prompt.parameters] == [("b", True), ("a", False)]
    resource = signature(entry("resource", uri="file:///a", mimeType="text/plain", size=12))
    assert resource.note == "file:///a · text/plain · 12 B"


def test_the_preview_says_why_it_matched() -> None:
    schema: Json = {"properties": {"path": {"type": "string"}}, "required": ["path"]}
    reasons = (
        Reason("name", ("read",)),
        Reason("title", ("File",), "Read File"),
        Reason("parameter", ("path",), "the path\nof the file"),
        Reason("meaning"),
    )
    assert preview(hit(entry(inputSchema=schema), *reasons)).plain.splitlines() == [
        "path: string*",
        "matched by name read · title Read File · parameter path “the path of the file” · meaning",
    ]
    similar = preview(hit(entry(), Reason("name", ("read_file",), "similar")))
    assert "matched by name read_file (similar)" in similar.plain
    assert "does not list it any more" in preview(Hit(Ref("tool", "s", "t"), 1.0)).plain


# What is asked and said


def test_questions_say_their_scope() -> None:
    question = Question(servers=frozenset(("b", "a")), kind="tool")
    assert (question.where, question.what) == ("2 servers: a, b", "tools")
    assert question.scope.has(Ref("tool", "a", "x")) and not question.scope.has(Ref("prompt", "a", "x"))
    kinds = (None, *KINDS)
    assert [next_kind(kind) for kind in kinds] == [*KINDS, None]


def test_ways_stand_in_their_order_with_plug_ins_last() -> None:
    known = [MethodInfo(name, "") for name in ("auto", "substring", "regex", "bm25", "okapi", "mine")]
    known.append(MethodInfo("semantic", "", False, "It is not installed."))
    assert [way.name for way in search_words.ways(known, "auto")] == [
        "auto", "names", "regex", "words", "meaning", "mine",
    ]  # fmt: skip
    assert "okapi" in [way.name for way in search_words.ways(known, "okapi")]
    assert search_words.ways(known, "auto")[4].why_not == "It is not installed."
    assert way("substring+bm25") == "names+words"


def answer(**more: Any) -> Answer:
    return Answer(Question("words"), 60, Found(Query("words"), **more))


def test_figures_and_notes() -> None:
    assert search_words.status(answer(total=3, of=1_260, ms=4.2, method="bm25")) == "3 of 1,260 · 4 ms · words"
    wrong = Answer(Question("(", "regex"), 60, problem=SearchProblem("No.", hint="Do.", at=1))
    assert (search_words.status(wrong), search_words.told(wrong.problem or SearchProblem(""))) == ("regex", "No. Do.")
    notes = search_words.notes(answer(pending=1, method="bm25", total=5_000, note="N."), (3, 9))
    assert notes == (
        "N. · 1 entry still being taken up · meaning is known of 3 of 9 so far · the first 1,000 can be looked through"
    )
    extra = answer(note="Only words were compared. pip install 'mcp-studio[semantic]'")
    assert search_words.notes(answer(), (0, 0), search_words.extras(extra)).startswith("Only words")
    assert search_words.extras(answer(note="Something else.")) == ""
