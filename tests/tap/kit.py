"""A tap as a process, and what a client in front of it says and hears."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcp_studio.errors import StudioError
from mcp_studio.paths import Paths
from mcp_studio.trace.disk.session import Session
from mcp_studio.trace.disk.sessions import find
from mcp_studio.trace.message import WireMessage
from tests.cli.kit import argv, environment
from tests.support import ROOT, wait_until


def tap(*words: str) -> list[str]:
    """The argv of a tap."""
    return argv("tap", *words)


def request(number: int | str, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def answer(number: int | str, result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": result}


class Tapped:
    """A client that writes lines by hand; the server is behind a tap."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def say(self, *messages: Any) -> None:
        """Write messages, a line each."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in messages))
        self.process.stdin.flush()

    def hear(self) -> Any:
        """The next line; None at the end."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def leave(self) -> int:
        """Close the input, and wait for the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(60)


@contextmanager
def tapped(*words: str, server: list[str]) -> Generator[Tapped]:
    """A server behind a tap with these options."""
    process = subprocess.Popen(
        [*tap(*words), "--", *server],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, env=environment(),
    )  # fmt: skip
    try:
        yield Tapped(process)
    finally:
        process.kill()
        process.wait(60)
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            stream.close()


def folder() -> Path:
    """Where sessions are recorded."""
    return Paths.default().state / "trace"


def recorded(name: str = "last") -> list[WireMessage]:
    """What a session has, the newest one without a name; nothing as long as there is none."""
    try:
        session = Session(find(folder(), name))
    except StudioError:
        return []
    entries = [session[place] for place in range(len(session))]
    for entry in entries:
        entry.body = entry.body
    session.close()
    return entries


async def running() -> str:
    """The name of the session that is being recorded, once there is one."""
    await wait_until(lambda: recorded("running"), what="a session")
    return next(folder().glob("*.trace")).stem
