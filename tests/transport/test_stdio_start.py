"""Servers that do not start, or do not live: what is said about it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import ConnectionLost, Unreachable
from mcp_studio.transport.guard import child_environment
from tests.support import run
from tests.transport.stdio_kit import Ear, faulty, message, opened, python, transport


def refused(argv: list[str], **config: object) -> Unreachable:
    """How opening this fails."""

    async def attempt() -> Unreachable:
        ear = Ear()
        subject = transport(argv, ear, **config)
        with pytest.raises(Unreachable) as caught:
            await subject.open(ear)
        await subject.close()
        assert ear.ends == []
        return caught.value

    return run(attempt())


def script(folder: Path, text: str, mode: int = 0o755) -> str:
    file = folder / "server"
    file.write_text(text)
    file.chmod(mode)
    return str(file)


def test_an_unknown_command_is_named(tmp_path: Path) -> None:
    error = refused(["no-such-thing"], env={"PATH": str(tmp_path)})
    assert error.message == "There is no command no-such-thing on the PATH."
    assert error.hint == ""


@pytest.mark.parametrize(("command", "word"), [("npx", "Node.js"), ("uvx", "uv"), ("python", "python3")])
def test_a_missing_launcher_says_where_it_comes_from(command: str, word: str, tmp_path: Path) -> None:
    assert word in refused([command], env={"PATH": str(tmp_path)}).hint


def test_arguments_inside_the_command_are_pointed_out() -> None:
    assert "args" in refused(["npx -y some-server"]).hint


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert refused([f"{tmp_path}/gone"]).message == f"There is no file {tmp_path}/gone."


def test_a_file_that_is_not_executable_is_named_with_the_cure(tmp_path: Path) -> None:
    file = script(tmp_path, "#!/bin/sh\n", 0o644)
    error = refused([file])
    assert error.message == f"{file} is no executable file."
    assert error.hint == f"Try: chmod +x {file}"


def test_a_folder_is_no_program(tmp_path: Path) -> None:
    assert refused([str(tmp_path)]).message == f"{tmp_path} is no executable file."


def test_a_script_without_interpreter_line_is_not_handed_to_a_shell(tmp_path: Path) -> None:
    file = script(tmp_path, f"touch {tmp_path}/ran\n")
    assert "interpreter" in refused([file]).hint
    assert not (tmp_path / "ran").exists()


def test_a_script_whose_interpreter_is_missing_is_told_from_a_missing_file(tmp_path: Path) -> None:
    file = script(tmp_path, "#!/no/such/interpreter\n")
    assert refused([file]).message == f"{file} cannot be run: the interpreter that it names does not exist."


def test_a_missing_working_folder_is_named(tmp_path: Path) -> None:
    error = refused([sys.executable], cwd=str(tmp_path / "gone"))
    assert error.message == f"The working folder {tmp_path}/gone cannot be entered: No such file or directory."
    assert "cwd" in error.hint


def test_a_working_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    file = script(tmp_path, "")
    assert (
        refused([sys.executable], cwd=file).message == f"The working folder {file} cannot be entered: Not a directory."
    )


def test_no_command_and_impossible_ones_are_refused() -> None:
    assert "names no command" in refused([""]).message
    assert "NUL" in refused(["a\0b"]).message
    assert "too long" in refused([sys.executable, "x" * 200_000]).message


def test_the_command_gets_exactly_its_arguments_folder_and_environment(tmp_path: Path) -> None:
    code = "import json; say(json.dumps([sys.argv[1:], os.getcwd(), sorted(os.environ), os.environ['X']]).encode())"
    odd = ["", "a b", "$HOME", "`id`", "\udcff", "ü", "*"]

    async def go() -> list[bytes]:
        ear = Ear()
        subject = transport([*python(code), *odd], ear, env={"PATH": "/bin", "X": "a=b\nc"}, cwd=str(tmp_path))
        await subject.open(ear)
        frames = await ear.frames_are(1)
        await subject.close()
        return frames

    import json

    argv, cwd, names, value = json.loads(run(go())[0])
    assert argv == odd
    assert cwd == str(tmp_path)
    assert value == "a=b\nc"
    assert set(names) <= {"HOME", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "X"}


async def test_dying_at_start_tells_code_and_last_words_once() -> None:
    async with opened(faulty("dies-at-start")) as (subject, ear):
        error = await ear.the_end()
        assert isinstance(error, ConnectionLost)
        assert error.message == (
            "it ended with exit code 3; it said last: raw: loading the licence | raw: fatal: no licence file"
        )
        with pytest.raises(ConnectionLost, match="exit code 3"):
            await subject.send(message("ping", 1))
    assert len(ear.ends) == 1


async def test_a_shell_that_finds_no_command_tells_127() -> None:
    async with opened(["/bin/sh", "-c", "no-such-server --stdio"]) as (_, ear):
        error = await ear.the_end()
        assert "exit code 127" in error.message
        assert "no-such-server" in error.message


async def test_a_signal_is_told_by_name() -> None:
    async with opened(python("os.kill(os.getpid(), 11)")) as (_, ear):
        assert (await ear.the_end()).message == "it was ended by SIGSEGV."


OURS = {"HOME": "/home/me", "PATH": "/bin", "TERM": "xterm", "SECRET": "s3cr3t", "LANG": "C", "USER": "() { evil; }"}


def test_only_the_harmless_variables_are_passed_on() -> None:
    got = child_environment(ServerConfig("a"), OURS)
    assert {"HOME": "/home/me", "PATH": "/bin", "TERM": "xterm"}.items() <= got.items()
    assert "SECRET" not in got
    assert "LANG" not in got


def test_a_shell_function_is_never_passed_on() -> None:
    assert "USER" not in child_environment(ServerConfig("a", inherit_env=("USER",)), OURS)


def test_an_entry_can_inherit_and_set_variables() -> None:
    config = ServerConfig("a", env={"TERM": "dumb", "NEW": ""}, inherit_env=("SECRET", "MISSING"))
    got = child_environment(config, OURS)
    assert (got["TERM"], got["NEW"], got["SECRET"]) == ("dumb", "", "s3cr3t")
    assert "MISSING" not in got
