"""`dev`: a server is started again when its files change, and what is another then is said."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.kit import cli
from tests.cli.test_watch import started

SERVER = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("made")


@server.tool()
def add(a: int, b: int = 1) -> int:
    return a + b


server.run()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a server in it, a pinned call of that, and a project of ours."""
    calls = tmp_path / ".mcp-studio" / "calls"
    calls.mkdir(parents=True)
    (calls / "sum.toml").write_text('server = "made"\ntool = "add"\npinned = true\narguments = {a = 2}')
    (tmp_path / "server.py").write_text(SERVER)
    return tmp_path


def write(project: Path, text: str) -> None:
    """As editors do: another file is put in its place."""
    (project / "new").write_text(text)
    (project / "new").rename(project / "server.py")


def test_changes_are_told_and_a_server_that_does_not_start_is_waited_for(project: Path) -> None:
    with started("dev", "--json", "--", sys.executable, str(project / "server.py"), cwd=project) as dev:
        first = json.loads(dev.line())
        assert first["ready"] and first["answers"][0]["verdict"] == "new" and first["changes"] == []
        assert "watching" in dev.line(errors=True)
        write(project, "def broken(:\n" + SERVER)
        broken = json.loads(dev.line())
        assert not broken["ready"] and broken["files"] == ["server.py"] and "SyntaxError" in broken["error"]
        write(project, SERVER.replace("b: int = 1", "b: str").replace("a + b", "a + len(b)"))
        (change,) = (mended := json.loads(dev.line()))["changes"]
        assert mended["breaking"] and "b is required now" in change["breaking"]
        assert mended["answers"][0]["verdict"] == "differs" and mended["answers"][0]["differences"]
        assert first["answers"][0]["accepted"] == "" and "inputSchema" in mended["answers"][0]["accepted"]
        (project / "notes.log").write_text("no part of the server")
        write(project, SERVER.replace("b: int = 1", "b: str | int = 1"))
        last = json.loads(dev.line())
        assert last["files"] == ["server.py"] and not last["breaking"] and last["changes"]
        assert dev.interrupt()[0] == 130


def once(project: Path, *words: str) -> Any:
    return cli("dev", "--once", *words, "--", sys.executable, "server.py", cwd=project)


def test_secrets_go_to_no_other_server_than_that_of_the_saved_call(project: Path) -> None:
    text = 'server = "bank"\ntool = "add"\npinned = true\narguments = {a = "${env:HOME}"}'
    (project / ".mcp-studio" / "calls" / "sum.toml").write_text(text)
    (answer,) = once(project, "--json").json["result"]["answers"]
    assert answer["verdict"] == "skipped" and "nobody has agreed" in answer["said"]


def test_once_compares_with_a_file_for_ci(project: Path) -> None:
    assert once(project, "--write-baseline", "made.json").code == 0
    assert once(project, "--baseline", "made.json").code == 0
    write(project, SERVER.replace("a + b", "a - b"))
    done = once(project, "--baseline", "made.json")
    assert done.code == 1 and "differs  sum" in done.out and "0 breaking changes, 1 other answer" in done.err
    assert once(project, "--baseline", "made.json", "--ignore", "*").code == 0
    saved = project / ".mcp-studio" / "calls" / "sum.toml"
    saved.rename(project / "away.toml")
    done = once(project, "--baseline", "made.json")
    assert done.code == 1 and "failed   sum  no pinned call of this name is there any more" in done.out
    (project / "away.toml").rename(saved)
    write(project, SERVER.replace("def add(a: int, b: int = 1)", "def plus(a: int, b: int)"))
    done = once(project, "--baseline", "made.json", "--json")
    assert done.code == 1 and {one["name"]: one["breaking"] for one in done.json["error"]["result"]["changes"]} == {
        "add": ["gone"], "plus": [],
    }  # fmt: skip
    write(project, "raise SystemExit(3)")
    done = once(project, "--baseline", "made.json")
    assert done.code == 4 and "exit code 3" in done.err


def test_a_baseline_that_cannot_be_written_is_told(project: Path) -> None:
    done = once(project, "--write-baseline", str(project))
    assert done.code == 2 and f"{project} cannot be written" in done.err and "mistake" not in done.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--once", "--baseline", "none.json"), "none.json is no baseline"),
        (("--watch", "nowhere/*.py"), "nowhere is not there"),
        (("--write-baseline", "x"), "--write-baseline needs --once"),
        (("--url", "http://127.0.0.1:1/mcp"), "no program that is started here"),
    ],
)
def test_what_cannot_be_meant_is_told(project: Path, words: tuple[str, ...], says: str) -> None:
    done = cli("dev", *words, *([] if "--url" in words else ["--", sys.executable, "server.py"]), cwd=project)
    assert done.code == 2 and says in done.err, done.err
