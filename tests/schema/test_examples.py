"""Examples are valid, and what is not known is said."""

from __future__ import annotations

import re

import pytest

from mcp_studio.jsontext import dumps
from mcp_studio.schema.check import quick
from mcp_studio.schema.examples import KINDS, example, valid
from mcp_studio.schema.field import errors
from mcp_studio.schema.form import build, prompt_fields, template_fields
from tests.schema.proof.catalogue import CARELESS, SOUND
from tests.schema.proof.support import Library, same, typed


@pytest.mark.parametrize("name", SOUND)
def test_examples_validate_and_stay_the_same_in_a_form(name: str) -> None:
    form, library = build(SOUND[name]), Library(SOUND[name])
    for seed in (0, 1, 2):
        for one in valid(form, seed):
            assert library.accepts(one.value) or one.remark or name == "contains", (one, library.found(one.value))
            assert same(typed(form.root, one.value), one.value)


@pytest.mark.parametrize("name", CARELESS)
def test_what_the_fields_refuse_says_so(name: str) -> None:
    form = build(CARELESS[name])
    for one in valid(form):
        assert one.remark or not errors(quick(form, one.value)), one


def test_the_same_seed_gives_the_same_examples_and_another_one_others() -> None:
    schema = SOUND["create_order"]
    for kind in KINDS:
        assert example(build(schema), kind, 3) == example(build(schema), kind, 3)
    assert len({dumps(example(build(schema), "typical", seed).value) for seed in range(8)}) > 3


def test_names_descriptions_formats_and_examples_make_values_plausible() -> None:
    schema = {
        "properties": {
            "email": {"type": "string"},
            "start_date": {"type": "string"},
            "homepage_url": {"type": "string"},
            "limit": {"type": "integer"},
            "city": {"type": "string", "description": "The town, e.g. 'Utrecht'"},
            "level": {"type": "integer", "examples": [7, 8]},
            "mode": {"type": "string", "default": "fast"},
            "when": {"type": "string", "format": "date-time"},
        }
    }
    assert example(build(schema), "typical").value == {
        "email": "ada@example.com",
        "start_date": "2027-01-31",
        "homepage_url": "https://example.com/page",
        "limit": 10,
        "city": "Utrecht",
        "level": 7,
        "mode": "fast",
        "when": "2027-01-31T09:30:00Z",
    }
    assert example(build(schema), "minimal").value == {}


def test_prompts_and_templates_have_examples_too() -> None:
    prompt = prompt_fields([{"name": "language", "required": True}, {"name": "style"}])
    assert example(prompt, "minimal").value == {"language": "en"}
    assert example(prompt, "typical").value == {"language": "en", "style": "example"}
    assert example(template_fields("file:///{path}"), "typical").value == {"path": "docs/readme.md"}


def test_a_text_for_a_pattern_is_one_that_fits_or_the_field_stays_blank() -> None:
    patterns = {
        "table": "^[a-z_][a-z0-9_]*$",
        "order": "^(asc|desc)$",
        "color": "^#([A-F0-9]{6}|[a-f0-9]{6})$",
        "day": r"^\d{4}-\d{2}-\d{2}$",
    }
    fitting = {name: {"type": "string", "pattern": pattern} for name, pattern in patterns.items()}
    odd = {"type": "string", "pattern": "^(?:zz){7}9$"}
    found = example(build({"properties": {**fitting, "odd": odd}}), "typical")
    assert found.value.keys() == patterns.keys() and not found.remark
    assert all(re.search(pattern, found.value[name]) for name, pattern in patterns.items())
    found = example(build({"properties": {"odd": odd}, "required": ["odd"]}), "typical")
    assert found.value == {"odd": ""}
    assert found.remark == "odd is left blank: no text that fits the pattern ^(?:zz){7}9$ is known."
