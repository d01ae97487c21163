"""Servers that do not start, or do not live: what is said about it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import ConnectionLost, Unreachable
from mcp_studio.transport.guard import child_environment
from tests.support import run
from tests.transport.stdio_kit import Ear, faulty, message, opened, python, transport

PYTHON = sys.executable


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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Programs of which none can be started."""
    programs = {"plain": "#!/bin/sh\n", "bare": f"touch {tmp_path}/ran\n", "lost": "#!/no/such/interpreter\n"}
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o644 if name == "plain" else 0o755)
    return tmp_path


@pytest.mark.parametrize(
    ("argv", "more", "message", "hint"),
    [
        (["no-such-thing"], {"env": {"PATH": "HERE"}}, "There is no command no-such-thing on the PATH.", ""),
        (["npx"], {"env": {"PATH": "HERE"}}, "npx", "Node.js"),
        (["uvx"], {"env": {"PATH": "HERE"}}, "uvx", "uv"),
        (["python"], {"env": {"PATH": "HERE"}}, "python", "python3"),
        (["npx -y some-server"], {}, "npx", "args"),
        (["HERE/gone"], {}, "There is no file HERE/gone.", ""),
        (["HERE/plain"], {}, "HERE/plain is no executable file.", "Try: chmod +x HERE/plain"),
        (["HERE"], {}, "HERE is no executable file.", ""),
        (["HERE/bare"], {}, "HERE/bare", "interpreter"),
        (["HERE/lost"], {}, "HERE/lost cannot be run: the interpreter that it names does not exist.", ""),
        ([PYTHON], {"cwd": "HERE/gone"}, "folder HERE/gone cannot be entered: No such file or directory.", "cwd"),
        ([PYTHON], {"cwd": "HERE/bare"}, "The working folder HERE/bare cannot be entered: Not a directory.", ""),
        ([""], {}, "names no command", ""),
        (["a\0b"], {}, "NUL", ""),
        ([PYTHON, "x" * 200_000], {}, "too long", ""),
    ],
    ids=lambda one: str(one)[:60],
)
def test_what_cannot_be_started_is_named_and_handed_to_no_shell(
    folder: Path, argv: list[str], more: dict[str, Any], message: str, hint: str
) -> None:
    def here(text: str) -> str:
        return text.replace("HERE", str(folder))

    about = {key: {name: here(text) for name, text in value.items()} if key == "env" else here(value)
             for key, value in more.items()}  # fmt: skip
    error = refused([here(word) for word in argv], **about)
    assert here(message) in error.message and here(hint) in error.hint
    assert not (folder / "ran").exists()


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
