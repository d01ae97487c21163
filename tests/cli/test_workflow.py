"""`run`, `worker` and `workflow`: plans from a file to an exit code."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.kit import Done, cli

SERVER = [sys.executable, "-m", "tests.servers.plan_tools"]
GOOD = """
name = "good"
output = { sum = "$total.sum", rows = "$rows" }
[inputs]
required = ["n"]
properties.n = { type = "integer" }
[[steps]]
id = "total"
call = "s.add"
arguments = { a = "$input.n", b = 2 }
[[steps]]
id = "rows"
each = "range(input.n)"
do = [{ call = "s.echo", arguments = { value = "$item" } }]
[[steps]]
assert = "total.sum > 3"
message = "too small"
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    file = tmp_path / "plan.toml"
    file.write_text(GOOD)
    return str(file)


def workflow(*words: str) -> Done:
    return cli(*words, "--", *SERVER)


def test_a_run_prints_its_output_and_its_steps(file: str, home: Path) -> None:
    done = workflow("run", file, "n=2", "--yes")
    assert (done.code, json.loads(done.out)) == (0, {"sum": 4, "rows": [0, 1]})
    assert "✓ rows" in done.err and "2 done" in done.err
    told = workflow("run", file, "n=2", "--yes", "--json").json
    assert (told["ok"], told["result"]["sum"]) == (True, 4)
    runs = cli("workflow", "runs", "--json").json["result"]
    assert [one["state"] for one in runs] == ["done", "done"] and runs[0]["id"] == told["run"]
    assert cli("workflow", "show", told["run"][:6], "--json").json["result"]["output"]["sum"] == 4
    assert cli("workflow", "diff", "last", runs[1]["id"]).code in (0, 1)
    again = workflow("run", file, "n=2", "--yes", "--from", "rows")
    assert again.code == 0 and "✓ total\n" in again.err


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("run", "FILE", "n=1", "--yes"), 1, "Step assert-4: too small: total.sum > 3"),
        (("run", "FILE", "n=2"), 6, "--yes approves"),
        (("run", "FILE", "n=x", "--yes"), 2, "whole number"),
        (("run", "FILE", "--yes"), 2, "n is required"),
        (("run", "FILE", "m=3", "--yes"), 2, "there is no argument 'm'"),
        (("run", "nowhere.toml"), 2, "No such file"),
        (("run",), 2, "Which workflow?"),
        (("run", "FILE", "n=2", "--from", "rows"), 2, "No run is kept"),
        (("run", "FILE", "n=2", "--yes", "--junit", "/dev/null/x.xml"), 1, "cannot be written"),
        (("run", "FILE", "n=2", "--yes", "--compare", "FILE"), 2, "no snapshot"),
        (("run", "FILE", "n=1", "--yes", "--compare", "nowhere.json"), 2, "nowhere.json is no snapshot"),
        (("run", "--resume", "nothing"), 2, "not in this database"),
        (("workflow",), 2, "What of workflows?"),
        (("workflow", "check"), 2, "What of workflows?"),
        (("workflow", "show", "zzz"), 2, "No run is kept"),
    ],
)
def test_what_goes_wrong_has_an_exit_code(file: str, home: Path, words: tuple[str, ...], code: int, says: str) -> None:
    done = workflow(*(file if word == "FILE" else word for word in words))
    assert (done.code, says in done.err) == (code, True), done


def test_what_a_run_would_call_and_what_is_wrong_with_it(file: str, tmp_path: Path) -> None:
    dry = workflow("run", file, "n=2", "--dry-run", "--json").json["result"]
    assert [(one["path"], one["arguments"]) for one in dry] == [
        ("total", {"a": 2, "b": 2}), ("rows[0].call-3", {"value": 0}), ("rows[1].call-3", {"value": 1}),
    ]  # fmt: skip
    assert workflow("workflow", "check", file).code == 0
    Path(file).write_text(GOOD.replace("s.add", "s.ad").replace("total.sum > 3", "totl.sum > 3"))
    begun = workflow("run", file, "n=2", "--yes")
    assert (begun.code, "There is no `totl`" in begun.err, "✓" in begun.err) == (2, True, False)
    done = workflow("workflow", "check", file)
    assert done.code == 1
    assert f"{file}:8:1: step total: target has no tool 'ad'" in done.out
    assert f"{file}:16:11: step assert-4: There is no `totl`. Did you mean `total`?" in done.out
    assert cli("workflow", "check", file, "--offline").out.count("error: ") == 1
    schema = cli("workflow", "schema", "--json").json["result"]
    assert schema["$defs"]["each"]["required"] == ["each", "do"]


def test_snapshots_and_junit_are_for_ci(file: str, tmp_path: Path) -> None:
    snapshot, junit = tmp_path / "snapshot.json", tmp_path / "junit.xml"
    assert workflow("run", file, "n=2", "--yes", "--record", str(snapshot), "--junit", str(junit)).code == 0
    assert ElementTree.parse(junit).getroot()[0].get("failures") == "0"
    assert workflow("run", file, "n=2", "--yes", "--compare", str(snapshot)).code == 0
    other = workflow("run", file, "n=3", "--yes", "--compare", str(snapshot), "--ignore", "output.rows", "--json")
    assert other.code == 1
    places = {one["path"] for one in other.json["error"]["result"]}
    assert "output.sum" in places and not any(place.startswith("output.rows") for place in places)


EXPECTED = """
name = "expected"
steps = [
  { id = "wrong", call = "s.fail", arguments.why = "WHY", on_error = "skip" },
  { id = "value", call = "s.echo", arguments.value = 1 },
  { id = "late", call = "LATE", arguments.value = 2 },
]"""


def test_a_snapshot_has_expected_errors_and_is_compared_with_a_run_that_fails(tmp_path: Path) -> None:
    file, snapshot = tmp_path / "plan.toml", tmp_path / "snapshot.json"

    def run(why: str, late: str, *words: str) -> Done:
        file.write_text(EXPECTED.replace("WHY", why).replace("LATE", late))
        return workflow("run", str(file), "--yes", *words)

    assert run("no such city", "s.echo", "--record", str(snapshot)).code == 0
    before = snapshot.read_text()
    assert "no such city" in before
    assert run("no such city", "s.echo", "--compare", str(snapshot)).code == 0
    other = run("no such place", "s.echo", "--compare", str(snapshot))
    assert (other.code, "no such place" in other.out) == (1, True)
    failed = run("no such place", "s.fail", "--compare", str(snapshot), "--json", "--record", str(snapshot))
    assert (failed.code, failed.json["error"]["message"][:15]) == (5, "Step late: tool")
    places = {one["path"] for one in failed.json["error"]["result"]}
    assert {"calls.wrong.error", "calls.late.tool", "calls.late.error"} <= places
    assert all(place.startswith("calls.") for place in places)
    assert snapshot.read_text() == before


def test_a_durable_run_has_the_same_exit_codes(file: str, home: Path, tmp_path: Path) -> None:
    pytest.importorskip("dbos", reason="the extra `durable` is not installed")
    database = f"sqlite:///{tmp_path}/runs.sqlite"
    snapshot, junit = str(tmp_path / "snapshot.json"), tmp_path / "junit.xml"
    done = workflow("run", file, "n=2", "--yes", "--record", snapshot)
    reports = ("--compare", snapshot, "--junit", str(junit))
    done = workflow("run", file, "n=2", "--yes", "--durable", "--database", database, "--json", *reports)
    assert (done.code, done.json["result"]) == (0, [])
    assert ElementTree.parse(junit).getroot()[0].get("failures") == "0"
    done = workflow("run", file, "n=2", "--yes", "--durable", "--database", database, "--json")
    assert (done.code, done.json["result"]["sum"]) == (0, 4)
    assert f"run --resume {done.json['run']}" in done.err
    assert workflow("run", file, "n=1", "--yes", "--durable", "--database", database).code == 1
    ended = workflow("run", "--resume", done.json["run"], "--database", database)
    assert (ended.code, "has ended" in ended.err) == (2, True)
