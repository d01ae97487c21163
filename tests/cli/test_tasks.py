"""Calls as tasks and the verb `tasks`, each command a process of its own on a server whose tasks outlive it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.kit import Done, cli
from tests.support import python_server
from tests.support_servers import demo_http

BOTH = pytest.mark.parametrize("era", [(), ("--modern",)], ids=["core", "extension"])


def served(state: Path, *words: str, era: tuple[str, ...] = (), **env: str) -> Done:
    return cli(*words, "--", *python_server("raw_tasks", *era, "--state", str(state)), **env)


@BOTH
def test_a_call_waits_for_its_task_and_prints_its_result(tmp_path: Path, era: tuple[str, ...]) -> None:
    done = served(tmp_path / "s", "call", "work", "--task", era=era)
    assert (done.code, done.out) == (0, "work is done\n")
    assert "is working" in done.err


@BOTH
def test_a_failed_task_is_a_failure(tmp_path: Path, era: tuple[str, ...]) -> None:
    done = served(tmp_path / "s", "call", "fail", era=era)
    assert done.code == 1 and "It broke (-32603)" in done.err
    done = served(tmp_path / "s", "call", "error", era=era)
    assert done.code == 5 and "error is done" in done.err


@BOTH
def test_a_detached_task_is_found_watched_and_cancelled_later(tmp_path: Path, era: tuple[str, ...]) -> None:
    state = tmp_path / "s"
    identity = served(state, "call", "forever", "--detach", era=era).out.strip()
    listed = served(state, "tasks", "--json", era=era).json["result"]
    assert [(task["task"], task["status"]) for task in listed] == ([] if era else [(identity, "working")])
    shown = served(state, "tasks", "get", identity, "--json", era=era).json["result"]
    assert (shown["task"], shown["status"]) == (identity, "working")
    assert served(state, "tasks", "cancel", identity, era=era).code == 0
    done = served(state, "tasks", "result", identity, era=era)
    assert done.code == 1 and "cancelled" in done.err


@BOTH
def test_the_result_of_a_detached_task_is_fetched_by_its_id(tmp_path: Path, era: tuple[str, ...]) -> None:
    state = tmp_path / "s"
    identity = served(state, "call", "work", "--detach", era=era).out.strip()
    done = served(state, "tasks", "watch", identity, era=era)
    assert (done.code, done.out) == (0, "work is done\n") and "completed" in done.err


def test_a_question_of_a_task_that_nobody_can_answer_is_exit_code_6(tmp_path: Path) -> None:
    done = served(tmp_path / "s", "call", "ask", "--json")
    assert done.code == 6 and done.json["error"]["question"] == "Who?"


def test_a_task_that_waits_on_for_an_answer_is_not_waited_for(tmp_path: Path) -> None:
    state, era = tmp_path / "s", ("--modern",)
    done = served(state, "call", "sample", era=era)
    assert done.code == 6 and "requests an LLM completion" in done.err
    identity = served(state, "call", "sample", "--detach", era=era).out.strip()
    assert served(state, "tasks", "result", identity, era=era).code == 6
    assert served(state, "tasks", "get", identity, "--json", era=era).json["result"]["status"] == "input_required"


def test_a_task_left_behind_over_http_keeps_its_session(tmp_path: Path) -> None:
    with demo_http() as url:
        home: Any = {"MCP_STUDIO_HOME": str(tmp_path)}
        target = ("--url", url, "--era", "legacy")
        done = cli("call", "bind_edition", "copies=2", "--detach", *target, **home)
        assert done.code == 0 and "`mcp-studio shell` keeps one session" in done.err
        assert "DELETE" not in cli("trace", "last", **home).out
        ended = cli("tasks", "result", done.out.strip(), *target, **home)
        assert ended.out == "2 copies are bound.\n" and "DELETE" in cli("trace", "last", **home).out


def test_a_tool_that_is_no_task_is_not_called_as_one(tmp_path: Path) -> None:
    done = served(tmp_path / "s", "call", "plain", "--task")
    assert done.code == 2 and "cannot be called as a task" in done.err


def test_an_unknown_task_is_told() -> None:
    done = cli("tasks", "get", "no-such", "--", *python_server("raw_tasks"))
    assert done.code == 1 and "does not know it any more" in done.err


def test_a_server_without_tasks_has_none() -> None:
    done = cli("tasks", "--json", "--", *python_server("raw_server"))
    assert done.code == 0 and done.json["result"] == []


def test_a_missing_or_superfluous_word_is_told() -> None:
    assert "Which task?" in cli("tasks", "get", "--", *python_server("raw_tasks")).err
    assert "`c` is too much" in cli("tasks", "get", "target", "b", "c", "--", *python_server("raw_tasks")).err
