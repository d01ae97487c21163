"""A tap in front of a program: nothing changes for its client, and everything is recorded."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from mcp_studio.trace.disk.session import Session
from mcp_studio.trace.disk.sessions import describe
from tests.cli.kit import RAW, cli, environment
from tests.demo.client import LEGACY, MODERN, all_tools, words
from tests.support import ROOT, npm_server, wait_until
from tests.support_servers import demo_stdio
from tests.tap.kit import folder, recorded, request, running, tap, tapped

SLEEPER = [sys.executable, "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(600)"]
PIECES = [b"{", b'"id":1,', b"}\n", b"\n", b"\r\n", b"\xff\xfe", b"\0", b"\xef\xbb\xbf", b'{"jsonrpc":"2.0"}\n', b"[]"]


@pytest.mark.parametrize("seed", range(4))
def test_every_byte_passes_as_it_is_in_both_directions(seed: int) -> None:
    chance = random.Random(seed)
    sent = b"".join(chance.choice(PIECES) * chance.randrange(1, 60) for _ in range(800))
    sent += chance.randbytes(chance.randrange(200_000))
    done = subprocess.run([*tap("--", "cat")], input=sent, capture_output=True, env=environment(), timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, sent, b"")


def test_a_message_above_the_limit_passes_and_is_told_of(home: Path) -> None:
    file = home / "config" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("[limits]\nmessage = 1000\n")
    sent = b'{"x":"' + b"y" * 5_000 + b'"}\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    held = ("--break", "method:nothing")
    for options in ((), held):
        done = subprocess.run(
            [*tap(*options, "--", "cat")], input=sent, capture_output=True, env=environment(), timeout=60
        )
        assert done.stdout == sent
        notes = [entry.body for entry in recorded() if entry.kind == "note"]
        assert sum(b"went by" in note for note in notes) == 2, "one in each direction"
        assert [entry.method for entry in recorded() if entry.method and entry.kind != "note"] == ["ping", "ping"]


def test_standard_error_passes_and_the_exit_code_is_the_servers() -> None:
    script = "printf 'to the \\033[1mclient' >&2; echo printed; exit 7"
    done = subprocess.run(tap("--", "sh", "-c", script), capture_output=True, env=environment(), timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (7, b"printed\n", b"to the \x1b[1mclient")
    assert {(one.kind, one.body) for one in recorded()} >= {
        ("stray", b"printed"), ("stderr", b"to the \x1b[1mclient"),
    }  # fmt: skip


def test_a_signal_that_ended_the_server_is_told_as_shells_do() -> None:
    done = subprocess.run(tap("--", "sh", "-c", "kill -9 $$"), capture_output=True, env=environment(), timeout=60)
    assert done.returncode == 128 + signal.SIGKILL


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["--", "there-is-no-such-program"], 4, "There is no command there-is-no-such-program"),
        ([], 2, "Which server?"),
        (["word", "--", "cat"], 2, "Which server?"),
        (["--fault", "explode", "--", "cat"], 2, "`explode` is no fault"),
        (["--fault", "drop@2", "--", "cat"], 2, "`drop@2` is no fault"),
        (["--fault", "drop=3", "--", "cat"], 2, "`drop=3` is no fault"),
        (["--fault", "error=nan", "--", "cat"], 2, "`error=nan` is no fault"),
        (["--break", "kind:", "--", "cat"], 2, "kind:"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(options: list[str], code: int, says: str) -> None:
    done = cli("tap", *options)
    assert (done.code, done.out) == (code, "")
    assert says in done.err and "Traceback" not in done.err


@pytest.mark.parametrize("era", [LEGACY, MODERN])
async def test_the_client_of_the_sdk_notices_nothing(era: str) -> None:
    command, *args = [*tap("--name", "shop", "--"), *demo_stdio()]
    target = StdioServerParameters(command=command, args=args, cwd=str(ROOT), env=environment())
    async with Client(target, mode=era, cache=None) as client:
        assert len(await all_tools(client)) > 20
        found = words(await client.call_tool("find_books", {"text": "sea"}))
    calls = [one for one in recorded() if one.method == "tools/call" and one.target == "find_books"]
    assert [(one.direction, one.kind, one.server) for one in calls] == [
        ("out", "request", "shop"), ("in", "result", "shop"),
    ]  # fmt: skip
    assert calls[0].span is not None and calls[0].span.outcome == "ok"
    assert found.split()[0].encode() in calls[1].body


async def test_a_server_of_others_behind_it_answers_our_own_client() -> None:
    server = [*tap("--name", "npm", "--"), *npm_server("everything")]
    done = cli("call", "target.echo", "message=hello", "--", *server)
    assert "hello" in done.out, done.err
    assert {one.server for one in recorded()} <= {"npm", "target"}


async def test_what_is_secret_does_not_reach_the_disk() -> None:
    with tapped(server=["cat"]) as client:
        client.say(request(1, "tools/call", name="login", arguments={"password": "open-sesame"}))
        assert client.hear()["params"]["arguments"] == {"password": "open-sesame"}
        client.leave()
    assert all(b"open-sesame" not in entry.body for entry in recorded())
    assert b"open-sesame" not in b"".join(file.read_bytes() for file in folder().iterdir())


async def test_a_session_is_followed_while_the_tap_writes_it() -> None:
    with tapped("--name", "echo", server=["cat"]) as client:
        client.say(request(1, "first"))
        client.hear()
        session = Session(folder() / f"{await running()}.trace")
        assert describe(session.path).state == "running"

        def has(method: str) -> bool:
            session.refresh()
            return any(session[place].method == method for place in range(len(session)))

        await wait_until(lambda: has("first"), timeout=5)
        client.say(request(2, "second"))
        await wait_until(lambda: has("second"), timeout=5)
        client.process.kill()
        await wait_until(lambda: session.refresh() and session.info.state == "crashed", what="the end of its process")
        session.close()


async def test_a_tap_that_is_killed_leaves_no_server_behind() -> None:
    with tapped(server=SLEEPER) as client:
        pid = client.hear()
        client.process.kill()
        assert client.hear() is None, "the closed pipe tells the client"
        await wait_until(lambda: not Path(f"/proc/{pid}").exists() or _is_dead(pid), what="the server's end")


def _is_dead(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


async def test_a_signal_goes_to_the_server() -> None:
    script = "import signal, sys, time\nsignal.signal(15, lambda *_: sys.exit(9))\nprint(1, flush=True)\ntime.sleep(99)"
    with tapped(server=[sys.executable, "-c", script]) as client:
        client.hear()
        client.process.send_signal(signal.SIGTERM)
        assert client.process.wait(60) == 9


async def test_a_killed_server_ends_the_tap_as_it_would_end_the_client() -> None:
    with tapped(server=SLEEPER) as client:
        pid = client.hear()
        client.say(request(1, "tools/list"))
        await running()
        await wait_until(lambda: any(one.kind == "request" for one in recorded("running")))
        os.kill(pid, signal.SIGKILL)
        assert client.hear() is None, "what the server did not answer is not answered for it"
        assert client.process.wait(60) == 128 + signal.SIGKILL
    span = next(one.span for one in recorded() if one.kind == "request")
    assert span is not None and span.outcome == "lost"


@pytest.mark.parametrize("begun", ["", '{"half of'])
async def test_what_the_tap_itself_loses_is_answered_with_an_error(begun: str) -> None:
    """Its guard is killed, and the server with it, perhaps in the middle of a line."""
    script = f"import os, time; print(os.getppid()); print({begun!r}, end='', flush=True); time.sleep(600)"
    with tapped(server=[sys.executable, "-c", script]) as client:
        guard = client.hear()
        client.say(request("a", "tools/list"), request(2, "tools/call", name="x"))
        await running()
        await wait_until(lambda: sum(one.kind == "request" for one in recorded("running")) == 2)
        os.kill(guard, signal.SIGKILL)
        assert client.process.stdout is not None
        assert not begun or client.process.stdout.readline() == f"{begun}\n".encode()
        errors = [client.hear(), client.hear()]
        assert [error["id"] for error in errors] == ["a", 2]
        assert all("answer is lost" in error["error"]["message"] for error in errors)
        assert client.hear() is None
        assert client.process.wait(60) == 1
        assert client.process.stderr is not None and b"The tap failed" in client.process.stderr.read()


def test_the_raw_server_behind_it_answers_a_call() -> None:
    done = cli("call", "target.add", "a=2", "b=3", "--", *tap("--"), *RAW)
    assert "5" in done.out, done.err


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("[trace]\nrecord = false\n", "Nothing is recorded: [trace] record is false."),
        ("broken = [", "config.toml"),
        ("", "The trace is no longer recorded"),
    ],
)
def test_what_cannot_be_recorded_passes_all_the_same(home: Path, config: str, says: str) -> None:
    (home / "config").mkdir()
    (home / "config" / "config.toml").write_text(config)
    if not config:
        (home / "state").write_text("no folder")
    done = cli("tap", "--", "cat", given='{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert (done.code, done.out) == (0, '{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert says in done.err and "Traceback" not in done.err


async def test_a_message_passes_while_it_comes() -> None:
    script = "import sys; print('{\"half\":', end='', flush=True); print(sys.stdin.readline())"
    with tapped(server=[sys.executable, "-c", script]) as client:
        assert client.process.stdout is not None
        assert client.process.stdout.read(8) == b'{"half":', "the rest comes only once it was read"
        client.say(1)
        assert client.process.stdout.readline() == b"1\n"
    assert client.process.wait(60) is not None


async def test_a_client_that_reads_slowly_gets_all_that_an_ended_server_wrote() -> None:
    script = "import os, sys; print(os.getpid(), flush=True); sys.stdout.write('x' * 150_000 + '\\n'); sys.exit(5)"
    with tapped(server=[sys.executable, "-c", script]) as client:
        pid = client.hear()
        await wait_until(lambda: _is_dead(pid), what="the server's end")
        assert client.process.stdout is not None and len(client.process.stdout.read()) == 150_001
        assert client.process.wait(60) == 5
