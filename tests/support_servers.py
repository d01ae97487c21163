"""Servers over HTTP for tests: real processes on loopback, ready when they are handed out, ended by their id."""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tests.support import ROOT, python_program, python_server

START_LIMIT = 60.0
"""Seconds in which a server must say where it listens. Importing the SDK takes half a second on an idle machine."""


class HttpServer(NamedTuple):
    """A running server."""

    url: str
    process: subprocess.Popen[str]

    @property
    def port(self) -> int:
        """The TCP port."""
        return int(self.url.rsplit(":", 1)[1].split("/")[0])


@contextmanager
def running(argv: list[str], env: dict[str, str] | None = None) -> Iterator[HttpServer]:
    """Start a program whose first line on stdout is its URL; end it afterwards.

    The program inherits stderr, so that pytest shows what it complained about.
    """
    environ = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environ, cwd=ROOT)
    try:
        yield HttpServer(_first_line(process), process)
    finally:
        end(process)


def _first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], START_LIMIT)
    line = process.stdout.readline().strip() if ready else ""
    if not line:
        raise RuntimeError(f"{process.args!r} did not say where it listens (exit code {process.poll()})")
    return line


@contextmanager
def http_server(*options: str, script: str = "sdk_everything") -> Iterator[str]:
    """The URL of tests/servers/SCRIPT.py over HTTP. Options: see tests/servers/sdk_serving.py."""
    with running(python_server(script, "--http", *options)) as server:
        yield server.url


@contextmanager
def demo_http() -> Iterator[str]:
    """The URL of the bundled demo server over HTTP."""
    with running(python_program("-m", "mcp_studio.servers.demo", "--http", "0")) as server:
        yield server.url


def demo_stdio() -> list[str]:
    """The argv of the bundled demo server over stdio."""
    return python_program("-m", "mcp_studio.servers.demo")


def end(process: subprocess.Popen[str]) -> None:
    """End a server, gently first, and close what it printed to."""
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(20)
    assert process.stdout is not None
    process.stdout.close()
