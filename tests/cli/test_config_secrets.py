"""`config secrets` and references to secrets, by the real command line on a real keyring."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from mcp_studio.cli.main import run as main
from mcp_studio.paths import Paths
from tests.cli.kit import RAW, Done, argv, cli, environment
from tests.keyring_session import KeyringSession, own_keyring
from tests.servers.http_raw import RawServer, Reply, Request
from tests.support import run
from tests.terminal import Terminal

__all__ = ["own_keyring"]
SECRET = "Pl4nt3d-s3cret"


@pytest.fixture
def kept(own_keyring: KeyringSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[KeyringSession]:
    """A keyring that this process and command lines use, empty at the beginning."""
    own_keyring.use(monkeypatch)
    yield own_keyring
    own_keyring.clear()


def secrets(*words: str, given: str = "", **env: str) -> Done:
    """`config secrets` in this process: it is a command line as any other."""
    out, err, typed = io.StringIO(), io.StringIO(), io.TextIOWrapper(io.BytesIO(given.encode()))
    with redirect_stdout(out), redirect_stderr(err), patch.object(sys, "stdin", typed), patch.dict(os.environ, env):
        code = main(["config", "secrets", *words])
    done = Done(code, out.getvalue(), err.getvalue())
    assert SECRET not in done.out + done.err
    return done


def configured(text: str) -> Path:
    file = Paths.default().config_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_a_secret_is_kept_listed_with_what_uses_it_and_forgotten(kept: KeyringSession, home: Path) -> None:
    assert secrets("list").err.startswith("No secrets have been given names.")
    done = secrets("set", "github", given=f"{SECRET}\r\n")
    place = "the Secret Service keyring"
    assert (done.code, done.out, done.err) == (0, "", f"kept github in {place}; ${{keyring:github}} stands for it\n")
    assert kept.stored() == {("mcp-studio", "github"): SECRET}
    file = configured(
        '[servers.github]\nurl = "https://h"\nheaders = { Authorization = "Bearer ${keyring:github}" }\n'
        '[servers.other]\ncommand = "c"\nargs = ["${keyring:nowhere}"]\n'
    )
    assert secrets("list").out.splitlines() == [
        f"github   {place}  servers.github.headers.Authorization",
        "nowhere  MISSING                     servers.other.args[0]",
    ]
    first, second = secrets("--json").json["result"]
    use = {"where": "servers.github.headers.Authorization", "file": str(file)}
    assert first == {"name": "github", "present": True, "place": place, "kept": "keyring", "used": [use]}
    assert second["present"] is False and second["kept"] is None
    done = secrets("remove", "github", "--json")
    assert done.json["result"] == {"name": "github", "used": [use]}
    assert "servers.github.headers.Authorization uses it still" in done.err and kept.stored() == {}
    assert secrets("list").out.startswith("github   MISSING")
    assert SECRET.encode() not in b"".join(one.read_bytes() for one in home.rglob("*") if one.is_file())


def test_one_that_is_there_is_replaced_only_when_that_is_said(kept: KeyringSession) -> None:
    secrets("set", "x", given="first")
    done = secrets("set", "x", given=SECRET)
    assert done.code == 2 and done.err == "error: There is a secret `x` already.\n  --yes replaces it.\n"
    assert kept.stored()["mcp-studio", "x"] == "first"
    done = secrets("set", "x", "--yes", "--json", "--from-env", "IT", IT=SECRET)
    assert done.json["result"]["replaced"] is True and kept.stored()["mcp-studio", "x"] == SECRET


@pytest.mark.parametrize(
    ("words", "given", "says"),
    [
        (["set", "x"], "", "The value is empty"),
        (["set", "x"], "\n", "The value is empty"),
        (["set", "x", "--from-env", "NOT_SET_AT_ALL"], "", "NOT_SET_AT_ALL is not set"),
        (["remove", "x", "--from-env", "A"], "", "--from-env is for `config secrets set`"),
        (["set", "x:y"], "s", "`x:y` is no name for a secret"),
        (["set"], "", "Which name?"),
        (["set", "x", SECRET[:4]], "", "too many words"),
        (["list", "x"], "", "It is one name, and no value"),
        (["remove", "x"], "", "There is no secret `x`"),
        (["lost"], "", "`config secrets` knows no `lost`.\n  Did you mean `list`?"),
    ],
)
def test_mistakes_are_told_and_keep_nothing(kept: KeyringSession, words: list[str], given: str, says: str) -> None:
    done = secrets(*words, given=given, EMPTY="")
    assert done.code == 2 and says in done.err and kept.stored() == {}


def test_without_a_keyring_it_is_said_why_and_names_are_listed_all_the_same(home: Path) -> None:
    done = secrets("set", "x", given=SECRET)
    assert done.code == 2 and "There is no keyring here:" in done.err
    assert '`[secrets] store = "file"` in config.toml' in done.err
    (home / "state").mkdir()
    (home / "state" / "secret-names.json").write_text('{"version": 1, "names": {"x": "keyring"}}')
    done = secrets("list")
    assert done.code == 0 and "DBUS_SESSION_BUS_ADDRESS is unset" in done.err
    assert done.out == "x  not known  not used\n"


def test_a_plaintext_keyring_is_refused_by_name(kept: KeyringSession) -> None:
    done = secrets("set", "x", given=SECRET, PYTHON_KEYRING_BACKEND="keyring.backends.null.Keyring")
    assert done.code == 2 and "The configured keyring, keyring.backends.null.Keyring, is refused" in done.err


def test_the_encrypted_file_and_memory_are_the_other_choices(home: Path) -> None:
    configured('[secrets]\nstore = "file"\n')
    assert "nobody gave it" in secrets("set", "x", given=SECRET).err
    done = secrets("set", "x", given=SECRET, MCP_STUDIO_PASSPHRASE="correct horse")
    file = home / "state" / "secrets" / "secrets.json"
    assert done.code == 0 and f"kept x in the encrypted file {file}" in done.err
    assert file.stat().st_mode & 0o777 == 0o600 and SECRET.encode() not in file.read_bytes()
    configured('[secrets]\nstore = "memory"\n')
    done = secrets("set", "y", given=SECRET)
    assert done.code == 2 and "gone when this command ends" in done.err
    assert secrets("list").out == "x  MISSING  not used\n"


# References, end to end


async def _answer(request: Request, reply: Reply, seen: list[str]) -> None:
    seen.append(request.headers.get("authorization", ""))
    message = request.json if request.method == "POST" else {}
    if "id" not in message:
        await reply.accepted()
    elif message["method"] == "initialize":
        said = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
        await reply.result({**said, "serverInfo": {"name": "r", "version": "1"}})
    else:
        await reply.result({"tools": []})


def listed(make: Callable[[str], list[str]], **env: Any) -> tuple[Done, list[str]]:
    """`list tools` on a server that notes which credentials arrive; `make` gives the options for its URL."""
    seen: list[str] = []

    async def go() -> Done:
        async with RawServer(lambda request, reply: _answer(request, reply, seen)) as server:
            words = make(f"http://127.0.0.1:{server.port}/mcp")
            return await asyncio.to_thread(lambda: cli("list", "tools", *words, **env))

    return run(go()), seen


def test_a_reference_in_the_own_configuration_reaches_the_server(kept: KeyringSession) -> None:
    secrets("set", "tok en", given=SECRET)

    def make(url: str) -> list[str]:
        table = f'url = "{url}"\nera = "legacy"\nheaders = {{ Authorization = "Bearer ${{keyring:tok en}}" }}'
        configured(f"[servers.s]\n{table}\n")
        return []

    done, seen = listed(make)
    assert done.code == 0 and seen and set(seen) == {f"Bearer {SECRET}"}
    assert SECRET not in done.out + done.err


@pytest.mark.parametrize("store", ["keyring", "file"])
def test_a_reference_in_another_clients_file_goes_to_the_store_of_the_person(
    kept: KeyringSession, home: Path, store: str
) -> None:
    configured(f'[secrets]\nstore = "{store}"\n')
    env = {"MCP_STUDIO_PASSPHRASE": "correct horse"}
    secrets("set", "token", given=SECRET, **env)

    def make(url: str) -> list[str]:
        server: dict[str, Any] = {"url": url, "headers": {"Authorization": "Bearer ${keyring:token}"}}
        (home / "mcp.json").write_text(json.dumps({"mcpServers": {"s": server}}))
        return ["--config", str(home / "mcp.json"), "--era", "legacy"]

    done, seen = listed(make, **env)
    assert done.code == 0 and seen and set(seen) == {f"Bearer {SECRET}"}
    uses = secrets("--json", "--config", str(home / "mcp.json"), **env).json["result"][0]["used"]
    assert uses == [{"where": "servers.s.headers.Authorization", "file": str(home / "mcp.json")}]


def test_a_locked_keyring_costs_only_the_servers_that_need_it(kept: KeyringSession) -> None:
    secrets("set", "token", given=SECRET)
    needs = '[servers.{0}]\ncommand = "c"\nenv = {{ T = "${{keyring:token}}", U = "${{keyring:other}}" }}\n'
    configured("".join(needs.format(name) for name in "abc") + '[servers.free]\ncommand = "c"\n')
    kept.lock()
    began = time.monotonic()
    done = cli("config", "show", "--json")
    assert time.monotonic() - began < 25, "waiting for one alone takes longer"
    kept.unlock()
    assert list(done.json["result"]["servers"]) == ["free"]
    assert done.err.count("The keyring is locked, and nobody has unlocked it.") == 3


def test_nobody_is_asked_to_unlock_what_is_not_used(kept: KeyringSession) -> None:
    configured('[servers.a]\ncommand = "c"\nenv = { T = "${keyring:token}", U = "${NOT_SET}" }\n')
    kept.lock()
    done = cli("list", "servers"), cli("call", "echo", "text=hi", "--", *RAW)
    kept.unlock()
    assert (done[0].code, done[1].out, done[1].err) == (0, "hi\n", "")
    assert "keyring" not in done[0].err and "NOT_SET is not set" in done[0].err


def test_only_what_the_chosen_servers_refer_to_is_looked_up(home: Path) -> None:
    program = f"command = {json.dumps(RAW[0])}\nargs = {json.dumps([*RAW[1:]])}"
    configured(
        f'[secrets]\nstore = "file"\n[servers.free]\n{program}\n'
        f'[servers.needs]\n{program}\nenv = {{ T = "${{keyring:token}}" }}\n'
        '[servers.far]\nurl = "https://h.example/${keyring:path}/mcp"\n'
    )
    phrase = "correct horse"
    secrets("set", "token", given=SECRET, MCP_STUDIO_PASSPHRASE=phrase)
    done = cli("call", "free.echo", "text=hi"), cli("auth", "status")
    assert [(one.code, one.err) for one in done] == [(0, ""), (0, "")]
    assert done[0].out == "hi\n" and "far" in done[1].out
    refused = cli("call", "needs.echo", "text=hi"), cli("auth", "status", "far")
    assert [one.code for one in refused] == [2, 2]
    assert "The server `needs` cannot be used: " in refused[0].err and "servers.needs.env.T: " in refused[0].err
    assert "The server `far` cannot be used: " in refused[1].err
    assert cli("call", "needs.echo", "text=hi", MCP_STUDIO_PASSPHRASE=phrase).out == "hi\n"


def test_a_server_with_a_secret_that_its_first_call_starts_is_called(home: Path) -> None:
    program = f"command = {json.dumps(RAW[0])}\nargs = {json.dumps([*RAW[1:]])}"
    env = 'env = { T = "${keyring:token}" }'
    configured(f'[secrets]\nstore = "file"\n[servers.s]\n{program}\n{env}\nstart = "demand"\n')
    phrase = "correct horse"
    secrets("set", "token", given=SECRET, MCP_STUDIO_PASSPHRASE=phrase)
    done = cli("call", "s.echo", "text=hi", MCP_STUDIO_PASSPHRASE=phrase)
    assert (done.code, done.out, done.err) == (0, "hi\n", "")


# What is added

SNIPPET = json.dumps(
    {
        "mcpServers": {
            "git hub": {"url": "https://h/mcp", "headers": {"Authorization": f"Bearer {SECRET}"}},
            "local": {"command": "c", "args": ["--token", SECRET], "env": {"API_KEY": "second-s3cret", "P": "plain"}},
        }
    }
)


def test_what_is_added_with_secrets_in_clear_is_written_with_references(kept: KeyringSession) -> None:
    secrets("set", "local-token", given="something else")
    done = cli("config", "add", "-", "--keyring", given=SNIPPET)
    assert done.code == 0 and SECRET not in done.err + done.out
    text = Paths.default().config_file.read_text()
    assert "Bearer ${keyring:git-hub-authorization}" in text and "s3cret" not in text
    stored = {name: value for (_, name), value in kept.stored().items()}
    assert stored == {
        "git-hub-authorization": SECRET,
        "local-token": "something else",
        "local-token-2": SECRET,
        "local-api-key": "second-s3cret",
    }


def test_without_being_asked_nothing_is_kept_and_a_warning_says_what_stands_in_clear(kept: KeyringSession) -> None:
    done = cli("config", "add", "-", given=SNIPPET)
    assert done.code == 0 and kept.stored() == {} and SECRET not in done.err
    assert "warning: servers.git hub.headers.Authorization stands in the file in clear" in done.err
    assert "warning: servers.local.env.API_KEY stands in the file in clear" in done.err


def test_nothing_is_written_where_a_secret_cannot_be_kept(home: Path) -> None:
    done = cli("config", "add", "-", "--keyring", given=SNIPPET)
    assert done.code == 2 and "There is no keyring here" in done.err
    assert not Paths.default().config_file.exists()


def test_a_file_of_another_client_is_imported_with_references(kept: KeyringSession, home: Path) -> None:
    (home / "mcp.json").write_text(SNIPPET)
    done = cli("config", "import", str(home / "mcp.json"), "--keyring")
    assert done.code == 0 and "s3cret" not in Paths.default().config_file.read_text() and len(kept.stored()) == 3


# On a terminal


@pytest.fixture
def terminal(kept: KeyringSession) -> Iterator[Callable[..., Terminal]]:
    running: list[Terminal] = []

    def start(*words: str) -> Terminal:
        running.append(Terminal(argv("config", *words), env=environment(NO_COLOR="1"), columns=200))
        running[-1].start()
        return running[-1]

    yield start
    for started in running:
        started.close()
        if started.process.poll() is None:
            started.process.terminate()
            started.process.wait(10)


def test_a_secret_is_typed_without_being_shown(terminal: Callable[..., Terminal], kept: KeyringSession) -> None:
    screen = terminal("secrets", "set", "x")
    screen.until(r"Value of x \(not shown\): ")
    screen.press(SECRET.encode() + b"\n")
    screen.until("kept x in the Secret Service keyring")
    assert SECRET not in screen.text() and kept.stored()["mcp-studio", "x"] == SECRET
