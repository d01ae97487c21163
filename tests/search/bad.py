"""Documents and questions as nobody should send them."""

from __future__ import annotations

from typing import Any, cast

from mcp_studio.catalog.listing import KINDS, EntryKind, Ref
from mcp_studio.jsontext import Json
from mcp_studio.search.method import Document


def _properties(count: int) -> dict[str, Json]:
    return {f"property_{number}": {"type": "string", "description": "what it is " * 5} for number in range(count)}


LOOP: dict[str, Any] = {"type": "object"}
LOOP["properties"] = {"self": LOOP}

SCHEMAS: dict[str, Any] = {
    "huge": {"type": "object", "properties": _properties(2_000)},  # more than 30,000 tokens
    "deep": {"properties": {"a": {"properties": {"b": {"properties": {"c": {"properties": {"d": {}}}}}}}}},
    "points at itself": {"$defs": {"n": {"$ref": "#/$defs/n"}}, "properties": {"n": {"$ref": "#/$defs/n"}}},
    "goes round": {"$defs": {"a": {"properties": {"b": {"$ref": "#/$defs/a"}}}}, "properties": {"a": {"$ref": "#"}}},
    "is inside itself": LOOP,
    "null": None, "list": [1, [2, {}]], "text": "object", "number": 1e308, "true": True,
    "properties are a list": {"properties": [{"name": "a"}, None]},
    "properties are no objects": {"properties": {"a": None, "b": [], "c": 3, "": {"description": 7, "enum": "x"}}},
    "enum of anything": {"properties": {"a": {"enum": [None, 1, "two", {}, []], "type": ["null", 5]}}},
    "references of anything": {"properties": {"a": {"$ref": 5}, "b": {"$ref": "#/properties/b"}, "c": {"$ref": "#//"}}},
}  # fmt: skip

TEXTS = (
    "",
    " ",
    "\x00\x01\x1b[31m\x7f",
    "\ud800\udfff lone",
    "🙂👩\u200d👩\u200d👧🇩🇪 emoji",
    "русский中文العربية mixed",
    "ﬁ ß İ ı ſ",
    "e\u0301" * 300,
    "\u202e right to left",
    "_" * 500,
    "a_" * 2_000,
    "A" * 10_000,
    "1" * 10_000,
    "中" * 10_000,
    "\ufdfa" * 2_000,
    "find me " * 130_000,  # 1 MB
)
WRONG = (None, 0, -1.5, True, [], ["text"], {}, {"a": "b"})


def documents() -> list[Document]:
    """Some of every kind, each with a name of its own on its server."""
    made: list[Document] = []

    def add(name: str, raw: dict[str, Any], kind: EntryKind = "tool", server: str = "bad") -> None:
        made.append(Document(Ref(kind, server, name), cast("dict[str, Json]", raw)))

    for label, schema in SCHEMAS.items():
        add(f"schema {label}", {"name": f"schema {label}", "description": "find me", "inputSchema": schema})
    for number, text in enumerate(TEXTS):
        add(f"{number} {text}", {"name": text, "title": text, "description": text})
        add(f"find_{number}", {"description": f"{text} find me"}, server=text or "nameless")
    for number, value in enumerate(WRONG):
        raw = dict.fromkeys(("name", "title", "description", "inputSchema", "arguments", "annotations", "uri"), value)
        for kind in KINDS:
            add(f"wrong_{number}", raw, kind)
    for server in ("one", "two", "three"):
        for kind in KINDS:
            add("find_same", {"name": "find_same", "description": "find me"}, kind, server)
    add("nothing", {})
    return made


QUESTIONS = (
    "find",
    "find me",
    "f",
    "x" * 100_000,
    "find me " * 12_500,
    "中" * 100_000,
    "a.b" * 30_000,
    "mcp__" * 20_000,
    " " * 100_000,
    "\x00",
    "\x00find\x1b",
    "\ud800",
    "find \udfff",
    "🙂",
    "👩\u200d👩\u200d👧 🇩🇪",
    "русский 中文 العربية",
    "ß İ ı ﬁ",
    "_",
    "___",
    "-",
    ".",
    "\ufdfa" * 1_000,
    "..",
    "....",
    "find.me",
    "mcp__one__find_same",
    "one.find_same",
    '"',
    "'",
    '"unended',
    "`",
    "<",
    "\\",
    "(a+)+b",
    "(.*)*$",
    "[",
    "(?P<",
    "*",
    "a{1,99999}",
    "e\u0301" * 400,
    "A" * 1_999 + " find",
    "ﬀ" * 2_000,
    "a " * 1_000,
)
