"""`call --repeat`: figures instead of results, and exit codes that tell what failed."""

from __future__ import annotations

import json
import signal
import subprocess
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

from mcp_studio.cli.main import run as run_here
from tests.cli.kit import RAW, argv, environment, raw
from tests.support import run, wait_until


def test_figures_take_the_place_of_results(home: Path) -> None:
    done = raw("call", "add", "a=1", "b=2", "--repeat", "30", "--concurrency", "4")
    assert done.code == 0, done.err
    assert done.out.startswith("30 calls, 4 at once, in ")
    for words in ("ok ", "p50", "p95", "p99", "bytes"):
        assert words in done.out
    assert "\x1b" not in done.err and "\r" not in done.err
    history = raw("list", "history")
    assert history.out.count("\n") == 1 and "(30 calls, 4 at once)" in history.out


def test_the_envelope_has_the_figures() -> None:
    done = raw("call", "add", "a=1", "b=2", "--repeat", "5", "--json")
    result = done.json["result"]
    assert done.code == 0 and done.json["ok"] is True
    assert (result["calls"], result["done"], result["outcomes"]) == (5, 5, {"ok": 5})
    assert sum(bar["count"] for bar in result["histogram"]) == 5
    assert result["ms"]["min"] <= result["ms"]["p50"] <= result["ms"]["p99"] <= result["ms"]["max"]


def test_a_tool_that_fails_ends_with_five_and_needs_one_approval_for_all() -> None:
    asked = raw("call", "fail", "--repeat", "7")
    assert asked.code == 6 and "target.fail 7 times" in asked.err
    failed = raw("call", "fail", "--repeat", "7", "--concurrency", "2", "--yes", "--json")
    assert failed.code == 5
    error = failed.json["error"]
    assert error["message"] == "7 of 7 calls failed." and error["kind"] == "tool_error"
    assert error["result"]["outcomes"] == {"tool error": 7} and error["result"]["errors"][0]["count"] == 7


def test_calls_that_are_refused_end_with_one() -> None:
    done = raw("call", "--tool", "none", "--repeat", "3")
    assert done.code == 1 and "3 of 3 calls failed" in done.err and "3x" in done.out


def test_numbers_that_are_none_and_options_that_do_not_fit_are_refused_before_anything_is_started() -> None:
    for words in (
        ("--repeat", "0"), ("--repeat", "many"), ("--repeat", "1000001"), ("--repeat", "5", "--concurrency", "-1"),
        ("--concurrency", "4"), ("--repeat", "5", "--detach"),
    ):  # fmt: skip
        with redirect_stderr(StringIO()) as told:
            assert run_here(["call", "add", *words, "--", "/there/is/no/such/server"]) == 2, words
        assert "error: --" in told.getvalue(), words


def test_an_interrupted_run_tells_what_there_was(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    server = ["sh", "-c", 'tee "$0" | exec "$@"', str(seen), *RAW]
    words = argv("call", "wait", "seconds=0.02", "--repeat", "100000", "--concurrency", "2", "--json", "--", *server)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    try:
        run(wait_until(lambda: seen.exists() and seen.read_bytes().count(b"tools/call") > 5))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    error = json.loads(out)["error"]
    assert error["kind"] == "interrupted" and error["result"]["ended"] == "interrupted"
    assert error["result"]["outcomes"].get("ok", 0) > 0
