"""What each tool of the filesystem server does and refuses, through the studio."""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path
from typing import Any

from mcp_studio.call.call import Call, Succeeded, ToolFailed
from mcp_studio.catalog.listing import Ref
from tests.files.kit import argv, filled
from tests.studio_support import call, opened, stdio
from tests.support import wait_until

READ: list[tuple[dict[str, Any], dict[str, Any] | str]] = [
    ({"path": "notes.txt"}, {"content": "one\ntwo\nthree\nfour\n", "size": 19, "truncated": False}),
    ({"path": "notes.txt", "head": 2}, {"content": "one\ntwo\n", "first_line": 1, "last_line": 2}),
    ({"path": "notes.txt", "tail": 1}, {"content": "four\n"}),
    ({"path": "notes.txt", "start_line": 2, "end_line": 3}, {"content": "two\nthree\n", "first_line": 2}),
    ({"path": "notes.txt", "start_line": 4}, {"content": "four\n", "last_line": 4}),
    ({"path": "notes.txt", "start_line": 99}, {"content": "", "truncated": False}),
    ({"path": "notes.txt", "offset": 4, "length": 3}, {"content": "two"}),
    ({"path": "notes.txt", "offset": 1_000}, {"content": ""}),
    ({"path": "./src/../notes.txt", "head": 1}, {"content": "one\n"}),
    ({"path": "inside"}, {"content": "import os\nneedle = 1\n"}),
    ({"path": "round/more.py"}, {"content": "# Needle\n"}),
    ({"path": "data.bin", "encoding": "base64"}, {"content": base64.b64encode(bytes(range(256))).decode()}),
    ({"path": "large.txt", "tail": 2}, {"content": "line\nline\n", "size": 12_500_000}),
    ({"path": "large.txt", "start_line": 2_000_000, "end_line": 2_000_000}, {"content": "line\n"}),
    ({"path": "large.txt", "offset": 12_499_995, "length": 5}, {"content": "line\n"}),
    ({"path": "large.txt"}, "has 11.9 MB, and an answer at most 10 MB. Read a part of it"),
    ({"path": "data.bin"}, 'is no UTF-8 text (byte 128). Read it with encoding = "base64".'),
    ({"path": "notes.txt", "head": 1, "tail": 1}, "Choose one of head, tail"),
    ({"path": "notes.txt", "head": -1}, "head: Input should be greater than or equal to 0"),
    ({}, "path: Missing required argument"),
    ({"path": "nothing"}, "There is no `nothing`. List the folder"),
    ({"path": "src"}, "is a folder. List it"),
    ({"path": "notes.txt/x"}, "`notes.txt/x` is not a folder"),
    ({"path": "pipe"}, "is a pipe, device or link"),
    ({"path": "circle"}, "was replaced by a link"),
    ({"path": "outside/key"}, "`outside/key` is outside of what is served, or a link leads there."),
    ({"path": "above"}, "`above` is outside"),
    ({"path": "../secret/key"}, "is outside"),
    ({"path": "/etc/passwd"}, "`/etc/passwd` is outside"),
    ({"path": "file:///etc/passwd"}, "is outside"),
    ({"path": "file://elsewhere/etc/passwd"}, "That is no path."),
    ({"path": "a\0b"}, "That is no path."),
    ({"path": "x" * 300}, "is too long"),
    ({"path": "a/" * 200 + "b"}, "There is no"),
]
"""Arguments of read_file, and the result or a part of the refusal."""


async def result(studio: Any, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """The structured content of a call that fits the output schema."""
    outcome = await call(studio, tool, **arguments)
    assert isinstance(outcome, Succeeded) and not outcome.problems, outcome
    return outcome.result["structuredContent"]


async def refusal(studio: Any, tool: str, /, **arguments: Any) -> str:
    """What a call that fails says."""
    outcome = await call(studio, tool, **arguments)
    assert isinstance(outcome, ToolFailed), outcome
    return outcome.result["content"][0]["text"]


async def test_reading(tmp_path: Path) -> None:
    async with opened(stdio(argv(filled(tmp_path)))) as studio:
        for arguments, wanted in READ:
            if isinstance(wanted, str):
                said = await refusal(studio, "read_file", **arguments)
                assert wanted in said and "SECRET" not in said, arguments
            else:
                got = await result(studio, "read_file", **arguments)
                assert {key: got.get(key) for key in wanted} == wanted, arguments
        some = await result(studio, "read_files", paths=["notes.txt", "nothing", "above"])
        assert [one.get("error", "")[:14] for one in some["files"]] == ["", "There is no `n", "`above` is out"]
        assert "at most 50" in await refusal(studio, "read_files", paths=["notes.txt"] * 51)


async def test_looking(tmp_path: Path) -> None:
    root = filled(tmp_path)
    os.mkdir(os.fsencode(root) + b"/bad\xff")
    async with opened(stdio(argv(root))) as studio:
        listed = await result(studio, "list_directory", limit=3)
        assert [(Path(one["path"]).name, one["kind"]) for one in listed["entries"]] == [
            (".git", "directory"), ("above", "link"), ("bad\ufffd", "directory"),
        ]  # fmt: skip
        assert listed["truncated"]
        assert "is not a folder" in await refusal(studio, "list_directory", path="notes.txt")
        tree = await result(studio, "directory_tree", exclude=["*.txt", "bad*"])
        assert tree["tree"].splitlines() == [
            ".git/", "  config", "above (link)", "circle (link)", "data.bin", "inside (link)", "outside (link)",
            "pipe (no file)", "round (link)", "src/", "  deep/", "    more.py", "  main.py",
        ]  # fmt: skip
        assert (tree["files"], tree["folders"], tree["truncated"]) == (4, 3, "")
        assert "ended after 2 lines" in (await result(studio, "directory_tree", limit=2))["truncated"]
        info = await result(studio, "get_file_info", path="outside")
        assert (info["kind"], info["target"]) == ("link", str(tmp_path / "secret"))
        strange = await result(studio, "list_directory", path=f"file://{root}/bad%FF")
        assert strange["entries"] == []


SEARCHED: list[tuple[dict[str, Any], list[str] | str]] = [
    ({"glob": "*.py"}, ["src/deep/more.py", "src/main.py"]),
    ({"glob": "src/*.py"}, ["src/main.py"]),
    ({"glob": "**/deep/**"}, ["src/deep/more.py"]),
    ({"glob": "{notes,dos}.[!b]*"}, ["dos.txt", "notes.txt"]),
    ({"text": "needle"}, ["src/main.py:2:needle = 1"]),
    ({"text": "needle", "ignore_case": True}, ["src/deep/more.py:1:# Needle", "src/main.py:2:needle = 1"]),
    ({"text": "^t\\w+$", "is_regex": True, "glob": "*.txt"}, ["notes.txt:2:two", "notes.txt:3:three"]),
    ({"text": "needle", "exclude": ["src"]}, [".git/config:1:needle"]),
    ({"text": "(", "is_regex": True}, "The pattern cannot be read: missing )"),
    ({"text": "(?:l|i|n|e|li|ne|\\n)+\\d", "is_regex": True}, "A pattern takes too long."),
]
"""Arguments of search_files, and what is found or a part of the refusal."""


async def test_searching(tmp_path: Path) -> None:
    root = filled(tmp_path)
    (root / "large.txt").write_text("line\n" * 1_000_000)
    async with opened(stdio(argv(root))) as studio:
        for arguments, wanted in SEARCHED:
            if isinstance(wanted, str):
                assert wanted in await refusal(studio, "search_files", **arguments), arguments
                continue
            got = (await result(studio, "search_files", **arguments))["matches"]
            said = [":".join(str(one[key]) for key in ("path", "line", "text") if key in one) for one in got]
            assert [one.removeprefix(f"{root}/") for one in said] == wanted, arguments


async def test_changing(tmp_path: Path) -> None:
    root = filled(tmp_path)
    (root / "notes.txt").chmod(0o640)
    async with opened(stdio(argv(root))) as studio:
        made = await result(studio, "write_file", path="a/b/c.txt", content="grüße")
        assert made["created"] and (root / "a/b/c.txt").read_text() == "grüße"
        assert not (await result(studio, "write_file", path="inside", content="new"))["created"]
        assert (root / "inside").is_symlink() and (root / "src/main.py").read_text() == "new"
        await result(studio, "write_file", path="d.bin", content="AAE=", encoding="base64")
        assert (root / "d.bin").read_bytes() == b"\0\1"
        for path, said in (
            ("outside/x", "is outside"),
            ("src", "is a folder"),
            ("pipe", "is a pipe"),
            ("..", "outside"),
        ):
            assert said in await refusal(studio, "write_file", path=path, content="x")
        assert "no valid Base64" in await refusal(studio, "write_file", path="e", content="!", encoding="base64")
        assert "at most 10 MB are written" in await refusal(studio, "write_file", path="e", content="x" * 10_500_000)

        edits = [{"old": "two", "new": "2"}, {"old": "three\nfour", "new": "34"}]
        tried = await result(studio, "edit_file", path="notes.txt", edits=edits, dry_run=True)
        assert tried["diff"].splitlines()[2:] == ["@@ -1,4 +1,3 @@", " one", "-two", "-three", "-four", "+2", "+34"]
        assert not tried["written"] and (root / "notes.txt").read_text().startswith("one\ntwo")
        done = await result(studio, "edit_file", path="notes.txt", edits=edits)
        assert done["diff"] == tried["diff"] and (root / "notes.txt").read_text() == "one\n2\n34\n"
        assert stat.S_IMODE((root / "notes.txt").stat().st_mode) == 0o640
        await result(studio, "edit_file", path="dos.txt", edits=[{"old": "a\nb", "new": "x\ny"}])
        assert (root / "dos.txt").read_bytes() == b"x\r\ny\r\n"
        (root / "long.txt").write_text("".join(f"{number}\n" for number in range(100_000)))
        far = await result(studio, "edit_file", path="long.txt", edits=[{"old": "\n70000\n", "new": "\nhere\n"}])
        hunk = [
            "@@ -69998,7 +69998,7 @@",
            " 69997",
            " 69998",
            " 69999",
            "-70000",
            "+here",
            " 70001",
            " 70002",
            " 70003",
        ]
        assert far["diff"].splitlines()[2:] == hunk
        for old, said in (("zzz", "Edit 1: the old text is not in the file."), ("\n", "is 3 times in the file")):
            assert said in await refusal(studio, "edit_file", path="notes.txt", edits=[{"old": old, "new": ""}])
        await result(studio, "edit_file", path="notes.txt", edits=[{"old": "\n", "new": ";", "every": True}])
        assert (root / "notes.txt").read_text() == "one;2;34;"
        ended = [{"old": "4;", "new": "4;\n"}]
        tried = await result(studio, "edit_file", path="notes.txt", edits=ended, dry_run=True)
        hunk = ["@@ -1 +1 @@", "-one;2;34;", "\\ No newline at end of file", "+one;2;34;"]
        assert tried["diff"].splitlines()[2:] == hunk

        assert (await result(studio, "copy_file", source="notes.txt", destination="n/o.txt"))["size"] == 9
        assert stat.S_IMODE((root / "n/o.txt").stat().st_mode) == 0o640
        await result(studio, "move_file", source="n", destination="m")
        await result(studio, "move_file", source="m/o.txt", destination="p.txt")
        assert (root / "p.txt").read_text() == "one;2;34;" and list((root / "m").iterdir()) == []
        for tool in ("copy_file", "move_file"):
            assert "`dos.txt` exists already." in await refusal(studio, tool, source="p.txt", destination="dos.txt")
        assert "cannot be put into itself" in await refusal(studio, "move_file", source="src", destination="src/a/b")
        assert "is outside" in await refusal(studio, "move_file", source="p.txt", destination="outside/p.txt")

        await result(studio, "delete_file", path="outside")
        assert (tmp_path / "secret/key").exists() and not (root / "outside").is_symlink()
        assert "is not empty" in await refusal(studio, "delete_file", path="src")
        await result(studio, "delete_file", path="src", recursive=True)
        await result(studio, "delete_file", path="m")
        for path in (".", str(root), "src/.."):
            assert await refusal(studio, "delete_file", path=path, recursive=True)
        assert root.exists() and not [one.name for one in root.rglob("*.part")]


async def test_a_folder_is_copied_whole_or_not_at_all(tmp_path: Path) -> None:
    root = filled(tmp_path)
    inner = root / "n/deep/er"
    inner.mkdir(parents=True)
    (inner / "script").write_text("#!")
    (inner / "script").chmod(0o755)
    (root / "n/away").symlink_to("../../secret/key")
    async with opened(stdio(argv(root))) as studio:
        assert (await result(studio, "copy_file", source="n", destination="made/m"))["size"] == 2
        copied = root / "made/m"
        assert sorted(str(one.relative_to(copied)) for one in copied.glob("**/*")) == [
            "away", "deep", "deep/er", "deep/er/script",
        ]  # fmt: skip
        assert (copied / "away").is_symlink() and stat.S_IMODE((copied / "deep/er/script").stat().st_mode) == 0o755
        for source, destination, said in (("n", "n/deep/n", "into itself"), ("n", "made/m", "exists already")):
            assert said in await refusal(studio, "copy_file", source=source, destination=destination)
        os.mkfifo(root / "n/pipe")
        assert "not a file" in await refusal(studio, "copy_file", source="n", destination="other")
        assert not [one for one in os.listdir(root) if one.endswith(".part") or one == "other"]


async def test_only_reading_and_other_names(tmp_path: Path) -> None:
    options = ("--read-only", "--names", "harness")
    async with opened(stdio(argv(filled(tmp_path), options=options))) as studio:
        names = {entry.ref.name for entry in studio.catalog.entries("tool")}
        assert names == {"fs_read_file", "fs_read_files", "fs_list_directory", "fs_directory_tree", "fs_search_files",
                         "fs_get_file_info"}  # fmt: skip
        assert (await result(studio, "fs_read_file", path="notes.txt", head=1))["content"] == "one\n"


async def test_a_long_search_tells_how_far_it_is_and_can_be_cancelled(tmp_path: Path) -> None:
    for folder in range(40):
        (tmp_path / str(folder)).mkdir()
        for number in range(500):
            (tmp_path / str(folder) / f"{number}.txt").write_text("x")
    async with opened(stdio(argv(tmp_path))) as studio:
        pending: Call = studio.call_tool(Ref("tool", "s", "search_files"), {"text": "y"}, approved=True)
        await wait_until(lambda: pending.progress is not None or pending.outcome is not None)
        assert pending.outcome is None and "Searching" in str(pending.progress)
        pending.cancel()
        await pending.wait()
        assert (await result(studio, "list_directory", limit=1))["truncated"]
