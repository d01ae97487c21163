"""Whatever is copied can be pasted, but Python: the same call comes back."""

from __future__ import annotations

import ast
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_studio.call.copying.formats import FORMATS, copy_as, literal
from mcp_studio.call.copying.paste import read_paste
from mcp_studio.catalog.listing import EntryKind
from mcp_studio.config.model import ServerConfig
from mcp_studio.jsontext import Json, dumps, loads
from mcp_studio.schema.form import build, prompt_fields
from tests.call.copying.kit import OPEN, subject

NUMBERS = st.sampled_from(["1.0", "1e3", "-0.0", "1.10", "12345678901234567890123", "-7", "0"]).map(
    lambda text: loads(text, exact=True)
)
TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["", "-x", "@file", "a=b", "it's", '"', "null", "1", "a\nb", "\\", "‮", "\x1b", "$X", "${X}", "{}", " pad "]
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.sampled_from(["a", "b c", "text", "n-1", "-d", "é", "x.y"]) | TEXTS, VALUES, max_size=4)
PYTHON = ("python", "pytest")
URL = ServerConfig("lib", url="http://127.0.0.1:1/mcp")


@settings(max_examples=25, deadline=None)
@given(ARGUMENTS, st.sampled_from(["2025-11-25", "2026-07-28"]))
def test_every_form_but_python_is_read_back(value: dict[str, Json], version: str) -> None:
    for form in (form for form in FORMATS if form not in PYTHON):
        made = copy_as(subject(value, server=URL, version=version), form, secrets=True)
        assert not made.why_not, made
        pasted = read_paste(made.text)
        read = pasted.value(build(OPEN["inputSchema"]))
        assert dumps(read) == dumps(value), form
        assert (pasted.kind, pasted.name) == (("", "") if form == "json" else ("tool", "echo")), form


@settings(max_examples=25, deadline=None)
@given(VALUES)
def test_a_literal_is_what_python_reads(value: Json) -> None:
    assert ast.literal_eval(literal(value)) == json.loads(dumps(value))


@pytest.mark.parametrize(("kind", "name"), [("prompt", "p.q"), ("resource", "file:///a b"), ("prompt", "-p")])
def test_prompts_and_resources_are_read_back(kind: EntryKind, name: str) -> None:
    value = {"who": "Ada L.", "n": "1"} if kind == "prompt" else None
    typing = prompt_fields([{"name": "who"}, {"name": "n"}])
    for form in ("command", "standalone", "curl", "json-rpc"):
        made = copy_as(subject(value, name, kind, server=URL), form)
        pasted = read_paste(made.text)
        assert (pasted.kind, pasted.name, pasted.value(typing)) == (kind, name, value or {}), made.text


def test_what_is_nested_too_deeply_for_python_is_said() -> None:
    value: Json = []
    for _ in range(150):
        value = [value]
    assert "nested too deeply" in copy_as(subject({"a": value}), "python").why_not
    assert copy_as(subject({"a": value}), "json").text
