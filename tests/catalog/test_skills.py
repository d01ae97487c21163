"""Entries of skills are read whatever they hold, and files are used only when they are what their entry says."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.catalog.skills import EXTENSION, Skill, offered, read_entry, verify

URI = "skill://brew/SKILL.md"
TEXT = "---\nname: brew\ndescription: How to brew\n---\n\nWell.\n"


def listed(text: str = TEXT, uri: str = URI, **more: Any) -> dict[str, Any]:
    data = text.encode()
    return {"uri": uri, "digest": f"sha256:{hashlib.sha256(data).hexdigest()}", "size": len(data), **more}


def entry(**more: Any) -> dict[str, Any]:
    front = {"name": "brew", "description": "How to brew"}
    return {"uri": URI, "frontmatter": front, "resources": [listed()], **more}


def skill(**more: Any) -> Skill:
    return read_entry("s", entry(**more))


def content(text: str = TEXT, uri: str = URI) -> dict[str, Any]:
    return {"contents": [{"uri": uri, "text": text}]}


def test_a_good_entry_has_nothing_wrong_and_a_good_file_is_verified() -> None:
    good = skill()
    assert (good.name, good.description, good.errors, good.notes) == ("brew", "How to brew", (), ())
    assert verify(good, URI, content()) == ("verified", ())


def test_the_bytes_count_not_how_they_are_written() -> None:
    blob = {"contents": [{"uri": URI, "blob": base64.b64encode(TEXT.encode()).decode()}]}
    assert verify(skill(), URI, blob).state == "verified"


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"uri": None}, "no uri"),
        ({"uri": "skill://brew"}, "does not end in /SKILL.md"),
        ({"uri": "skill://other/SKILL.md"}, "not that of its folder"),
        ({"frontmatter": {"name": "brew"}}, "no description"),
        ({"frontmatter": []}, "no name"),
        ({"resources": None}, 'neither a list of files nor "dynamic"'),
        ({"resources": "static"}, 'neither a list of files nor "dynamic"'),
        ({"resources": []}, "not among its files"),
        ({"resources": [listed(), listed()]}, "listed twice"),
        ({"resources": [listed(), listed(uri="skill://brewer/x")]}, "not in the skill's folder"),
        ({"resources": [listed(digest="sha256:AB")]}, "digest of"),
        ({"resources": [listed(digest="md5:" + "0" * 64)]}, "digest of"),
        ({"resources": [listed(size="12")]}, "size of"),
        ({"resources": [listed(size=-1)]}, "size of"),
        ({"resources": [listed(size=10**400)]}, "size of"),
        ({"resources": [listed(size=True)]}, "size of"),
        ({"resources": [listed(), 7]}, "no uri"),
        (
            {"resources": [listed(), *(listed(uri=f"skill://brew/{n}") for n in range(10_000))]},
            "more than 10,000 files",
        ),
    ],
)
def test_an_invalid_entry_is_told_and_never_used(more: dict[str, Any], why: str) -> None:
    bad = skill(**more)
    assert any(why in error for error in bad.errors), bad.errors
    assert verify(bad, URI, content()).state == "refused"


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (content(TEXT.replace("Well", "Evil")), "another digest"),
        (content(TEXT + "more"), "bytes"),
        ({"contents": []}, "0 contents"),
        ({"contents": content()["contents"] * 2}, "2 contents"),
        (content(uri="skill://other/SKILL.md"), "0 contents"),
        ({"contents": [{"uri": URI}]}, "no content"),
        ({"contents": [{"uri": URI, "blob": "?"}]}, "base64"),
        (None, "0 contents"),
        ({"contents": [{"uri": URI, "text": "\ud800"}]}, "another digest"),
    ],
)
def test_content_that_is_not_what_the_entry_says_is_refused(result: Any, why: str) -> None:
    verdict = verify(skill(), URI, result)
    assert verdict.state == "refused" and any(why in finding for finding in verdict.findings), verdict


def test_frontmatter_must_be_the_one_that_was_listed_even_where_the_digest_is_right() -> None:
    text = TEXT.replace("How to", "Steal the")
    verdict = verify(skill(resources=[listed(text)]), URI, content(text))
    assert verdict.state == "refused" and "description differs" in verdict.findings[0]


def test_a_file_that_is_not_listed_is_refused() -> None:
    verdict = verify(skill(), "skill://brew/new.sh", content("x", "skill://brew/new.sh"))
    assert verdict == ("refused", ("The skill's entry does not list this file.",))


def test_what_is_made_as_it_is_read_cannot_be_verified_but_its_frontmatter_counts() -> None:
    made = skill(resources="dynamic")
    assert verify(made, URI, content()).state == "unverifiable"
    assert verify(made, URI, content(TEXT.replace("name: brew", "name: steal"))).state == "refused"


def test_what_is_unusual_is_noted_and_does_no_harm() -> None:
    many = [listed(), *(listed(uri=f"skill://brew/{n}", size=40_000) for n in range(600))]
    front = {"name": "brew", "description": "d", "metadata": {"io.modelcontextprotocol/x": 1}}
    noted = skill(resources=many, frontmatter=front)
    assert noted.errors == () and len(noted.notes) == 3


def test_only_a_settings_object_declares_the_extension() -> None:
    assert offered({"extensions": {EXTENSION: {}}})
    for value in (None, {}, {"extensions": []}, {"extensions": {EXTENSION: True}}, {"experimental": {EXTENSION: {}}}):
        assert not offered(value)


KEYS = ["uri", "frontmatter", "resources", "name", "digest", "size", "contents", "text", "blob"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
)


@given(JSON, JSON)
def test_nothing_that_a_server_sends_raises(raw: Any, result: Any) -> None:
    known = read_entry("s", raw)
    assert verify(known, known.uri, result).state == "refused"
