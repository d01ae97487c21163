"""Files of workflows: what is read, and where what is wrong stands."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from mcp_studio.errors import ConfigError
from mcp_studio.workflow import Workflow
from mcp_studio.workflow.check import check_names
from mcp_studio.workflow.model import schema
from tests.workflow.kit import plan


def problems(text: str, inputs: str = "") -> list[str]:
    workflow = plan(text, inputs=inputs)
    return [str(one) for one in workflow.problems or check_names(workflow)]


GOOD = """
[[steps]]
id = "look"
call = "s.echo"
arguments = { value = "$input.city" }
timeout = 3
[[steps]]
choose = "look == 'x'"
then = [{ call = "s.add", arguments = { a = 1, b = 2 } }]
else = [{ set = { x = "${look}" } }]
[[steps]]
id = "many"
each = "$input.rows"
concurrency = 4
do = [{ call = "s.echo", arguments = { value = "$item" } }]
aggregate = { call = "s.echo", arguments = { value = "$results" } }
[[steps]]
loop = "iteration < 2"
do = [{ set = { y = "$var.x" } }]
[[steps]]
parallel = [{ id = "one", call = "s.fail", fallback = "none" }, { do = [{ wait = "Go on?" }] }]
merge = "first"
[[steps]]
assert = "one == 'none' and var.y"
message = "it is not"
"""
INPUTS = """
[inputs.properties]
city = { type = "string" }
rows = { type = "array" }
"""


def test_a_good_file_has_no_problems_and_fits_the_schema() -> None:
    workflow = plan(GOOD, inputs=INPUTS)
    assert problems(GOOD, INPUTS) == []
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(workflow.document, schema())
    assert [step.kind for step in workflow.steps] == ["call", "choose", "each", "loop", "parallel", "assert"]
    look = workflow.steps[0]
    assert (look.line, look.title, look.on_error) == (9, "s.echo", "stop")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[[steps]]\nid = "a"\ncall = "s.x"\nretrys = 3', "6:1: step a: retrys is not known here. Did you mean"),
        ('[[steps]]\nid = "a"\neach = "input"\nconcurrency = 0\ndo = []', "step a: concurrency must be at least 1"),
        ("[[steps]]\nfoo = 1", "has no kind: call, parallel"),
        ('[[steps]]\ncall = "a"\nset = { b = 1 }', "The step has several kinds: call, set."),
        ('[[steps]]\nassert = "1 +"', "trial.toml:4:14: step assert-1: `1 +` cannot be read"),
        ('[[steps]]\nset = { a = "so ${1 + }" }', "trial.toml:4:23: step set-1"),
        ('[[steps]]\nid = "a-b"\nwait = "x"', "'a-b' is no id"),
        ('[[steps]]\nid = "item"\nwait = "x"', "No step can be called item"),
        ('[[steps]]\nid = "null"\nwait = "x"', "No step can be called null"),
        (
            '[[steps]]\nid = "class"\nset = { a = 1 }\n[[steps]]\nid = "if"\nassert = "class.a and $clas"',
            ":8:24: step if: There is no `clas`.",
        ),
        ('[[steps]]\nid = "a"\nwait = "x"\n[[steps]]\nid = "a"\nwait = "y"', "2 steps have the id a"),
        ('[[steps]]\nwait = "x"\non_error = "fallback"', "there is no fallback"),
        ('[[steps]]\nwait = "x"\non_error = "go"', "on_error must be one of stop, skip, fallback"),
        ("", "steps is required"),
        ('[inputs]\ncity = 1\n[[steps]]\nwait = "x"', "inputs has no properties"),
        # names
        ('[[steps]]\nassert = "input.city"', "trial.toml:4:11: step assert-1: There is no input city."),
        ('[[steps]]\nassert = "not var.x"', "trial.toml:4:15: step assert-1: Nothing sets the variable x."),
        ('[[steps]]\nassert = "look.x"', "There is no `look`."),
        ('[[steps]]\nassert = "item"', "item means something inside each only."),
        ('[[steps]]\nid = "a"\nassert = "b"\n[[steps]]\nid = "b"\nassert = "1"', "b is not done here: it comes later."),
        ('[[steps]]\nid = "a"\nassert = "b"\n[[steps]]\nid = "b"\nassert = "a"', "b and a wait for each other"),
        ('[[steps]]\nid = "a"\nassert = "a"', "a is not done here: this step is the same."),
        ('[[steps]]\nid = "a"\ndo = [{ assert = "a" }]', "this step is inside it"),
        (
            '[[steps]]\neach = "[1]"\ndo = [{ id = "b", set = { x = "$item" } }]\n[[steps]]\nassert = "b == var.x"',
            "inside a step whose insides are its own",
        ),
        ('[[steps]]\nset = { x = 1 }', "trial.toml:4:9: step set-1: The variable x is not used."),
        ('[[steps]]\nid = "a"\nset.y = "$var.x"\n[[steps]]\nset = { x = 1, x_y = 1, y = 2 }', ":5:5: step a: The var"),
        ('[[steps]]\nset = { x = 1 }\n[[steps]]\n[steps.set]\n x.b = 3\n y.x = "$var.x"', ":8:2: step set-2: The var"),
        ('[inputs.properties]\nx = {}\n[[steps]]\nwait = "x"', "trial.toml:4:1: The input x is not used."),
        ('[inputs]\nrequired = ["b"]\n[inputs.properties.b]\n[[steps]]\nwait = "b"', ":5:20: The input b is not used."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(text: str, says: str) -> None:
    assert says in "\n".join(problems(text))


def test_steps_without_ids_have_the_lines_where_they_stand() -> None:
    call = 'call = "s.echo"'
    parts = f'\n[[steps]]\nid = "b"\nparallel = [\n  {{ {call} }},\n  {{ {call} }},\n]'
    late = f'\n[[steps]]\ndo = [\n  {{ id = "c", {call} }},\n]\nid = "d"\n[[steps]]\n{call}'
    steps = plan(f'[[steps]]\nid = "a"\n{call}{parts}{late}').walk()
    assert [(step.id, step.line) for step in steps if step.kind == "call"] == [
        ("a", 4), ("call-3", 9), ("call-4", 10), ("c", 14), ("call-7", 18)
    ]  # fmt: skip


def test_json_says_the_same(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    document = {"name": "p", "steps": [{"id": "a", "assert": "1"}, {"id": "b", "assert": "input.x +"}]}
    file.write_text(json.dumps(document, indent=1))
    (problem,) = Workflow.load(file).problems
    assert (problem.step, problem.line, problem.column) == ("b", 10, 24)


def test_json_tells_what_is_not_used_with_its_place() -> None:
    inputs = {"required": ["city"], "properties": {"place": {"title": "city"}, "city": {}}}
    steps = [{"set": {"x": "$input.place"}}, {"id": "b", "set": {"y": "x"}}, {"assert": "var.x"}]
    text = json.dumps({"name": "p", "inputs": inputs, "steps": steps}, indent=1)
    found = check_names(Workflow.of(json.loads(text), "p.json", text))
    assert [str(one) for one in found] == [
        "p.json:11:5: The input city is not used.", "p.json:23:6: step b: The variable y is not used.",
    ]  # fmt: skip


@pytest.mark.parametrize("content", [b"name = ", b"\xff\xfe", b"[" * 5_000], ids=["cut", "binary", "deep"])
@pytest.mark.parametrize("name", ["a.toml", "a.json"])
def test_a_file_that_is_none_is_refused_in_a_sentence(tmp_path: Path, content: bytes, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(ConfigError, match="cannot be read"):
        Workflow.load(file)
    with pytest.raises(ConfigError, match="No such file"):
        Workflow.load(tmp_path / "missing.toml")


def test_a_file_nested_without_end_is_refused() -> None:
    step: object = {"wait": "x"}
    for _ in range(40):
        step = {"do": [step]}
    assert "deeper" in str(Workflow.of({"name": "x", "steps": [step]}).problems[0])
