"""What stands around a server is proved by one that tries to climb it: by each tool that this machine has."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from mcp_studio.config.model import Sandbox, ServerConfig
from mcp_studio.errors import Unreachable
from mcp_studio.limits import DEFAULT
from mcp_studio.sandbox import walls
from tests.studio_support import call, opened, stdio, text
from tests.support import python_server, run
from tests.transport.stdio_kit import Ear, alive, below, message
from tests.transport.test_guard_parent import nobody_left, parent

BUBBLEWRAP, LANDLOCK, FILTER = "bubblewrap", "Landlock", "a filter of system calls"
SEALED = Sandbox(network=False, files="none")


@pytest.fixture(params=[BUBBLEWRAP, LANDLOCK])
def tool(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The tool that builds the walls."""
    if request.param == LANDLOCK:
        (tmp_path / "bin").mkdir()
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    found, reason = walls.tool(ServerConfig("s", sandbox=SEALED))
    if not found.startswith(request.param):
        pytest.skip(f"not on this machine: {reason or found}")
    return request.param


class Land:
    """A home with a folder that is named in the sandbox, and what lies around that."""

    def __init__(self, home: Path) -> None:
        self.home, self.named = home, home / "named"
        self.named.mkdir(parents=True)
        self.note, self.secret = self.named / "note.txt", home / "secret.txt"
        self.note.write_text("a note")
        self.secret.write_text("a secret")
        (self.named / "way out").symlink_to("../secret.txt")

    def climber(self, files: Any = "", *, network: bool = True, argv: tuple[str, ...] = ()) -> ServerConfig:
        """A server that climbs, with the named folder where files are restricted."""
        paths = (str(self.named),) if files in ("read", "readwrite") else ()
        return stdio(python_server("raw_climber", *argv), sandbox=Sandbox(network, files, paths), cwd=str(self.named))

    def attempts(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """What reaches out of the named folder."""
        here = f"/proc/{os.getpid()}"
        return {
            "read": ("read", {"path": str(self.secret)}),
            "read by a link": ("read", {"path": str(self.named / "way out")}),
            "read by /proc": ("read", {"path": f"{here}/root{self.secret}"}),
            "environment": ("read", {"path": f"{here}/environ"}),
            "write": ("write", {"path": str(self.secret)}),
            "make": ("write", {"path": str(self.home / "made.txt")}),
            "cut": ("truncate", {"path": str(self.secret)}),
            "hard link": ("link", {"path": str(self.secret), "name": str(self.named / "mine")}),
        }


@pytest.fixture
def land(monkeypatch: pytest.MonkeyPatch) -> Iterator[Land]:
    """Not below /tmp, of which programs may have their own."""
    with TemporaryDirectory(dir="/var/tmp") as folder:
        found = Land(Path(folder) / "home")
        monkeypatch.setenv("HOME", str(found.home))
        yield found


def made(server: ServerConfig, *attempts: tuple[str, dict[str, Any]]) -> list[str]:
    """What came of attempts, each also made by a child process of the server."""

    async def all_made() -> list[str]:
        found: list[str] = []
        async with opened(server) as studio:
            for name, arguments in attempts:
                found.append(text(await call(studio, name, **arguments)))
                found.append(text(await call(studio, "child", attempt=name, arguments=arguments)))
        return found

    return run(all_made())


def refused(answers: list[str]) -> bool:
    return all(answer.startswith("refused: ") for answer in answers)


@pytest.mark.parametrize("files", ["none", "read", "readwrite"])
def test_no_file_outside_is_reached(tool: str, land: Land, files: str) -> None:
    attempts = land.attempts()
    answers = made(land.climber(files), *attempts.values())
    assert refused(answers), dict(zip(attempts, zip(answers[::2], answers[1::2], strict=True), strict=True))
    assert land.secret.read_text() == "a secret"
    assert sorted(os.listdir(land.home)) == ["named", "secret.txt"]


def test_without_a_sandbox_all_of_it_is_reached(land: Land) -> None:
    with listeners() as (attempts, _):
        answers = made(land.climber(), *land.attempts().values(), *attempts.values())
    assert [answer for answer in answers if answer.startswith("refused")] == ["refused: File exists"]


@pytest.mark.parametrize(
    ("files", "read", "write"), [("none", False, False), ("read", True, False), ("readwrite", True, True)]
)
def test_the_named_folder_is_as_open_as_the_entry_says(
    tool: str, land: Land, files: str, read: bool, write: bool
) -> None:
    reading = ("read", {"path": str(land.note)})
    answers = made(land.climber(files), reading)
    assert answers == ["a note"] * 2 if read else refused(answers)
    new = ("write", {"path": str(land.named / "new.txt")})
    assert refused(made(land.climber(files), new)) is not write
    assert (land.named / "new.txt").exists() is write
    changed = made(land.climber(files), ("write", {"path": str(land.note)}), ("truncate", {"path": str(land.note)}))
    assert refused(changed) is not write
    assert land.note.read_text() == ("" if write else "a note")


def test_home_shows_only_what_is_named(tool: str, land: Land) -> None:
    answer, of_child = made(land.climber("read"), ("listing", {"path": str(land.home)}))
    assert answer == of_child
    assert answer == '["named"]' or answer.startswith("refused")


def test_the_temporary_folder_is_the_programs_own_or_none(tool: str, land: Land) -> None:
    there = Path("/tmp") / f"climbed-{os.getpid()}"
    answers = made(land.climber("read"), ("write", {"path": str(there)}))
    assert refused(answers) is (tool == LANDLOCK)
    assert not there.exists()


@contextmanager
def listeners() -> Iterator[tuple[dict[str, tuple[str, dict[str, Any]]], list[socket.socket]]]:
    """Attempts to reach this process, and the sockets that hear of them if they do."""
    tcp, udp = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    stream, datagram = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    folder = Path("/run") / f"climbed-{os.getpid()}" if os.access("/run", os.W_OK) else Path(f"/var/tmp/{os.getpid()}")
    folder.mkdir()
    try:
        with tcp, udp, stream, datagram:
            udp.bind(("127.0.0.1", 0))
            stream.bind(str(folder / "stream"))
            stream.listen()
            datagram.bind(str(folder / "datagram"))
            for one in (tcp, udp, stream, datagram):
                one.setblocking(False)
            yield (
                {
                    "tcp": ("connect", {"port": tcp.getsockname()[1]}),
                    "udp": ("send", {"port": udp.getsockname()[1]}),
                    "stream": ("call", {"path": str(folder / "stream")}),
                    "post": ("post", {"path": str(folder / "datagram")}),
                },
                [tcp, udp, stream, datagram],
            )
    finally:
        shutil.rmtree(folder)


def heard(sockets: list[socket.socket]) -> bool:
    """Whether anything arrived; what is sent on this machine arrives before its sender goes on."""
    for one in sockets:
        try:
            one.accept() if one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) else one.recv(10)
        except BlockingIOError:
            continue
        return True
    return False


@pytest.mark.parametrize("files", ["none", "read", "readwrite"])
def test_nobody_is_reached_without_network(tool: str, land: Land, files: str) -> None:
    with listeners() as (attempts, sockets):
        made_there = made(land.climber(files, network=False), *attempts.values())
        # A network of the program's own takes datagrams to itself.
        assert refused([answer for answer in made_there if answer != "sent"]), made_there
        assert not heard(sockets)


def test_nobody_is_reached_without_network_though_files_are_open(land: Land) -> None:
    server = land.climber(network=False)
    if reason := walls.tool(server)[1]:
        pytest.skip(f"not on this machine: {reason}")
    with listeners() as (attempts, sockets):
        assert refused(made(server, *attempts.values()))
        assert not heard(sockets)
    assert walls.in_words(server) == f"no network, by {FILTER}"
    assert made(server, ("read", {"path": str(land.secret)})) == ["a secret"] * 2


def test_with_network_no_unix_socket_is_reached_behind_the_walls_of_files(tool: str, land: Land) -> None:
    with listeners() as (attempts, sockets):
        assert made(land.climber("read"), attempts["tcp"]) == ["connected"] * 2
        assert refused(made(land.climber("read"), attempts["stream"], attempts["post"]))
        assert not heard(sockets[2:])
    with socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(name := f"\0climbed-{os.getpid()}")
        abstract.listen()
        assert made(land.climber(), ("call", {"path": name})) == ["connected"] * 2
        assert refused(made(land.climber("read"), ("call", {"path": name})))


@pytest.mark.parametrize("files", ["", "none"])
def test_event_loops_have_their_pairs_of_sockets(tool: str, land: Land, files: str) -> None:
    assert made(land.climber(files, network=False), ("pair", {})) == ["heard"] * 2


def test_environment_and_working_folder_are_the_same_inside(
    tool: str, land: Land, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LANG", "LC_ALL", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)

    async def told(server: ServerConfig) -> str:
        async with opened(server) as studio:
            return text(await call(studio, "surroundings"))

    outside = json.loads(run(told(land.climber())))
    assert outside[0] == str(land.named)
    for files in ("none", "read"):
        assert json.loads(run(told(land.climber(files, network=False)))) == outside
    assert json.loads(run(told(land.climber(network=False)))) == outside


def test_an_interpreter_is_found_by_links_scripts_and_the_path(
    tool: str, land: Land, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = land.home / "tools" / "bin"
    tools.mkdir(parents=True)
    (tools / "thing").symlink_to(sys.executable)
    script = tools / "server"
    script.write_text(f"#!/usr/bin/env -S thing {python_server('raw_climber')[1]}\n")
    script.chmod(0o755)
    (land.home / "command").symlink_to(script)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    places = (str(Path(python_server("raw_climber")[1]).parent),)
    server = stdio([str(land.home / "command")], sandbox=Sandbox(False, "read", places))

    async def answer() -> str:
        async with opened(server) as studio:
            return text(await call(studio, "read", path=str(land.secret)))

    assert run(answer()).startswith("refused")


def inside(server: ServerConfig) -> list[str]:
    return list(walls.argv(server))


@pytest.mark.parametrize("files", ["", "none"])
def test_nothing_of_a_server_inside_walls_outlives_the_program(tool: str, files: str) -> None:
    argv = python_server("raw_server")
    with parent(inside(stdio(argv, sandbox=Sandbox(network=False, files=files)))) as program:
        pids = below(program.pid)
        assert any("raw_server" in line for line in pids.values())
        program.kill()
        nobody_left(pids)


def test_killing_the_keeper_ends_a_server_inside_walls(tool: str) -> None:
    with parent(inside(stdio(python_server("raw_server"), sandbox=SEALED))) as program:
        guard, keeper, *others = sorted(below(program.pid))
        os.kill(keeper, 9)
        nobody_left(dict.fromkeys((keeper, *others), ""))
        assert alive(guard)


def test_a_server_inside_walls_is_asked_to_leave_before_it_is_killed(tool: str, land: Land) -> None:
    from mcp_studio.session.sign_in import make_transport

    left = land.named / "left"

    async def closed() -> None:
        ear = Ear()
        server = land.climber("readwrite", argv=("--on-term", str(left)))
        transport = make_transport(server, replace(DEFAULT, leave=0.1), ear)
        await transport.open(ear)
        await transport.send(message("ping", 1))
        await ear.frames_are(1)
        await transport.close()

    run(closed())
    assert left.read_text() == "climbed"


def test_a_folder_that_is_not_there_is_a_refusal(tool: str, tmp_path: Path) -> None:
    server = stdio(python_server("raw_server"), sandbox=Sandbox(True, "read", (str(tmp_path / "no"),)))
    with pytest.raises(Unreachable, match=r"there is no .*/no") as refusal:
        walls.argv(server)
    assert "paths" in refusal.value.hint


@pytest.mark.parametrize(
    ("place", "hint"), [(".pyenv/shims", "`pyenv which tool`"), ("share/mise/shims", "`mise which tool`")]
)
def test_a_shim_is_refused_with_what_to_write_instead(tool: str, tmp_path: Path, place: str, hint: str) -> None:
    shim = tmp_path / place / "tool"
    shim.parent.mkdir(parents=True)
    shim.write_text("#!/bin/sh\n")
    shim.chmod(0o755)
    with pytest.raises(Unreachable, match=r"tool is a shim of") as refusal:
        walls.argv(stdio([str(shim)], sandbox=Sandbox(True, "none")))
    assert hint in refusal.value.hint


def test_the_words_name_walls_and_tool(tool: str, land: Land) -> None:
    words = walls.in_words(land.climber("readwrite", network=False))
    assert words.startswith(f"no network, reads and writes only {land.named}, by {tool}")
    assert walls.in_words(land.climber("none")) == f"none of your files, by {tool} and {FILTER}"
    assert walls.in_words(land.climber()) == ""
