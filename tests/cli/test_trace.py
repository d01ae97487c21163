"""`trace`, on sessions that other command lines have recorded."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from unittest.mock import patch

import pytest

from mcp_studio.cli.main import run
from tests.cli.kit import Done, argv, environment, raw
from tests.support import ROOT, python_server
from tests.trace.export.test_collector import listening, partial


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one session in it: a call of `echo`, and one of `fail`, which fails."""
    home = tmp_path_factory.mktemp("home")
    assert raw("call", "echo", "text=hello wire\x1b[2J", MCP_STUDIO_HOME=str(home)).code == 0
    return home


def trace(home: Path, *words: str) -> Done:
    """In this process: it starts nothing, see the last test."""
    out, err = TextIOWrapper(BytesIO(), "utf-8"), TextIOWrapper(BytesIO(), "utf-8")
    with patch.dict(os.environ, MCP_STUDIO_HOME=str(home)), redirect_stdout(out), redirect_stderr(err):
        code = run(["trace", *words])
    texts = []
    for stream in (out, err):
        stream.flush()
        assert isinstance(stream.buffer, BytesIO)
        texts.append(stream.buffer.getvalue().decode())
    return Done(code, *texts)


def test_sessions_are_listed_and_what_is_in_one_is_a_table(place: Path) -> None:
    listed = trace(place, "--json").json["result"]
    assert [(one["state"], one["servers"]) for one in listed] == [("ended", ["target"])]
    name = listed[0]["name"]
    heads, first = trace(place).out.splitlines()
    assert heads.split()[:3] == ["session", "state", "began"] and first.startswith(f"{name}  ended  ")
    done = trace(place, name[:15])
    head, *rows = done.out.splitlines()
    assert head.split()[:3] == ["number", "time", "server"] and len(rows) == listed[0]["entries"]
    assert any("tools/call" in row and row.endswith("ok          echo") for row in rows)
    assert done.err == "" and "\x1b" not in done.out


def test_a_query_chooses_and_a_wrong_one_says_where(place: Path) -> None:
    found = trace(place, "last", "tool:echo", "kind:request", "-status:error", "--json").json["result"]
    assert found["found"] == 1
    entry = found["entries"][0]
    assert (entry["method"], entry["target"], entry["status"]) == ("tools/call", "echo", "ok") and entry["ms"] > 0
    assert trace(place, "last", 'text:"hello WIRE" /h.*o wire/').out.count("tools/call") == 2
    done = trace(place, "last", "kind:requst", "--json")
    assert done.code == 2 and done.json["error"]["query"] == {"start": 5, "end": 11}
    assert "at 6 of the query" in done.err and "Did you mean `request`?" in done.err
    none = trace(place, "last", "nowhere")
    assert (none.code, none.out, none.err) == (0, "", "no such entry\n")
    assert "the newest 2 of" in trace(place, "last", "--limit", "2").err


def test_one_call_is_a_tree_a_body_is_its_bytes_and_two_are_compared(place: Path) -> None:
    asked = trace(place, "last", "tool:echo kind:request", "--json").json["result"]["entries"][0]
    tree = trace(place, "last", "--span", str(asked["answer"]), "--json").json["result"]
    assert (tree["number"], tree["relation"], tree["children"]) == (asked["number"], "root", [])
    assert "tools/call echo" in trace(place, "last", "--span", str(asked["number"])).out
    body = json.loads(trace(place, "last", "--body", str(asked["answer"])).out)
    assert body["result"]["content"][0]["text"] == "hello wire\x1b[2J"
    done = trace(place, "last", "--diff", f"{asked['number']},{asked['answer']}")
    assert done.code == 0 and "result" in done.out
    assert "same" in trace(place, "last", "--diff", "1,1").err
    for words in (("--body", "999"), ("--span", "x"), ("--diff", "1")):
        assert trace(place, "last", *words).code == 2, words


async def test_a_collector_gets_spans_or_figures_and_the_person_hears_how_many(place: Path) -> None:
    async with listening(partial(1, "late"), partial(2, "old")) as one:
        done = await asyncio.to_thread(trace, place, "last", "--to", one.url, "--header", "X-Key: v")
        assert done.code == 0 and "x-key: v" in one.heads[0].lower()
        assert re.fullmatch(r"sent \d+ spans to the collector\nit did not want 1 span. late\n", done.err)
        done = await asyncio.to_thread(trace, place, "last", "--stats", "--to", one.url)
        assert re.fullmatch(r"sent \d+ points to the collector\nit did not want 2 points. old\n", done.err)
        assert one.heads[1].startswith("POST /v1/metrics ")
        (scope,) = one.bodies[1]["resourceMetrics"][0]["scopeMetrics"]
        metrics = {metric["name"]: metric for metric in scope["metrics"]}
        calls = metrics["mcp_studio.calls"]["sum"]
        assert calls["isMonotonic"] and calls["aggregationTemporality"] == "AGGREGATION_TEMPORALITY_CUMULATIVE"
        (point,) = calls["dataPoints"]
        named = {label["key"]: label["value"]["stringValue"] for label in point["attributes"]}
        assert named == {
            "mcp_studio.server": "target", "mcp.method.name": "tools/call", "gen_ai.tool.name": "echo",
        } and point["asInt"] == "1" and 0 < int(point["startTimeUnixNano"]) < int(point["timeUnixNano"])  # fmt: skip
        (times,) = metrics["mcp_studio.duration"]["histogram"]["dataPoints"]
        assert times["count"] == "1" and sum(map(int, times["bucketCounts"])) == 1
        assert len(times["bucketCounts"]) == len(times["explicitBounds"]) + 1 and times["sum"] == times["max"]
        gone = await asyncio.to_thread(trace, place, "last", "--stats", "--to", "http://127.0.0.1:9")
        assert gone.code == 4 and "cannot be reached" in gone.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--span 1 --stats", "--span and --stats do not"), ("--output x", "--output needs --jsonl or --export"),
        ("--follow --jsonl --output x", "--output and --follow"), ("--header A:b", "--header needs --to"),
        ("--stats --limit 3", "--limit and --stats"), ("--jsonl --to http://h", "--jsonl and --to"),
        ("--export otlp --to http://h --output x", "--output and --to"), ("--limit 0", "whole number"),
        ("--export otlp --to http://h", "--export and --to"), ("--to a:4318", "begins with http://"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit_are_refused(place: Path, words: str, says: str) -> None:
    done = trace(place, "last", *words.split())
    assert done.code == 2 and says in done.err


def test_it_goes_out_and_opens_again(place: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in trace(place, "last", "tool:echo", "--jsonl").out.splitlines()]
    assert lines[0]["format"] == "mcp-studio-trace" and [one["kind"] for one in lines[1:]] == ["request", "result"]
    followed = [json.loads(line) for line in trace(place, "last", "tool:echo", "--follow", "--jsonl").out.splitlines()]
    assert followed[0]["format"] == lines[0]["format"] and followed[1:] == lines[1:]
    file = tmp_path / "out.mcptrace"
    assert trace(place, "last", "--export", "bundle", "--output", str(file)).code == 0
    again = trace(place, str(file), "tool:echo", "--json").json["result"]
    assert again["found"] == 2
    assert trace(place, "last", "--export", "bundle", "--output", str(file)).code == 2, "it is there already"
    assert '"mcp.method.name"' in trace(place, "last", "tool:echo", "--export", "otlp").out
    assert trace(place, "last", "--export", "pdf").code == 2
    assert trace(place, str(file), "--follow").code == 2
    text = trace(place, "last", "tool:echo", "--stats", "--prometheus").out
    assert "# TYPE mcp_studio_calls_total counter" in text
    assert re.search(r'^mcp_studio_calls_total\{server="target",kind="tool",name="echo"\} \d+$', text, re.MULTILINE)
    figures = trace(place, "last", "tool:echo", "--stats", "--json").json["result"]
    assert [(one["target"], one["count"]) for one in figures if one["target"]] == [("echo", 1)]


def test_what_is_not_there_is_said_and_a_session_can_be_deleted(tmp_path: Path) -> None:
    assert trace(tmp_path, "last").code == 2 and "There is no session" in trace(tmp_path, "last").err
    assert "there is no session" in trace(tmp_path).err and trace(tmp_path, "--stats").code == 2
    assert raw("list", "tools", MCP_STUDIO_HOME=str(tmp_path)).code == 0
    assert trace(tmp_path, "running").code == 2
    assert "is a folder" in trace(tmp_path, str(tmp_path)).err and "no file x.jsonl" in trace(tmp_path, "x.jsonl").err
    assert trace(tmp_path, "last", "--delete").code == 0
    assert trace(tmp_path, "--json").json["result"] == []


def test_a_running_studio_is_followed_to_its_end(tmp_path: Path) -> None:
    env = environment(MCP_STUDIO_HOME=str(tmp_path))
    server = python_server("raw_server")
    watched = subprocess.Popen(
        argv("watch", "--logs", "--", *server), env=env, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    started = [watched]
    try:
        assert watched.stderr is not None
        while "Ctrl-C ends" not in (line := watched.stderr.readline()):
            assert line, "it watches"
        follower = subprocess.Popen(
            argv("trace", "running", "kind:request", "or", "kind:note", "--follow", "--json"), env=env, cwd=ROOT,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert follower.stdout is not None
        started.append(follower)
        while json.loads(follower.stdout.readline())["kind"] != "request":
            continue
        watched.send_signal(signal.SIGINT if os.name != "nt" else signal.SIGTERM)
        watched.wait(20)
        _, told = follower.communicate(timeout=60)
        assert follower.returncode == 0 and "the session has ended" in told
    finally:
        for process in started:
            process.kill()
            process.communicate()


def test_nothing_is_started_for_it(place: Path) -> None:
    code = (
        "import sys, runpy; from mcp_studio.cli.main import run; run(['trace', 'last', 'error']);"
        "print(sorted(name for name in sys.modules if name.startswith(('mcp_studio.tui', 'textual',"
        " 'mcp_types', 'pydantic'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=ROOT,
        env=environment(MCP_STUDIO_HOME=str(place)),
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr
