"""The tools of a Python file: taken from it, and served, also when it changes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mcp_studio.call.call import ToolFailed
from mcp_studio.catalog.listing import Ref
from mcp_studio.errors import StudioError
from mcp_studio.servers.module import tools_in
from tests.cli.kit import cli
from tests.studio_support import call, opened, stdio, text

MINE = '''
"""My tools."""
from dataclasses import dataclass
from pathlib import Path

print("a word on standard output")


def add(a: int, b: int = 2) -> int:
    """Adds two numbers."""
    print("adding")
    return a + b


async def about(name: str) -> dict:
    """Says who."""
    return {"name": name}


def fails() -> None:
    raise RuntimeError("not today")


def _hidden() -> None: ...


class Echo:
    """Says it again."""

    name = "echo"

    def call(self, arguments):
        return arguments.get("text")


echo = Echo()
'''


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    return file


def test_public_functions_and_objects_are_tools(mine: Path) -> None:
    assert [tool.name for tool in tools_in(mine)] == ["add", "about", "fails", "echo"]
    mine.write_text(MINE + "__all__ = ['add', 'echo']\n")
    assert [tool.name for tool in tools_in(mine)] == ["add", "echo"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "There is no file"),
        ("x = 1\n", "has no tools"),
        ("def f(:\n", "line 1: SyntaxError"),
        ("\n\n1 / 0\n", "line 3: ZeroDivisionError"),
        ("import sys\nsys.exit(2)\n", "line 2: SystemExit"),
        ("def f(*a): ...\n", "f: The function 'f' cannot be a tool"),
        ("class E:\n  name = 'f'\n  def call(self, a): ...\ne = E()\ndef f(): ...\n", "two tools are called 'f'"),
        ("__all__ = ['x']\nx = 7\n", "x: A tool needs a `name`"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_with_its_place(content: str | None, said: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    if content is not None:
        file.write_text(content)
    with pytest.raises(StudioError, match=said):
        tools_in(file)


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_file_is_served(era: str, mine: Path) -> None:
    server = stdio([sys.executable, "-m", "mcp_studio.servers.module", str(mine)], era=era, inherit_env=("PYTHONPATH",))
    async with opened(server) as studio:
        listed = studio.catalog.listing("s", "tool").entries
        assert [entry.ref.name for entry in listed] == ["add", "about", "fails", "echo"]
        assert text(await call(studio, "add", a=1)) == "3"
        about = await call(studio, "about", name="x")
        assert about.result["structuredContent"] == {"name": "x"}  # type: ignore[attr-defined]
        assert text(await call(studio, "echo", text="ü")) == "ü"
        failed = await studio.call_tool(Ref("tool", "s", "fails"), {}, approved=True).wait()
        assert isinstance(failed, ToolFailed) and failed.result["content"][0]["text"] == "RuntimeError: not today"
        assert studio.manager.status("s").warnings == ()


def test_the_command_line_takes_a_file(mine: Path, tmp_path: Path) -> None:
    assert cli("list", "tools", "--module", str(mine)).out.splitlines()[0].split()[1] == "mine.add"
    assert cli("call", "mine.add", "a=4", "--yes", "--module", str(mine)).out == "6\n"
    missing = cli("list", "--module", str(tmp_path / "x.py"))
    assert missing.code == 2 and "is not there" in missing.err
    both = cli("list", "--module", str(mine), "--url", "http://127.0.0.1:1/")
    assert both.code == 2 and "Give one of --config, --url, --module and -- COMMAND." in both.err
    mine.write_text("1 / 0\n")
    broken = cli("list", "--module", str(mine))
    assert broken.code == 4 and "line 1: ZeroDivisionError" in broken.err
