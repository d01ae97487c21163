"""The helpers that other tests lean on."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support import FORKER, ended, forking, npm_server, python_program, run, wait_until

TOLD = """
import os, sys
print(os.environ["TOLD"], os.getcwd(), sys.argv[1:], sys.stdin.read())
sys.exit("it says why" if sys.argv[1:] else 7)
"""
LEAVES = """
import os, sys
data = sys.stdin.buffer.read()
sys.stdout.reconfigure(errors="backslashreplace")
sys.stdout.buffer.write(data * 2)
print(__name__, os.environ["TOLD"], os.getcwd(), sys.argv[1:], file=sys.stderr)
sys.stdout.flush()
os._exit(9)
"""
WAITS = """
import os, sys
print(os.getpid(), flush=True)
sys.stdin.read()
"""


def test_run_gives_the_result_and_ends_what_takes_too_long() -> None:
    assert run(asyncio.sleep(0, "done")) == "done"
    with pytest.raises(TimeoutError):
        run(asyncio.Event().wait(), timeout=0.05)


async def test_wait_until_lets_other_tasks_run() -> None:
    seen: list[int] = []
    task = asyncio.create_task(asyncio.sleep(0, None))
    task.add_done_callback(lambda _: seen.append(1))
    await wait_until(lambda: seen)


def test_wait_until_fails_by_name() -> None:
    with pytest.raises(pytest.fail.Exception, match="the moon"):
        run(wait_until(lambda: False, timeout=0.02, what="the moon"))


def test_a_missing_npm_server_skips_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_STUDIO_NPM", os.devnull)
    with pytest.raises(pytest.skip.Exception, match="server-everything"):
        npm_server("everything")


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="programs are forked on Linux only")


@pytest.fixture
def forker() -> Generator[None]:
    """The process that forks programs: that of this run of tests, where there is one."""
    if FORKER in os.environ:
        yield
    else:
        with forking():
            yield


def program(folder: Path, text: str, *args: str) -> list[str]:
    (folder / "program.py").write_text(text)
    argv = python_program(folder / "program.py", *args)
    assert "forked.py" in argv[3]
    return argv


@on_linux
@pytest.mark.usefixtures("forker")
def test_a_forked_program_has_its_streams_its_environment_its_folder_and_its_exit_code(tmp_path: Path) -> None:
    def told(*args: str) -> subprocess.CompletedProcess[str]:
        argv, environ = program(tmp_path, TOLD, *args), {**os.environ, "TOLD": "told"}
        return subprocess.run(argv, input="typed", capture_output=True, text=True, env=environ, cwd=tmp_path)

    plain, refusing = told(), told("-x")
    assert (plain.returncode, plain.stdout, plain.stderr) == (7, f"told {tmp_path} [] typed\n", "")
    assert (refusing.returncode, refusing.stderr) == (1, "it says why\n")
    assert "['-x']" in refusing.stdout


@on_linux
@pytest.mark.usefixtures("capfd")  # the process that forks writes into a file, the program into a pipe
@pytest.mark.parametrize("forked", [True, False])
def test_a_module_is_run_to_its_end_the_same_way_whether_it_is_forked_or_started(
    tmp_path: Path, forked: bool, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if forked:
        request.getfixturevalue("forker")
    else:
        monkeypatch.delenv(FORKER, raising=False)
    (tmp_path / "leaves.py").write_text(LEAVES)
    environ = {"PATH": os.environ["PATH"], "TOLD": "told"}
    done = ended(["-m", "leaves", "--", "-x"], b"typed" * 50_000, cwd=tmp_path, env=environ)
    assert (done.returncode, done.stdout) == (9, b"typed" * 100_000)
    assert done.stderr.decode() == f"__main__ told {tmp_path} ['--', '-x']\n"


@on_linux
@pytest.mark.usefixtures("forker")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_forked_program_ends_with_whom_it_was_started_by(tmp_path: Path, how: signal.Signals) -> None:
    with subprocess.Popen(program(tmp_path, WAITS), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        own = Path("/proc", process.stdout.readline().decode().strip())
        assert own.exists() and own.name != str(process.pid)
        process.send_signal(how)
        run(wait_until(lambda: not own.exists(), what="its end"))
