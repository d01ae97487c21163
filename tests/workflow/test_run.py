"""Runs over a real server: every kind of step, failures, people, and what is kept."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
import tomllib
import tracemalloc
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Settings
from mcp_studio.errors import ConfigError, InputNeeded, UsageError
from mcp_studio.present.outcomes import ToolError
from mcp_studio.studio import Studio
from mcp_studio.trace.export.formats import export
from mcp_studio.trace.query.parser import parse
from mcp_studio.trace.search import select
from mcp_studio.trace.statistics import Numbers
from mcp_studio.trace.tree import Node, tree
from mcp_studio.workflow import Run, Workflow
from mcp_studio.workflow.check import check, planned
from mcp_studio.workflow.records import Report, RunStore, read_snapshot
from mcp_studio.workflow.run import AssertFailed
from tests.servers.plan_tools import lines
from tests.studio_support import opened, stdio
from tests.support import ROOT
from tests.workflow.kit import plan, ran, server, states


def add(a: object, b: object, **more: object) -> str:
    """A step that adds, as an inline table."""
    rest = "".join(f", {key} = {json.dumps(value)}" for key, value in more.items())
    return f'{{ call = "s.add", arguments = {{ a = {json.dumps(a)}, b = {json.dumps(b)} }}{rest} }}'


@pytest.mark.parametrize(
    ("text", "output"),
    [
        (f"steps = [{add(1, 2)}]", {"sum": 3}),
        (f'steps = [{add(1, 2, id="a")}, {add("$a.sum", "$a.result.sum")}]', {"sum": 6}),
        (f'output = "$a.raw.content"\nsteps = [{add(1, 2, id="a")}]', [{"type": "text", "text": "3"}]),
        ('steps = [{ call = "s.text", arguments = { text = "[1, 2]" } }]', [1, 2]),
        ('steps = [{ call = "s.text", arguments = { text = "so it is" } }]', "so it is"),
        ('output = "${len(t)}"\nsteps = [{ id = "t", call = "s.text", arguments = { text = "${join([str(x) for x in '
         "range(60000)], ' ')}\" } }]", 348_889),
        ('output = "${len(t)}"\nsteps = [{ id = "t", call = "s.text", arguments = { text = '
         "\"${replace(join(range(1000), ','), ',', '[')}\" } }]", 3_889),
        ('steps = [{ call = "text", server = "s", arguments = { text = "x" } }]', "x"),
        ('steps = [{ call = "text", arguments = { text = "the only server" } }]', "the only server"),
        (f'steps = [{{ choose = "1 > 2", then = [{add(1, 1)}], else = [{add(2, 2)}] }}]', {"sum": 4}),
        (f'steps = [{{ choose = "1 > 2", then = [{add(1, 1)}] }}]', None),
        (f'steps = [{{ each = "range(5)", concurrency = 5, do = [{add("$item", "$index")}] }}]',
         [{"sum": 2 * at} for at in range(5)]),
        ('steps = [{ each = [3, 1, 2], concurrency = 3, do = [{ call = "s.slow", arguments = '
         '{ seconds = "${item / 50}", value = "$item" } }] }]', [3, 1, 2]),
        ('steps = [{ each = "keys({\'a\': 1})", do = [{ set = { x = "${item}1" } }] }]', [{"x": "a1"}]),
        ('steps = [{ each = "[1, 2]", do = [{ call = "s.echo", arguments = { value = "$item" } }], aggregate = '
         '{ call = "s.echo", arguments = { value = "${sum(results)}" } } }]', 3),
        ('output = "$var.n"\nsteps = [{ set = { n = 1 } }, { loop = "var.n < 100", do = '
         '[{ set = { n = "${var.n * 2}" } }] }]', 128),
        ('steps = [{ loop = "iteration < 4 and sum(results) < 3", keep = 9, do = [{ call = "s.echo", arguments = '
         '{ value = "$iteration" } }] }]', [0, 1, 2]),
        (f'steps = [{{ parallel = [{add(1, 1, id="x")}, {add(2, 2, id="y")}] }}]', {"x": {"sum": 2}, "y": {"sum": 4}}),
        (f'steps = [{{ merge = "first", parallel = [{{ call = "s.fail" }}, {add(2, 2)}, {{ call = "s.slow", '
         "arguments = { seconds = 30 } }] }]", {"sum": 4}),
        (f'output = "${{len(m)}}"\nsteps = [{{ id = "m", merge = "majority", parallel = [{{ call = "s.fail" }}, '
         f"{add(2, 2)}, {add(3, 3)}] }}]", 2),
        ('output = ["$var.x", "$inner"]\nsteps = [{ set = { x = 1 } }, '
         '{ parallel = [{ id = "inner", set = { x = 2 } }, { wait = "no", on_error = "skip", '
         "timeout = 0.05 }] }]", [1, {"x": 2}]),
        ('steps = [{ do = [{ assert = "true" }] }]', True),
        ('steps = [{ call = "s.fail", fallback = "instead" }]', "instead"),
        ('output = ["$a.state", "$a.error"]\nsteps = [{ id = "a", call = "s.fail", on_error = "skip" }]',
         ["skipped", "tool error: it is meant to fail"]),
        ('on_error = "skip"\noutput = 1\nsteps = [{ call = "s.fail" }, { each = "3", do = [{ wait = "x" }] }]', 1),
        ('steps = [{ on_error = "skip", each = "[1]", do = [{ call = "s.fail" }] }, { set = { a = 1 } }]', {"a": 1}),
        ('steps = [{ each = "[1, 2]", do = [{ call = "s.fail", on_error = "skip" }] }]', [None, None]),
        ('steps = [{ call = "s.flaky", arguments = { key = "k", times = 2 }, retries = 2, backoff = 0.01 }]', "k"),
    ],
)  # fmt: skip
async def test_what_a_plan_gives(studio: Studio, text: str, output: Any) -> None:
    run = await ran(studio, text, approved="wait" not in text)
    assert (run.state, run.error) == ("done", None)
    assert run.output == output


@pytest.mark.parametrize(
    ("text", "kind", "where", "says"),
    [
        ('steps = [{ id = "a", call = "s.fail" }, { assert = "1" }]', ToolError, "a", "meant to fail"),
        ('steps = [{ id = "a", assert = "1 > 2", message = "Too few" }]', AssertFailed, "a", "Too few: 1 > 2"),
        ('steps = [{ id = "a", assert = "1 > 2", on_error = "skip" }, { assert = "1" }]', AssertFailed, "a", "1 > 2"),
        ('steps = [{ id = "e", each = "[1, 2]", do = [{ id = "a", call = "s.fail" }] }]', ToolError, "e[0].a", "fail"),
        ('steps = [{ id = "a", loop = "true", maximum = 3, do = [{ set = { x = 1 } }] }]', None, "a", "After 3 rounds"),
        ('steps = [{ id = "a", call = "s.slow", arguments = { seconds = 30 }, timeout = 0.2 }]', None, "a", "0.2 s"),
        ('steps = [{ id = "a", do = [{ call = "s.slow", arguments = { seconds = 30 } }], timeout = 0.2 }]', None, "a",
         "longer than 0.2 s"),
        ('steps = [{ id = "p", merge = "majority", parallel = [{ call = "s.fail" }, { set = { a = 1 } }] }]', ToolError,
         "p.call-2", "fail"),
        ('steps = [{ id = "a", call = "s.once", arguments = { key = "x" } }]', InputNeeded, "a", "not run"),
        ('steps = [{ id = "a", call = "s.flaky", arguments = { key = "z", times = 9 }, retries = 1, backoff = 0 }]',
         ToolError, "a", "failure 2"),
        ('steps = [{ id = "a", call = "nowhere.x" }, { call = "s.y" }]', None, "a", ""),
        ('steps = [{ id = "a", each = "3", do = [{ assert = "1" }] }]', None, "a", "needs a list"),
        ('steps = [{ id = "a", set = { x = "${keys(3)}" } }]', None, "a", "it is a number"),
        ('steps = [{ id = "a", set = { x = "$nothing.x" } }]', ConfigError, "", "step a: There is no `nothing`."),
    ],
)  # fmt: skip
async def test_how_a_plan_fails(studio: Studio, text: str, kind: type[Exception] | None, where: str, says: str) -> None:
    denying = studio.inbox.changed.connect(lambda one: one.answer("decline", by="nobody"))
    try:
        run = await ran(studio, text, approved="once" not in text)
    finally:
        denying()
    assert run.state == "failed"
    assert (run.failed.path if run.failed else "") == where
    assert run.error and says in run.error.message
    assert kind is None or isinstance(run.error, kind)


async def test_what_is_not_idempotent_is_not_called_again(studio: Studio, log: Path) -> None:
    step = '{ call = "s.once", arguments = { key = "r", seconds = 0.5 }, timeout = 0.1, retries = 5, backoff = 0 }'
    run = await ran(studio, f"steps = [{step}]", approved=True)
    assert (run.state, run.root.children[0].attempts) == ("failed", 1)


async def test_the_same_call_has_one_answer_where_it_is_cached(studio: Studio, log: Path) -> None:
    step = '{ call = "s.again", arguments = { key = "c${item % 2}" }, cache = true }'
    run = await ran(studio, f'steps = [{{ each = "range(6)", do = [{step}] }}]', approved=True)
    assert run.output == ["c0", "c1"] * 3
    assert [line for line in lines(log) if " c" in line] == ["again c0", "again c1"]


async def test_a_plan_with_errors_does_not_run(studio: Studio) -> None:
    with pytest.raises(ConfigError, match="must be"):
        await ran(studio, 'steps = [{ each = { a = 1 }, do = [{ wait = "x" }] }]')


async def test_inputs_are_checked_and_have_defaults(studio: Studio) -> None:
    text = 'output = "$input.n"\nsteps = [{ assert = "input.city" }]'
    inputs = (
        '[inputs]\nrequired = ["city"]\nadditionalProperties = false\n[inputs.properties]\ncity = { type = "string" }'
    )
    workflow = plan(f"{text}\n{inputs}\nn.default = 3")
    for given, says in (({}, "city"), ({"city": 3}, "city"), ({"city": "x", "more": 1}, "more")):
        run = Run(workflow, studio, given)
        await run.execute()
        assert isinstance(run.error, UsageError) and says in run.error.message
    run = Run(workflow, studio, {"city": "x"})
    await run.execute()
    assert run.output == 3


async def test_a_run_waits_for_approval_of_steps_and_calls(studio: Studio, log: Path) -> None:
    asked: list[tuple[str, str]] = []

    def answer(request: Any) -> None:
        if request in studio.inbox.pending:
            asked.append((request.message, request.subject))
            request.answer("accept", note="fine")

    disconnect = studio.inbox.changed.connect(answer)
    run = Run(plan('output = "$w.note"\nsteps = [{ id = "w", wait = "Ship ${1 + 1}?" }, { call = "s.once", arguments = '
                   '{ key = "approved" } }]'), studio)  # fmt: skip
    seen: list[str] = []
    run.changed.connect(lambda node: seen.append(f"{node.path} {node.state}"))
    await run.execute()
    disconnect()
    assert (run.output, "w waiting" in seen, "call-2 waiting" in seen) == ("fine", True, True)
    assert asked == [("Ship 2?", "trial: w"), ("Run s.once?", "s.once")]
    assert "once approved" in lines(log)


async def run_idle(studio: Studio) -> None:
    """Let everything go on as far as it goes: a call of our own goes all the way there and back meanwhile."""
    for _ in range(3):
        await studio.call_tool(Ref("tool", "s", "echo"), {}).wait()


async def test_a_run_can_be_paused_and_cancelled(studio: Studio) -> None:
    run = Run(plan('steps = [{ loop = "true", maximum = 100000, do = [{ call = "s.echo" }] }]'), studio)
    third = asyncio.Event()
    run.changed.connect(lambda node: third.set() if node.index == 3 else None)
    task = run.start()
    await asyncio.wait_for(third.wait(), 60)
    run.pause()
    loop = run.root.children[0]
    await asyncio.gather(*(call.wait() for call in studio.caller.running))
    before = loop.counts["done"]
    await run_idle(studio)
    assert run.paused and loop.counts["done"] - before <= 1 and run.state == "running"
    third.clear()
    run.changed.connect(lambda node: third.set() if node.index == before + 5 else None)
    run.resume()
    await asyncio.wait_for(third.wait(), 60)
    run.cancel()
    await asyncio.wait([task])
    assert (run.state, loop.state) == ("cancelled", "cancelled")
    assert not studio.caller.running


async def test_a_run_begins_at_a_step_with_the_results_before_it(studio: Studio, log: Path) -> None:
    text = """
    output = ["$first", "$var.x", "$last"]
    steps = [
      { id = "first", call = "s.again", arguments = { key = "kept" } },
      { set = { x = 7 } },
      { id = "last", call = "s.again", arguments = { key = "${first} again" } },
    ]"""
    before = await ran(studio, text, approved=True)
    again = await ran(studio, text, approved=True, earlier=json.loads(json.dumps(before.as_json())), start="last")
    assert again.output == before.output == ["kept", 7, "kept again"]
    assert lines(log).count("again kept") == 1 and lines(log).count("again kept again") == 2
    spans = [run.root.children[0].span for run in (before, again)]
    assert spans[0] is not None and spans[0] == spans[1]
    with pytest.raises(UsageError, match="no step nowhere"):
        await ran(studio, text, start="nowhere")
    nothing = await ran(studio, text, start="last")
    assert nothing.error and "did not come past first" in nothing.error.message


async def test_a_run_that_begins_at_a_step_knows_all_of_the_steps_before(studio: Studio, tmp_path: Path) -> None:
    text = """
    output = "$last"
    steps = [
      { id = "plain", call = "s.text", arguments = { text = "so it is" } },
      { do = [{ id = "inner", call = "s.add", arguments = { a = 1, b = 2 } }] },
      { choose = "true", then = [{ id = "yes", set = { x = 1 } }], else = [{ id = "no", set = { x = 2 } }] },
      { parallel = [{ id = "left", call = "s.text", arguments = { text = "[1]" } }, { id = "right", assert = "1" }] },
      { id = "wrong", call = "s.fail", on_error = "skip" },
      { id = "last", set = { all = ["$plain.text", "$inner.sum", "$inner.raw.content", "$yes", "$left.text",
        "$wrong.error", "${default(no, 'not chosen')}"] } },
    ]"""
    expected = ["so it is", 3, [{"type": "text", "text": "3"}], {"x": 1}, "[1]", "tool error: it is meant to fail",
                "not chosen"]  # fmt: skip
    store = RunStore(tmp_path / "runs", studio.redactor)
    run = await ran(studio, text)
    for _ in range(2):
        assert run.output == {"all": expected}
        store.keep(run)
        run = await ran(studio, text, earlier=store.find("last"), start="last")
    more = text.replace("steps = [", 'steps = [{ id = "new", set = { n = 1 } },')
    changed = await ran(studio, more, earlier=store.find("last"), start="last")
    assert changed.error and "did not come past new" in changed.error.message
    large = await ran(studio, text.replace("so it is", "${join(range(100000), 'a string that is long')}"))
    store.keep(large)
    again = await ran(studio, text, earlier=store.find("last"), start="last")
    assert again.error and "too large to be stored" in again.error.message


async def test_a_run_is_a_tree_of_spans_in_the_trace(studio: Studio) -> None:
    each = f'{{ id = "e", each = "[1, 2]", do = [{add("$item", 1, id="sum")}] }}'
    two = f'{{ id = "two", each = "[3]", do = [{add("$item", 1, id="a")}, {{ set = {{ x = 1 }} }}] }}'
    wrong = '{ id = "wrong", call = "s.fail", on_error = "skip" }'
    run = await ran(studio, f"steps = [{each}, {two}, {wrong}]")
    columns = studio.trace.columns

    def shape(node: Node) -> list[Any]:
        row = node.number - columns.first
        name = f"{columns.methods.texts[columns.method[row]]} {columns.targets.texts[columns.target[row]]}"
        return [name, columns.outcome_of(row), *(shape(child) for child in node.children)]

    def step(kind: str, name: str, *inner: Any, outcome: str = "ok") -> list[Any]:
        return [f"workflow/{kind} {name}", outcome, *inner]

    assert run.root.span is not None
    found = tree(studio.trace, run.root.span.number)
    called = step("call", "sum", ["tools/call add", "ok"])
    assert found is not None and shape(found) == step(
        "run", "trial",
        step("each", "e", called, called),
        step("each", "two", step("round", "two", step("call", "a", ["tools/call add", "ok"]))),
        step("call", "wrong", ["tools/call fail", "tool error"], outcome="error"),
    )  # fmt: skip
    nodes = {node.path: node for node in run.root.walk()}
    failed = nodes["wrong"].span
    assert failed is not None and failed.response is not None and failed.ms is not None
    assert b"it is meant to fail" in failed.response.body and b'"path":"wrong"' in failed.request.body
    assert abs(failed.ms - nodes["wrong"].ms) < 100 and columns.direction_of(failed.number - columns.first) == "none"
    under = parse(f"under:{failed.number}")
    assert len(select(studio.trace, under)) == 4 and len(select(studio.trace, parse("method:workflow/run"))) == 2
    numbers = Numbers(studio.trace)
    numbers.look()
    assert numbers.servers.keys() == {"s"} and not any("workflow" in one.method for one in numbers.methods)


@pytest.mark.parametrize("traceparent", [False, True])
async def test_a_collector_gets_a_run_as_one_trace(log: Path, tmp_path: Path, traceparent: bool) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    file = tmp_path / "spans"
    async with opened(server(log), settings=Settings(traceparent=traceparent)) as studio:
        run = await ran(studio, f"steps = [{add(1, 2, id='a')}]")
        await export(studio.trace, None, "otlp", file, studio.redactor)
    groups = [one for line in file.read_text().splitlines() for one in json.loads(line)["resourceSpans"]]
    spans = {one["name"]: one for group in groups for scope in group["scopeSpans"] for one in scope["spans"]}
    whole, inner, call = spans["workflow/run trial"], spans["workflow/call a"], spans["tools/call add"]
    assert inner["parentSpanId"] == whole["spanId"] and call["parentSpanId"] == inner["spanId"]
    assert {whole["traceId"], inner["traceId"]} == {call["traceId"]} and "parentSpanId" not in whole
    assert (whole["kind"], call["kind"]) == (1, 3)  # internal, client
    assert whole["traceId"].startswith(run.id) == traceparent


async def test_a_long_loop_keeps_memory_flat_and_its_newest_rounds(studio: Studio) -> None:
    step = '{ set = { n = "${default(var.n, 0) + 1}", text = "${str(range(100))}" } }'
    loop = f'{{ loop = "iteration < ROUNDS", maximum = 10000, keep = 5, do = [{step}] }}'
    text = f'output = "$var.n"\nsteps = [{loop}]'
    tracemalloc.start()
    sizes: list[int] = []
    for rounds in (500, 3_000):
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        run = await ran(studio, text.replace("ROUNDS", str(rounds)))
        sizes.append(tracemalloc.get_traced_memory()[1] - before)
        assert run.output == rounds
    tracemalloc.stop()
    (seen,) = run.root.children
    assert seen.counts == {"done": 3_000} and len(seen.children) <= 150
    assert sizes[1] < 1.5 * sizes[0]


async def test_failed_rounds_stay_visible_among_many(studio: Studio) -> None:
    step = '{ id = "f", choose = "item == 3", then = [{ call = "s.fail" }], on_error = "skip" }'
    run = await ran(studio, f'steps = [{{ id = "e", each = "range(400)", concurrency = 20, do = [{step}] }}]')
    found = states(run)
    assert run.root.children[0].counts["done"] == 400
    assert found["e[399].f"] == "done" and len(found) < 500


async def test_runs_are_kept_without_secrets_and_bounded(studio: Studio, tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs", studio.redactor)
    studio.redactor.learn("hunter2hunter2")
    run = await ran(studio, 'steps = [{ call = "s.echo", arguments = { value = "hunter2hunter2" } }]')
    for at in range(105):
        run.id, run.root.began = f"id{at:03}", 1_000_000 + at
        store.keep(run)
    assert [one["id"] for one in store.all()] == [f"id{at:03}" for at in range(104, 4, -1)]
    assert store.find("last")["id"] == store.find("id104")["id"] == "id104"
    for wrong in ("id", "nothing", ""):
        with pytest.raises(UsageError):
            store.find(wrong)
    assert "hunter2" not in json.dumps(store.all())
    run.root.began += 1
    store.keep(run)
    assert [one["id"] for one in store.all()].count(run.id) == 1
    denying = studio.inbox.changed.connect(lambda one: one.answer("decline"))
    for text, inputs in (('steps = [{ call = "s.echo" }]', {"strange": 1}), ('steps = [{ call = "s.once" }]', None)):
        refused = Run(plan(text), studio, inputs)
        await refused.execute()
        assert refused.state == "failed"
        store.keep(refused)
    denying()
    assert store.find("last")["id"] == "id104"


async def test_a_report_is_a_snapshot_and_junit(studio: Studio, tmp_path: Path) -> None:
    text = """
    steps = [
      { id = "e", each = "[1, 2]", concurrency = 2, do = [{ id = "c", call = "s.echo", arguments.value = "$item" }] },
      { assert = "e == [1, 2]", message = "both" }, { assert = "1 > VALUE", on_error = "skip", message = "\\u0007big" },
    ]"""
    reports: list[Report] = []
    for value in ("0", "2"):
        run = Run(plan(text.replace("VALUE", value)), studio)
        reports.append(Report(run))
        await run.execute()
    first, second = reports
    assert first.snapshot()["calls"]["e[0].c"] == {"tool": "s.echo", "arguments": {"value": 1}, "output": 1}
    assert [*first.snapshot()["calls"]] == ["e[0].c", "e[1].c"]
    assert first.compare(first.snapshot()) == ()
    assert second.compare(first.snapshot()) == ()  # why it failed is told, and it made the same calls
    second.junit(tmp_path / "junit.xml")
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    failure = suite.find(".//failure")
    assert failure is not None and "big: 1 > 2" in str(failure.text)
    first.record(tmp_path / "snapshot.json")
    assert read_snapshot(tmp_path / "snapshot.json") == first.snapshot()
    with pytest.raises(UsageError, match="no snapshot"):
        read_snapshot(tmp_path / "junit.xml")


@pytest.mark.parametrize(
    ("output", "cases"),
    [('"1"', [("1", None)]), ('"$e.none"', [("s.fail", "error"), ("1", None), ("the run ends well", "error")])],
)
async def test_junit_fails_where_the_run_fails(
    studio: Studio, tmp_path: Path, output: str, cases: list[tuple[str, str | None]]
) -> None:
    branches = '{ call = "s.fail" }, { call = "s.echo", arguments.value = 1 }'
    text = f'output = {output}\nsteps = [{{ id = "e", parallel = [{branches}], merge = "first" }}, {{ assert = "1" }}]'
    run = Run(plan(text), studio)
    report = Report(run)
    await run.execute()
    report.junit(tmp_path / "junit.xml")
    found = ElementTree.parse(tmp_path / "junit.xml").iter("testcase")
    assert [(case.get("name"), case[0].tag if len(case) else None) for case in found] == cases


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('steps = [{ call = "s.nothing" }]', "nothing"),
        ('steps = [{ call = "t.nothing" }, { call = "s.echo" }]', "s has no tool 'nothing'"),
        ('steps = [{ call = "s.add", arguments = { a = 1 } }]', "f.toml:1:1: step call-1: s.add: b is required."),
        (
            'steps = [{ call = "s.add", arguments = { a = 1, b = "x" } }]',
            "f.toml:1:49: step call-1: s.add: b must be a number",
        ),
        (
            'steps = [{ call = "s.add", arguments = { a = 1, b = "$input.city" } }]',
            ":1:49: step call-1: s.add: b must be of type number, and that input",
        ),
        (
            'steps = [{ call = "s.add", arguments = { a = 1, b = 2, c = 3 } }]',
            ":1:56: step call-1: s.add has no argument c.",
        ),
        ('steps = [{ call = "s.once", arguments = { key = "x" }, retries = 2 }]', "s.once is not retried"),
    ],
)
async def test_check_asks_the_servers(studio: Studio, text: str, says: str) -> None:
    document = {**plan(text).document, "inputs": {"properties": {"city": {"type": "string"}}}}
    found = await check(Workflow.of(document, "f.toml", text), studio)
    assert says in "\n".join(map(str, found))
    good = plan(f'steps = [{add(1, 2)}, {{ call = "s.add", arguments = {{ a = "${{1 + 1}}", b = 2.5 }} }}]')
    assert await check(good, studio) == []


async def test_what_a_run_would_call_is_known_before(studio: Studio) -> None:
    text = f"""
    steps = [
      {{ set = {{ x = 2 }} }}, {add("$var.x", 1, id="a")},
      {{ id = "e", each = "range(30)", do = [{add("$item", "$a.sum", id="b")}] }},
      {{ choose = "a.sum > 2", then = [{add(1, 1, id="yes")}], else = [{add(2, 2, id="no")}] }},
      {{ choose = "var.x > 1", then = [{add(3, 3, id="sure")}] }},
      {{ loop = "iteration < 9", do = [{add("$iteration", 0, id="round")}] }},
    ]"""
    found = [(one.path, one.arguments, one.only_if) for one in planned(plan(text), studio, {})]
    assert found[0] == ("a", {"a": 2, "b": 1}, "")
    assert found[1] == ("e[0].b", {"a": 0, "b": "${a.sum}"}, "")
    assert found[21][0] == "e" and len(found) == 26
    assert found[22:] == [
        ("choose-5.yes", {"a": 1, "b": 1}, "a.sum > 2"), ("choose-5.no", {"a": 2, "b": 2}, "not (a.sum > 2)"),
        ("choose-8.sure", {"a": 3, "b": 3}, ""), ("loop-10.round", {"a": 0, "b": 0}, ""),
    ]  # fmt: skip


async def test_the_plan_in_the_documentation_runs() -> None:
    text = (ROOT / "docs/workflows.md").read_text().split("```toml\n")[1].split("```")[0]
    demo = stdio([sys.executable, "-m", "mcp_studio.servers.demo"], "demo", trust=True)
    async with opened(demo) as studio:
        workflow = Workflow.of(tomllib.loads(text), "restock.toml", text)
        assert await check(workflow, studio) == []
        run = Run(workflow, studio, {"least": 3})
        await run.execute()
        assert run.error is None and run.output["said"] == "1 of 2 run low"


async def test_a_killed_server_fails_its_step_and_the_run_goes_on(log: Path) -> None:
    async with opened(server(log)) as studio:
        pid = studio.manager.status("s").pid
        assert pid
        run = Run(plan('output = "$b"\nsteps = [{ id = "a", call = "s.slow", arguments.seconds = 60, fallback = "lost" '
                       '}, { id = "b", call = "s.echo", arguments = { value = "$a" } }]'), studio)  # fmt: skip
        started = asyncio.Event()
        run.changed.connect(lambda node: started.set())
        task = run.start()
        call = None
        deadline = time.monotonic() + 60
        while call is None or not call.sendings:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)
            call = run.root.children[0].call
        os.kill(pid, signal.SIGKILL)
        await asyncio.wait_for(task, 60)
        assert (run.state, run.output) == ("done", "lost")
