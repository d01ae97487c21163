"""No path leads out of the roots: not by its words, not by links, not while somebody swaps folders for links."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_studio.protocol.message import Request
from mcp_studio.servers.files.server import build
from mcp_studio.servers.toolserver import ToolPeer

SECRET = "SECRET"
LINKS = {
    "out": "../secret", "up": "..", "all": "/", "key": "../secret/key", "new": "../secret/new", "here": ".",
    "far": "a/../../secret", "proc": "/proc/self/root", "cwd": "/proc/self/cwd", "two": "out/key", "loop": "loop",
    "beside": "../rootx",
}  # fmt: skip
NAMES = (
    *LINKS, "..", ".", "", "a", "b", "c.txt", "secret", "rootx", "root", "key", "tmp", "etc", "passwd", "~", "...",
    "%2e%2e", "..%2f", "．．", "․․", "..\\", "..;", " ..", ".. ", "..\0", "\udc2e\udc2e", "\ud800", "x" * 300,
    "é", "e\u0301",
)  # fmt: skip
TOOLS = (
    "read_file", "read_files", "write_file", "edit_file", "list_directory", "directory_tree", "search_files",
    "get_file_info", "move_file", "copy_file", "delete_file", "read", "complete",
)  # fmt: skip


class World:
    """A root with links that lead out, what is outside, and a server of the root in this process."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "root"
        for name in ("secret", "rootx"):
            (folder / name).mkdir()
            (folder / name / "key").write_text(SECRET)
            (folder / name / f"{SECRET}.txt").write_text(SECRET)
        self.before = self.outside()
        self.root.mkdir()
        self.peer = ToolPeer(build([str(self.root)]))
        self.loop = asyncio.Runner()
        self.restore()
        assert "inside" in str(self.use("read_file", "a/c.txt", ""))

    def restore(self) -> None:
        """Put back what calls have changed in the root."""
        (self.root / "a/b").mkdir(parents=True, exist_ok=True)
        if not (self.root / "a/c.txt").is_file():
            with suppress(OSError):
                (self.root / "a/c.txt").write_text("inside")
        for name, target in LINKS.items():
            if not os.path.lexists(self.root / name):
                (self.root / name).symlink_to(target)

    def outside(self) -> dict[str, Any]:
        """All that is outside of the root."""
        return {
            str(one): (one.read_text() if one.is_file() else sorted(os.listdir(one)), one.lstat().st_ino)
            for name in ("secret", "rootx")
            for one in (self.folder / name, *sorted((self.folder / name).rglob("*")))
        }

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to a request."""
        answers: list[dict[str, Any]] = []

        async def put(message: dict[str, Any]) -> None:
            answers.append(message)

        async def take() -> None:
            task = self.peer.take(Request(1, method, params), put)
            assert task is not None
            await task

        self.loop.run(take())
        return answers[-1]

    def use(self, tool: str, path: str, other: str) -> dict[str, Any]:
        """Do something with a path."""
        if tool == "read":
            return self.ask("resources/read", uri=path)
        if tool == "complete":
            return self.ask("completion/complete", argument={"name": "path", "value": path})
        arguments: dict[str, Any] = {"path": path}
        if tool == "read_files":
            arguments = {"paths": [path, other]}
        elif tool in ("move_file", "copy_file"):
            arguments = {"source": path, "destination": other}
        elif tool == "write_file":
            arguments["content"] = "overwritten"
        elif tool == "edit_file":
            arguments["edits"] = [{"old": "E", "new": "e", "every": True}]
        elif tool == "search_files":
            arguments["text"] = SECRET[:3]
        elif tool == "delete_file":
            arguments["recursive"] = True
        return self.ask("tools/call", name=tool, arguments=arguments)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("escapes"))
    yield made
    made.loop.close()


paths = st.builds(
    lambda start, names, end: start + "/".join(names) + end,
    st.sampled_from(["", "/", "ROOT/", "ROOT", "FOLDER/", "file://ROOT/", "file:///", "file://", "FOLDER/root/../"]),
    st.lists(st.one_of(st.sampled_from(NAMES), st.text(max_size=5)), max_size=6),
    st.sampled_from(["", "/", "/.", "\0"]),
)


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(path=paths, other=paths)
def test_no_path_leads_out(world: World, path: str, other: str) -> None:
    here, there = (one.replace("ROOT", str(world.root)).replace("FOLDER", str(world.folder)) for one in (path, other))
    for tool in TOOLS:
        world.restore()
        answer = world.use(tool, here, there)
        assert "error" in answer or "result" in answer, tool
        assert "failed" not in str(answer.get("error", "")), (tool, answer)
        said = str(answer).replace(here, "").replace(there, "")
        assert SECRET not in said, tool
    assert world.root.is_dir() and world.outside() == world.before


RACED = {
    "read_file": {"path": "swapped/key"}, "write_file": {"path": "swapped/key", "content": "overwritten"},
    "edit_file": {"path": "swapped/key", "edits": [{"old": "E", "new": "e", "every": True}]},
    "list_directory": {"path": "swapped"}, "directory_tree": {"path": "."},
    "search_files": {"path": ".", "text": SECRET[:3]}, "delete_file": {"path": "swapped", "recursive": True},
    "copy_file": {"source": "swapped/key", "destination": "copied"},
    "move_file": {"source": "swapped/key", "destination": "moved"}, "read_file leaf": {"path": "leaf"},
    "write_file leaf": {"path": "leaf", "content": "overwritten"}, "get_file_info leaf": {"path": "leaf"},
}  # fmt: skip


SWAP = """
import os, sys
os.chdir(sys.argv[1])
def quietly(do, *words):
    try:
        do(*words)
    except OSError:
        pass
while True:
    quietly(os.mkdir, "swapped")
    for name in ("swapped/key", "leaf"):
        quietly(lambda: open(name, "x").write("inside E") and None)
    quietly(os.symlink, "../secret", "link")
    quietly(os.symlink, "../secret/key", "leaflink")
    quietly(os.rename, "swapped", "spare")
    quietly(os.rename, "link", "swapped")
    quietly(os.rename, "leaf", "leafspare")
    quietly(os.rename, "leaflink", "leaf")
    quietly(os.rename, "leaf", "leaflink")
    quietly(os.rename, "leafspare", "leaf")
    quietly(os.rename, "swapped", "link")
    quietly(os.rename, "spare", "swapped")
"""
"""Swaps a folder for a link that leads out, and back, for ever."""


@pytest.mark.parametrize("tool", RACED)
def test_a_folder_that_is_swapped_for_a_link_meanwhile_leads_nowhere(tmp_path: Path, tool: str) -> None:
    world = World(tmp_path)
    swapper = subprocess.Popen([sys.executable, "-c", SWAP, str(world.root)])
    done = Counter[bool]()
    try:
        until = time.monotonic() + 1.5
        while time.monotonic() < until and done.total() < 2_000:
            result = world.ask("tools/call", name=tool.partition(" ")[0], arguments=RACED[tool])["result"]
            assert SECRET not in str(result)
            done["isError" in result] += 1
            for name in ("copied", "moved"):
                (world.root / name).unlink(missing_ok=True)
    finally:
        swapper.kill()
        swapper.wait()
        world.loop.close()
    assert world.outside() == world.before
    assert done[False]
